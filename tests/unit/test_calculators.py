"""Presets against what their sources print, and verdicts on cards."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from core.lessons.calculators import (
    GB,
    Card,
    Workload,
    cards,
    compact,
    context_curve,
    fit,
    fits,
    from_shape,
    measured_parts,
    preset,
    presets,
    smallest_fit,
)
from core.lessons.costs import kv_bytes, parameter_parts, total_parameters

UNITS = {"M": 1e6, "B": 1e9}
LOAD = Workload(context_tokens=4096, batch=1, weight_dtype="bf16", kv_number_bytes=2, overhead_gb=1.0)


def _printed(text: str) -> tuple[float, float]:
    """A printed count and half a unit of its last digit."""
    digits, unit = re.fullmatch(r"([\d.]+)([MB])", text).groups()  # type: ignore[union-attr]
    places = len(digits.partition(".")[2])
    return float(digits) * UNITS[unit], UNITS[unit] * 10.0**-places


@pytest.mark.parametrize("row", presets(), ids=lambda row: row.key)
def test_totals_equal_the_published_ones_to_one_unit_of_their_last_digit(row) -> None:  # type: ignore[no-untyped-def]
    value, unit = _printed(row.published_total)
    assert abs(row.total - value) <= unit


@pytest.mark.parametrize("row", presets(), ids=lambda row: row.key)
def test_totals_equal_the_number_of_weights_in_the_published_files(row) -> None:  # type: ignore[no-untyped-def]
    assert row.weights or row.key == "worked-example", "only the made-up shape has no weight files"
    assert row.total == (row.weights or row.total)


@pytest.mark.parametrize("row", [p for p in presets() if p.published_active], ids=lambda row: row.key)
def test_active_counts_equal_the_published_ones(row) -> None:  # type: ignore[no-untyped-def]
    """To one unit of the last printed digit; Granite prints 400M for 429M, a round name: within a tenth."""
    value, unit = _printed(row.published_active)
    tolerance = 0.1 * value if row.key.startswith("granite") else unit
    assert abs(row.active - value) <= tolerance


def test_mixtral_has_46_7_billion_in_total_and_12_9_active() -> None:
    row = preset("mixtral-8x7b")
    assert (compact(row.total), compact(row.active)) == ("46.7B", "12.9B")
    assert row.total == 46_702_792_704  # the count in its weight files


def test_the_default_model_has_134_515_008_weights() -> None:
    assert preset("smollm2-135m").total == 134_515_008


@pytest.mark.parametrize("row", presets(), ids=lambda row: row.key)
def test_each_formula_line_computes_its_count(row) -> None:  # type: ignore[no-untyped-def]
    for part in parameter_parts(row.shape):
        plain = re.sub(r"\((Q|K, V|O)\)", "", part.formula).replace("·", "*")
        assert re.fullmatch(r"[\d*+() ]+", plain)
        assert eval(plain) == part.total  # digits and operators only, as checked above


def test_every_preset_and_card_names_its_source_and_its_own_name() -> None:
    assert all(len(row.source) > 10 for row in (*presets(), *cards()))
    assert len({row.key for row in presets()}) == len(presets())
    assert len({card.name for card in cards()}) == len(cards())


def test_a_card_is_full_when_weights_cache_and_overhead_are() -> None:
    shape = preset("llama-3.1-8b").shape
    used = 2 * total_parameters(shape) + kv_bytes(shape, 4096, 1, 2) + 1 * GB
    exact = fit(shape, Card("exact", used / GB, 100, "test"), LOAD, 1.0)
    assert exact.used == pytest.approx(used)
    assert exact.max_context in (4095, 4096)  # the division by 10^9 may cost the last byte
    below = fit(shape, Card("below", (used - 1e6) / GB, 100, "test"), LOAD, 1.0)
    assert not below.fits
    assert below.max_context < 4096


def test_the_smallest_card_that_holds_it_is_named() -> None:
    rows = fits(preset("llama-3.1-8b").shape, LOAD, 16e9)
    best = smallest_fit(rows)
    assert best is not None
    assert best.card.memory_gb == 24
    assert smallest_fit(fits(preset("deepseek-v3").shape, LOAD, 1e9)) is None


def test_the_step_limit_is_bandwidth_over_bytes_read() -> None:
    row = fit(preset("llama-3.1-8b").shape, Card("x", 80, 2000, "test"), LOAD, 16e9)
    assert row.decode_limit == pytest.approx(125)


def test_the_ridge_is_peak_over_bandwidth_and_unknown_without_a_peak() -> None:
    assert Card("x", 1, 1000, "s", 100).ridge == pytest.approx(100)
    assert Card("x", 1, 1000, "s").ridge is None


def test_the_curve_of_contexts_ends_at_the_limit_and_rises() -> None:
    curve = context_curve(1000)
    assert curve[0] == 1
    assert curve[-1] == 1000
    assert curve == sorted(set(curve))
    assert context_curve(1) == [1]


def test_measured_parts_add_up_by_role_with_the_whole_table_active() -> None:
    rows = [
        SimpleNamespace(role="embedding", count=50, active_count=5, n_bytes=200),
        SimpleNamespace(role="experts", count=80, active_count=20, n_bytes=320),
        SimpleNamespace(role="experts", count=40, active_count=10, n_bytes=160),
    ]
    table, experts = measured_parts(rows)
    assert (table.count, table.active) == (50, 50)
    assert (experts.count, experts.active, experts.n_bytes) == (120, 30, 480)


def test_an_unknown_family_is_not_guessed() -> None:
    assert from_shape(SimpleNamespace(family="nobody-knows", latent_per_token=0), "x") is None
    assert from_shape(SimpleNamespace(family="llama", latent_per_token=576), "x") is None


@pytest.mark.parametrize(
    ("count", "text"), [(46_702_792_704, "46.7B"), (134_515_008, "134.5M"), (999, "999"), (671e9, "671B")]
)
def test_counts_are_written_as_model_cards_write_them(count: float, text: str) -> None:
    assert compact(count) == text
