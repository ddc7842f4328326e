"""The tour's questions about what happens inside one pass, and about training. Pure.

Each function takes a ``Scene`` and returns a question whose answer is computed, or None where the model or
the text has no such question (one token has no neighbour, a model without RoPE turns nothing).
"""

from __future__ import annotations

import math

import numpy as np

from core.lessons.calculators import measured_parts
from core.lessons.embeddings import nearest
from core.lessons.position import rotation, turned
from core.lessons.questions import Question, among_numbers, among_texts, one_of, yes_or_no
from core.lessons.timeline import prompt_guesses
from core.lessons.tour_scene import LONGEST, Scene, losses, moved, percent, spread

SHIFT = 5
NEAREST = 4000
"""So many neighbours of a row are ranked; the wrong choices come from among them."""

PARTS = {
    "embedding": ("embedding", "lm_head", "position"),
    "attention": ("attention",),
    "ffn": ("ffn", "experts", "shared_expert", "router"),
}


def loop(scene: Scene) -> Question | None:
    """How many forward passes made this run: the prefill, and one per generated token."""
    prompt, made = len(scene.run.prompt_ids), scene.run.cursor
    values = {"prompt": f"{prompt:,}", "made": f"{made:,}"}
    return among_numbers("loop", values, len(scene.trace.passes), (1, made, prompt, prompt + made))


def tokens(scene: Scene) -> Question | None:
    """Into how many tokens the prompt is cut."""
    return Question("tokens", {}, (), len(scene.run.prompt_ids))


