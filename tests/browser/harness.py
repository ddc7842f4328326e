"""The running app and a browser that looks at it, for the tests in this folder and in tests/load.

    with running_app() as app, sync_playwright() as playwright:
        browser = launch(playwright)
        view = View(browser, app.address)
        view.open("generate", prompt="Dog bites man", step=3)
        view.page.get_by_role("button", name="Next").click()
        view.ready()
        view.assert_clean()          # nothing left the machine, nothing was written to the console
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    Request,
    TimeoutError,
    expect,
)

from core.ui.text import label
from tools import find_browser

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "test-results"
AXE = ROOT / "tests" / "vendor" / "axe-core" / "axe.min.js"

# The first start fetches and converts the weights; later starts take seconds.
START_TIMEOUT_S = 600
# Every wait ends as soon as what it waits for is there; a busy machine with two cores may need this long.
READY_TIMEOUT_MS = 60_000
expect.set_options(timeout=READY_TIMEOUT_MS)
SIZES = {"wide": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
LOCAL_HOSTS = {"127.0.0.1", "localhost", "::1"}
_QUIET = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
]
CRASH_SIGNS = (label("shell", "crash_what"), "Traceback (most recent call last)")
FAILED_CHECK = label("shell", "check_failed", what="", error="", allowed="").split(",")[-1].strip()
Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class App:
    """A running server: its address without a slash at the end, its process, the file with its output."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_app(port: int | None = None, timeout_s: float = START_TIMEOUT_S) -> Iterator[App]:
    """Start `streamlit run app.py` with the real model, wait until it is loaded, stop it at the end."""
    port = port or int(os.environ.get("NEXT_TOKEN_TEST_PORT") or free_port())
    log = Path(tempfile.mkdtemp(prefix="next-token-")) / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    command += ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT
        )
    app = App(f"http://127.0.0.1:{port}", process, log)
    try:
        _wait_for_model(app, time.monotonic() + timeout_s)
        yield app
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)


def _wait_for_model(app: App, deadline: float) -> None:
    state: Any = None
    while time.monotonic() < deadline:
        if app.process.poll() is not None:
            raise RuntimeError(f"The app ended with {app.process.returncode}:\n{app.output()[-4000:]}")
        state = health(app.address)
        model = state.get("model") if state else None
        if model == "failed":
            raise RuntimeError(f"The model could not be loaded:\n{app.output()[-4000:]}")
        if state is not None and model not in {"loading", "not started"}:
            return
        time.sleep(0.3)
    raise RuntimeError(f"The app was not ready in time; /healthz said {state}:\n{app.output()[-4000:]}")


