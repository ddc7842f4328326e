"""The script that Streamlit runs: style, navigation, and the page that was asked for."""

from __future__ import annotations

import streamlit as st

from core.components.versions import ASSETS
from core.ui import frame, loading, moving, state, terms
from core.ui.pages import PageInfo, available_pages, home_page
from core.ui.text import label, section

IMAGES = ASSETS / "images"
HOME = "home"  # Streamlit wants a name for the page at ``/``; it is in no address.


def main() -> None:
    """One run of the app."""
    # Before the navigation: else a page's own icon would make the browser fetch a favicon from a font server.
    # The entry in the menu brings the menu itself, and with it the choice between light and dark.
    st.set_page_config(
        label("shell", "app_name"),
        str(IMAGES / "icon.svg"),
        layout="wide",
        menu_items={"About": section("shell", "about"), "Get help": None, "Report a bug": None},
    )
    st.html(ASSETS / "css" / "shell.css")
    chosen = st.navigation(_navigation(), expanded=True)
    st.set_page_config(f"{chosen.title} · {label('shell', 'app_name')}")
    theme = "dark" if st.context.theme.type == "dark" else "light"
    st.logo(str(IMAGES / f"wordmark-{theme}.svg"), size="large", icon_image=str(IMAGES / "icon.svg"))
    state.begin_run(chosen.title)
    moving.go_where_asked()
    terms.layer(chosen.title)
    frame.begin(chosen.title)
    loading.wait_for_imports()
    chosen.run()
    state.write_link()


def _navigation() -> dict[str, list[st.Page]]:
    """Sections and their pages. The home page stands at ``/`` and, hidden from the menu, at its own address
    too."""
    sections: dict[str, list[st.Page]] = {}
    home = home_page()
    for page in available_pages():
        name = label("shell", f"section_{page.section}")
        sections.setdefault(name, []).append(_streamlit_page(page, at_root=page == home))
        if page == home:
            sections[name].append(_streamlit_page(page, hidden=True))
    return sections


def _streamlit_page(page: PageInfo, at_root: bool = False, hidden: bool = False) -> st.Page:
    return st.Page(
        page.file,
        title=label("shell", f"page_{page.name}"),
        icon=page.icon,
        url_path=HOME if at_root else page.path,
        default=at_root,
        visibility="hidden" if hidden else "visible",
    )


if __name__ == "__main__":
    main()
