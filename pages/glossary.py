"""Glossary: every term in plain words, as the field writes it, where it is seen, and its sources."""

from core.ui.glossary import glossary_view
from core.ui.reading import open_reading

page = open_reading("glossary")
page.intro()
glossary_view()
