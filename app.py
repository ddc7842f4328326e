"""The entry: ``streamlit run app.py`` or ``uvicorn app:app``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st

from core.ui.server import lifespan, on_script_error, routes

# The script lies apart from pages/, else Streamlit would take that folder for its old multipage mode.
app = st.App(
    ROOT / "core" / "ui" / "shell.py",
    lifespan=lifespan,
    routes=routes(),
    on_script_error=on_script_error,
)

if __name__ == "__main__":
    app.run()
