"""Promises of the sampling pipeline: transformers' numbers, the edge rules, and draws that repeat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.decoding.sampling import (
    ORDER,
    SamplingParams,
    choose,
    draw_counts,
    pipeline,
    rank_of,
    softmax,
    top_ids,
    uniform,
    uniforms,
)
from core.errors import UserError
from tests.unit.test_sampling_fixture import transformers_probabilities

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
params_given = st.builds(
    SamplingParams,
    temperature=st.one_of(st.floats(0.1, 4.0), st.integers(1, 3)),
    top_k=st.integers(0, 90),
    top_p=st.floats(0.0, 1.0),
    min_p=st.floats(0.0, 1.0),
    repetition_penalty=st.floats(0.5, 2.0),
)


@settings(max_examples=300, deadline=None)
@given(params_given, st.integers(0, 10**6), st.integers(2, 80), st.floats(0.1, 8.0))
def test_equals_transformers_on_random_logits(
    params: SamplingParams, seed: int, size: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    logits = (rng.normal(size=size) * scale).astype(np.float32)
    previous = rng.integers(0, size, size=5).tolist()
    result = pipeline(logits, params, previous)
    running = np.cumsum(np.sort(result.stage("top_k").probabilities)[::-1])
    # transformers sums from the small end: where a sum meets p to the last digits, its rounding decides.
    assume(np.abs(running - params.top_p).min() > 1e-7)
    theirs = transformers_probabilities(logits.tolist(), params, previous)
    np.testing.assert_allclose(result.probabilities, theirs, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(params_given, st.lists(st.integers(-3, 3), min_size=2, max_size=12))
def test_stages_are_distributions_over_fewer_and_fewer_tokens(
    params: SamplingParams, logits: list[int]
) -> None:
    result = pipeline(np.array(logits, dtype=float), params)
    assert [stage.name for stage in result.stages] == list(ORDER)
    for before, after in zip(result.stages, result.stages[1:], strict=False):
        assert after.probabilities.sum() == pytest.approx(1.0)
        assert after.kept <= before.kept and after.mass <= before.mass + 1e-12
        assert set(np.flatnonzero(after.probabilities)) <= set(np.flatnonzero(before.probabilities))
    assert result.final.kept >= 1
    assert np.array_equal(result.removed_by == 0, result.final.logits > -np.inf)
    kept_mass = result.stage("tempered").probabilities[result.removed_by == 0].sum()
    assert result.mass_kept == pytest.approx(kept_mass)


def test_the_denominator_is_the_whole_vocabulary() -> None:
    logits = np.random.default_rng(1).normal(size=49_152)
    result = pipeline(logits, SamplingParams(**{**OFF, "temperature": 2.0}))
    exact = np.exp(logits / 2)
    np.testing.assert_allclose(result.probabilities, exact / exact.sum(), rtol=1e-12)


@pytest.mark.parametrize(("top_p", "kept"), [(0.0, 1), (0.5, 1), (0.6, 2), (0.8, 2), (0.81, 3), (1.0, 3)])
def test_the_token_that_crosses_p_is_kept(top_p: float, kept: int) -> None:
    result = pipeline(np.log([0.5, 0.3, 0.2]), SamplingParams(**{**OFF, "top_p": top_p}))
    assert result.final.kept == kept


def test_zero_temperature_is_greedy_and_integers_are_fine() -> None:
    logits = np.array([0.0, 3.0, 3.0, 1.0])
    greedy = pipeline(logits, SamplingParams(temperature=0, top_k=2, top_p=0.5))
    assert greedy.probabilities.tolist() == [0, 1, 0, 0] and greedy.removed_by.tolist() == [1, 0, 1, 1]
    tiny = pipeline(logits, SamplingParams(temperature=1e-300))
    assert tiny.probabilities.tolist() == [0, 1, 0, 0]
    one = pipeline(logits, SamplingParams(**{**OFF, "temperature": 1}))
    np.testing.assert_array_equal(one.probabilities, softmax(logits))


def test_what_removed_a_candidate_is_named() -> None:
    logits = np.log([0.5, 0.25, 0.14, 0.06, 0.05])
    result = pipeline(logits, SamplingParams(temperature=1.0, top_k=4, top_p=0.9, min_p=0.5))
    assert [c.removed_by for c in result.top(9)] == ["", "", "min_p", "top_p", "top_k"]
    assert [c.rank for c in result.top(2)] == [1, 2]


@pytest.mark.parametrize("top_p", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
def test_a_large_vocabulary_gives_the_same_as_sorting_all_of_it(top_p: float, temperature: float) -> None:
    logits = np.round(np.random.default_rng(2).normal(size=20_000) * 2, 2)  # rounding makes many ties
    result = pipeline(logits, SamplingParams(temperature=temperature, top_p=top_p))
    probabilities = softmax(logits / temperature)
    order = np.lexsort((np.arange(logits.size), -probabilities))
    kept = order[: 1 + np.searchsorted(np.cumsum(probabilities[order]), top_p)]
    assert set(kept) == set(np.flatnonzero(result.removed_by == 0))
    np.testing.assert_array_equal(result.order, kept)


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 1000), st.floats(0.1, 5))
def test_the_draw_is_where_u_falls_on_the_cumulative_line(u: float, seed: int, scale: float) -> None:
    logits = np.random.default_rng(seed).normal(size=3000) * scale
    result = pipeline(logits, SamplingParams(**OFF))
    draw = choose(result, u)
    assert draw.token_id == result.order[draw.position]
    assert draw.lower <= u < draw.upper or draw.position == result.order.size - 1
    assert draw.upper == result.cumulative[draw.position]


def test_drawing_many_settles_on_the_probabilities_and_repeats() -> None:
    result = pipeline(np.log([0.5, 0.3, 0.15, 0.05]), SamplingParams(**OFF))
    counts = draw_counts(result, 10_000, seed=3, step=0)
    assert counts.sum() == 10_000
    chi_square = ((counts - 10_000 * result.probabilities) ** 2 / (10_000 * result.probabilities)).sum()
    assert chi_square < 16.3  # 99.9% of honest samplers, 3 degrees of freedom
    np.testing.assert_array_equal(counts, draw_counts(result, 10_000, seed=3, step=0))


def test_uniform_numbers_are_uniform_along_every_counter() -> None:
    size = 4000
    along = {
        "seed": [uniform(n, 0) for n in range(size)],
        "step": [uniform(0, n) for n in range(size)],
        "index": [uniform(0, 0, n) for n in range(size)],
    }
    for name, values in along.items():
        counts = np.histogram(values, bins=20, range=(0, 1))[0]
        assert ((counts - size / 20) ** 2 / (size / 20)).sum() < 43.8, name  # 99.9%, 19 degrees of freedom
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.06, name
        assert len(set(values)) == size, name


def test_many_uniforms_equal_single_ones() -> None:
    seed = 2**40 + 77
    assert uniforms(seed, 5, 50).tolist() == [uniform(seed, 5, n) for n in range(50)]


@pytest.mark.parametrize("counters", [(-1, 0, 0), (2**53, 0, 0), (0, -1, 0), (0, 0, 2**32)])
def test_counters_outside_their_range_are_refused(counters: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError):
        uniform(*counters)


def test_entropy_and_perplexity_of_a_fair_choice() -> None:
    stage = pipeline(np.zeros(8), SamplingParams(**OFF)).final
    assert stage.entropy == pytest.approx(np.log(8))
    assert stage.perplexity == pytest.approx(8) and stage.effective_choices == pytest.approx(8)


def test_top_ids_and_rank_take_ties_by_id() -> None:
    values = np.array([1.0, 5.0, 1.0, 5.0, 1.0])
    assert top_ids(values, 4).tolist() == [1, 3, 0, 2]
    assert [rank_of(values, i) for i in range(5)] == [3, 1, 4, 2, 5]
    assert top_ids(values, 0).size == 0


@pytest.mark.parametrize("logits", [[], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_logits_that_are_no_distribution_are_refused(logits: list[float]) -> None:
    with pytest.raises(ValueError):
        pipeline(np.array(logits), SamplingParams())


@pytest.mark.parametrize(
    "bad",
    [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": -1}, {"top_k": 1.5}, {"top_p": 1.1},
     {"min_p": -0.1}, {"repetition_penalty": 0}, {"seed": 2**53}, {"temperature": "hot"}],
)  # fmt: skip
def test_settings_outside_their_range_say_what_to_use(bad: dict[str, float]) -> None:
    with pytest.raises(UserError, match="Use "):
        SamplingParams(**bad)  # type: ignore[arg-type]


def test_settings_survive_json() -> None:
    params = SamplingParams(0.5, 3, 0.7, 0.1, 1.2, 9)
    assert SamplingParams.from_json(params.to_json()) == params
    with pytest.raises(UserError):
        SamplingParams.from_json({"heat": 1})
