"""One stage of boosting: a small tree on gradients and Hessians, and the joint Newton step of its leaves."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import numpy.typing as npt

from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode, Split, split_node
from neuid3.learning.inference import ExactInference
from neuid3.learning.node_bounds import NodeBounds
from neuid3.learning.responses import Response
from neuid3.learning.splitter import best_candidate
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.tree.criteria import Criterion, Target
from neuid3.tree.inference import CHUNK_ROWS
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.sums import ScoreLeaf
from neuid3.tree.tree import Branch, Node, branches, paths
from neuid3.tree.trees_reach import TreesReach

Floats = npt.NDArray[np.float64]

# The least decrease of the loss by a split, in the unit of the loss; what is less is rounding.
MIN_DECREASE = 1e-9


@dataclass(frozen=True, slots=True)
class StageLimits:
    """Limits of the tree of one stage.

    Attributes
    ----------
    max_splits : the most splits of the tree; None for no limit.
    max_depth : the longest path; None for no limit.
    min_child_mass : the least mass Σ w · P(κ|e) of each child.
    min_reach : examples with P(κ|e) below it are left out of a child while the tree is grown.
    l2 : λ, which is added to the second derivative of each leaf.
    max_features : the fraction of the columns and tests that are tried at a node.
    """

    max_splits: int | None = None
    max_depth: int | None = None
    min_child_mass: float = 0.0
    min_reach: float = 1e-3
    l2: float = 1.0
    max_features: float = 1.0


class StageConstraints(Protocol):
    """What the trees of a sum must satisfy besides limits, such as monotone scores."""

    @property
    def bounds(self) -> NodeBounds | None:
        """The order in which monotone constraints put the sides of each test; None where there are none."""
        ...

    def allowed(self, node: OpenNode, candidates: Candidates) -> Candidates:
        """Those of the candidates that a node may be split by.

        Parameters
        ----------
        node : the node, with its path.
        candidates : tests and number columns.

        Returns
        -------
        The candidates that remain.
        """
        ...

    def scores(self, root: Node, scores: Floats) -> Floats:
        """The nearest scores of the leaves that satisfy the constraints, `(leaf, score)`.

        Parameters
        ----------
        root : the tree of the stage.
        scores : what its leaves would add, `(leaf, score)`.

        Returns
        -------
        Scores, `(leaf, score)`.
        """
        ...


class Stage(Protocol):
    """The tree of a stage, before its leaves have scores.

    Attributes
    ----------
    leaves : the number of its leaves; 1 where no split decreases the loss.
    """

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        ...

    def reach(self) -> LeafReach:
        """P(leaf | e) of every example, those of weight 0 included.

        Returns
        -------
        Probabilities that sum to 1 for each example.
        """
        ...

    def root(self) -> Node:
        """The tree; its leaves have masses and add nothing yet.

        Returns
        -------
        The root.
        """
        ...


class StageGrower(Protocol):
    """Grows the trees of the stages."""

    def grow(self, first: Floats, second: Floats, weights: Floats, limits: StageLimits, seed: int) -> Stage:
        """The tree of a stage.

        Parameters
        ----------
        first : the gradient of each example, `(example, score)`.
        second : the diagonal of its Hessian, `(example, score)`.
        weights : the weight of each example, 0 for those that are not learned from, `(example,)`.
        limits : limits of the tree.
        seed : of random draws.

        Returns
        -------
        The tree, with P(leaf | e) of all examples.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LeafReach:
    """P(leaf | e) of the leaves of a tree: one leaf for each example where all responses are certain, else a matrix.

    Attributes
    ----------
    leaves : the number of leaves.
    leaf : the leaf of each example, `(example,)`; None where responses are uncertain.
    matrix : probabilities, `(example, leaf)`; None where they are certain.
    """

    leaves: int
    leaf: npt.NDArray[np.intp] | None = None
    matrix: Floats | None = None

    @classmethod
    def of(cls, matrix: Floats) -> LeafReach:
        """The reach of a matrix of probabilities.

        Parameters
        ----------
        matrix : probabilities that sum to 1 for each example, `(example, leaf)`.

        Returns
        -------
        The reach; one leaf for each example where all probabilities are 0 or 1.
        """
        leaf = matrix.argmax(axis=1)
        if bool((matrix[np.arange(len(matrix)), leaf] == 1.0).all()):
            return cls(matrix.shape[1], leaf=leaf)
        return cls(matrix.shape[1], matrix=matrix)

    def sums(self, scores: Floats) -> Floats:
        """Σ_leaf P(leaf | e) · v of each example.

        Parameters
        ----------
        scores : v of each leaf, `(leaf, score)`.

        Returns
        -------
        Sums, `(example, score)`.
        """
        return scores[self.leaf] if self.matrix is None else self.matrix @ scores

    def totals(self, weights: Floats) -> Floats:
        """Σ_e P(leaf | e) · w of each leaf.

        Parameters
        ----------
        weights : w of each example, `(example,)`.

        Returns
        -------
        Sums, `(leaf,)`.
        """
        if self.matrix is None:
            assert self.leaf is not None
            return np.bincount(self.leaf, weights, self.leaves).astype(np.float64, copy=False)
        return weights @ self.matrix

    def newton_scores(self, first: Floats, second: Floats, weights: Floats, l2: float) -> Floats:
        """The scores of all leaves that minimise the second-order expansion of the loss, `(leaf, score)`.

        With R = P(leaf | e), the loss changes by Σ_e w (g · Rv + ½ h · (Rv)²) + ½ λ v², and is least where
        (Rᵀ W H R + λ I) v = −Rᵀ W g. Examples that reach several leaves couple them, so they are solved jointly; where
        each example reaches one leaf, the matrix is diagonal.

        Parameters
        ----------
        first, second : derivatives of the loss, `(example, score)` each.
        weights : the weight of each example, `(example,)`.
        l2 : λ; with 0, the solution of least norm.

        Returns
        -------
        Scores, `(leaf, score)`.

        >>> reach = LeafReach.of(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> reach.newton_scores(np.array([[1.0], [-3.0]]), np.ones((2, 1)), np.ones(2), 0.0).round(9).tolist()
        [[-1.0], [3.0]]
        """
        scores = np.empty((self.leaves, first.shape[1]))
        for k in range(first.shape[1]):
            slope, curvatures = self.totals(weights * first[:, k]), weights * second[:, k]
            if self.matrix is None:
                diagonal = self.totals(curvatures) + l2
                scores[:, k] = -np.divide(slope, diagonal, out=np.zeros_like(slope), where=diagonal > 0)
                continue
            curvature = self.matrix.T @ (self.matrix * curvatures[:, None]) + l2 * np.eye(self.leaves)
            scores[:, k] = -np.linalg.lstsq(curvature, slope, rcond=None)[0]
        return scores


