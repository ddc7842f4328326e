"""The sections of the Calculators page: each draws one question from a shape and a workload."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.charts import costs as charts
from core.charts.labels import byte_size, number, percent
from core.lessons import costs
from core.lessons.calculators import (
    GIB,
    MAX_CONTEXT_TOKENS,
    Workload,
    cards,
    compact,
    context_curve,
    fits,
    from_shape,
    measured_parts,
    smallest_fit,
)
from core.lessons.costs import CostShape
from core.lessons.costs_compute import decode_flops, decode_intensity, prefill_flops, prefill_intensity
from core.ui.calculator_inputs import Choice
from core.ui.page import Page


def cache_size(count: float) -> str:
    """Bytes in decimal units up to TB."""
    return f"{count / 1e12:.3g} TB" if count >= 999.5e9 else byte_size(count)


def kv_section(page: Page, choice: Choice, load: Workload) -> None:
    """Bytes of the K/V cache: now, against context, and for other kinds of attention."""
    shape, tokens, batch, size = choice.shape, load.context_tokens, load.batch, load.kv_number_bytes
    total = costs.kv_bytes(shape, tokens, batch, size)
    weights = costs.weight_bytes(costs.total_parameters(shape), load.weight_dtype)
    page.section("kv")
    with st.container(horizontal=True, gap="large"):
        _metric(
            page, "per_token", f"{costs.kv_bytes_per_token(shape, size):,} bytes", _growth(page, shape, load)
        )
        _metric(page, "cache_now", cache_size(total), page.label("in_gib", value=number(total / GIB)))
        _metric(page, "weights_now", cache_size(weights), page.label("in_gib", value=number(weights / GIB)))
    _kv_formula(page, shape, load, total)
    variants = costs.kv_variants(shape)
    left, right = st.columns(2, gap="medium")
    with left:
        _kv_curve(page, choice, load, weights)
    with right:
        bars = [
            (
                page.label(f"variant_{row.key}"),
                costs.variant_bytes(shape, row, tokens, batch, size),
                cache_size(costs.variant_bytes(shape, row, tokens, batch, size)),
                row.own,
            )
            for row in variants
        ]
        table = (
            ["variant", "numbers per token and layer", "bytes"],
            [(v.key, v.numbers, b[1]) for v, b in zip(variants, bars, strict=True)],
        )
        figure = charts.kv_bars(bars, page.label("axis_cache"), page.theme)
        page.figure(figure, "kv-variants", page.label("kv_bars_alt"), table, height=340)
    _kv_check(page)
    with st.expander(page.label("notes")):
        page.section("kv_notes")


def _metric(page: Page, key: str, value: str, below: str) -> None:
    st.metric(page.label(key), value, below or None, delta_color="off", delta_arrow="off", width="content")


def _growth(page: Page, shape: CostShape, load: Workload) -> str:
    """What a further token adds per layer, or which layers have stopped growing."""
    if shape.window_layers and load.context_tokens >= shape.window:
        return page.label("window_full", layers=shape.window_layers, all=shape.n_layers)
    per_layer = costs.kv_numbers_per_layer(shape) * load.kv_number_bytes
    return page.label("per_layer", value=f"{per_layer:,} bytes")


def _kv_formula(page: Page, shape: CostShape, load: Workload, total: int) -> None:
    numbers = costs.kv_numbers_per_layer(shape)
    if shape.is_latent:
        page.formula("kv_latent", rank=shape.kv_lora_rank, rope=shape.rope_head_dim, numbers=numbers)
    else:
        page.formula("kv_column", heads=shape.n_kv_heads, size=shape.head_dim, numbers=numbers)
    positions = costs.cached_positions(shape, load.context_tokens)
    size, batch = load.kv_number_bytes, load.batch
    page.formula("kv", positions=positions, numbers=numbers, bytes=size, batch=batch, total=total)


def _kv_curve(page: Page, choice: Choice, load: Workload, weights: float) -> None:
    shape, limit = choice.shape, max(choice.max_context, load.context_tokens, 2)
    contexts = sorted({*context_curve(limit), load.context_tokens})
    variants = costs.kv_variants(shape)
    series = [
        (
            page.label(f"curve_variant_{row.key}"),
            [costs.variant_bytes(shape, row, t, load.batch, load.kv_number_bytes) for t in contexts],
            row.own,
        )
        for row in variants
    ]
    axis = (page.label("axis_context"), page.label("axis_cache"))
    level = (page.label("curve_weights"), weights)
    figure = charts.kv_curves(contexts, series, load.context_tokens, level, axis, page.theme)
    rows = zip(contexts, *(values for _, values, _ in series), strict=True)
    page.figure(
        figure, "kv-context", page.label("kv_curve_alt"), (["tokens", *(s[0] for s in series)], rows), 340
    )


def _kv_check(page: Page) -> None:
    """The loaded model's row against the bytes of its real K/V tensors."""
    own = from_shape(page.model.shape, page.model.name)
    if own:
        counted = costs.kv_bytes(own, page.trace.n_positions, 1, page.model.shape.bytes_per_weight)
        page.check("kv_check", abs(counted - page.trace.kv_bytes()), 0)


