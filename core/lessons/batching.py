"""A small simulation of serving: static against continuous batching, and K/V memory in blocks.

A simulation, not a measurement. Its rules, all of them:

* time runs in passes; every pass takes one unit, whatever it holds;
* a request's first pass reads its whole prompt and gives its first answer token, each later pass one more;
* at most ``slots`` requests take part in one pass;
* **static**: a batch is filled once, from what has arrived, and ends when its longest answer ends;
  every request reserves prompt + answer limit from the start of its batch to the end;
* **continuous**: a finished request leaves at once and a waiting one takes its place; memory comes in blocks
  of ``block_tokens`` tokens, one more when the last is full. When none is free, the request that was admitted
  last gives its blocks back and waits; it later reads its prompt and its answer so far again.

References: Yu et al. 2022 (Orca: continuous batching); Kwon et al. 2023 (vLLM: paged blocks, prefix sharing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import UserError

PREFILL, DECODE, HELD = "prefill", "decode", "held"


@dataclass(frozen=True)
class Request:
    """``arrival`` is the pass before which the request is there; sizes are in tokens."""

    arrival: int
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True)
class Server:
    """``answer_limit`` is what a static batch reserves for each answer, its length being unknown."""

    slots: int = 4
    block_tokens: int = 16
    n_blocks: int = 64
    answer_limit: int = 64
    shared_prefix_tokens: int = 0


@dataclass(frozen=True)
class Span:
    """Passes [start, end) that ``request`` spent in ``slot``, doing ``kind``."""

    slot: int
    request: int
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Frame:
    """Memory during one pass, in tokens; ``tables`` maps a request to its blocks (continuous only)."""

    reserved_tokens: int
    used_tokens: int
    tables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    fill: dict[int, int] = field(default_factory=dict)
    """Tokens held by each block."""

    @property
    def wasted_tokens(self) -> int:
        return self.reserved_tokens - self.used_tokens


@dataclass(frozen=True)
class Outcome:
    """What happened. ``first_token`` and ``finished`` hold, per request, the pass after which it was so."""

    spans: tuple[Span, ...]
    frames: tuple[Frame, ...]
    first_token: tuple[int, ...]
    finished: tuple[int, ...]
    generated: tuple[int, ...]
    preemptions: int
    slots: int

    @property
    def passes(self) -> int:
        return len(self.frames)

    @property
    def busy_share(self) -> float:
        """Share of slot-passes in which a token was made."""
        busy = sum(span.end - span.start for span in self.spans if span.kind != HELD)
        return busy / (self.slots * self.passes) if self.passes else 0.0

    @property
    def used_share(self) -> float:
        """Share of the reserved memory that held a token, over all passes."""
        reserved = sum(frame.reserved_tokens for frame in self.frames)
        return sum(frame.used_tokens for frame in self.frames) / reserved if reserved else 0.0

    def mean_wait(self, requests: Sequence[Request]) -> float:
        """Mean number of passes from arrival to first token."""
        return sum(f - r.arrival for f, r in zip(self.first_token, requests, strict=True)) / len(requests)


def sample_requests(count: int, seed: int, *, longest_answer: int = 48) -> list[Request]:
    """Requests with varied lengths, the same for the same seed. Arrivals come in small waves."""
    requests, arrival = [], 0
    for index in range(count):
        draw = _draws(seed, index)
        requests.append(Request(arrival, 6 + draw[0] % 42, 2 + draw[1] % max(longest_answer - 1, 1)))
        arrival += draw[2] % 5
    return requests


def _draws(seed: int, index: int) -> tuple[int, int, int]:
    """Three well-mixed 31-bit numbers from (seed, index): a 64-bit multiply-and-shift mixer (splitmix64)."""
    mask, out = (1 << 64) - 1, []
    for lane in range(3):
        z = (seed * 1_000_003 + index * 7 + lane + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        out.append((z ^ (z >> 31)) >> 33)
    return out[0], out[1], out[2]


def check(requests: Sequence[Request], server: Server) -> None:
    """Raises UserError when a request can never be served."""
    room = server.n_blocks * server.block_tokens
    for number, request in enumerate(requests, start=1):
        if min(request.prompt_tokens, request.answer_tokens) < 1 or request.arrival < 0:
            raise UserError(
                f"Request {number} is empty.", "Give it at least one prompt and one answer token."
            )
        if request.prompt_tokens + request.answer_tokens > room:
            raise UserError(
                f"Request {number} needs more than the {room} tokens of memory.",
                "Make it shorter or allow more blocks.",
            )
        if request.answer_tokens > server.answer_limit:
            raise UserError(
                f"Request {number} answers more than the limit of {server.answer_limit} tokens.",
                "Make it shorter or raise the limit.",
            )


# --- static ----------------------------------------------------------------------------------------------


def static_batching(requests: Sequence[Request], server: Server) -> Outcome:
    """Serve in fixed batches, in order of arrival. Raises UserError as ``check`` does."""
    check(requests, server)
    waiting = sorted(range(len(requests)), key=lambda i: (requests[i].arrival, i))
    spans: list[Span] = []
    frames: list[Frame] = []
    first, finished = [0] * len(requests), [0] * len(requests)
    while waiting:
        while len(frames) < requests[waiting[0]].arrival:
            frames.append(Frame(0, 0))
        start = len(frames)
        batch = [i for i in waiting if requests[i].arrival <= start][: server.slots]
        waiting = [i for i in waiting if i not in batch]
        length = max(requests[i].answer_tokens for i in batch)
        reserved = sum(requests[i].prompt_tokens + server.answer_limit for i in batch)
        for slot, i in enumerate(batch):
            end = start + requests[i].answer_tokens
            spans += _static_spans(slot, i, start, end, start + length)
            first[i], finished[i] = start + 1, end
        for step in range(length):
            used = sum(requests[i].prompt_tokens + min(step + 1, requests[i].answer_tokens) for i in batch)
            frames.append(Frame(reserved, used))
    generated = tuple(request.answer_tokens for request in requests)
    return Outcome(tuple(spans), tuple(frames), tuple(first), tuple(finished), generated, 0, server.slots)


def _static_spans(slot: int, request: int, start: int, end: int, batch_end: int) -> list[Span]:
    pieces = [(start, start + 1, PREFILL), (start + 1, end, DECODE), (end, batch_end, HELD)]
    return [Span(slot, request, a, b, kind) for a, b, kind in pieces if b > a]


# --- continuous ------------------------------------------------------------------------------------------


class BlockPool:
    """Blocks with reference counts. Full blocks of a common prefix may be held by several requests."""

    def __init__(self, server: Server) -> None:
        self.size = server.block_tokens
        self.prefix = server.shared_prefix_tokens
        self.free = list(range(server.n_blocks - 1, -1, -1))
        self.holders: dict[int, int] = {}
        self.shared: dict[int, int] = {}  # index of a prefix block -> block
        self.tables: dict[int, list[int]] = {}

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.size)

    def missing(self, request: int, prompt: int, tokens: int) -> int:
        """New blocks needed so that ``request`` can hold ``tokens`` tokens."""
        have = len(self.tables.get(request, ()))
        wanted = range(have, self.blocks_for(tokens))
        return sum(1 for index in wanted if not (self._shareable(index, prompt) and index in self.shared))

    def grow(self, request: int, prompt: int, tokens: int) -> None:
        """Take the blocks that ``missing`` counted."""
        table = self.tables.setdefault(request, [])
        for index in range(len(table), self.blocks_for(tokens)):
            shareable = self._shareable(index, prompt)
            block = self.shared[index] if shareable and index in self.shared else self.free.pop()
            if shareable:
                self.shared[index] = block
            self.holders[block] = self.holders.get(block, 0) + 1
            table.append(block)

    def release(self, request: int) -> None:
        """Give back all blocks of ``request``; a shared block stays while another request holds it."""
        for index, block in enumerate(self.tables.pop(request)):
            self.holders[block] -= 1
            if not self.holders[block]:
                del self.holders[block]
                self.free.append(block)
                if self.shared.get(index) == block:
                    del self.shared[index]

    def _shareable(self, index: int, prompt: int) -> bool:
        return (index + 1) * self.size <= min(self.prefix, prompt)


class _Continuous:
    """The state of one continuous run; ``run`` plays it to the end."""

    def __init__(self, requests: Sequence[Request], server: Server) -> None:
        self.requests, self.server = requests, server
        self.pool = BlockPool(server)
        self.waiting = sorted(range(len(requests)), key=lambda i: (requests[i].arrival, i))
        self.running: dict[int, int] = {}  # request -> slot, oldest admission first
        self.fresh: set[int] = set()  # admitted for this pass: it reads its prompt
        self.made = [0] * len(requests)
        self.first, self.finished = [0] * len(requests), [0] * len(requests)
        self.spans: list[Span] = []
        self.frames: list[Frame] = []
        self.preemptions = 0

    def run(self) -> Outcome:
        while self.waiting or self.running:
            self._keep_running()
            self._admit()
            self._pass()
        return Outcome(
            tuple(_joined(self.spans)), tuple(self.frames), tuple(self.first), tuple(self.finished),
            tuple(self.made), self.preemptions, self.server.slots,
        )  # fmt: skip

    def _tokens_after(self, request: int) -> int:
        return self.requests[request].prompt_tokens + self.made[request] + 1

    def _keep_running(self) -> None:
        """Room for one more token of each running request, oldest first; the youngest pays."""
        for request in list(self.running):
            if request not in self.running:
                continue
            prompt = self.requests[request].prompt_tokens
            while self.pool.missing(request, prompt, self._tokens_after(request)) > len(self.pool.free):
                youngest = next(reversed(self.running))
                self.pool.release(youngest)
                del self.running[youngest]
                self.waiting.insert(0, youngest)
                self.preemptions += 1
                if youngest == request:
                    break
            else:
                self.pool.grow(request, prompt, self._tokens_after(request))

    def _admit(self) -> None:
        now = len(self.frames)
        while self.waiting and len(self.running) < self.server.slots:
            request = self.waiting[0]
            prompt, tokens = self.requests[request].prompt_tokens, self._tokens_after(request)
            if self.requests[request].arrival > now:
                break
            if self.pool.missing(request, prompt, tokens) > len(self.pool.free):
                break
            self.waiting.pop(0)
            self.pool.grow(request, prompt, tokens)
            slot = min(set(range(self.server.slots)) - set(self.running.values()))
            self.running[request] = slot
            self.fresh.add(request)

    def _pass(self) -> None:
        now = len(self.frames)
        for request, slot in self.running.items():
            kind = PREFILL if request in self.fresh else DECODE
            self.spans.append(Span(slot, request, now, now + 1, kind))
            self.made[request] += 1
            self.first[request] = self.first[request] or now + 1
        self.fresh.clear()
        self.frames.append(self._frame())
        for request in [r for r in self.running if self.made[r] == self.requests[r].answer_tokens]:
            self.finished[request] = now + 1
            self.pool.release(request)
            del self.running[request]

    def _frame(self) -> Frame:
        size, fill = self.pool.size, {}
        for request, table in self.pool.tables.items():
            held = self.requests[request].prompt_tokens + self.made[request]
            for index, block in enumerate(table):
                fill[block] = min(size, held - index * size)
        tables = {request: tuple(table) for request, table in self.pool.tables.items()}
        return Frame(len(fill) * size, sum(fill.values()), tables, fill)


def continuous_batching(requests: Sequence[Request], server: Server) -> Outcome:
    """Serve with places that are refilled at once and memory in blocks. Raises as ``check`` does."""
    check(requests, server)
    return _Continuous(requests, server).run()


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Neighbouring passes of one request in one slot and of one kind as a single span."""
    joined: dict[tuple[int, int, str, int], Span] = {}
    for span in spans:
        before = joined.pop((span.slot, span.request, span.kind, span.start), None)
        start = before.start if before else span.start
        whole = Span(span.slot, span.request, start, span.end, span.kind)
        joined[(span.slot, span.request, span.kind, span.end)] = whole
    return sorted(joined.values(), key=lambda span: (span.start, span.slot))
