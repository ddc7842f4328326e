"""The serving simulation: what must hold whatever requests arrive."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.lessons.batching import (
    HELD,
    Frame,
    Outcome,
    Request,
    Server,
    continuous_batching,
    sample_requests,
    static_batching,
)

REQUEST = st.builds(Request, st.integers(0, 12), st.integers(1, 40), st.integers(1, 24))
REQUESTS = st.lists(REQUEST, min_size=1, max_size=9)
SERVER = st.builds(
    Server,
    slots=st.integers(1, 5),
    block_tokens=st.integers(1, 16),
    n_blocks=st.integers(64, 90),
    answer_limit=st.just(24),
    shared_prefix_tokens=st.integers(0, 40),
)
TIGHT = Server(slots=4, block_tokens=4, n_blocks=8, answer_limit=24)


def _check_common(requests: list[Request], server: Server, outcome: Outcome) -> None:
    assert outcome.generated == tuple(r.answer_tokens for r in requests)
    spent = [0] * len(requests)
    busy: set[tuple[int, int]] = set()
    for span in outcome.spans:
        assert 0 <= span.slot < server.slots
        cells = {(span.slot, step) for step in range(span.start, span.end)}
        assert not cells & busy, "two requests in one place"
        busy |= cells
        if span.kind != HELD:
            spent[span.request] += span.end - span.start
            assert span.start >= requests[span.request].arrival
    assert spent == [r.answer_tokens for r in requests], "one token a pass, none lost, none twice"
    for i, request in enumerate(requests):
        assert request.arrival < outcome.first_token[i] <= outcome.finished[i] <= outcome.passes


@settings(max_examples=120, deadline=None)
@given(REQUESTS, SERVER)
def test_tokens_are_conserved_and_no_place_is_taken_twice(requests: list[Request], server: Server) -> None:
    server = Server(server.slots, server.block_tokens, 64 * 16, 24, server.shared_prefix_tokens)
    _check_common(requests, server, static_batching(requests, server))
    _check_common(requests, server, continuous_batching(requests, server))


@settings(max_examples=120, deadline=None)
@given(REQUESTS, SERVER)
def test_blocks_belong_to_one_request_unless_a_prefix_is_shared(
    requests: list[Request], server: Server
) -> None:
    outcome = continuous_batching(requests, server) if _room(requests, server) else None
    for frame in outcome.frames if outcome else ():
        _check_blocks(frame, requests, server)


def _room(requests: list[Request], server: Server) -> bool:
    return all(r.prompt_tokens + r.answer_tokens <= server.n_blocks * server.block_tokens for r in requests)


def _check_blocks(frame: Frame, requests: list[Request], server: Server) -> None:
    held: dict[int, list[tuple[int, int]]] = {}
    for request, table in frame.tables.items():
        assert len(set(table)) == len(table)
        for index, block in enumerate(table):
            assert 0 <= block < server.n_blocks
            held.setdefault(block, []).append((request, index))
    for owners in held.values():
        if len(owners) > 1:
            indices = {index for _, index in owners}
            assert len(indices) == 1, "a shared block holds the same part of the prefix for all"
            end = (indices.pop() + 1) * server.block_tokens
            assert all(end <= min(server.shared_prefix_tokens, requests[r].prompt_tokens) for r, _ in owners)
    assert frame.reserved_tokens == len(held) * server.block_tokens
    assert frame.reserved_tokens <= server.n_blocks * server.block_tokens
    # only the last block of a request may be part empty
    assert 0 <= frame.wasted_tokens <= len(frame.tables) * (server.block_tokens - 1)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.builds(Request, st.integers(0, 5), st.integers(1, 8), st.integers(1, 24)), min_size=2, max_size=8
    )
)
def test_too_little_memory_delays_requests_and_loses_no_token(requests: list[Request]) -> None:
    outcome = continuous_batching(requests, TIGHT)
    _check_common(requests, TIGHT, outcome)
    for frame in outcome.frames:
        _check_blocks(frame, requests, TIGHT)


def test_the_request_admitted_last_gives_way_when_no_block_is_free() -> None:
    requests = [Request(0, 8, 20), Request(0, 8, 20)]
    outcome = continuous_batching(requests, TIGHT)
    assert outcome.preemptions >= 1
    assert outcome.finished[0] == 20, "the older request is never held up"
    assert outcome.finished[1] > 20


def test_a_worked_example_by_hand() -> None:
    requests = [Request(0, 3, 4), Request(0, 3, 1), Request(0, 3, 2)]
    server = Server(slots=2, block_tokens=4, n_blocks=16, answer_limit=8)
    static = static_batching(requests, server)
    assert (static.passes, static.finished) == (6, (4, 1, 6))  # the third waits for the first batch to end
    assert static.busy_share == pytest.approx(7 / 12)
    assert static.frames[0].reserved_tokens == 2 * (3 + 8)
    assert static.frames[0].used_tokens == 2 * (3 + 1)
    continuous = continuous_batching(requests, server)
    assert (continuous.passes, continuous.finished) == (4, (4, 1, 3))
    assert continuous.busy_share == pytest.approx(7 / 8)
    assert continuous.frames[1].tables == {0: (0, 1), 2: (2,)}  # block 1 came back from request 1
    assert continuous.frames[1].wasted_tokens == 3  # 5 of 8 tokens, and 4 of 4


def test_a_shared_prefix_is_stored_once() -> None:
    requests = [Request(0, 20, 4)] * 3
    alone = continuous_batching(requests, Server(3, 4, 64, 8, 0)).frames[0]
    shared = continuous_batching(requests, Server(3, 4, 64, 8, 16)).frames[0]
    assert alone.reserved_tokens - shared.reserved_tokens == 2 * 16


def test_the_same_seed_gives_the_same_requests_and_another_seed_others() -> None:
    assert sample_requests(8, 3) == sample_requests(8, 3)
    assert sample_requests(8, 3) != sample_requests(8, 4)
    assert all(r.answer_tokens <= 20 for r in sample_requests(60, 1, longest_answer=20))


@pytest.mark.parametrize(
    ("request_", "hint"),
    [(Request(0, 0, 3), "empty"), (Request(0, 100, 3), "memory"), (Request(0, 2, 25), "limit")],
)
def test_a_request_that_can_never_be_served_is_named(request_: Request, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        continuous_batching([request_], TIGHT)
