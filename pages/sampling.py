"""Sampling: from raw scores to the drawn token, every stage side by side, all moving with the sliders."""

from typing import Any

from core.ui.guess import guess_first
from core.ui.page import Try, open_page
from core.ui.sampling import checks, formula, laboratory

USUAL: dict[str, Any] = {"temperature": 0.8, "top_k": 0, "top_p": 0.95, "min_p": 0.0, "penalty": 1.0}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "try_greedy": {"temperature": 0.0},
    "try_hot": {"temperature": 2.0, "top_p": 1.0},
    "try_hot_safe": {"temperature": 2.0, "top_p": 1.0, "min_p": 0.1},
    "try_top_k": {"top_k": 5, "top_p": 1.0},
    "try_top_p": {"top_p": 0.5},
    "try_penalty": {"prompt": "one two three one two three one two", "penalty": 1.5},
    "try_unsure": {"prompt": "My favourite colour is", "temperature": 1.0, "top_p": 1.0},
}

page = open_page("sampling", grid=False)
page.intro()
page.grid()
page.try_this([Try(name, USUAL | changes) for name, changes in EXPERIMENTS.items()])
guess_first(page)
result = laboratory(page)
page.section("rules")
page.section("worked")
formula(page, result)
page.tensor("lm_head", (page.model.shape.vocab_size,), page.model.shape.dtype)
checks(page, result)
