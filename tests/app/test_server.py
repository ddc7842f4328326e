"""The server beside the pages: what is served, with which type, for how long, and what is not."""

from __future__ import annotations

import gc
import logging
import sys

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.components.lines import Line
from core.components.versions import ASSETS, asset_version
from core.ui import loading
from core.ui.pages import ALL_PAGES
from core.ui.server import routes
from tests.app import fakes


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("js/lib/loader.js", "text/javascript"),
        ("css/tokens.css", "text/css"),
        ("fonts/inter-latin-wght-normal.woff2", "font/woff2"),
        ("images/icon.svg", "image/svg+xml"),
    ],
)
def test_assets_have_their_type_and_a_lasting_address(client: TestClient, path: str, media_type: str) -> None:
    lasting = client.get(f"/assets/{asset_version()}/{path}")
    assert lasting.status_code == 200 and lasting.content == (ASSETS / path).read_bytes()
    assert lasting.headers["content-type"].startswith(media_type)
    assert "immutable" in lasting.headers["cache-control"]
    for other in (f"/assets/{path}", f"/assets/0000000000/{path}"):
        assert client.get(other).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    ["/assets/presets.toml", "/assets/text/en/shell.md", "/assets/v/../app.py", "/assets/%2e%2e/app.py"],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_page_address_gets_our_document(client: TestClient) -> None:
    for path in ("", *(page.path for page in ALL_PAGES)):
        reply = client.get(f"/{path}")
        assert reply.status_code == 200
        assert "<title>Next Token</title>" in reply.text
        assert reply.text.index("js/boot.js") < reply.text.index('type="module"')
        assert "SourceSans" not in reply.text and "favicon.png" not in reply.text


def test_a_line_answers_its_event_and_has_nothing_for_everything_else(client: TestClient) -> None:
    line = Line("act")
    line.answer = lambda payload: b"moved" if payload == {"kind": "next"} else None
    reply = client.post(f"/line/{line.token}", json={"kind": "next"})
    assert (reply.status_code, reply.content) == (200, b"moved")
    assert reply.headers["cache-control"] == "no-store"
    assert client.post(f"/line/{line.token}", json={"kind": "other"}).status_code == 204
    assert client.post(f"/line/{line.token}", content=b"{" * 10).status_code == 204
    assert client.post(f"/line/{line.token}", content=b'"' + b"x" * 100_000 + b'"').status_code == 204
    assert client.post(f"/line/{line.token}", content=b"[" * 60_000).status_code == 204
    assert client.post("/line/unknown", json={"kind": "next"}).status_code == 204
    assert client.get(f"/line/{line.token}").status_code == 405


def test_health_answers_while_the_model_loads(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_loads", {"smollm2-135m": loading.Load("smollm2-135m")})
    reply = client.get("/healthz")
    assert reply.status_code == 200 and reply.json() == {"status": "ok", "model": "loading"}


def test_start_up_warms_and_freezes_once_the_model_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.keep_modules(monkeypatch)
    fakes.install()
    order: list[str] = []
    startup = sys.modules["core.engine.startup"]
    monkeypatch.setattr(startup, "warm_and_freeze", lambda model: order.append(model.name))
    monkeypatch.setattr(loading, "_loads", {})
    loading.start_default()
    assert loading.begin("smollm2-135m").done.wait(5)
    assert order == ["smollm2-135m"] and loading.default_status() == "ready"
    assert gc.isenabled()


def test_two_visitors_load_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.keep_modules(monkeypatch)
    calls: list[str] = []
    fakes.install(lambda name, progress=None: calls.append(name))
    monkeypatch.setattr(loading, "_loads", {})
    loads = [loading.begin("other") for _ in range(5)]
    assert all(load.done.wait(5) for load in loads)
    assert calls == ["other"] and len({id(load) for load in loads}) == 1


def test_a_failed_load_is_logged_with_its_cause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fakes.keep_modules(monkeypatch)
    fakes.install(lambda name, progress=None: 1 / 0)
    monkeypatch.setattr(loading, "_loads", {})
    with caplog.at_level(logging.ERROR, logger="next_token"):
        loading.begin("broken").done.wait(5)
    assert "ZeroDivisionError" in caplog.text


def test_after_start_up_a_full_collection_has_next_to_nothing_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from core.engine.startup import warm_and_freeze

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    gc.collect()  # garbage of the tests before is none of the start-up's
    before = len(gc.get_objects())
    try:
        warm_and_freeze(fakes.FakeModel())  # type: ignore[arg-type]
        assert gc.get_freeze_count() > 0.9 * before
        assert (
            len(gc.get_objects()) < 0.1 * before
        )  # what Streamlit's collection after each script run visits
    finally:
        gc.unfreeze()
