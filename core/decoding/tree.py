"""A tree of continuations: one node per processed token, prefixes shared, nothing ever changed or computed
twice.

What a token computed never depends on later tokens, so a node stays valid whatever is appended after it, and
two branches can share all nodes up to the place where they part.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from core.decoding.sampling import log_softmax, rank_of, top_ids

if TYPE_CHECKING:
    from core.decoding.run import StepRecord


Step = Callable[[Any, int], Any]
"""One decode step: (parent pass, token id) → pass. ``Stepper.step``, or the same with a lower priority."""

READY_CACHES = 8
"""Newest nodes that may keep a K/V cache at hand to go on from; older ones have theirs put together again."""


class EnginePass(Protocol):
    """What this layer reads of a pass: the logits of its last position, (V,)."""

    @property
    def logits(self) -> np.ndarray: ...


class Stepper(Protocol):
    """The engine as this layer sees it; ``core.engine.model.LoadedModel`` is one."""

    def prefill(self, token_ids: Sequence[int], /) -> Any:
        """Process a prompt; return an ``EnginePass``."""

    def step(self, parent: Any, token_id: int, /) -> Any:
        """Process one more token after the pass ``parent``; return an ``EnginePass``."""


class Node:
    """One token of the tree and the pass that processed it. The root stands for the whole prompt.

    Attributes:
        parent: the node before it; None for the root.
        token_id: None for the root.
        engine_pass: the engine's pass; its logits are the prediction for the token after this one.
        children: by token id, in the order in which they were first visited.
        number: 0 for the root, then in the order of computation: a name that stays while the tree grows.
        depth: tokens after the prompt.
        log_probability: the model's own log p (T = 1, nats) of this token after its parent; 0 for the root.
        cumulative_log_probability: sum of it from the root to here.
        rank: 1 when it was the model's favourite; 0 for the root.
        logit: its raw logit.
        record: how it was chosen when first visited by a run; None when it was grown or searched.
    """

    def __init__(
        self, parent: Node | None, token_id: int | None, engine_pass: Any, number: int = 0
    ) -> None:
        self.parent = parent
        self.number = number
        self.token_id = token_id
        self.engine_pass = engine_pass
        self.children: dict[int, Node] = {}
        self.record: StepRecord | None = None
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.rank, self.logit, self.log_probability = 0, 0.0, 0.0
        if parent is not None and token_id is not None:
            logits = parent.engine_pass.logits
            self.rank = rank_of(logits, token_id)
            self.logit = float(logits[token_id])
            self.log_probability = float(log_softmax(logits)[token_id])
        before = parent.cumulative_log_probability if parent else 0.0
        self.cumulative_log_probability: float = before + self.log_probability

    @property
    def probability(self) -> float:
        """The model's own probability of this token after its parent (T = 1)."""
        return float(np.exp(self.log_probability))

    def path(self) -> list[Node]:
        """Nodes from the root (included) to here."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def token_ids(self) -> tuple[int, ...]:
        """The tokens after the prompt, up to and with this one."""
        return tuple(node.token_id for node in self.path() if node.token_id is not None)


class Tree:
    """All continuations of one prompt that were ever computed. Safe to use from several threads.

    ``steps_computed`` counts decode steps: it equals the number of nodes without the root.
    """

    def __init__(self, stepper: Stepper, prompt_ids: Sequence[int]) -> None:
        self.stepper = stepper
        self.prompt_ids = tuple(int(token_id) for token_id in prompt_ids)
        self.root = Node(None, None, stepper.prefill(self.prompt_ids))
        self._by_number: list[Node] = [self.root]
        self._ready: deque[Node] = deque()
        self._lock = threading.Lock()

    @property
    def steps_computed(self) -> int:
        return len(self._by_number) - 1

    def extend(self, node: Node, token_id: int, step: Step | None = None) -> Node:
        """Return the child of ``node`` for ``token_id``, computing it (by ``step``) only when it is new."""
        with self._lock:
            child = node.children.get(token_id)
            if child is None:
                engine_pass = (step or self.stepper.step)(node.engine_pass, token_id)
                child = Node(node, token_id, engine_pass, len(self._by_number))
                node.children[token_id] = child
                self._by_number.append(child)
                self._keep_ready(child)
            return child

    def _keep_ready(self, node: Node) -> None:
        """A leaf's cache weighs as much as its whole path; 200 of them would weigh more than the tree."""
        self._ready.append(node)
        if len(self._ready) > READY_CACHES:
            old = self._ready.popleft().engine_pass
            if getattr(old, "live_cache", None) is not None:
                old.live_cache = None

    def numbered(self, number: int) -> Node | None:
        """The node with this number, if there is one."""
        return self._by_number[number] if 0 <= number < len(self._by_number) else None

    def in_order(self) -> list[Node]:
        """Every node in the order of computation: parents before children, the root first."""
        return list(self._by_number)

    def nodes(self) -> list[Node]:
        """Every node, parents before children, the root first."""
        found = [self.root]
        for node in found:  # grows while it is walked
            found.extend(list(node.children.values()))
        return found

    def find(self, token_ids: Sequence[int]) -> Node | None:
        """The node at the end of this path from the root, if it was computed."""
        node: Node | None = self.root
        for token_id in token_ids:
            node = node.children.get(token_id) if node else None
        return node


@dataclass(frozen=True)
class Growth:
    """Progress of ``grow``: ``done`` of at most ``total`` nodes are there; ``node`` is the latest."""

    done: int
    total: int
    node: Node


def grow(
    tree: Tree,
    start: Node,
    top_k: int,
    depth: int,
    end_ids: frozenset[int] = frozenset(),
    stop: Callable[[], bool] = lambda: False,
    step: Step | None = None,
) -> Iterator[Growth]:
    """Add the ``top_k`` likeliest children of ``start``, their children, and so on, level by level to
    ``depth``.

    Yields after every node. Nodes already there are counted and not computed again; a node whose token is in
    ``end_ids`` is not grown. Ends early when ``stop()`` is true or the generator is closed: what is there
    stays.
    """
    total = sum(top_k**level for level in range(1, depth + 1))
    done, level_nodes = 0, [start]
    for _ in range(depth):
        next_level: list[Node] = []
        for parent in level_nodes:
            if parent.token_id in end_ids:
                continue
            for token_id in top_ids(parent.engine_pass.logits, top_k):
                if stop():
                    return
                child = tree.extend(parent, int(token_id), step)
                next_level.append(child)
                done += 1
                yield Growth(done, total, child)
        level_nodes = next_level
