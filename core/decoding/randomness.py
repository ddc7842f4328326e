"""Random numbers that need no state: the same (seed, step, index) gives the same number, here and in the
browser.

A generator with hidden state cannot step back: after "back" and "next" it would draw another number. Here
each number is a hash of its own address, so a run repeats itself from any step.
``assets/js/lib/sampling.js`` holds the same function; ``tests/fixtures/sampling.json`` holds both to the
same values.

The hash is MurmurHash3 (32 bit, Austin Appleby, public domain) over five 32-bit words; two hashes give 53
bits.
"""

import numpy as np

MAX_SEED = 2**53 - 1  # the largest integer that JavaScript holds exactly

_MASK = 0xFFFFFFFF
_BODY_1, _BODY_2, _BODY_ADD = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_FINAL_1, _FINAL_2 = 0x85EBCA6B, 0xC2B2AE35
_WORDS = 5
_IN_UNIT = 1.0 / 2**53


def uniform(seed: int, step: int, index: int = 0) -> float:
    """Return a number in [0, 1), a multiple of 2**-53, fixed by its three counters.

    ``seed`` is 0 to 2**53 - 1, ``step`` the number of tokens already generated, ``index`` tells several draws
    at one step apart. Raises ValueError for a counter outside its range.
    """
    if not 0 <= seed <= MAX_SEED or not 0 <= step <= _MASK or not 0 <= index <= _MASK:
        raise ValueError(f"seed {seed}, step {step} or index {index} is outside its range")
    high = _hash_words(seed & _MASK, seed >> 32, step, index, 0)
    low = _hash_words(seed & _MASK, seed >> 32, step, index, 1)
    return ((high >> 5) * 2**26 + (low >> 6)) * _IN_UNIT


def uniforms(seed: int, step: int, count: int) -> np.ndarray:
    """Return ``uniform(seed, step, i)`` for i in 0..count-1 as (count,) float64, computed at once."""
    uniform(seed, step)  # the same range checks
    index = np.arange(count, dtype=np.uint64)
    high = _hash_many(seed & _MASK, seed >> 32, step, index, 0)
    low = _hash_many(seed & _MASK, seed >> 32, step, index, 1)
    return ((high >> np.uint64(5)).astype(np.float64) * 2**26 + (low >> np.uint64(6))) * _IN_UNIT


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK


def _absorb(state: int, word: int) -> int:
    mixed = _rotate(word * _BODY_1 & _MASK, 15) * _BODY_2 & _MASK
    return (_rotate(state ^ mixed, 13) * 5 + _BODY_ADD) & _MASK


def _finish(state: int) -> int:
    state ^= 4 * _WORDS  # the length in bytes
    state = (state ^ (state >> 16)) * _FINAL_1 & _MASK
    state = (state ^ (state >> 13)) * _FINAL_2 & _MASK
    return state ^ (state >> 16)


def _hash_words(*words: int) -> int:
    state = 0
    for word in words:
        state = _absorb(state, word)
    return _finish(state)


def _hash_many(low: int, high: int, step: int, index: np.ndarray, lane: int) -> np.ndarray:
    """The same hash for many indices: uint64 arrays whose upper half stays empty."""
    start = _absorb(_absorb(_absorb(0, low), high), step)
    state = np.full(index.shape, start, dtype=np.uint64)
    for word in (index, np.full(index.shape, lane, dtype=np.uint64)):
        mixed = _rotate_many(word * np.uint64(_BODY_1) & np.uint64(_MASK), 15)
        mixed = mixed * np.uint64(_BODY_2) & np.uint64(_MASK)
        state = _rotate_many(state ^ mixed, 13) * np.uint64(5) + np.uint64(_BODY_ADD) & np.uint64(_MASK)
    state ^= np.uint64(4 * _WORDS)
    state = (state ^ (state >> np.uint64(16))) * np.uint64(_FINAL_1) & np.uint64(_MASK)
    state = (state ^ (state >> np.uint64(13))) * np.uint64(_FINAL_2) & np.uint64(_MASK)
    return state ^ (state >> np.uint64(16))


def _rotate_many(words: np.ndarray, bits: int) -> np.ndarray:
    return (words << np.uint64(bits) | words >> np.uint64(32 - bits)) & np.uint64(_MASK)
