"""Stages of boosting grown over coded columns by the compiled kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned import BinnedForest, BinnedGrower, BinnedLimits, BinnedTarget, BinnedTree, bin_columns, column_values, tree_nodes
from neuid3.data.columns import Boolean, Category, Distribution, Probability
from neuid3.learning.boosting.stages import LeafReach, MIN_DECREASE, StageLimits, exact_reach
from neuid3.learning.candidates import Candidates
from neuid3.learning.inference import ExactInference
from neuid3.learning.responses import BooleanResponse, CategoricalResponse, ProbabilisticResponse, Response
from neuid3.tree.node_tests import FactTest, NodeTest, ValueTest
from neuid3.tree.sums import ScoreLeaf
from neuid3.tree.tree import Node

Floats = npt.NDArray[np.float64]

# A number column with more distinct values is divided into so many quantiles.
MAX_BINS = 256


class BinnedStageGrower:
    """Grows the trees of the stages over coded columns; the same trees as `PlainStageGrower` where responses are certain.

    Facts, values and numbers are columns of the engine. Every other test is a further fact with P(τ | e); while a tree is
    grown, such tests count as independent. The scores of its leaves are solved with exact probabilities.

    Parameters
    ----------
    inference : exact inference for the examples, with trained networks.
    candidates : tests and number columns.
    responses : the responses of tests with networks, for all examples.
    """

    def __init__(
        self,
        inference: ExactInference,
        candidates: Candidates,
        responses: Mapping[NodeTest, Response] | None = None,
    ) -> None:
        self.inference = inference
        names, others = _columns(candidates, inference)
        facts: dict[NodeTest, Any] = {test: _responses(inference, test) for test in others}
        facts |= {test: _as_array(response) for test, response in (responses or {}).items()}
        examples = inference.sample.examples
        self.table = bin_columns(examples, inference.sample.weights, names=names, facts=facts, max_bins=MAX_BINS)
        self.grower = BinnedGrower(self.table)
        self.is_plain = not facts
        self.values = column_values(self.table.columns, examples, facts=facts) if self.is_plain else None
        self.last: tuple[Node, BinnedTree] | None = None

    def grow(self, first: Floats, second: Floats, weights: Floats, limits: StageLimits, seed: int) -> Node:
        """The tree of a stage; see `StageGrower`."""
        if not self.table.columns:
            return ScoreLeaf((0.0,) * first.shape[1], float(weights.sum()))
        columns = len(self.table.columns)
        settings = BinnedLimits(
            max_depth=limits.max_depth,
            max_splits=limits.max_splits,
            max_features=None if limits.max_features >= 1.0 else max(1, math.ceil(limits.max_features * columns)),
            min_mass=2.0 * limits.min_child_mass,
            min_gain=2.0 * MIN_DECREASE,
            min_reach=limits.min_reach,
            l2=limits.l2,
        )
        tree = self.grower.grow(BinnedTarget.of_gradients(first, second, weights), settings, seed)
        masses = tree.statistics[:, 0]
        # The kernel's gain is that of G² / (H + λ) of the whole node; here it is the decrease of the loss per unit of mass.
        gain = np.divide(0.5 * tree.gain, masses, out=np.zeros_like(masses), where=masses > 0)
        zeros = (0.0,) * first.shape[1]
        root = tree_nodes(replace(tree, gain=gain), self.table, lambda s: ScoreLeaf(zeros, float(s[0])))
        self.last = root, tree
        return root

    def reach(self, root: Node) -> LeafReach:
        """P(leaf | e) of every example; see `StageGrower`."""
        if self.values is None or self.last is None or self.last[0] is not root:
            return exact_reach(root, self.inference)
        tree = self.last[1]
        leaves = int(tree.is_leaf.sum())
        starts, leaf, probabilities = BinnedForest([tree], self.table.columns).reach(self.values)
        if len(leaf) == len(self.values):
            return LeafReach(leaves, leaf=leaf)
        matrix = np.zeros((len(self.values), leaves))
        matrix[np.repeat(np.arange(len(self.values)), np.diff(starts)), leaf] = probabilities
        return LeafReach(leaves, matrix=matrix)


def _columns(candidates: Candidates, inference: ExactInference) -> tuple[list[str], list[NodeTest]]:
    """The columns whose tests are all candidates, and the tests of no such column that call no network."""
    tested: dict[str, set[Any]] = {}
    for test in candidates.tests:
        if isinstance(test, FactTest):
            tested.setdefault(test.column, set()).add(True)
        elif isinstance(test, ValueTest):
            tested.setdefault(test.column, set()).add(test.value)
    names = list(candidates.numbers)
    for name, values in tested.items():
        match inference.semantics.program.schema.get(name):
            case Boolean() | Probability():
                names.append(name)
            case (Category() | Distribution()) as kind if values >= _occurring(kind, name, inference):
                names.append(name)
    coded = set(names)
    others = [
        test
        for test in candidates.tests
        if not (isinstance(test, (FactTest, ValueTest)) and test.column in coded)
        and not inference.semantics.is_neural(test)
    ]
    return names, others


def _occurring(kind: Category | Distribution, name: str, inference: ExactInference) -> set[Any]:
    """The values of a column that occur."""
    column = inference.sample.examples.column(name)
    if isinstance(kind, Distribution):
        return set(kind.domain)
    known = column.values if column.missing is None else column.values[~column.missing]
    return {kind.domain[code] for code in np.unique(known)}


def _responses(inference: ExactInference, test: NodeTest) -> npt.NDArray[Any]:
    """P(τ | e) of a test, Boolean where it is certain."""
    responses = inference.conditional((), test)
    return responses > 0.5 if not inference.uncertain(test) else responses


def _as_array(response: Response) -> npt.NDArray[Any]:
    match response:
        case BooleanResponse(column) | ProbabilisticResponse(column):
            return np.asarray(column)
        case CategoricalResponse(codes=codes, value=value):
            return np.asarray(codes == value)
