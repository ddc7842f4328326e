"""How long a cold start takes, against importing torch and transformers and loading the weights alone."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from core.engine.weights import ensure

ROUNDS = 3
_LOAD = (
    "import torch, transformers, sys;"
    "transformers.AutoModelForCausalLM.from_pretrained("
    "sys.argv[1], trust_remote_code=False, use_safetensors=True)"
)
_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 180.0


def startup_figures(model_name: str) -> dict[str, Any]:
    """``cold_start_ratio``: a usable server (model loaded and warm) over the bare load, medians of pairs."""
    folder = str(ensure(model_name))
    pairs = [(_server_s(), _bare_s(folder)) for _ in range(ROUNDS)]
    return {
        "cold_start_ratio": statistics.median(server / bare for server, bare in pairs),
        "cold_start_s": statistics.median(server for server, _ in pairs),
        "bare_load_s": statistics.median(bare for _, bare in pairs),
    }


def _bare_s(folder: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", _LOAD, folder], check=True, capture_output=True)
    return time.perf_counter() - began


def _server_s() -> float:
    """Seconds from starting the server until ``/healthz`` says that the model is ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true"]
    began = time.perf_counter()
    server = subprocess.Popen(
        [*command, f"--server.port={port}", "--server.address=127.0.0.1"],
        cwd=_ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ.copy(),
    )
    try:
        while b'"ready"' not in _health(port):
            if server.poll() is not None or time.perf_counter() - began > _LIMIT_S:
                raise RuntimeError("the server did not become ready")
            time.sleep(0.02)
        return time.perf_counter() - began
    finally:
        server.terminate()
        server.wait(10)


def _health(port: int) -> bytes:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError):
        return b""
