"""Experts: a real router's choices for every token and layer, and what happens when it is overruled."""

from core.lessons.experts import choices_of
from core.ui.experts import arithmetic, converted, dense_notice, facts, grid_part
from core.ui.experts_more import closer
from core.ui.experts_side import beside_dense
from core.ui.page import Try, open_page

page = open_page("experts", grid=False)
page.intro()
page.grid()
found = choices_of(page.trace)
if found is None:
    dense_notice(page)
    beside_dense(page)
else:
    converted(page)
    grid_part(page, found)
    facts(page, found)
    page.try_this(
        [
            Try("try_numbers", {"prompt": "In 1984, 2 + 2 = 4; then (maybe) 5! Call 555-0199."}),
            Try("try_code", {"prompt": "def add(a, b):\n    return a + b"}),
            Try("try_repeat", {"prompt": "red fox, blue bird, red fox, blue bird, red fox"}),
            Try("try_one", {"prompt": "Hello"}),
        ]
    )
    arithmetic(page, found)
    closer(page, found)