@dataclass(frozen=True)
class GradientCriterion:
    """What a splitter asks of a `Criterion`, for gradients and Hessians of a stage, counted by (Σ w, Σ w·g, Σ w·h); splits by the decrease of the loss.

    Targets are `(example, 2 · width)`: the gradients of all scores, then their second derivatives. An example that reaches
    both children counts in each with its probability, which bounds the decrease of the loss from below: (Σ P v)² ≤ Σ P v².

    Attributes
    ----------
    width : the number of scores.
    l2 : λ.
    """

    name: ClassVar[str] = "gradient"

    width: int = 1
    l2: float = 1.0

    def statistics(self, targets: Any, weights: Any) -> Any:
        return np.concatenate((weights[:, None], targets * weights[:, None]), axis=1)

    def sums(self, targets: Any, weights: Any) -> Any:
        return self.statistics(targets, weights).sum(axis=0)

    def sums_by_code(self, codes: Any, size: int, targets: Any, weights: Any) -> Any:
        columns = self.statistics(targets, weights).T
        return np.stack([np.bincount(codes, column, size) for column in columns], axis=-1)

    def mass(self, statistics: Any) -> Any:
        return statistics[..., 0]

    def number(self, statistics: Any) -> Any:
        """The best score of a leaf, −G / (H + λ), which monotone constraints are about; for one score.

        Parameters
        ----------
        statistics : the statistics of leaves, `(…, statistic)`.

        Returns
        -------
        Scores, with one axis fewer.
        """
        first, second = statistics[..., 1], statistics[..., 1 + self.width] + self.l2
        return -np.divide(first, second, out=np.zeros_like(first), where=second > 0)

    def decrease(self, statistics: Any) -> Any:
        """The decrease of the loss by the best scores of a leaf with these statistics, ½ Σ G² / (H + λ).

        Parameters
        ----------
        statistics : those of a leaf, `(…, statistic)`.

        Returns
        -------
        Decreases, with one axis fewer.
        """
        slope, curvature = statistics[..., 1 : 1 + self.width], statistics[..., 1 + self.width :] + self.l2
        squares = np.divide(slope**2, curvature, out=np.zeros_like(slope), where=curvature > 0)
        return 0.5 * squares.sum(axis=-1)

    def gain(self, yes: Any, no: Any) -> Any:
        total = self.mass(yes + no)
        decrease = self.decrease(yes) + self.decrease(no) - self.decrease(yes + no)
        return np.maximum(np.divide(decrease, total, out=np.zeros_like(decrease), where=total > 0), 0.0)


