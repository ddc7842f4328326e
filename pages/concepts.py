"""Concepts: the 37 ideas as a map along the pipeline, each linked to where it is seen live."""

from core.ui.concepts import concepts_view
from core.ui.reading import open_reading

page = open_reading("concepts")
page.intro()
concepts_view()