def health(address: str) -> dict[str, Any] | None:
    """What /healthz says, None while nothing answers."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            return dict(json.load(answer))
    except (urllib.error.URLError, OSError, ValueError):
        return None


def launch(playwright: Playwright) -> Browser:
    """A headless Chromium: the machine's own if there is one, else playwright's."""
    flags = list(_QUIET)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    named = os.environ.get("CHROMIUM") or find_browser.on_path()
    return playwright.chromium.launch(executable_path=named, args=flags)


@dataclass
class View:
    """One tab. Everything it asks for and complains about is written down.

    All tabs share one browser context, and so the files it has kept and compiled: opening a page takes a
    fraction of the time of a first visit. What a page stored there is dropped when its tab is closed.
    """

    browser: Browser
    address: str
    size: str = "wide"
    theme: Theme = "light"
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        width, height = SIZES[self.size]
        known = self.browser.contexts
        context = known[0] if known else self.browser.new_context(reduced_motion="reduce")
        self.page = context.new_page()
        self.page.set_default_timeout(READY_TIMEOUT_MS)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=self.theme, reduced_motion="reduce")
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on("request", self._request)
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    # Going somewhere -------------------------------------------------------------------------------

    def open(self, path: str = "", **params: object) -> Page:
        """Open a page by its address and wait until it is drawn; `params` go into the link."""
        query = f"?{urlencode({key: str(value) for key, value in params.items()})}" if params else ""
        self.page.goto(f"{self.address}/{path.lstrip('/')}{query}", wait_until="domcontentloaded")
        return self.ready()

    def ready(self, timeout_ms: float = READY_TIMEOUT_MS) -> Page:
        """Wait until the script has run, no progress is shown and the page has stopped changing."""
        self.page.wait_for_function(_DRAWN, timeout=timeout_ms, polling=60)
        self.page.evaluate("document.fonts.ready.then(() => true)")
        # A page that plays (an animation of the run) never holds still; drawn is enough then.
        with suppress(TimeoutError):
            self.page.wait_for_function(_SETTLED, timeout=10_000, polling="raf")
        return self.page

    def wait_for_text(self, *texts: str) -> None:
        """Wait until the screen shows each of the texts, runs of spaces being one."""
        for text in texts:
            self.page.wait_for_function(_SHOWS, arg=text, polling=100)

    def resize(self, size: str, settle: bool = True) -> None:
        """Another window; ``settle=False`` for one that is left for another page at once."""
        width, height = SIZES[size]
        self.page.set_viewport_size({"width": width, "height": height})
        if settle:
            self.ready()

    def set_theme(self, theme: Theme, settle: bool = True) -> None:
        """Switch as a person's system would; the app follows because nobody chose a theme by hand."""
        self.page.emulate_media(color_scheme=theme)
        if settle:
            self.page.wait_for_function(_THEMED, arg=theme == "dark")
            self.ready()

    def screenshot(self, name: str, full_page: bool = True) -> Path:
        """Keep a picture under test-results/ and return its path."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.png"
        self.page.screenshot(path=path, full_page=full_page)
        return path

    # What must hold --------------------------------------------------------------------------------

    def outside_requests(self) -> list[str]:
        """Addresses that are not this machine's; data and blob addresses never leave the browser."""
        kept = {"data", "blob", "about", "chrome-extension"}
        parts = [(url, urlsplit(url)) for url in self.requests]
        return [url for url, part in parts if part.scheme not in kept and part.hostname not in LOCAL_HOSTS]

    def assert_clean(self) -> None:
        """Nothing left the machine, nothing failed in the console, no crash of ours is on the screen."""
        assert not self.outside_requests()
        assert not self.complaints
        assert not self.crashes()
        assert not self.failed_checks()

    def failed_checks(self) -> list[str]:
        """The page's own checks that do not hold: what it recomputed differs from what the model computed."""
        return self.page.get_by_text(FAILED_CHECK).all_inner_texts()

    def crashes(self) -> list[str]:
        """What the screen says of a crash: our own notice, a traceback, or Streamlit's error box."""
        shown = [self.page.get_by_text(sign) for sign in CRASH_SIGNS]
        found = [*shown, self.page.get_by_test_id("stException")]
        return [text for place in found for text in place.all_inner_texts()]

    def no_sideways_scroll(self) -> None:
        """The page is no wider than the window. Parts inside may scroll by themselves.

        Charts take their new width some time after the window changed; the page has a moment to come to rest.
        """
        with suppress(TimeoutError):
            self.page.wait_for_function(f"() => !({_WIDER_THAN_WINDOW})().length", timeout=15_000)
        wide = self.page.evaluate(_WIDER_THAN_WINDOW)
        assert not wide, f"wider than the window at {self.page.viewport_size}: {wide}"

    def accessibility_faults(self) -> list[str]:
        """What axe-core finds at WCAG 2 A and AA, one line per fault: rule, effect, where. No rule is off."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
        result = self.page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{fault['id']} ({fault['impact']}): " + ", ".join(str(n["target"]) for n in fault["nodes"][:3])
            for fault in result["violations"]
        ]

    def assert_accessible(self) -> None:
        """axe-core finds nothing serious or critical."""
        grave = ("(serious)", "(critical)")
        assert not [fault for fault in self.accessibility_faults() if any(word in fault for word in grave)]

    def close(self) -> None:
        with suppress(Error):  # a tab that shows nothing of the app has no storage
            self.page.evaluate("localStorage.clear()")
        self.page.close()


def text_of(page: Page) -> str:
    """All the text on the screen, with runs of spaces made one."""
    return re.sub(r"\s+", " ", page.locator("[data-testid=stApp]").inner_text())


# Streamlit writes the state of its script on the app's element; our own notice of a loading model has a key.
_DRAWN = """() => {
  const app = document.querySelector("[data-testid=stApp]")
  if (!app || app.getAttribute("data-test-script-state") !== "notRunning") return false
  if (app.getAttribute("data-test-connection-state") !== "CONNECTED") return false
  const busy = ".st-key-nt_loading, [data-testid=stSkeleton], [data-testid=stSpinner]"
  if (document.querySelector(busy)) return false
  return !!document.querySelector("[data-testid=stMain] h1, [data-testid=stMain] h2, [data-testid=stAlert]")
}"""

# True once the document has been the same for 250 ms. Keeps its own watcher on the window.
_SETTLED = """() => {
  const now = performance.now()
  if (!window.__ntWatch) {
    const watch = { at: now }
    watch.observer = new MutationObserver(() => { watch.at = performance.now() })
    const all = { subtree: true, childList: true, attributes: true, characterData: true }
    watch.observer.observe(document.body, all)
    window.__ntWatch = watch
    return false
  }
  if (now - window.__ntWatch.at < 250) return false
  window.__ntWatch.observer.disconnect()
  delete window.__ntWatch
  return true
}"""

_SHOWS = """(text) => {
  const app = document.querySelector("[data-testid=stApp]")
  return !!app && app.innerText.replace(/\\s+/g, " ").includes(text)
}"""

_THEMED = """(dark) => {
  const app = document.querySelector("[data-testid=stApp]")
  const [red, green, blue] = getComputedStyle(app).backgroundColor.match(/[0-9.]+/g).map(Number)
  return (red + green + blue < 384) === dark
}"""

# Streamlit scrolls inside stMain, so the document alone would never be too wide.
_WIDER_THAN_WINDOW = """() => {
  const boxes = [document.scrollingElement, document.querySelector("[data-testid=stMain]")]
  return boxes.filter((box) => box && box.scrollWidth > box.clientWidth + 1)
    .map((box) => `${box.tagName} ${box.scrollWidth} > ${box.clientWidth}`)
}"""