def cards_section(page: Page, choice: Choice, load: Workload) -> None:
    """Weights, cache and what is set aside, against the memory of well-known cards."""
    shape = choice.shape
    step = decode_intensity(shape, load.context_tokens, load.batch, load.weight_dtype, load.kv_number_bytes)
    rows = fits(shape, load, step.bytes_moved)
    page.section("cards")
    best, total = smallest_fit(rows), cache_size(rows[0].used)
    key = "best" if best else "best_none"
    st.markdown(page.label(key, total=total, card=best.card.name if best else ""))
    need = [
        (part, page.label(f"need_{part}"), getattr(rows[0], name))
        for part, name in (("weights", "weights"), ("kv", "kv"), ("overhead", "overhead"))
    ]
    bars = [
        (row.card.name, row.card.memory_bytes, row.fits, _verdict(page, row.fits, row.max_context, row.spare))
        for row in rows
    ]
    figure = charts.card_bars(need, page.label("need"), bars, page.label("axis_memory"), page.theme)
    columns = [
        page.label(f"column_{name}")
        for name in ("card", "memory", "fits", "context", "speed", "bandwidth", "source")
    ]
    table = [
        (
            r.card.name,
            r.card.memory_gb,
            "✓" if r.fits else "–",
            r.max_context,
            round(r.decode_limit * load.batch, 1) if r.fits else None,
            r.card.bandwidth_gb_s,
            r.card.source,
        )
        for r in rows
    ]
    page.figure(figure, "cards", page.label("cards_alt"), (columns, table), height=420)
    with st.expander(page.label("notes")):
        page.section("cards_notes")
        _table(columns, table)


def _verdict(page: Page, fit: bool, longest: int, spare: float) -> str:
    if not fit:
        return page.label("card_no", value=cache_size(-spare))
    return (
        page.label("card_more")
        if longest >= MAX_CONTEXT_TOKENS
        else page.label("card_fits", tokens=f"{longest:,}")
    )


def _table(columns: list[str], rows: Sequence[tuple[object, ...]]) -> None:
    st.dataframe({name: [row[i] for row in rows] for i, name in enumerate(columns)}, hide_index=True)


def active_section(page: Page, choice: Choice, load: Workload) -> None:
    """Stored against used parameters, part by part, with the sums and the loaded model's own tensors."""
    shape = choice.shape
    parts = costs.parameter_parts(shape)
    total, active = costs.total_parameters(shape), costs.active_parameters(shape)
    without = costs.active_parameters(shape, with_embeddings=False)
    page.section("active")
    with st.container(horizontal=True, gap="large"):
        _metric(page, "total", compact(total), _published(page, choice.published_total))
        below = _published(page, choice.published_active) or page.label(
            "share", value=percent(active / total)
        )
        _metric(page, "active", compact(active), below)
        if without != active:
            _metric(
                page, "active_without", compact(without), page.label("share", value=percent(without / total))
            )
    rows = [(part.name, page.label(f"part_{part.name}"), part.total, part.active) for part in parts]
    names = (page.label("column_total"), page.label("column_active"))
    figure = charts.parameter_bars(rows, names, page.label("axis_parameters"), page.theme)
    columns = [page.label(f"column_{name}") for name in ("part", "formula", "total", "active", "bytes")]
    size = costs.WEIGHT_BYTES[load.weight_dtype]
    table: list[tuple[object, ...]] = [
        (page.label(f"part_{p.name}"), p.formula, p.total, p.active, round(p.total * size)) for p in parts
    ]
    page.figure(
        figure, "parameters", page.label("parameters_alt"), (columns, table), height=90 + 34 * len(rows)
    )
    with st.expander(page.label("formulas")):
        _table(columns, table)
        page.section("active_notes")
    _measured(page)


