"""Targets: every position of a text scored on the token after it; writing is not what was trained."""

from core.ui.page import Try, open_page
from core.ui.targets import numbers_section, rows_section, text_section
from core.ui.targets_forcing import forcing_section

TWICE = "My neighbour keeps seven grey geese in a blue shed."
EXPERIMENTS = [
    Try("try_famous", {"prompt": "To be, or not to be, that is the question", "chat": False}),
    Try("try_scrambled", {"prompt": "be or question, the To not is be, to that", "chat": False}),
    Try("try_twice", {"prompt": f"{TWICE} {TWICE}", "chat": False}),
    Try("try_false", {"prompt": "The capital of France is Rome.", "chat": False}),
    Try("try_chat", {"prompt": "What is the capital of France?", "chat": True}),
]

page = open_page("targets", grid=False)
page.intro()
page.grid()
text = text_section(page)
scored = rows_section(page, text)
page.try_this(EXPERIMENTS)
if scored is not None:
    page.section("specials")
    numbers_section(page, scored)
forcing_section(page, text)
