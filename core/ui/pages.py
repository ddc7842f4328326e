"""Every page of the app: its file, its address, where it stands in the navigation. Titles are in shell.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGES_FOLDER = Path(__file__).resolve().parents[2] / "pages"


@dataclass(frozen=True)
class PageInfo:
    """``name`` is the file's stem, the text's stem and the key of the title; ``path`` the address."""

    name: str
    path: str
    section: str
    icon: str

    @property
    def file(self) -> Path:
        return PAGES_FOLDER / f"{self.name}.py"


ALL_PAGES: tuple[PageInfo, ...] = (
    PageInfo("journey", "journey", "start", ":material/explore:"),
    PageInfo("tour", "tour", "start", ":material/signpost:"),
    PageInfo("generate", "generate", "run", ":material/play_circle:"),
    PageInfo("tokens", "tokens", "inside", ":material/segment:"),
    PageInfo("embeddings", "embeddings", "inside", ":material/scatter_plot:"),
    PageInfo("position", "position", "inside", ":material/rotate_right:"),
    PageInfo("attention", "attention", "inside", ":material/visibility:"),
    PageInfo("block", "block", "inside", ":material/layers:"),
    PageInfo("output", "output", "inside", ":material/bar_chart:"),
    PageInfo("sampling", "sampling", "choosing", ":material/casino:"),
    PageInfo("tree", "tree", "choosing", ":material/account_tree:"),
    PageInfo("what_if", "what-if", "choosing", ":material/alt_route:"),
    PageInfo("timeline", "timeline", "decode", ":material/timeline:"),
    PageInfo("kv_cache", "kv-cache", "decode", ":material/inventory_2:"),
    PageInfo("calculators", "calculators", "decode", ":material/calculate:"),
    PageInfo("experts", "experts", "moe", ":material/hub:"),
    PageInfo("targets", "targets", "training", ":material/target:"),
    PageInfo("gradient_step", "gradient-step", "training", ":material/trending_down:"),
    PageInfo("from_zero", "from-zero", "training", ":material/egg:"),
    PageInfo("concepts", "concepts", "recap", ":material/map:"),
    PageInfo("quiz", "quiz", "recap", ":material/quiz:"),
    PageInfo("glossary", "glossary", "recap", ":material/menu_book:"),
)


def available_pages() -> tuple[PageInfo, ...]:
    """The pages whose file exists, in the order of the navigation."""
    return tuple(page for page in ALL_PAGES if page.file.is_file())


def home_page() -> PageInfo:
    """The page at ``/``: the journey, and Generate (or the first page there is) until the journey exists."""
    pages = {page.name: page for page in available_pages()}
    return pages.get("journey") or pages.get("generate") or next(iter(pages.values()))


def page_info(name: str) -> PageInfo:
    """The page called ``name``. Raises KeyError when there is none."""
    for page in ALL_PAGES:
        if page.name == name:
            return page
    raise KeyError(name)
