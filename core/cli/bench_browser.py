"""What a click costs in the browser, beyond the model's own step, against plain Streamlit pages.

Both servers run at once and the clicks are interleaved in one browser. A click is over when the page's
script has run and nothing in the document (shadow roots included) has changed for a while; the time is
that of the last change.
"""

from __future__ import annotations

import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Response, WebSocket, sync_playwright

from core.errors import UserError
from tools import find_browser

ROUNDS = 12
_ROOT = Path(__file__).resolve().parents[2]
_PROMPT = "prompt=The+capital+of+France+is&temperature=0"
# Pages on which another layer or head can be chosen, measured for their repaint.
REPAINTED = ("attention", "position", "block", "output", "embeddings", "tokens")

# Runs in the page: performs the click, returns milliseconds until the last change.
_CLICK = """
async ([selector, place]) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const roots = [document];
  for (const {shadowRoot} of document.querySelectorAll('*')) if (shadowRoot) roots.push(shadowRoot);
  let last = 0, ran = false;
  const began = performance.now();
  const note = () => { last = performance.now(); };
  const watchers = roots.map((root) => {
    const watcher = new MutationObserver(note);
    watcher.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
    return watcher;
  });
  const find = (root) => root.querySelector(selector) ||
    [...root.querySelectorAll('*')].map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  const target = find(document);
  if (place) {
    const box = (target.querySelector('canvas') || target).getBoundingClientRect();
    const at = {clientX: box.x + box.width * place[0], clientY: box.y + box.height * place[1]};
    target.dispatchEvent(new MouseEvent('click', {bubbles: true, composed: true, ...at}));
  } else target.click();
  return await new Promise((done) => {
    const look = () => {
      const state = app.getAttribute('data-test-script-state');
      ran = ran || state === 'running' || last > began;
      const now = performance.now();
      if ((ran && state === 'notRunning' && now - last > 250) || now - began > 15000) {
        watchers.forEach((watcher) => watcher.disconnect());
        done(last - began);
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}
"""


def browser_figures(model_name: str) -> dict[str, Any]:
    """``next_click_ratio``, ``bytes_per_click`` and one ``repaint_ratio_<page>`` per inside page.

    Raises:
        UserError: there is no Chromium.
    """
    path = find_browser.installed()
    if path is None:
        raise UserError("There is no Chromium for the browser benchmark.", "Run `make browser-ready` first.")
    with ExitStack() as stack:
        app = stack.enter_context(_server("app.py"))
        plain = stack.enter_context(_server("tools/plain_page.py"))
        _wait_for_model(app)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=path, args=["--disable-gpu", "--no-sandbox"])
        stack.callback(browser.close)
        figures = _next_click(browser, app, plain, model_name)
        return figures | _repaints(browser, app, plain, model_name)


def _next_click(browser: Browser, app: str, plain: str, model_name: str) -> dict[str, Any]:
    ours, traffic = _open(browser, f"{app}/generate?{_PROMPT}&tokens=100&model={model_name}")
    theirs, _ = _open(browser, f"{plain}/?charts=4")
    beyond: list[float] = []
    charts: list[float] = []
    sizes: list[int] = []
    for _ in range(ROUNDS + 1):
        traffic.clear()
        elapsed = _click(ours, ".ntg-buttons .primary")
        beyond.append(elapsed - _step_ms(ours))
        sizes.append(sum(traffic))
        charts.append(_click(theirs, ".st-key-next button"))
    ratios = [a / b for a, b in zip(beyond[1:], charts[1:], strict=True)]  # the first round warms up
    return {
        "next_click_ratio": statistics.median(ratios),
        "next_click_beyond_model_ms": statistics.median(beyond[1:]),
        "four_charts_click_ms": statistics.median(charts[1:]),
        "bytes_per_click": int(statistics.median(sizes[1:])),
    }


def _repaints(browser: Browser, app: str, plain: str, model_name: str) -> dict[str, Any]:
    theirs, _ = _open(browser, f"{plain}/?charts=1")
    figures: dict[str, Any] = {}
    for name in REPAINTED:
        if not (_ROOT / "pages" / f"{name}.py").exists():
            continue
        ours, _ = _open(browser, f"{app}/{name}?{_PROMPT}&step=3&layer=5&model={model_name}")
        choose = _layer_chooser(ours)
        pairs = [(choose(), _click(theirs, ".st-key-next button")) for _ in range(ROUNDS // 2 + 1)][1:]
        figures[f"repaint_ratio_{name}"] = statistics.median(a / b for a, b in pairs)
        ours.context.close()
    return figures


def _layer_chooser(page: Page) -> Callable[[], float]:
    """Choosing another layer in the small grid by a click, a high and a low one in turn."""
    turn = [0]

    def choose() -> float:
        turn[0] += 1
        height = 0.3 if turn[0] % 2 else 0.6
        return float(page.evaluate(_CLICK, [".nt-small-grid", [0.1, height]]))

    return choose


def _click(page: Page, selector: str) -> float:
    return float(page.evaluate(_CLICK, [selector, None]))


def _step_ms(page: Page) -> float:
    """The model's own time of the step on screen, as the page itself says it."""
    text = page.evaluate(
        "() => { const texts = []; const walk = (root) => root.querySelectorAll('*').forEach((e) => {"
        " if (e.shadowRoot) { texts.push(e.shadowRoot.textContent); walk(e.shadowRoot); } });"
        " walk(document); return texts.join(' '); }"
    )
    found = re.search(r"(?:in|took) ([\d.,]+) (ms|s)\b", text)
    assert found, f"the Generate page does not say how long its step took: {text[:400]!r}"
    return float(found.group(1).replace(",", "")) * (1 if found.group(2) == "ms" else 1000)


def _open(browser: Browser, address: str) -> tuple[Page, list[int]]:
    """A settled page of its own context, and a list that collects the bytes that go to and fro."""
    # Less motion: the token's fall into the text is a show after the step, not part of what the step costs.
    page = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce").new_page()
    sizes: list[int] = []

    def count(payload: str | bytes) -> None:
        sizes.append(len(payload))

    def on_socket(websocket: WebSocket) -> None:
        websocket.on("framesent", count)
        websocket.on("framereceived", count)

    def on_response(response: Response) -> None:
        if "/line/" in response.url:
            sizes.append(len(response.request.post_data or "") + int(response.headers["content-length"]))

    page.on("websocket", on_socket)
    page.on("response", on_response)
    page.goto(address)
    page.wait_for_selector("h1", timeout=120_000)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=120_000)
    page.wait_for_timeout(2500)
    return page, sizes


@contextmanager
def _server(script: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.headless=true"]
    process = subprocess.Popen(
        [*command, f"--server.port={port}", "--server.address=127.0.0.1"],
        cwd=_ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(15)


def _wait_for_model(address: str, limit_s: float = 600.0) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
                if b"ready" in answer.read():
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.3)
    raise UserError("The app was not ready in time.", "Start it with `make run` and read what it says.")
