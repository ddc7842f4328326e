"""Figures kept as files: a component's picture and its numbers, written by the browser."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Locator

from tests.browser.harness import View

PROMPT = '<img src=x onerror="alert(1)"> & "Paris"'


def kept(view: View, button: Locator, folder: Path) -> Path:
    with view.page.expect_download() as waiting:
        button.click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def test_a_components_figure_is_kept_as_png_svg_and_csv(view: View, tmp_path: Path) -> None:
    page = view.open("output", prompt=PROMPT)
    row = page.locator(".nt-figure-row:visible").first
    png = kept(view, row.get_by_role("button", name="as PNG"), tmp_path)
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(png.read_bytes()[at : at + 4]) for at in (16, 20))
    assert width > 1000 and height > 300
    svg = kept(view, row.get_by_role("button", name="as SVG"), tmp_path)
    tree = ElementTree.fromstring(svg.read_text("utf-8"))
    assert "Paris" in "".join(tree.itertext())
    assert not [element for element in tree.iter() if "onerror" in element.attrib]
    sources = [image.get("src", "") for image in tree.iter("{http://www.w3.org/1999/xhtml}img")]
    assert all(source.startswith("data:image/png") for source in sources), "only pictures of canvases"
    table = kept(view, row.get_by_role("button", name="as CSV"), tmp_path).read_text("utf-8-sig")
    assert table.startswith("array,i") and len(table.splitlines()) > 500


def test_another_theme_draws_the_servers_charts_anew(view: View) -> None:
    page = view.open("block", prompt="Dog bites man")
    background = page.locator(".js-plotly-plot text").first
    before = background.evaluate("e => getComputedStyle(e).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(_OTHER_INK, arg=before)


_OTHER_INK = """old => {
  const word = document.querySelector(".js-plotly-plot text")
  return word && getComputedStyle(word).fill !== old
}"""