def rows(scene: Scene) -> Question | None:
    """Which token's row of E is nearest (cosine) to the chosen token's row."""
    token = int(scene.trace.token_ids[scene.position])
    count = min(NEAREST, scene.model.shape.vocab_size // 4)
    near = nearest(scene.model, scene.model.embedding_rows([token])[0], count, [token])
    if not near:
        return None
    far = [near[at].token_id for at in (count // 40, count // 4, len(near) - 1) if at < len(near)]
    best = near[0]
    values = {"token": scene.name(token), "cosine": f"{best.cosine:.2f}"}
    return among_texts("rows", values, scene.name(best.token_id), map(scene.name, far), token)


def order(scene: Scene) -> Question | None:
    """What RoPE makes of a score when query and key both move five places on."""
    turn = rotation(scene.model, scene.trace, scene.layer, scene.head)
    if turn is None:
        return None
    query, key = scene.position, max(0, scene.position - 1)
    before, after = (
        float(turned(turn.q_pre[query], query + by, turn) @ turned(turn.k_pre[key], key + by, turn))
        for by in (0, SHIFT)
    )
    values = {"query": scene.at(query), "other": scene.at(key), "shift": str(SHIFT)}
    return one_of("order", values, ("grows", "shrinks", "same"), moved(before, after))


def given(scene: Scene) -> Question | None:
    """At how many prompt positions the model's favourite is the token that does stand next."""
    if not 2 <= scene.trace.n_prompt <= LONGEST:
        return None
    guesses = prompt_guesses(scene.trace, scene.model.shape.n_layers, 0)
    unused = [guess for guess in guesses if not guess.used]
    right = sum(guess.right for guess in unused)
    return Question("given", {"count": f"{len(unused):,}"}, (), right)


def mask(scene: Scene) -> Question | None:
    """How many tokens the chosen one may look at in the chosen layer."""
    allowed = int(scene.trace.layer(scene.layer).mask[scene.position].sum())
    values = {
        "token": scene.at(scene.position),
        "place": f"{scene.position + 1:,}",
        "total": f"{scene.trace.n_positions:,}",
    }
    others = (1, scene.position, scene.trace.n_positions, scene.trace.n_positions - scene.position)
    return among_numbers("mask", values, allowed, others)


def heads(scene: Scene) -> Question | None:
    """Which head of the chosen layer gives most weight to the token just before (mean over the rows)."""
    count = scene.trace.n_positions
    if count < 3 or scene.model.shape.n_heads < 2:
        return None
    view, late = scene.trace.layer(scene.layer), np.arange(2, count)
    looks = [float(view.weights(head)[late, late - 1].mean()) for head in range(scene.model.shape.n_heads)]
    best = int(np.argmax(looks))
    values = {"layer": str(scene.layer), "share": percent(looks[best])}
    return among_numbers("heads", values, best, spread(len(looks), best, 3))


def adds(scene: Scene) -> Question | None:
    """Which sub-layer adds the longer vector to the residual stream in the chosen block."""
    view = scene.trace.layer(scene.layer)
    start, middle, end = (
        part[scene.position].astype(np.float64) for part in (view.resid_in, view.resid_mid, view.resid_out)
    )
    attention, ffn = float(np.linalg.norm(middle - start)), float(np.linalg.norm(end - middle))
    values = {
        "token": scene.at(scene.position),
        "layer": str(scene.layer),
        "attention": f"{attention:.2f}",
        "ffn": f"{ffn:.2f}",
    }
    return one_of("adds", values, ("attention", "ffn"), "attention" if attention > ffn else "ffn")


def parts(scene: Scene) -> Question | None:
    """Which part holds most of the model's parameters."""
    sums = {part.role: part.count for part in measured_parts(scene.model.parameters())}
    total = sum(sums.values())
    shares = {name: sum(sums.get(role, 0) for role in roles) / total for name, roles in PARTS.items()}
    values = {name: percent(share) for name, share in shares.items()}
    return one_of("parts", values, tuple(PARTS), max(shares, key=lambda name: shares[name]))


def lens(scene: Scene) -> Question | None:
    """Whether the stream before the chosen layer would already predict the final favourite."""
    said = int(scene.trace.lens(scene.layer, [scene.trace.n_positions - 1])[0].argmax())
    values = {"layer": str(scene.layer), "said": scene.name(said), "final": scene.name(scene.favourite)}
    return yes_or_no("lens", values, said == scene.favourite)


def scores(scene: Scene) -> Question | None:
    """How many scores the LM head gives for one next token."""
    shape = scene.model.shape
    values = {"width": f"{shape.d_model:,}", "vocabulary": f"{scene.logits.size:,}"}
    others = (1, scene.trace.n_positions, shape.d_model)
    return among_numbers("scores", values, scene.logits.size, others)


def targets(scene: Scene) -> Question | None:
    """Which token of the prompt surprises the model most: the largest −ln p of a target."""
    found = losses(scene)
    if found is None:
        return None
    worst = int(np.argmax(found))
    others = spread(len(found), worst, 3)
    places = sorted({worst, *others})
    values = {"loss": f"{found[worst]:.2f}", "chance": percent(math.exp(-found[worst]))}
    choices = tuple(f"{place + 1}: {scene.at(place + 1)}" for place in places)
    return Question("targets", values, choices, places.index(worst)) if len(places) > 1 else None


def gradient(scene: Scene) -> Question | None:
    """The loss of the prompt's last token as a target, from its probability."""
    found = losses(scene)
    if found is None:
        return None
    loss = float(found[-1])
    chance = math.exp(-loss)
    values = {"token": scene.at(scene.trace.n_prompt - 1), "chance": f"{chance:.4f}", "loss": f"{loss:.2f}"}
    others = (f"{wrong:.2f}" for wrong in (chance, 1 - chance, loss / 2))
    return among_texts("gradient", values, f"{loss:.2f}", others, 2)


def zero(scene: Scene) -> Question | None:
    """The loss of a model that knows nothing: ln V."""
    size = scene.logits.size
    values = {"vocabulary": f"{size:,}"}
    others = (f"{wrong:.2f}" for wrong in (0.0, 1.0, math.log2(size)))
    return among_texts("zero", values, f"{math.log(size):.2f}", others, 2)
