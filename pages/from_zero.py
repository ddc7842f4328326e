"""From zero: a small model trained in the page, from random weights to one that every other page can open."""

from core.ui.from_zero import training_section
from core.ui.reading import open_reading

page = open_reading("from_zero", bar=True)
page.intro()
training_section(page)
