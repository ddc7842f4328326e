"""A class steps at once on the lines of its pages: each learner gets the run that it would get alone."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.ui import generate, runs
from core.ui.page import Page
from core.ui.server import routes
from core.ui.state import Session
from tests.unit.test_wire import unpack

LEARNERS = 12
STEPS = 6
PROMPTS = ("The capital of France is", "Dog bites man", "Once upon a time")


def learner(model: Any, index: int) -> tuple[Session, str]:
    """A session with its run, and the token of its line."""
    session = Session()
    session.link = replace(session.link, prompt=PROMPTS[index % len(PROMPTS)], seed=index)
    tokens = runs.tokens_of(model.codec, model.shape, session.link)
    session.run = runs.start(model, tokens, session.link, lambda _done: None)
    session.run_of = session.request
    page = Page("generate", session, model)
    return session, generate.stepping_line(page, generate._message).token


def walk(client: TestClient, session: Session, token: str) -> list[int]:
    """The ids that the answers show after some steps."""
    for number in range(1, STEPS + 1):
        event = {"kind": "next", "number": number, "params": session.params.to_json()}
        event["run"] = generate.run_key(session)
        reply = client.post(f"/line/{token}", json=event)
        head, _ = unpack(reply.content)
        assert head["header"]["answered"] == number and head["header"]["state"]["step"] == number
    return [token_id for token_id, *_ in head["header"]["tokens"]]


@pytest.mark.load
def test_each_of_a_class_gets_its_own_run(real_model: Any) -> None:
    client = TestClient(Starlette(routes=routes()))
    alone = [walk(client, *learner(real_model, index)) for index in range(LEARNERS)]
    places = [learner(real_model, index) for index in range(LEARNERS)]
    together: dict[int, list[int]] = {}

    def go(index: int) -> None:
        together[index] = walk(client, *places[index])

    threads = [threading.Thread(target=go, args=(index,)) for index in range(LEARNERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert [together.get(index) for index in range(LEARNERS)] == alone
