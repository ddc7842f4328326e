"""Promises of a tree: shared prefixes, nothing computed twice, growth that can be stopped."""

import numpy as np
import pytest

from core.decoding.sampling import top_ids
from core.decoding.tree import Tree, grow
from tests.unit.decoding_fakes import FakeStepper


def test_a_tree_of_200_nodes_costs_200_single_steps_and_no_prefix_twice() -> None:
    stepper = FakeStepper()
    tree = Tree(stepper, (1, 2))
    list(grow(tree, tree.root, top_k=14, depth=2))  # 14 + 196 nodes
    assert tree.steps_computed == len(stepper.seen) == len(set(stepper.seen)) == 210
    assert len(tree.nodes()) == 211 and stepper.prefills == 1


def test_growing_again_computes_nothing_and_growing_wider_computes_the_rest() -> None:
    stepper = FakeStepper()
    tree = Tree(stepper, (1, 2))
    list(grow(tree, tree.root, top_k=2, depth=3))
    assert len(stepper.seen) == 14
    list(grow(tree, tree.root, top_k=2, depth=3))
    assert len(stepper.seen) == 14
    list(grow(tree, tree.root, top_k=3, depth=2))
    assert len(stepper.seen) == 14 + 3 + 3


def test_growth_adds_the_likeliest_tokens_and_reports_each_node() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    reports = list(grow(tree, tree.root, top_k=3, depth=2))
    assert [report.done for report in reports] == list(range(1, 13)) and reports[0].total == 12
    assert list(tree.root.children) == top_ids(tree.root.engine_pass.logits, 3).tolist()
    assert [child.rank for child in tree.root.children.values()] == [1, 2, 3]


def test_growth_stops_when_asked_and_keeps_what_is_there() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    list(grow(tree, tree.root, top_k=3, depth=3, stop=lambda: tree.steps_computed >= 5))
    assert tree.steps_computed == 5
    growing = grow(tree, tree.root, top_k=3, depth=3)
    next(growing)
    growing.close()
    assert tree.steps_computed == 5


def test_an_end_of_text_node_is_not_grown() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    best = int(np.argmax(tree.root.engine_pass.logits))
    list(grow(tree, tree.root, top_k=2, depth=2, end_ids=frozenset({best})))
    assert tree.root.children[best].children == {}
    assert tree.steps_computed == 4


def test_the_probability_of_a_path_is_the_product_of_its_steps() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    node = tree.extend(tree.extend(tree.extend(tree.root, 5), 6), 7)
    steps = [step.probability for step in node.path()[1:]]
    assert np.exp(node.cumulative_log_probability) == pytest.approx(np.prod(steps))
    assert node.token_ids() == (5, 6, 7) and tree.find((5, 6, 7)) is node and tree.find((5, 9)) is None
