"""From what the learner asked for to a run: encode, check the limits, prefill, and repeat a link's steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.decoding.run import Run, StopRules
from core.decoding.tree import Tree
from core.errors import UserError
from core.ui.links import MAX_PROMPT_CHARACTERS, Link
from core.ui.text import label

MAX_PROMPT_TOKENS = 1024


@dataclass(frozen=True)
class PromptTokens:
    """The prompt as the model will get it.

    ``typed_specials``: control tokens that the typed text turned into. ``tokenise_s``: seconds that the
    tokenizer took for ``ids``.
    """

    ids: tuple[int, ...]
    limit: int
    typed_specials: tuple[str, ...]
    tokenise_s: float = 0.0

    @property
    def too_long(self) -> bool:
        return len(self.ids) > self.limit


def tokens_of(codec: Any, shape: Any, link: Link) -> PromptTokens:
    """Encode the link's prompt with the model's own codec and note which control tokens the text itself
    holds."""
    began = time.perf_counter()
    if link.chat and codec.has_chat_template:
        ids = tuple(codec.chat(link.prompt, specials_as_text=link.literal))
    else:
        ids = tuple(codec.encode(link.prompt, specials_as_text=link.literal))
    tokenise_s = time.perf_counter() - began
    plain = tuple(codec.encode(link.prompt, specials_as_text=True))
    specials: tuple[str, ...] = ()
    typed = codec.encode(link.prompt)
    if tuple(typed) != plain:
        found = dict.fromkeys(piece.raw for piece in codec.pieces(typed) if piece.special)
        specials = tuple(raw for raw in found if raw in link.prompt)
    return PromptTokens(ids, prompt_limit(shape), specials, tokenise_s)


def prompt_limit(shape: Any) -> int:
    """The most tokens that a prompt may have: our own limit, or the model's context less one new token."""
    return (
        min(MAX_PROMPT_TOKENS, max(1, shape.max_positions - 1)) if shape.max_positions else MAX_PROMPT_TOKENS
    )


def check(link: Link, tokens: PromptTokens) -> None:
    """Raise UserError when there is nothing to run or too much of it."""
    if not link.prompt.strip() or not tokens.ids:
        raise UserError(label("shell", "empty_what"), label("shell", "empty_todo"))
    if len(link.prompt) > MAX_PROMPT_CHARACTERS:  # its link could not be opened again
        count, limit = f"{len(link.prompt):,}", f"{MAX_PROMPT_CHARACTERS:,}"
        raise UserError(
            label("shell", "long_text_what", count=count, limit=limit), label("shell", "long_todo")
        )
    if tokens.too_long:
        raise UserError(
            label("shell", "long_what", count=f"{len(tokens.ids):,}", limit=f"{tokens.limit:,}"),
            label("shell", "long_todo"),
        )


def start(
    model: Any,
    tokens: PromptTokens,
    link: Link,
    progress: Callable[[int], object],
    tree: Tree | None = None,
) -> Run:
    """Prefill, repeat the link's steps with its settings and its forced choices, and go to its place.

    ``progress`` is called with the number of steps done. A run that ends early (end of text) ends the
    repeating. What ``tree`` holds of this prompt is not computed again.
    """
    params, forced = link.params(), dict(link.taken)
    run = Run.start(model, tokens.ids, params, StopRules.of(model, link.tokens), tokens.tokenise_s, tree)
    for index in range(min(link.step + link.ahead, link.tokens)):
        if run.stop_reason and index not in forced:
            break
        run.next(params, force=forced.get(index))
        progress(index + 1)
    run.jump(min(link.step, len(run.steps)))
    return run
