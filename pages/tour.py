"""The guided tour: its stops, the selections for a class, and where to go on."""

from core.ui.reading import open_reading
from core.ui.tour_page import tour_view

page = open_reading("tour")
page.intro()
tour_view(page.session)
page.section("keys")