def _published(page: Page, printed: str) -> str:
    return page.label("published", value=printed) if printed else ""


def _measured(page: Page) -> None:
    """The loaded model counted from its tensors, and whether its shape gives the same."""
    parts = measured_parts(page.model.parameters())
    with st.expander(page.label("measured")):
        columns = [page.label(f"column_{name}") for name in ("part", "total", "active", "bytes")]
        rows: list[tuple[object, ...]] = [
            (page.label(f"part_{p.role}"), p.count, p.active, p.n_bytes) for p in parts
        ]
        sums = (sum(p.count for p in parts), sum(p.active for p in parts), sum(p.n_bytes for p in parts))
        _table(columns, [*rows, (page.label("total"), *sums)])
    own = from_shape(page.model.shape, page.model.name)
    if own:
        page.check("parameters_check", abs(costs.total_parameters(own) - sums[0]), 0)


def flops_section(page: Page, choice: Choice, load: Workload) -> None:
    """Operations per new token as the context grows, and FLOPs per byte of prefill and decode."""
    shape, now = choice.shape, load.context_tokens
    reach = max(choice.max_context, now)
    contexts = sorted({t for t in (1, 1024, 8192, 32_768, 131_072) if t <= reach} | {now})
    each = [decode_flops(shape, t).as_dict() for t in contexts]
    parts = {
        part: (page.label(f"flops_{part}"), [row[part] for row in each])
        for part in each[0]
        if any(row[part] for row in each)
    }
    here, prefill = decode_flops(shape, now), prefill_flops(shape, now)
    page.section("flops")
    share = percent(here.attention_scores / here.total)
    words = {
        "context": f"{now:,}",
        "flops": _flops(here.total),
        "share": share,
        "prefill": _flops(prefill.total),
    }
    st.markdown(page.label("flops_sentence", **words))
    active = costs.active_parameters(shape, with_embeddings=False)
    level = (page.label("flops_line"), 2.0 * active)
    axis = (page.label("axis_context"), page.label("axis_flops"))
    figure = charts.flops_bars([f"{t:,}" for t in contexts], parts, level, axis, page.theme)
    rows = [(t, *row.values()) for t, row in zip(contexts, each, strict=True)]
    page.figure(figure, "flops", page.label("flops_alt"), (["tokens", *each[0]], rows), height=360)
    _intensity(page, shape, load)


def _flops(count: float) -> str:
    for size, unit in ((1e18, "EFLOPs"), (1e15, "PFLOPs"), (1e12, "TFLOPs"), (1e9, "GFLOPs")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e6:.3g} MFLOPs"


def _intensity(page: Page, shape: CostShape, load: Workload) -> None:
    workload = (load.context_tokens, load.batch, load.weight_dtype, load.kv_number_bytes)
    dots = [
        (page.label("decode"), decode_intensity(shape, *workload).flops_per_byte, "query"),
        (page.label("prefill"), prefill_intensity(shape, *workload).flops_per_byte, "residual"),
    ]
    ridges = [(card.name, card.ridge) for card in cards() if card.ridge]
    page.section("intensity")
    figure = charts.intensity_strip(dots, ridges, page.label("axis_intensity"), page.theme)
    rows = [(name, value) for name, value, *_ in [*dots, *ridges]]
    page.figure(
        figure, "intensity", page.label("intensity_alt"), (["name", "FLOPs per byte"], rows), height=190
    )
