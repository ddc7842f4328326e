"""The server side of the app: static assets, the health address, start-up, and what a crash shows."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from core.components import lines
from core.components.versions import ASSETS, SERVED_FOLDERS, asset_version
from core.ui import loading, state
from core.ui.late_events import drop_late_events
from core.ui.pages import ALL_PAGES
from core.ui.text import label

LOG = logging.getLogger("next_token")

# Said outright, because a machine's own table of types may call JavaScript plain text.
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
MAX_EVENT_BYTES = 64 * 1024
LINES = ThreadPoolExecutor(max_workers=64, thread_name_prefix="line")
FOREVER = "public, max-age=31536000, immutable"
ASK_FIRST = "no-cache"


def routes() -> list[BaseRoute]:
    """``/assets/<version>/<path>`` (kept for good by browsers), ``/healthz``, and the document of each
    page."""
    base = "/" + str(st.get_option("server.baseUrlPath") or "").strip("/")
    base = base.rstrip("/")
    found: list[BaseRoute] = [
        Route(f"{base}/assets/{{path:path}}", serve_asset, methods=["GET", "HEAD"]),
        Route(f"{base}/healthz", health),
        Route(f"{base}/line/{{token}}", answer_line, methods=["POST"]),
        Route(f"{base}/", document),
        *(Route(f"{base}/{page.path}", document) for page in ALL_PAGES),
    ]
    if base:
        found.append(Route("/healthz", health))
    return found


async def document(_request: Request) -> Response:
    """The HTML that every page starts from."""
    return HTMLResponse(_document(), headers={"Cache-Control": ASK_FIRST})


@cache
def _document() -> str:
    """Streamlit's own index.html with our title and icon, and ``assets/js/boot.js`` ahead of its scripts.

    The typeface that it would fetch ahead is left out: this app does not use it.
    """
    index = Path(st.__file__).parent / "static" / "index.html"
    text = index.read_text(encoding="utf-8")
    name = html.escape(label("shell", "app_name"))
    assets = f"./assets/{asset_version()}"
    boot = f'<script src="{assets}/js/boot.js"></script>'
    text = re.sub(r"<title>.*?</title>", lambda _: f"<title>{name}</title>\n    {boot}", text, count=1)
    text = text.replace('href="./favicon.png"', f'href="{assets}/images/icon.svg"')
    return re.sub(r'<link\s+rel="preload"[^>]*as="font"[^>]*/>', "", text)


async def serve_asset(request: Request) -> Response:
    """A file of assets/js, assets/css or assets/fonts; anything else is not found."""
    path = str(request.path_params["path"])
    version, _, rest = path.partition("/")
    versioned = version not in SERVED_FOLDERS
    file = (ASSETS / (rest if versioned else path)).resolve()
    inside = any(file.is_relative_to(ASSETS / folder) for folder in SERVED_FOLDERS)
    media_type = MEDIA_TYPES.get(file.suffix)
    if not inside or media_type is None or not file.is_file():
        return PlainTextResponse("Not found", status_code=404)
    cache = FOREVER if versioned and version == asset_version() else ASK_FIRST
    headers = {"Cache-Control": cache, "X-Content-Type-Options": "nosniff"}
    return FileResponse(file, media_type=media_type, headers=headers)


async def answer_line(request: Request) -> Response:
    """An event of a component, answered without a run of its page (see ``core.components.lines``).

    204 where there is no such line (any more) or it has no answer, as when the prompt has just changed: the
    browser then sends the event the usual way.
    """
    body = await request.body()
    try:
        payload = json.loads(body) if len(body) <= MAX_EVENT_BYTES else None
    except (ValueError, RecursionError):
        payload = None
    token = str(request.path_params["token"])
    # Threads of their own: learners who wait for the model must not hold up the files that others load.
    message = await asyncio.get_running_loop().run_in_executor(LINES, lines.ask, token, payload)
    if message is None:
        return Response(status_code=204)
    # Said to be encoded already: packing logits takes milliseconds in the server's one loop and saves little.
    headers = {"Cache-Control": "no-store", "Content-Encoding": "identity"}
    return Response(message, media_type="application/octet-stream", headers=headers)


async def health(_request: Request) -> Response:
    """Answers at once, while the model may still be loading; ``model`` says how far that is."""
    return JSONResponse({"status": "ok", "model": loading.default_status()})


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Start loading the default model beside the server, so that the first page need not wait for it."""
    drop_late_events()
    loading.start_default()
    yield


def on_script_error(error: Exception) -> bool:
    """Log what happened, show a calm notice instead of a traceback."""
    LOG.error("A page failed.", exc_info=error)
    state.forget_fragments()
    st.error(f"**{label('shell', 'crash_what')}** {label('shell', 'crash_todo')}", icon=":material/healing:")
    return True
