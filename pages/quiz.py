"""Quiz: the five concepts to keep, with questions about the learner's own run."""

from core.ui.page import open_page
from core.ui.quiz import quiz

page = open_page("quiz", grid=False)
page.intro()
quiz(page)
