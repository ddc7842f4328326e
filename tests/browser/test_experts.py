"""The Experts page in a real browser with the Mixture of Experts made from the default model."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import SIZES, View

MOE = "smollm2-135m-moe"
TEXT = "In 1984, the bank of the river flooded (twice)."


def _open(view: View, prompt: str = TEXT, **link: object) -> None:
    view.open("experts", model=MOE, prompt=prompt, **link)
    view.page.locator(".ntx-frame canvas").wait_for(
        timeout=120_000
    )  # the first time it is made on this machine
    view.ready()


def _section(view: View) -> dict[str, str]:
    section = view.page.locator("section.ntx[data-layer]")
    return {name: section.get_attribute(f"data-{name}") or "" for name in ("layer", "position")}


def test_a_cell_is_chosen_by_keys_and_the_whole_page_follows(view: View) -> None:
    _open(view, layer=12, position=3)
    assert _section(view) == {"layer": "12", "position": "3"}
    assert view.page.locator(".ntx-bar.chosen").count() == 2
    frame = view.page.locator(".ntx-frame")
    frame.focus()
    frame.press("ArrowUp")
    frame.press("ArrowRight")
    assert _section(view) == {"layer": "13", "position": "4"}
    view.page.wait_for_url("**layer=13&position=4*")
    expect(view.page.get_by_role("heading", name="at layer 13").last).to_be_visible(timeout=20_000)
    frame.press("End")
    frame.press("ArrowDown")
    view.page.wait_for_url("**layer=12*")


def test_forcing_another_expert_moves_the_distribution_and_is_badged(view: View) -> None:
    _open(view)
    view.page.get_by_role("button", name="Force it").click()
    view.wait_for_text("Experiment: not your run")
    view.page.get_by_role("button", name="Reset: as the router chose").click()
    view.wait_for_text("The router decides everything now.")


def test_looking_for_an_expert_fades_the_others_in_the_browser_alone(view: View) -> None:
    _open(view)
    chip = view.page.locator(".ntx-key").nth(3)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")


def test_every_part_can_be_looked_at_and_its_checks_hold(view: View) -> None:
    _open(view)
    parts = view.page.locator(".st-key-nt_experts_look").get_by_role("radio")
    expect(parts).to_have_count(7)
    for number in range(7):
        parts.nth(number).click(force=True)
        view.ready()
        view.assert_clean()


def test_the_two_models_stand_side_by_side(view: View) -> None:
    _open(view)
    view.page.get_by_role("radio", name="Dense beside MoE", exact=True).click()
    view.wait_for_text("KL(dense")
    view.wait_for_text("134.5M dense")


@pytest.mark.parametrize("prompt", ["Hello", "🍜👩‍👩‍👧", "red fox, red fox, red fox", "word " * 300])
def test_odd_prompts_open(view: View, prompt: str) -> None:
    _open(view, prompt)
    assert view.page.locator(".ntx-bar.chosen").count() == 2


@pytest.mark.parametrize("view", [{"size": size} for size in SIZES], indirect=True, ids=SIZES)
def test_it_fits_every_window(view: View) -> None:
    _open(view)
    view.no_sideways_scroll()


@pytest.mark.parametrize("view", [{"theme": theme} for theme in ("light", "dark")], indirect=True)
def test_nothing_serious_is_found_by_the_accessibility_check(view: View) -> None:
    _open(view)
    faults = view.accessibility_faults()
    assert not [fault for fault in faults if "(serious)" in fault or "(critical)" in fault]
