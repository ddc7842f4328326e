"""The Calculators page with the real model: presets, the check lines, inputs, and the simulation."""

from __future__ import annotations

from tests.browser.harness import View, text_of

LINK = {"prompt": "The capital of France is", "tokens": 3}


def _open(view: View) -> None:
    view.open("calculators", **LINK)
    view.page.get_by_role("heading", name="Serving many requests: a simulation").wait_for()
    view.ready()


def test_the_loaded_model_s_row_equals_its_measured_bytes(view: View) -> None:
    _open(view)
    text = text_of(view.page)
    assert "23,040 bytes" in text  # 2 · 30 layers · 3 K/V heads · 64 numbers · 2 bytes
    assert text.count("largest difference 0 (allowed 0)") == 2
    assert "134.5M" in text


def test_one_click_shows_mixtral_with_its_published_counts(view: View) -> None:
    _open(view)
    view.page.get_by_role("button", name="Mixtral 8x7B").click()
    view.page.get_by_text("given as 46.7B").wait_for()
    view.wait_for_text("given as 12.9B", "Mixtral of Experts")
    view.wait_for_text("131,072 bytes")  # 2 · 32 · 8 · 128 · 2


def test_a_context_that_is_typed_moves_the_cache(view: View) -> None:
    _open(view)
    field = view.page.get_by_role("spinbutton", name="Context length, tokens")
    field.fill("8000")
    field.press("Enter")
    view.page.get_by_text("184 MB").first.wait_for()  # 8,000 · 23,040 bytes


def test_a_shape_that_contradicts_itself_is_named(view: View) -> None:
    _open(view)
    view.page.get_by_text("Change the shape").click()
    field = view.page.get_by_label("K/V heads", exact=True)
    field.fill("4")
    field.press("Enter")
    view.page.get_by_text("Query heads must be a multiple of the K/V heads.").wait_for()


def test_the_simulation_answers_to_its_settings(view: View) -> None:
    _open(view)
    before = text_of(view.page)
    assert "Static batches: " in before
    field = view.page.get_by_label("Places in a batch")
    field.fill("2")
    field.press("Enter")
    view.page.wait_for_function(
        "before => !document.body.innerText.replace(/\\s+/g, ' ').includes(before)",
        arg=before[before.index("Static batches: ") :][:40],
    )
