"""Gradient step: real steps on a copy of the model, and what they do to this text and to others."""

from core.ui.gradient_step import Experiment, training_section
from core.ui.page import open_page

FRANCE, GEESE = "The capital of France is", "My neighbour keeps seven"
READY = (
    Experiment("try_fact", FRANCE, "text_fact", "last_block", "adamw", 0.0003, 5),
    Experiment("try_one", FRANCE, "text_fact", "last_block", "sgd", 0.03, 1),
    Experiment("try_new", GEESE, "text_new", "all", "adamw", 0.00003, 4),
    Experiment("try_forget", FRANCE, "text_fact", "last_block", "adamw", 0.003, 8),
)

page = open_page("gradient_step", grid=False)
page.intro()
page.grid()
training_section(page, READY)
