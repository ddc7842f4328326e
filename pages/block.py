"""The block: one layer from left to right, its norm, its neurons, and what it adds to the residual stream."""

from core.ui.block import (
    beyond_the_block,
    flow_section,
    neuron_section,
    norm_section,
    parameter_section,
    stream_fragment,
)
from core.ui.page import Page, Try, open_page

page = open_page("block", grid=False)
last = page.model.shape.n_layers - 1


def experiments(page: Page) -> None:
    """What to try, right below the block."""
    page.try_this(
        [
            Try("try_first", {"layer": 0}),
            Try("try_last", {"layer": last}),
            Try("try_paris", {"prompt": "The capital of France is", "layer": max(0, last - 1)}),
            Try("try_start", {"position": 0, "layer": min(3, last)}),
        ]
    )


page.intro()
page.follow(
    Page.pickers,
    flow_section,
    experiments,
    lambda now: now.deeper("norm", norm_section),
    lambda now: now.deeper("neurons", neuron_section),
    rest=beyond_the_block,
)
stream_fragment(page)
parameter_section(page)
