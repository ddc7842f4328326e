"""Attention: where a token looks, worked out step by step, for any head; and what switching one off does."""

from core.components.attention import one_head
from core.lessons.attention import contributions, head_facts, heads_sum_error, weighted_sum_error
from core.ui.attention import experiment_part, formulas, labels, names_of, on_place, overview_part, tensors
from core.ui.guess import guess_first
from core.ui.page import Page, Try, open_page

page = open_page("attention", grid=False)
last_layer, last_head = page.model.shape.n_layers - 1, page.model.shape.n_heads - 1


def one(page: Page) -> None:
    """The chosen head, worked out step by step."""
    model, trace, place = page.model, page.trace, page.selection
    view = trace.layer(place.layer)
    facts = head_facts(view, place.head)
    shares = contributions(model, trace, view, place.position)
    one_head(
        facts,
        shares,
        tokens=page.tokens,
        names=names_of(page, shares.token_ids),
        position=place.position,
        n_layers=model.shape.n_layers,
        n_heads=model.shape.n_heads,
        n_kv_heads=model.shape.n_kv_heads,
        labels=labels(),
        on_place=on_place(page),
    )
    formulas(page, facts, place.position)
    tensors(page, view)
    page.check("check_sum", weighted_sum_error(trace, view, place.head), 1e-4)
    page.check("check_heads", heads_sum_error(trace, view), 1e-3)


page.intro()
page.try_this(
    [
        Try("try_sink", {"layer": min(18, last_layer), "head": min(8, last_head)}),
        Try("try_previous", {"layer": min(16, last_layer), "head": 0}),
        Try(
            "try_repeat",
            {
                "prompt": "red fox, blue bird, green frog. red fox, blue bird, green",
                "layer": min(17, last_layer),
            },
        ),
        Try("try_agree", {"prompt": "The cat chased the mouse because it was hungry"}),
    ]
)
guess_first(page)
page.follow(one, experiment_part, overview_part)
