"""Goals in leaves: their likelihoods, splits that are scored with what children could compute, and the choice of leaves."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Floats, Sample
from neuid3.tree.components import Components, components
from neuid3.tree.criterion import FLOOR, PRIOR_MASS, Criterion, Mask
from neuid3.tree.goals import Goal, GoalLeaf
from neuid3.tree.leaves import LeafNode
from neuid3.tree.record import AnyScore
from neuid3.tree.target import Target
from neuid3.tree.tree import Branch, Node, Path, Visit, fold, paths

if TYPE_CHECKING:  # tables without networks are learned without PyTorch
    import torch

# While a tree is grown, a goal is tried with each of these noise rates, and each of these deviations of numbers around its
# value, as a fraction of the deviation of all targets; for the leaves of a grown tree both are estimated.
NOISES = (0.01, 0.05, 0.2, 0.5)
DEVIATIONS = (0.03, 0.3)

# So many goals, those under which the examples of a leaf are likeliest, are compared exactly there.
COMPARED_GOALS = 3

# The least noise, and the least mass of unseen examples that decide between leaves; with less, all examples decide.
MIN_NOISE, MIN_UNSEEN_MASS = 1e-3, 8.0

# Steps of the estimate of noise and deviation; it converges in fewer.
EM_STEPS = 50


@dataclass(frozen=True, slots=True, eq=False)
class GoalCandidates:
    """The goals that leaves may hold.

    Attributes
    ----------
    goals : the goals, with networks as declared.
    targets : for each goal its values as the criterion takes targets: class numbers, or standardised numbers.
    """

    goals: tuple[Goal, ...] = ()
    targets: tuple[Floats, ...] = ()

    def __len__(self) -> int:
        return len(self.goals)

    def targets_of(self, goal: Goal) -> Floats:
        """The values of a goal with any instances, as the criterion takes targets, `(value,)`."""
        return next(t for g, t in zip(self.goals, self.targets, strict=True) if g.text == goal.text)


NO_GOALS = GoalCandidates()


@dataclass(frozen=True, slots=True)
class Option:
    """What a leaf may hold besides its own distribution while a tree is grown: a goal with a noise rate and a deviation."""

    goal: Goal
    noise: float
    deviation: float


class _PlainLoss(Criterion):
    """What a criterion with goals leaves to that of plain leaves: scores, and the loss of leaves in training."""

    base: Criterion
    description = property(lambda self: self.base.description)

    def log_likelihoods(self, reach: Floats, statistics: Floats, targets: Floats) -> Floats:
        return self.base.log_likelihoods(reach, statistics, targets)

    def score(self, kind: str, reach: Floats, leaves: Sequence[LeafNode], targets: Floats) -> AnyScore:
        return self.base.score(kind, reach, leaves, targets)

    def initial_parameters(self, statistics: Floats, paths: int, flipped: bool, coins: Callable[[int], Mask]) -> Floats:
        return self.base.initial_parameters(statistics, paths, flipped, coins)

    def leaf_parameters(self, leaves: Sequence[LeafNode]) -> Floats:
        return self.base.leaf_parameters(leaves)

    def likelihoods(self, parameters: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return self.base.likelihoods(parameters, targets)

    def leaf_values(self, parameters: torch.Tensor) -> Floats:
        return self.base.leaf_values(parameters)

    def with_value(self, leaf: LeafNode, value: Floats) -> LeafNode:
        return self.base.with_value(leaf, value)

    def is_positive(self, targets: Any, flipped: Any = False) -> Any:
        return self.base.is_positive(targets, flipped)

    def positive_fraction(self, statistics: Floats) -> float | None:
        return self.base.positive_fraction(statistics)


@dataclass(frozen=True)
class GoalCriterion(_PlainLoss):
    """A criterion whose leaves may also hold goals: a node is as impure as its best leaf leaves it, in bits.

    A target is a row: that of the criterion `base`, and the bits that it takes under each option. Bits add up like all
    statistics, and the impurity is the least of several concave functions of them, so that gains are never negative.
    Gains are bits whatever the unit of `base`, since goals have no other measure.

    Attributes
    ----------
    base : the criterion of plain leaves.
    options : goals with noise rates.
    goals : how many different goals there are.
    dtype : the type of the targets of `base`.
    """

    name: ClassVar[str] = "goals"

    base: Criterion
    options: tuple[Option, ...]
    goals: int
    dtype: str

    @property
    def degrees_of_freedom(self) -> int:
        return self.base.degrees_of_freedom

    def _targets(self, targets: Floats) -> Floats:
        return targets[:, 0].astype(self.dtype)

    def _plain(self, statistics: Floats) -> Floats:
        return statistics[..., : -len(self.options)]

    def _bits(self, statistics: Floats) -> Floats:
        """The bits of all targets under each option."""
        return statistics[..., -len(self.options) :]

    def statistics(self, targets: Floats, weights: Floats) -> Floats:
        plain = self.base.statistics(self._targets(targets), weights)
        return np.concatenate((plain, weights[:, None] * targets[:, 1:]), axis=1)

    def mass(self, statistics: Floats) -> Floats:
        return self.base.mass(self._plain(statistics))

    def strata(self, targets: Floats) -> npt.NDArray[np.int64]:
        return self.base.strata(self._targets(targets))

    def impurity(self, statistics: Floats) -> Floats:
        return self.entropy(statistics)

    def entropy(self, statistics: Floats) -> Floats:
        mass = np.asarray(self.mass(statistics))[..., None]
        bits = self._bits(statistics)
        of_options = np.divide(bits, mass, out=np.zeros_like(bits), where=mass > 0).min(axis=-1)
        plain: Floats = np.minimum(self.base.entropy(self._plain(statistics)), of_options)
        return plain

    def is_pure(self, statistics: Floats) -> bool:
        return self.base.is_pure(self._plain(statistics))

    def minority_mass(self, statistics: Floats) -> float:
        return self.base.minority_mass(self._plain(statistics))

    def code_length(self, statistics: Floats, node: Floats) -> float:
        """The shorter code of a plain leaf and of the best option; which one it is takes bits as well."""
        plain = self.base.code_length(self._plain(statistics), self._plain(node))
        computed = float(self._bits(statistics).min()) + math.log2(len(self.options) / self.goals)
        return min(plain, computed) + math.log2(self.goals + 1)

    def leaf(self, statistics: Floats) -> LeafNode:
        plain = self.base.leaf(self._plain(statistics))
        bits, mass = self._bits(statistics), float(self.mass(statistics))
        if mass <= 0 or float(bits.min()) / mass >= float(self.base.entropy(self._plain(statistics))):
            return plain
        best = self.options[int(bits.argmin())]
        return GoalLeaf(best.goal, plain, best.noise, best.deviation)


def with_goals(inference: ExactInference, candidates: GoalCandidates) -> ExactInference:
    """The same inference for a sample whose splits are scored with goals; the same where no goal can be computed.

    Parameters
    ----------
    inference : exact inference with the networks trained so far.
    candidates : the goals; those that call a network which is not trained yet are left out.
    """
    sample = inference.sample
    ready = _ready(inference, candidates)
    if not ready:
        return inference
    options, columns = [], []
    plain = plain_likelihoods(sample)
    scale = sample.criterion.value_scale
    for goal in ready:
        values = candidates.targets_of(goal)
        probabilities = goal_probabilities(inference, (), goal)
        for deviation in (0.0,) if scale is None else DEVIATIONS:
            likelihoods = value_likelihoods(sample, probabilities, values, deviation, slice(None))
            for noise in NOISES:
                options.append(Option(goal, noise, deviation * (scale or 0.0)))
                columns.append(-np.log2(np.maximum((1.0 - noise) * likelihoods + noise * plain, FLOOR)))
    target = sample.target
    criterion = GoalCriterion(target.criterion, tuple(options), len(ready), str(target.values.dtype))
    values = np.column_stack((target.values, *columns))
    scored = copy.copy(inference)
    scored.sample = replace(sample, growth_target=Target(values, target.weights, criterion))
    return scored


def _ready(inference: ExactInference, candidates: GoalCandidates) -> list[Goal]:
    """The goals whose networks are all trained, with their instances."""
    return [goal for goal in (bound_goal(inference, g) for g in candidates.goals) if is_ready(inference, goal)]


def bound_goal(inference: ExactInference, goal: Goal) -> Goal:
    """A goal with the instances of its networks that the tree calls."""
    networks = {call.network for call in inference.semantics.goal_calls(goal.bind({}))}
    bindings = {name: inference.bindings[name] for name in sorted(networks) if name in inference.bindings}
    return goal.bind(bindings)


def is_ready(inference: ExactInference, goal: Goal) -> bool:
    """Whether all networks that a goal calls are trained."""
    return all(call.network in inference.instances for call in inference.semantics.goal_calls(goal))


def goal_probabilities(inference: ExactInference, path: Path, goal: Goal, rows: Any = None) -> Floats:
    """P(κ ∧ Y = y | e) for each value y of a goal, `(example, value)`."""
    tests = [test for _, test in inference.semantics.value_tests(goal)]
    return inference.reach([(*path, (test, True)) for test in tests], rows)


def value_likelihoods(sample: Sample, probabilities: Floats, values: Floats, deviation: float, rows: Any) -> Floats:
    """The likelihood of each target under the distribution of a goal's values, `(example,)`.

    Parameters
    ----------
    sample : the targets.
    probabilities : the probability of each value, `(example, value)`.
    values : the values, as the criterion takes targets, `(value,)`.
    deviation : the standardised deviation of numbers around each value.
    rows : the examples.
    """
    of_values = sample.criterion.value_likelihoods(values, sample.target.values[rows][:, None], deviation)
    likelihoods: Floats = (probabilities * of_values).sum(axis=1)
    return likelihoods


def plain_likelihoods(sample: Sample) -> Floats:
    """The likelihood of each target under one leaf for all training examples, `(example,)`."""
    target = sample.target
    statistics = target.weighted(np.where(sample.unseen, 0.0, target.weights)).sums()
    likelihoods: Floats = np.exp(
        sample.criterion.log_likelihoods(np.ones((len(target), 1)), statistics[None], target.values)
    )
    return likelihoods


# The leaves of a grown tree -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """A goal at a leaf: its noise rate, its standardised deviation, and the bits of the examples that decide."""

    goal: Goal
    noise: float
    deviation: float
    bits: float


def settled(root: Node, inference: ExactInference, candidates: GoalCandidates) -> Node:
    """The tree with the best kind of leaf at each of its leaves, chosen on unseen examples by exact inference.

    Parameters
    ----------
    root : the root of a grown tree, whose leaves may hold goals already.
    inference : exact inference with the networks of the tree.
    candidates : the goals to choose from.
    """
    ready = _ready(inference, candidates)
    if not ready:
        return root
    reach = inference.reach([path for path, _ in paths(root)])
    chosen = [
        _best_leaf(path, leaf, reach[:, number], inference, candidates, ready)
        for number, (path, leaf) in enumerate(paths(root))
    ]
    return with_leaf_nodes(root, chosen)


def with_leaf_nodes(root: Node, leaves: Sequence[LeafNode]) -> Node:
    """The tree with these leaves, from left to right."""
    waiting = iter(leaves[::-1])

    def replaced(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        if below is None:
            return next(waiting)
        node = visit.node
        assert isinstance(node, Branch)
        summary = node.summary.otherwise if isinstance(node.summary, GoalLeaf) else node.summary
        return Branch(node.test, *below, node.gain, statistics=node.statistics, summary=summary)

    return fold(root, replaced)


def _best_leaf(
    path: Path,
    leaf: LeafNode,
    reach: Floats,
    inference: ExactInference,
    candidates: GoalCandidates,
    ready: Sequence[Goal],
) -> LeafNode:
    """The leaf that takes the fewest bits at a path: a plain one, or one of the goals."""
    sample = inference.sample
    plain_leaf = leaf.otherwise if isinstance(leaf, GoalLeaf) else leaf
    rows = _deciding_rows(sample, reach)
    if not len(rows):
        return plain_leaf
    weights = sample.weights[rows] * reach[rows]
    plain = leaf_likelihoods(sample, reach, rows)
    bits = -float(weights @ np.log2(np.maximum(plain, FLOOR)))
    fits = [
        _fit(inference, path, goal, candidates.targets_of(goal), rows, reach[rows], weights, plain)
        for goal in _likeliest(inference, candidates, ready, rows, weights)
    ]
    best = min(fits, key=lambda fit: fit.bits)
    if best.bits + math.log2(len(ready)) >= bits:
        return plain_leaf
    return GoalLeaf(best.goal, plain_leaf, best.noise, best.deviation * (sample.criterion.value_scale or 0.0))


def _deciding_rows(sample: Sample, reach: Floats) -> npt.NDArray[np.int64]:
    """The unseen examples that reach a leaf; all examples where these are too few."""
    reached = (reach > 0) & (sample.weights > 0)
    unseen = reached & sample.unseen
    enough = float((sample.weights * reach)[unseen].sum()) >= MIN_UNSEEN_MASS
    return np.flatnonzero(unseen if enough else reached)


def leaf_likelihoods(sample: Sample, reach: Floats, rows: npt.NDArray[np.int64]) -> Floats:
    """The likelihood of the targets of some rows under a plain leaf that training examples estimate, `(row,)`."""
    target = sample.target
    training = target.weights * np.where(sample.unseen, 0.0, reach)
    everyone = target.weighted(np.where(sample.unseen, 0.0, target.weights)).sums()
    mass = float(sample.criterion.mass(everyone))
    # Smoothed by a few examples of the whole sample, so that no class is impossible.
    statistics = target.weighted(training).sums() + everyone * (PRIOR_MASS / max(mass, 1e-300))
    likelihoods: Floats = np.exp(
        sample.criterion.log_likelihoods(np.ones((len(rows), 1)), statistics[None], target.values[rows])
    )
    return likelihoods


def _likeliest(
    inference: ExactInference,
    candidates: GoalCandidates,
    ready: Sequence[Goal],
    rows: npt.NDArray[np.int64],
    weights: Floats,
) -> list[Goal]:
    """The goals under which the targets of a leaf are likeliest, without regard to variables that path and goal share."""
    if len(ready) <= COMPARED_GOALS:
        return list(ready)
    sample, noise = inference.sample, NOISES[1]
    deviation = 0.0 if sample.criterion.value_scale is None else DEVIATIONS[-1]
    scores = []
    for goal in ready:
        probabilities = goal_probabilities(inference, (), goal, rows)
        likelihoods = value_likelihoods(sample, probabilities, candidates.targets_of(goal), deviation, rows)
        scores.append(-float(weights @ np.log(likelihoods + noise)))
    return [ready[i] for i in np.argsort(scores, kind="stable")[:COMPARED_GOALS]]


def _fit(
    inference: ExactInference,
    path: Path,
    goal: Goal,
    values: Floats,
    rows: npt.NDArray[np.int64],
    reach: Floats,
    weights: Floats,
    plain: Floats,
) -> Fit:
    """A goal at a path, with the noise rate and deviation of the greatest likelihood, found by expectation maximisation."""
    sample = inference.sample
    joint = goal_probabilities(inference, path, goal, rows)
    probabilities = np.divide(joint, reach[:, None], out=np.zeros_like(joint), where=reach[:, None] > 0)
    numbers = sample.criterion.value_scale is not None
    noise, deviation = NOISES[1], DEVIATIONS[-1] if numbers else 0.0
    squares = (sample.target.values[rows][:, None] - values) ** 2 if numbers else None
    mass = float(weights.sum())
    for _ in range(EM_STEPS):
        of_values = probabilities * sample.criterion.value_likelihoods(
            values, sample.target.values[rows][:, None], deviation
        )
        computed = of_values.sum(axis=1)
        mixture = np.maximum((1.0 - noise) * computed + noise * plain, FLOOR)
        # As if one of two further examples did not fit the goal.
        noise = (float(weights @ (noise * plain / mixture)) + 1.0) / (mass + PRIOR_MASS)
        noise = min(max(noise, MIN_NOISE), 1.0)
        if squares is not None:
            shares = (1.0 - noise) * of_values / mixture[:, None]
            variance = float(weights @ (shares * squares).sum(axis=1)) / max(float(weights @ shares.sum(axis=1)), 1e-9)
            deviation = max(math.sqrt(variance), sample.criterion.min_deviation)
    computed = value_likelihoods(sample, probabilities, values, deviation, rows)
    mixture = np.maximum((1.0 - noise) * computed + noise * plain, FLOOR)
    return Fit(goal, noise, deviation, -float(weights @ np.log2(mixture)))


# The likelihood of a whole tree ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComponentCriterion:
    """The criterion of a tree in joint training, whose paths are components: values of goals, or plain leaves.

    Its parameters are those of the plain leaves; noise rates and deviations stay as they are. All else is the criterion
    `base`.

    Attributes
    ----------
    base : the criterion of plain leaves.
    leaf_numbers : the leaf of each component, `(component,)`.
    values : its value as the criterion takes targets, `(component,)`; any number for plain leaves.
    noises : its noise rate, `(component,)`; 1 for plain leaves.
    deviations : its standardised deviation, `(component,)`.
    """

    base: Criterion
    leaf_numbers: npt.NDArray[np.int64]
    values: Floats
    noises: Floats
    deviations: Floats

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)

    def likelihoods(self, parameters: Any, targets: Any) -> Any:
        """The likelihood of each target in each component, `(component, restart, row)`; see `Criterion.likelihoods`."""
        plain = self.base.likelihoods(parameters, targets)[self.leaf_numbers.tolist()]
        noises, values, deviations = (
            parameters.new_tensor(numbers)[:, None, None] for numbers in (self.noises, self.values, self.deviations)
        )
        computed = self.base.value_likelihoods(values, targets, deviations)
        return noises * plain + (1.0 - noises) * computed


def component_criterion(parts: Components, criterion: Criterion, candidates: GoalCandidates) -> Any:
    """The criterion of a tree with these components; the given one where no leaf has a goal."""
    if not parts.compute:
        return criterion
    values, scale = np.zeros(len(parts.paths)), criterion.value_scale or 1.0
    for number, leaf in enumerate(parts.leaves):
        if isinstance(leaf, GoalLeaf):
            values[parts.leaf_numbers == number] = candidates.targets_of(leaf.goal)
    deviations = np.array([leaf.deviation / scale if isinstance(leaf, GoalLeaf) else 1.0 for leaf in parts.leaves])
    floor = criterion.min_deviation
    return ComponentCriterion(
        criterion, parts.leaf_numbers, values, parts.noises, np.maximum(deviations, floor)[parts.leaf_numbers]
    )


def tree_log_likelihoods(root: Node, inference: ExactInference, candidates: GoalCandidates) -> Floats:
    """The log-likelihood of every unseen example, `(example,)`, with plain leaves estimated from training examples."""
    sample = inference.sample
    target, unseen = sample.target, sample.unseen
    parts = components(root, inference.semantics)
    reach = inference.reach(parts.paths)  # (example, component)
    of_leaves = reach @ parts.leaf_sums if parts.compute else reach
    training_weights = np.where(unseen, 0.0, target.weights)
    statistics = np.stack([target.weighted(training_weights * leaf).sums() for leaf in of_leaves.T])
    targets = target.values[unseen]
    if not parts.compute:
        return sample.criterion.log_likelihoods(reach[unseen], statistics, targets)
    noises = [leaf.noise if isinstance(leaf, GoalLeaf) else 1.0 for leaf in parts.leaves]
    plain = np.exp(sample.criterion.log_likelihoods(of_leaves[unseen] * noises, statistics, targets))
    criterion = component_criterion(parts, sample.criterion, candidates)
    of_values = sample.criterion.value_likelihoods(criterion.values, targets[:, None], criterion.deviations)
    computed = (reach[unseen] * (1.0 - parts.noises) * of_values).sum(axis=1)
    likelihoods: Floats = np.log(np.maximum(plain + computed, FLOOR))
    return likelihoods


def with_estimated_noise(root: Node, inference: ExactInference, candidates: GoalCandidates) -> Node:
    """The tree with the noise and deviation of each goal estimated anew, after its networks have been trained."""
    reach = inference.reach([path for path, _ in paths(root)])
    leaves: list[LeafNode] = []
    for number, (path, leaf) in enumerate(paths(root)):
        rows = _deciding_rows(inference.sample, reach[:, number])
        if not isinstance(leaf, GoalLeaf) or not len(rows):
            leaves.append(leaf)
            continue
        sample, of_rows = inference.sample, reach[rows, number]
        plain = leaf_likelihoods(sample, reach[:, number], rows)
        fit = _fit(
            inference,
            path,
            leaf.goal,
            candidates.targets_of(leaf.goal),
            rows,
            of_rows,
            sample.weights[rows] * of_rows,
            plain,
        )
        scale = sample.criterion.value_scale or 0.0
        leaves.append(GoalLeaf(leaf.goal, leaf.otherwise, fit.noise, fit.deviation * scale))
    return with_leaf_nodes(root, leaves)


def instances_of(root: Node) -> list[tuple[str, str]]:
    """The instance of each declared network that the goals of a tree call."""
    found: Mapping[tuple[str, str], None] = dict.fromkeys(
        pair for _, leaf in paths(root) if isinstance(leaf, GoalLeaf) for pair in leaf.goal.instances
    )
    return list(found)
