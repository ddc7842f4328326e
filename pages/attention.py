"""Attention: where a token looks, worked out step by step, for any head; and what switching one off does."""

from core.components.attention import one_head
from core.lessons.attention import contributions, head_facts, heads_sum_error, weighted_sum_error
from core.ui.attention import experiment_part, formulas, labels, names_of, on_place, overview_part, tensors
from core.ui.page import Try, open_page

page = open_page("attention")
model, trace, place = page.model, page.trace, page.selection
view = trace.layer(place.layer)
facts = head_facts(view, place.head)
shares = contributions(model, trace, view, place.position)

page.intro()
last = model.shape.n_layers - 1
page.try_this(
    [
        Try("try_sink", {"layer": min(18, last), "head": min(8, model.shape.n_heads - 1)}),
        Try("try_previous", {"layer": min(16, last), "head": 0}),
        Try(
            "try_repeat",
            {"prompt": "red fox, blue bird, green frog. red fox, blue bird, green", "layer": min(17, last)},
        ),
        Try("try_agree", {"prompt": "The cat chased the mouse because it was hungry"}),
    ]
)
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
experiment_part(page)
overview_part(page)
