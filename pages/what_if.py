"""What if: another token in one place, both texts side by side; true and false sentences scored."""

from core.ui import knowledge
from core.ui.page import open_page
from core.ui.what_if import show
from core.ui.what_if_ready import Experiment, experiments, sentences

READY = (
    Experiment("try_wrong_fact", "The capital of France is", " Paris", " Berlin"),
    Experiment("try_misspelling", "The animal with the long trunk is the", " elephant", " elefant"),
    Experiment("try_first_word", "Once upon a time there was a", " king", " robot"),
    Experiment("try_premise", "It is well known that cats can", " jump", " fly"),
)
PAIRS = (
    ("The capital of France is Paris.", "The capital of France is Rome."),
    ("Water freezes at zero degrees.", "Water freezes at ninety degrees."),
    ("There are seven days in a week.", "There are nine days in a week."),
    ("Two plus two equals four.", "Two plus two equals five."),
)

page = open_page("what_if", grid=False)
page.intro()
experiments(page, READY)
show(page)
page.section("sentences")
sentences(page, PAIRS)
knowledge.show(page)
