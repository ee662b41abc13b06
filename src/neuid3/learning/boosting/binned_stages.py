"""Stages of boosting grown over coded columns by the compiled kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned import (
    BinKind,
    BinnedForest,
    BinnedGrower,
    BinnedLimits,
    BinnedTarget,
    BinnedTree,
    bin_columns,
    column_values,
    tree_nodes,
)
from neuid3.data.columns import Boolean, Category, Distribution, Probability
from neuid3.learning.boosting.stages import MIN_DECREASE, LeafReach, StageLimits, exact_reach
from neuid3.learning.candidates import Candidates
from neuid3.learning.inference import ExactInference
from neuid3.learning.responses import BooleanResponse, CategoricalResponse, ProbabilisticResponse, Response
from neuid3.tree.node_tests import NodeTest
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
        columns = self.table.columns
        certain = not any(column.has_missing or column.kind is BinKind.DISTRIBUTION for column in columns)
        self.codes = np.stack([column.codes for column in columns], axis=1) if columns and certain else None
        self.values = None if facts or certain else column_values(columns, examples)
        self.is_number = np.array([column.kind is BinKind.NUMBER for column in columns], dtype=bool)

    def grow(self, first: Floats, second: Floats, weights: Floats, limits: StageLimits, seed: int) -> BinnedStage:
        """The tree of a stage; see `StageGrower`."""
        columns = len(self.table.columns)
        settings = BinnedLimits(
            max_depth=limits.max_depth if columns else 0,
            max_splits=limits.max_splits,
            max_features=None if limits.max_features >= 1.0 else max(1, math.ceil(limits.max_features * columns)),
            min_mass=2.0 * limits.min_child_mass,
            min_gain=2.0 * MIN_DECREASE,
            min_reach=limits.min_reach,
            l2=limits.l2,
        )
        return BinnedStage(self, self.grower.grow(BinnedTarget.of_gradients(first, second, weights), settings, seed))


@dataclass(frozen=True, slots=True, eq=False)
class BinnedStage:
    """A stage whose tree consists of arrays.

    Attributes
    ----------
    grower : what has grown it.
    tree : the tree.
    """

    grower: BinnedStageGrower
    tree: BinnedTree

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int(self.tree.is_leaf.sum())

    def reach(self) -> LeafReach:
        """P(leaf | e) of every example."""
        grower, tree = self.grower, self.tree
        if grower.codes is not None:
            return LeafReach(self.leaves, leaf=self._certain_leaves(grower.codes))
        if grower.values is None:
            return exact_reach(self.root(), grower.inference)
        starts, leaf, probabilities = BinnedForest([tree], grower.table.columns).reach(grower.values)
        matrix = np.zeros((len(grower.values), self.leaves))
        matrix[np.repeat(np.arange(len(matrix)), np.diff(starts)), leaf] = probabilities
        return LeafReach.of(matrix)

    def _certain_leaves(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The leaf of each example, all of whose entries are certain, by its codes, `(example, column)`."""
        tree = self.tree
        nodes = np.zeros(len(codes), dtype=np.intp)
        rows = np.arange(len(codes)) if tree.column[0] >= 0 else np.arange(0)
        while len(rows):
            node = nodes[rows]
            column = tree.column[node]
            entries, compared = codes[rows, column], tree.code[node]
            yes = np.where(self.grower.is_number[column], entries <= compared, entries == compared)
            nodes[rows] = np.where(yes, tree.yes[node], tree.no[node])
            rows = rows[tree.column[nodes[rows]] >= 0]
        return (np.cumsum(tree.is_leaf) - 1)[nodes]

    def root(self) -> Node:
        """The tree as nodes."""
        masses, width = self.tree.statistics[:, 0], (self.tree.statistics.shape[1] - 1) // 2
        # The kernel's gain is that of G² / (H + λ) of the whole node; here it is the decrease of the loss per unit of mass.
        gain = np.divide(0.5 * self.tree.gain, masses, out=np.zeros_like(masses), where=masses > 0)
        zeros = (0.0,) * width
        return tree_nodes(
            replace(self.tree, gain=gain), self.grower.table.columns, lambda sums: ScoreLeaf(zeros, float(sums[0]))
        )


def _columns(candidates: Candidates, inference: ExactInference) -> tuple[list[str], list[NodeTest]]:
    """The columns whose tests are all candidates, and the tests of no such column that call no network."""
    tested: dict[str, set[Any]] = {}
    for test in candidates.tests:
        if test.column_value is not None:
            name, value = test.column_value
            tested.setdefault(name, set()).add(value)
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
        if not (test.column_value is not None and test.column_value[0] in coded)
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
