"""A run: a prompt, the tokens chosen after it, and a cursor that can go back, forward and elsewhere.

``cursor`` = k means: k tokens are generated, and the distribution on screen is the one for token k + 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.decoding.sampling import Pipeline, SamplingParams, choose, pipeline, rank_of, uniform
from core.decoding.tree import Node, Stepper, Tree
from core.errors import UserError

How = Literal["greedy", "sampled", "forced"]
StopReason = Literal["end-of-text", "token-limit", "context-limit"]

_STOPPED: dict[str, tuple[str, str]] = {
    "end-of-text": ("The run has ended: the model chose its end-of-text token.", "Step back or start again."),
    "token-limit": ("The run has reached its token limit.", "Raise the limit, step back or start again."),
    "context-limit": ("The run fills the whole context of the model.", "Step back or use a shorter prompt."),
}


@dataclass(frozen=True)
class StopRules:
    """When a run ends. ``max_tokens`` and ``max_positions`` None: no such limit."""

    end_ids: frozenset[int] = frozenset()
    max_tokens: int | None = None
    max_positions: int | None = None

    @classmethod
    def of(cls, model: Any, max_tokens: int | None = None) -> StopRules:
        """The rules of a loaded model: its end-of-text tokens and the length of its context.

        A model without a tokenizer, or one that names no context, has no such rule.
        """
        end_ids = getattr(getattr(model, "codec", None), "eos_ids", ())
        max_positions = getattr(getattr(model, "shape", None), "max_positions", 0)
        return cls(frozenset(end_ids), max_tokens, max_positions or None)

    def reason(self, prompt_length: int, count: int, last_id: int | None) -> StopReason | None:
        """Why a run with ``count`` generated tokens, the last of them ``last_id``, goes no further."""
        if last_id is not None and last_id in self.end_ids:
            return "end-of-text"
        if self.max_positions is not None and prompt_length + count >= self.max_positions:
            return "context-limit"
        if self.max_tokens is not None and count >= self.max_tokens:
            return "token-limit"
        return None


@dataclass(frozen=True)
class StepRecord:
    """One choice.

    Attributes:
        index: 0 for the first token after the prompt.
        how: greedy (temperature 0), sampled, or forced by the learner.
        u: the random number of the draw, None unless sampled.
        probability: under ``params``; 0 for a forced token that a filter had removed.
        model_probability: the model's own (T = 1, no filter).
        rank: of the raw logit, 1 = the model's favourite.
        logit: raw.
        entropy: of the distribution under ``params``, nats; ``model_entropy`` of the model's own.
        candidates: tokens that the filters left.
        sampling_s: seconds for the pipeline and the draw.
        timing: the engine's ``PassTiming`` of the step that processed the token (when it was first computed).
        stop_reason: why the run ends after this token, or None.
    """

    index: int
    token_id: int
    how: How
    params: SamplingParams
    u: float | None
    probability: float
    model_probability: float
    rank: int
    logit: float
    entropy: float
    model_entropy: float
    candidates: int
    sampling_s: float
    timing: Any
    stop_reason: StopReason | None

    @property
    def forced(self) -> bool:
        return self.how == "forced"


class Run:
    """A path through a ``Tree`` and a cursor on it. Made by ``Run.start``; one learner's own, not shared.

    Example::

        run = Run.start(model, model.codec.encode("The capital of France is"))
        run.next(SamplingParams(temperature=0)).token_id
        run.back()
    """

    def __init__(self, tree: Tree, params: SamplingParams, rules: StopRules, tokenise_s: float = 0.0) -> None:
        self.tree = tree
        self.params = params
        self.rules = rules
        self.tokenise_s = tokenise_s
        self._records: list[StepRecord] = []
        self._nodes: list[Node] = [tree.root]  # one more than the records
        self._cursor = 0

    @classmethod
    def start(
        cls,
        stepper: Stepper,
        prompt_ids: Sequence[int],
        params: SamplingParams | None = None,
        rules: StopRules | None = None,
        tokenise_s: float = 0.0,
        tree: Tree | None = None,
    ) -> Run:
        """Prefill the prompt. Raises UserError when it is empty. ``rules`` default to the model's own.

        With ``tree``, of the same prompt and engine, nothing is computed again: the run starts at its root.
        """
        if not prompt_ids:
            raise UserError("There is nothing to read yet.", "Type a prompt of at least one token.")
        known = tree is not None and tree.stepper is stepper and tree.prompt_ids == tuple(prompt_ids)
        tree = tree if tree is not None and known else Tree(stepper, prompt_ids)
        return cls(tree, params or SamplingParams(), rules or StopRules.of(stepper), tokenise_s)

    # -- where the run is ------------------------------------------------------------------------------

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        return self.tree.prompt_ids

    @property
    def cursor(self) -> int:
        """Number of generated tokens that are on screen."""
        return self._cursor

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """Every choice of this path, those ahead of the cursor included."""
        return tuple(self._records)

    @property
    def node(self) -> Node:
        """The node at the cursor; its pass predicts the next token."""
        return self._nodes[self._cursor]

    @property
    def tip(self) -> Any:
        """The engine's pass at the cursor."""
        return self.node.engine_pass

    @property
    def generated_ids(self) -> tuple[int, ...]:
        """Tokens generated up to the cursor."""
        return tuple(record.token_id for record in self._records[: self._cursor])

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The prompt and what was generated up to the cursor."""
        return self.prompt_ids + self.generated_ids

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run goes no further from the cursor, or None."""
        return self.rules.reason(len(self.prompt_ids), self._cursor, self.node.token_id)

    def pipeline(self, params: SamplingParams | None = None) -> Pipeline:
        """All stages of the distribution at the cursor, under ``params`` or the run's own."""
        return pipeline(self.node.engine_pass.logits, params or self.params, self.token_ids)

    # -- moving ------------------------------------------------------------------------------------------

    def next(self, params: SamplingParams | None = None, force: int | None = None) -> StepRecord:
        """Choose the next token (or take ``force``), process it, and move the cursor past it.

        The same choice as before walks on along the same nodes; another one leaves the old continuation in
        the tree and starts a new one. ``params`` become the run's own. The end-of-text token is processed
        too, so that its column can be looked at. Raises UserError when the run has ended (a token may be
        forced after the end-of-text token, not beyond a limit) or ``force`` is no token of the model.
        """
        self.params = params or self.params
        reason = self.stop_reason
        if reason is not None and (force is None or reason != "end-of-text"):
            raise UserError(*_STOPPED[reason])
        began = time.perf_counter()
        stages = self.pipeline()
        token_id, how, u = self._choice(stages, force)
        sampling_s = time.perf_counter() - began
        node = self.tree.extend(self.node, token_id)
        record = self._record(stages, node, token_id, how, u, sampling_s)
        node.record = node.record or record
        self._append(record, node)
        return record

    def _choice(self, stages: Pipeline, force: int | None) -> tuple[int, How, float | None]:
        if force is not None:
            if not 0 <= force < stages.probabilities.size:
                raise UserError(f"The model has no token {force}.", "Choose a token of its vocabulary.")
            return int(force), "forced", None
        if self.params.greedy:
            return choose(stages, 0.0).token_id, "greedy", None
        draw = choose(stages, uniform(self.params.seed, self._cursor))
        return draw.token_id, "sampled", draw.u

    def _record(
        self, stages: Pipeline, node: Node, token_id: int, how: How, u: float | None, sampling_s: float
    ) -> StepRecord:
        return StepRecord(
            index=self._cursor,
            token_id=token_id,
            how=how,
            params=self.params,
            u=u,
            probability=float(stages.probabilities[token_id]),
            model_probability=float(stages.raw.probabilities[token_id]),
            rank=rank_of(stages.raw.logits, token_id),
            logit=float(stages.raw.logits[token_id]),
            entropy=stages.final.entropy,
            model_entropy=stages.raw.entropy,
            candidates=stages.final.kept,
            sampling_s=sampling_s,
            timing=getattr(node.engine_pass, "timing", None),
            stop_reason=self.rules.reason(len(self.prompt_ids), self._cursor + 1, token_id),
        )

    def _append(self, record: StepRecord, node: Node) -> None:
        here = self._cursor
        same = here < len(self._records) and self._nodes[here + 1] is node
        if same:
            self._records[here] = record
        else:
            self._records[here:] = [record]
            self._nodes[here + 1 :] = [node]
        self._cursor += 1

    def replay(self, token_id: int, params: SamplingParams, how: How, u: float | None) -> StepRecord:
        """Take a step of a saved run again, keeping how it was chosen; its numbers are computed anew."""
        self.next(params, force=token_id)
        index = self._cursor - 1
        self._records[index] = replace(self._records[index], how=how, u=u)
        self._nodes[self._cursor].record = self._records[index]
        return self._records[index]

    def back(self) -> bool:
        """Go back one token; False at the prompt."""
        if self._cursor == 0:
            return False
        self._cursor -= 1
        return True

    def jump(self, step: int) -> None:
        """Put the cursor after ``step`` tokens of this path; a number outside it goes to the nearer end."""
        self._cursor = min(max(0, step), len(self._records))

    def reset(self) -> None:
        """Forget the path and go back to the prompt; what was computed stays in the tree."""
        self._records, self._nodes, self._cursor = [], [self.tree.root], 0

    def branch(self) -> Run:
        """Return a second run on the same tree, at the same place; neither can disturb the other."""
        twin = Run(self.tree, self.params, self.rules, self.tokenise_s)
        twin._records = self._records[: self._cursor]
        twin._nodes = self._nodes[: self._cursor + 1]
        twin._cursor = self._cursor
        return twin

    def follow(self, token_ids: Sequence[int]) -> None:
        """Go to the node at the end of this path from the prompt, forcing each token that this run lacks.

        A token that the present settings once drew at this very place stays a drawn one. Raises UserError
        beyond a limit; the cursor then stands at the last token within it.
        """
        self._cursor = 0
        for index, token_id in enumerate(token_ids):
            if index < len(self._records) and self._records[index].token_id == token_id:
                self._cursor += 1
                continue
            child = self.node.children.get(token_id)
            known = child.record if child else None
            if known is not None and not known.forced and known.params == self.params:
                self.replay(token_id, known.params, known.how, known.u)
            else:
                self.next(force=token_id)

    def limit(self, max_tokens: int | None) -> None:
        """Set how many tokens may be generated; the steps' own stop reasons follow."""
        self.rules = replace(self.rules, max_tokens=max_tokens)
        self._records = [
            replace(r, stop_reason=self.rules.reason(len(self.prompt_ids), r.index + 1, r.token_id))
            for r in self._records
        ]
