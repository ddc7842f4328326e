"""The journey of one prompt as one HTML file: no network, no script, numbers as text, tables and inline SVG.

Two steps: ``collect`` takes the numbers from a run, ``handout`` writes them down. Every text that comes from
a prompt or a token passes through ``html.escape``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.randomness import uniform
from core.decoding.sampling import Candidate, choose, pipeline
from core.lessons import journey, lens
from core.lessons.generate import choices, name_of, ribbon

CANDIDATES = 15
DRAWN_COLUMNS = 24
"""Columns of the picture; of a longer text the first four and the newest are drawn."""
_FIRST = 4
_VISIBLE = str.maketrans({" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍"})


@dataclass(frozen=True)
class Row:
    """One position: its token, the model's favourite after it (None: not worked out), how it was chosen."""

    position: int
    token: str
    token_id: int
    generated: bool
    chance: float | None
    rank: int | None
    favourite: str | None
    favourite_chance: float
    share: float


@dataclass(frozen=True)
class Handout:
    """All numbers of one handout. ``sizes`` (L, T): vector length after each layer; ``said``: per layer what
    the newest column would say there; ``share`` of a row: what the chosen cell takes from it."""

    prompt: str
    text: str
    model: str
    params: SamplingParams
    rows: Sequence[Row]
    sizes: np.ndarray
    said: Sequence[tuple[str, float]]
    candidates: Sequence[tuple[str, Candidate]]
    vocabulary: int
    u: float
    drawn: str
    times: Sequence[journey.PassTime]
    kv_bytes: int
    layer: int
    head: int
    position: int


def collect(model: Any, run: Any, params: SamplingParams, place: tuple[int, int, int], name: str) -> Handout:
    """The numbers of the run up to its present step. ``place``: (layer, head, position); ``name``: the
    model's."""
    trace, codec = model.trace(run.tip), model.codec
    ids = trace.token_ids
    layer, head, position = place
    result = pipeline(run.tip.logits, params, ids)
    u = uniform(params.seed, run.cursor)
    drawn = choose(result, 0.0 if params.greedy else u).token_id
    wanted = lens.top_of(_newest(trace), 1)
    return Handout(
        prompt=codec.decode(list(run.prompt_ids)),
        text=codec.decode(list(ids)),
        model=name,
        params=params,
        rows=_rows(model, run, params, trace, journey.attention_row(trace, layer, head, position)),
        sizes=trace.residual_norms()[1:],
        said=[
            (name_of(codec, int(i)), float(p)) for i, p in zip(wanted[0][:, 0], wanted[1][:, 0], strict=True)
        ],
        candidates=[(name_of(codec, c.token_id), c) for c in result.top(CANDIDATES)],
        vocabulary=int(run.tip.logits.size),
        u=u,
        drawn=name_of(codec, drawn),
        times=journey.times(trace),
        kv_bytes=sum(p.kv_bytes for p in trace.passes),
        layer=layer,
        head=head,
        position=position,
    )


def _newest(trace: Any) -> np.ndarray:
    """(L, V) what each layer's output of the newest position would say."""
    last = [trace.n_positions - 1]
    layers = len(trace.tip.residuals) - 1
    return np.concatenate([trace.lens(layer, last) for layer in range(1, layers + 1)])


def _rows(model: Any, run: Any, params: SamplingParams, trace: Any, shares: np.ndarray) -> list[Row]:
    tokens = ribbon(model.codec, trace.token_ids)
    said = journey.predictions(trace)
    chosen = choices(run.steps[: run.cursor], params)
    made = len(run.prompt_ids)
    rows: list[Row] = []
    for at, token in enumerate(tokens):
        how = chosen[at - made] if at >= made else None
        favourite = int(said.ids[at])
        rows.append(
            Row(
                position=at,
                token=token.text or f"{token.part}/{token.parts}",
                token_id=token.token_id,
                generated=how is not None,
                chance=how.probability if how else None,
                rank=how.rank if how else None,
                favourite=name_of(model.codec, favourite) if favourite >= 0 else None,
                favourite_chance=float(said.chances[at]),
                share=float(shares[at]),
            )
        )
    return rows


# -- writing ---------------------------------------------------------------------------------------------


