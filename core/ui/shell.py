"""The script that Streamlit runs: style, navigation, and the page that was asked for."""

from __future__ import annotations

import streamlit as st

from core.components.versions import ASSETS
from core.ui import state
from core.ui.pages import PageInfo, available_pages, home_page
from core.ui.text import label


def main() -> None:
    """One run of the app."""
    st.set_page_config(page_title=label("shell", "app_name"), layout="wide")
    st.html(ASSETS / "css" / "shell.css")
    chosen = st.navigation(_navigation(), expanded=True)
    state.begin_run(chosen.url_path)
    chosen.run()
    state.write_link()


def _navigation() -> dict[str, list[st.Page]]:  # type: ignore[valid-type]
    sections: dict[str, list[st.Page]] = {}  # type: ignore[valid-type]
    home = home_page()
    for page in available_pages():
        sections.setdefault(label("shell", f"section_{page.section}"), []).append(_streamlit_page(page, page == home))
    return sections


def _streamlit_page(page: PageInfo, is_home: bool) -> st.Page:  # type: ignore[valid-type]
    return st.Page(
        page.file,
        title=label("shell", f"page_{page.name}"),
        icon=page.icon,
        url_path=page.path,
        default=is_home,
    )


if __name__ == "__main__":
    main()