class PlainStageGrower:
    """The reference: the candidates of a node scored by the symbolic splitter, the best node split first.

    Parameters
    ----------
    inference : exact inference for the examples, with trained networks.
    candidates : tests and number columns; of tests with networks, those that have responses.
    responses : the responses of tests with networks, for all examples.
    offered : the candidates of a node, given those of all nodes.
    constraints : what the trees must satisfy, if anything.
    """

    def __init__(
        self,
        inference: ExactInference,
        candidates: Candidates,
        responses: Mapping[NodeTest, Response] | None = None,
        offered: Callable[[OpenNode, Candidates], Candidates] | None = None,
        constraints: StageConstraints | None = None,
    ) -> None:
        self.inference, self.responses = inference, dict(responses or {})
        self.listed = Candidates((*candidates.tests, *self.responses), candidates.numbers)
        self.offered, self.constraints = offered or (lambda _, listed: listed), constraints
        self.splitter = SymbolicSplitter(inference, self.listed, 0.0, self.responses)
        self.groups = _groups(self.listed, inference)

    def grow(self, first: Floats, second: Floats, weights: Floats, limits: StageLimits, seed: int) -> PlainStage:
        """The tree of a stage.

        Parameters
        ----------
        first, second : derivatives of the loss, `(example, score)` each.
        weights : the weight of each example, 0 for those that are not learned from, `(example,)`.
        limits : limits of the tree.
        seed : of random draws.

        Returns
        -------
        The tree, with P(leaf | e) of all examples.
        """
        criterion = cast("Criterion", GradientCriterion(first.shape[1], limits.l2))
        target = Target(np.concatenate((first, second), axis=1), weights, criterion)
        self.splitter.sample = replace(self.inference.sample, target=target)
        self.splitter.min_child_mass = limits.min_child_mass
        rng = np.random.default_rng(seed)
        bounds = None if self.constraints is None else self.constraints.bounds
        root = _best_first(
            OpenNode.root(len(weights), bounds), limits, lambda node: self._split(node, limits, rng), self._leaf
        )
        return PlainStage(root, self.inference)

    def _leaf(self, node: OpenNode) -> ScoreLeaf:
        target = self.splitter.sample.target_at(node)
        return ScoreLeaf((0.0,) * (target.values.shape[1] // 2), float(target.weights.sum()))

    def _split(self, node: OpenNode, limits: StageLimits, rng: np.random.Generator) -> tuple[float, Split] | None:
        """The best split of a node, and by how much it decreases the loss; None where no split decreases it."""
        candidates = self.offered(node, self.listed)
        if limits.max_features < 1.0:
            candidates = self._drawn(candidates, limits.max_features, rng)
        if self.constraints is not None:
            candidates = self.constraints.allowed(node, candidates)
        best = best_candidate(list(self.splitter.candidates(node, candidates)))
        mass = float(self.splitter.sample.target_at(node).weights.sum())
        if best is None or best[0].gain * mass <= MIN_DECREASE:
            return None
        chosen = best[0]
        split = Split(chosen.test, self._conditional(node, chosen.test), chosen.gain, False, chosen.candidate)
        return chosen.gain * mass, split

    def _conditional(self, node: OpenNode, test: NodeTest) -> Any:
        certain = self.splitter.certain_responses(node, test)
        return self.inference.conditional(node.path, test, node.rows) if certain is None else certain

    def _drawn(self, candidates: Candidates, fraction: float, rng: np.random.Generator) -> Candidates:
        """A random part of the candidates; all values of a column are drawn together."""
        groups = sorted(set(self.groups.values()))
        kept = set(rng.choice(len(groups), max(1, round(fraction * len(groups))), replace=False).tolist())
        names = {groups[i] for i in kept}
        return Candidates(
            tuple(test for test in candidates.tests if self.groups.get(test, "") in names),
            tuple(name for name in candidates.numbers if self.groups.get(name, "") in names),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PlainStage:
    """A stage whose leaf probabilities are computed by exact inference.

    Attributes
    ----------
    tree : the root of its tree.
    inference : exact inference for the examples.
    """

    tree: Node
    inference: ExactInference

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return sum(1 for _ in paths(self.tree))

    def reach(self) -> LeafReach:
        """P(leaf | e) of every example."""
        return exact_reach(self.tree, self.inference)

    def root(self) -> Node:
        """The tree."""
        return self.tree


def exact_reach(root: Node, inference: ExactInference) -> LeafReach:
    """P(leaf | e) of the leaves of a tree for all examples of a fit, by exact inference."""
    if len(inference.sample) > CHUNK_ROWS:
        return LeafReach.of(inference.reach([path for path, _ in paths(root)]))
    inference.ensure_priors([branch.test for branch in branches(root)])
    arrays = inference.core.arrays
    with arrays.without_gradients():
        (reach,) = TreesReach([root], inference.core)(inference.evidence)
        return LeafReach.of(np.asarray(arrays.to_numpy(reach)))


def _groups(listed: Candidates, inference: ExactInference) -> dict[Any, str]:
    """The group of each candidate: its column, where it reads one without networks, otherwise itself."""
    program = inference.semantics.program
    groups: dict[Any, str] = {name: name for name in listed.numbers}
    for test in listed.tests:
        columns = test.columns(program)
        single = len(columns) == 1 and not test.atoms
        groups[test] = next(iter(columns)) if single else f"{test} {test.instances}"
    return groups


def _best_first(
    root: OpenNode,
    limits: StageLimits,
    best_split: Callable[[OpenNode], tuple[float, Split] | None],
    leaf: Callable[[OpenNode], ScoreLeaf],
) -> Node:
    """The tree that is grown by splitting the node first whose split decreases the loss most."""
    opened = [root]
    children: dict[int, tuple[int, int]] = {}
    splits: dict[int, Split] = {}
    heap: list[tuple[float, int]] = []

    def push(number: int) -> None:
        node = opened[number]
        if limits.max_depth is None or len(node.path) < limits.max_depth:
            found = best_split(node)
            if found is not None:
                splits[number] = found[1]
                heapq.heappush(heap, (-found[0], number))

    push(0)
    while heap and (limits.max_splits is None or len(children) < limits.max_splits):
        _, number = heapq.heappop(heap)
        children[number] = len(opened), len(opened) + 1
        opened += split_node(opened[number], splits[number], limits.min_reach)
        for child in children[number]:
            push(child)
    nodes: dict[int, Node] = {}
    for number in range(len(opened) - 1, -1, -1):  # children have larger numbers than their parents
        if number in children:
            yes, no = children[number]
            nodes[number] = Branch(
                splits[number].test, nodes[yes], nodes[no], splits[number].gain, summary=leaf(opened[number])
            )
        else:
            nodes[number] = leaf(opened[number])
    return nodes[0]