def handout(facts: Handout, words: Mapping[str, str], colours: Mapping[str, str]) -> str:
    """The file's text. ``words``: labels ``hand_…`` with ``{places}``; ``colours``: CSS variables by name."""
    say = _Words(words)
    newest = facts.rows[-1]
    parts = [
        f"<h1>{say('title')}</h1>",
        f'<p class="lead">{say("lead", prompt=facts.prompt, model=facts.model)}</p>',
        f"<pre>{escape(facts.text)}</pre>",
        f"<p>{say('settings', **_settings(facts.params))}</p>",
        f"<h2>{say('grid')}</h2><p>{say('grid_note', layers=len(facts.sizes))}</p>",
        _picture(facts, say),
        f"<h2>{say('tokens')}</h2>",
        _tokens(facts, say),
        f"<h2>{say('layers')}</h2><p>{say('layers_note', token=visible(newest.token))}</p>",
        _layers(facts, say),
        f"<h2>{say('chances')}</h2><p>{say('chances_note', vocabulary=f'{facts.vocabulary:,}')}</p>",
        _chances(facts, say),
        f"<p>{_draw(facts, say)}</p>",
        f"<h2>{say('cost')}</h2>",
        _cost(facts, say),
        f"<p>{say('cache', bytes=f'{facts.kv_bytes:,}', count=len(facts.rows))}</p>",
    ]
    root = "".join(f"{name}:{value};" for name, value in colours.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{say('title')}</title><style>:root{{{escape(root)}}}{_STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def visible(text: str) -> str:
    """A token with its spaces and line ends to be seen."""
    return text.translate(_VISIBLE)


class _Words:
    """Labels by short name, places filled, everything escaped."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words

    def __call__(self, name: str, **values: object) -> str:
        return escape(self._words[f"hand_{name}"].format(**values) if values else self._words[f"hand_{name}"])


def _settings(params: SamplingParams) -> dict[str, object]:
    return {
        "temperature": f"{params.temperature:g}",
        "top_k": params.top_k,
        "top_p": f"{params.top_p:g}",
        "min_p": f"{params.min_p:g}",
        "penalty": f"{params.repetition_penalty:g}",
        "seed": params.seed,
    }


def _draw(facts: Handout, say: _Words) -> str:
    token = visible(facts.drawn)
    if facts.params.greedy:
        return say("draw_greedy", token=token)
    return say("draw", seed=facts.params.seed, u=f"{facts.u:.4f}", token=token)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], marks: Sequence[str] = ()) -> str:
    """Cells are HTML already. ``marks``: a class per row."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "".join(
        f'<tr class="{marks[i] if i < len(marks) else ""}">' + "".join(f"<td>{c}</td>" for c in row) + "</tr>"
        for i, row in enumerate(rows)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _mono(text: str) -> str:
    return f"<code>{escape(visible(text))}</code>"


def _percent(share: float) -> str:
    if share == 0:
        return "0%"
    return f"{100 * share:.2f}%" if share >= 1e-4 else f"{100 * share:.1e}%"


def _tokens(facts: Handout, say: _Words) -> str:
    heads = [say(f"col_{n}") for n in ("position", "token", "id", "origin", "chance", "favourite")]
    place = {"layer": facts.layer, "head": facts.head, "position": facts.position}
    heads.append(say("col_share", **place))
    rows = [
        [
            str(row.position),
            _mono(row.token),
            str(row.token_id),
            say("generated") if row.generated else say("given"),
            say("chance", chance=_percent(row.chance), rank=row.rank) if row.chance is not None else "–",
            f"{_mono(row.favourite)} {_percent(row.favourite_chance)}" if row.favourite is not None else "–",
            _percent(row.share) if row.position <= facts.position else "–",
        ]
        for row in facts.rows
    ]
    return _table(heads, rows, ["made" if row.generated else "" for row in facts.rows])


def _layers(facts: Handout, say: _Words) -> str:
    heads = [say("col_layer"), say("col_size"), say("col_said"), say("col_chance")]
    rows = [
        [str(layer), f"{facts.sizes[layer, -1]:,.4g}", _mono(text), _percent(chance)]
        for layer, (text, chance) in enumerate(facts.said)
    ]
    return _table(heads, rows[::-1])


def _chances(facts: Handout, say: _Words) -> str:
    heads = [say(f"col_{name}") for name in ("rank", "token", "id", "logit", "model", "now")]
    rows = [
        [
            str(c.rank),
            _mono(text),
            str(c.token_id),
            f"{c.logit:.4f}",
            _percent(c.model_probability),
            f'<span class="bar" style="width:{120 * c.probability:.1f}px"></span> {_percent(c.probability)}',
        ]
        for text, c in facts.candidates
    ]
    return _table(heads, rows)


def _cost(facts: Handout, say: _Words) -> str:
    heads = [say(f"col_{name}") for name in ("pass", "positions", "total", "each")]
    rows = [
        [
            say("prefill") if i == 0 else say("decode", step=i),
            f"{t.start}–{t.end - 1}" if t.end - t.start > 1 else str(t.start),
            f"{1000 * t.total_s:.1f} ms",
            f"{1000 * t.total_s / (t.end - t.start):.1f} ms",
        ]
        for i, t in enumerate(facts.times)
    ]
    return _table(heads, rows)


def _picture(facts: Handout, say: _Words) -> str:
    """The grid: a column per token, a row per layer, darker for a longer vector (logarithmic)."""
    layers, count = facts.sizes.shape
    shown = list(range(count))
    if count > DRAWN_COLUMNS:
        shown = [*range(_FIRST), *range(count - DRAWN_COLUMNS + _FIRST, count)]
    logs = np.log(np.maximum(facts.sizes, 1e-12))
    low, high = float(logs.min()), float(np.percentile(logs, 99))
    row, column, rail, top = max(5.0, min(14.0, 360 / layers)), 46, 40, 90
    foot = top + layers * row
    marks: list[str] = []
    for i, at in enumerate(shown):
        x = rail + i * column + (column / 2 if count > DRAWN_COLUMNS and i >= _FIRST else 0)
        for layer in range(layers):
            share = min(1.0, max(0.0, (float(logs[layer, at]) - low) / max(high - low, 1e-9)))
            y = top + (layers - 1 - layer) * row
            marks.append(
                f'<rect x="{x:g}" y="{y:.1f}" width="{column - 6}" height="{row - 1:.1f}" '
                f'class="cell" style="fill-opacity:{0.08 + 0.92 * share:.2f}"/>'
            )
        one = facts.rows[at]
        kind = "made" if one.generated else "given"
        marks.append(_upright(x + 24, foot + 10, one.token, kind, "end"))
        if one.favourite is not None:
            used = at >= count - 1 or facts.rows[at + 1].generated
            marks.append(_upright(x + 24, top - 8, one.favourite, "used" if used else "unused", "start"))
    for layer in {0, layers - 1, *range(0, layers, 5)}:
        y = top + (layers - 1 - layer) * row + row
        marks.append(f'<text x="{rail - 6}" y="{y:.1f}" text-anchor="end" class="axis">{layer}</text>')
    width, height = rail + (len(shown) + 1) * column, foot + 100
    alt = say("grid_alt", count=count, layers=layers)
    return (
        f'<div class="wide"><svg role="img" aria-label="{alt}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">{"".join(marks)}</svg></div>'
    )


def _upright(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    short = visible(text)
    short = short if len(short) <= 10 else short[:9] + "…"
    return (
        f'<text x="{x:g}" y="{y:g}" transform="rotate(-90 {x:g} {y:g})" text-anchor="{anchor}" '
        f'class="{kind}">{escape(short)}</text>'
    )


_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:var(--nt-ink);background:var(--nt-paper);max-width:60rem;
margin:2rem auto;padding:0 1rem;font-variant-numeric:tabular-nums}
h1{font-size:1.8rem;margin:0 0 .5rem}h2{font-size:1.25rem;margin:2rem 0 .5rem}.lead{font-size:1.1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.8rem 1rem;border:1px solid var(--nt-line);
border-radius:10px;background:var(--nt-surface)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.95rem}
th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--nt-line);white-space:nowrap}
th{color:var(--nt-muted);font-weight:500}
code,svg text{font-family:ui-monospace,monospace}code{white-space:pre}
.made code,svg .made{color:var(--nt-accent);fill:var(--nt-accent)}.cell{fill:var(--nt-residual)}
svg text{font-size:13px;fill:var(--nt-ink)}svg .axis,svg .unused{fill:var(--nt-muted)}
svg .used{fill:var(--nt-logits);font-weight:700}
.bar{display:inline-block;height:.7em;background:var(--nt-logits);border-radius:2px}
@media print{.wide{overflow:visible}tr{break-inside:avoid}}
"""
