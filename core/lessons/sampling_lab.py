"""The sampling laboratory: whose next token is looked at, and the pipeline worked out for one candidate.

The bars on the page are computed in the browser by the same pipeline; here are the numbers of the formula and
of the check lines. V is the vocabulary size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.decoding.sampling import Pipeline, Stage, draw_counts, softmax, top_ids


@dataclass(frozen=True)
class Place:
    """A position whose distribution over the next token is looked at.

    Attributes:
        position: from 0 at the prompt's first token.
        prefix: how many tokens count as the prompt here: all up to the position when it lies inside the
            prompt.
        step: tokens generated up to the position (0 inside the prompt); the draw's random number belongs
            to it.
        given: the next token belongs to the prompt, so no choice is made here in the run.
        ahead: generated tokens after the position.
    """

    position: int
    prefix: int
    step: int
    given: bool
    ahead: int


def place(run: Any, position: int) -> Place:
    """Where ``position`` stands in the run."""
    prompt = len(run.prompt_ids)
    step = position + 1 - prompt
    if step < 0:
        return Place(position, position + 1, 0, True, 0)
    return Place(position, prompt, step, False, max(0, len(run.steps) - step))


@dataclass(frozen=True)
class Worked:
    """One candidate's way through the pipeline, as the numbers of the formula.

    Attributes:
        token_id: the likeliest token that is not the favourite and still in, or the favourite when it is
            alone.
        logit, penalised: before and after the repetition penalty.
        highest: the favourite's logit after the penalty.
        above, below: exp((penalised − highest) / T), and the sum of the same over all V tokens.
        tempered: above / below. mass: what the filters left. final: tempered / mass, the chance to be drawn.
    """

    token_id: int
    logit: float
    penalised: float
    highest: float
    above: float
    below: float
    tempered: float
    mass: float
    final: float


def worked(result: Pipeline) -> Worked | None:
    """The formula's numbers; ``None`` when greedy, because nothing is divided by a temperature of 0."""
    if result.params.greedy:
        return None
    token_id = int(result.order[min(1, result.order.size - 1)])
    penalised = result.stage("penalised").logits
    highest = float(penalised.max())
    powers = np.exp((penalised - highest) / result.params.temperature)  # (V,)
    tempered = float(powers[token_id] / powers.sum())
    return Worked(
        token_id=token_id,
        logit=float(result.raw.logits[token_id]),
        penalised=float(penalised[token_id]),
        highest=highest,
        above=float(powers[token_id]),
        below=float(powers.sum()),
        tempered=tempered,
        mass=result.mass_kept,
        final=tempered / result.mass_kept,
    )


def renormalisation_error(result: Pipeline) -> float:
    """Largest difference between the final chances and one softmax over the tokens that were kept.

    The stages divide by the mass that each filter leaves; a single softmax over the kept logits must give
    the same.
    """
    kept = result.removed_by == 0
    if result.params.greedy:
        once = kept.astype(np.float64)
    else:
        logits = np.where(kept, result.stage("penalised").logits, -np.inf)
        once = softmax(logits / result.params.temperature)
    return float(np.abs(once - result.probabilities).max())


def coldest_error(result: Pipeline, temperature: float = 0.01) -> float:
    """How far softmax at a very low temperature is from greedy: 1 minus the chance of the favourite.

    With two favourites of nearly equal logits the limit is reached later, so the number says how near it is.
    """
    logits = result.stage("penalised").logits
    return float(1.0 - softmax(logits / temperature)[int(top_ids(logits, 1)[0])])


def stage_numbers(stage: Stage) -> dict[str, float]:
    """Kept tokens, mass kept, entropy in bits, perplexity and effective choices: what stands under each
    chart."""
    return {
        "kept": stage.kept,
        "mass": stage.mass,
        "entropy_bits": stage.entropy / float(np.log(2)),
        "perplexity": stage.perplexity,
        "choices": stage.effective_choices,
    }


def total_variation(result: Pipeline, count: int, seed: int, step: int) -> float:
    """Distance between ``count`` draws and the probabilities they come from, over all V tokens (0 to 1)."""
    shares = draw_counts(result, count, seed, step) / count
    return float(np.abs(shares - result.probabilities).sum() / 2)
