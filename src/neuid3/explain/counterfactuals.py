"""Smallest counterfactuals: the fewest changes after which the prediction is another one.

There are two kinds of interventions.

*Responses of tests.* A test is forced to a response, wherever it stands in the tree; all other tests keep their (joint)
probabilities, as if the forced one were replaced by a constant. Responses that are inconsistent, such as `age > 60` and
not `age > 40`, are never forced together.

*Values of variables.* A column or the output of a network is forced to a value; all other variables keep their
probabilities, and the responses of all tests follow. The probabilistic facts of the program are not changed.

The class changes when another class is more probable than the predicted one by more than `MARGIN`; a number, when it is on the
other side of a threshold. Sets are tried by size,
so the first one found is a smallest one, and all sets of its size are compared. A set is extended only by interventions on
tests that are still reachable after it. This is complete: if no intervention in the rest of a set concerns a reachable
test, the rest can be dropped, so the set is not a smallest one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.circuits.conjunctions import SignedTest
from neuid3.explain.example_view import ExampleView, Floats
from neuid3.explain.explanation import Change, Counterfactual, Reading, number_of
from neuid3.explain.probabilities import JointProbabilities
from neuid3.logic.formula import CalculatedVariable, CellVariable, ChoiceVariable, Variable, variables_in

# How much more probable another class must be, so that rounding does not decide.
MARGIN = 1e-9

# The most sets of one size.
MAX_SETS = 100_000

# The number of sets that are evaluated at a time.
BATCH_SIZE = 4096

# A row for each set, a column for each slot; code 0 leaves a slot as it is, other codes are its values.
Forced = npt.NDArray[np.int64]

# A set of interventions, by their indices.
IndexSet = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Intervention:
    """One change: a slot, the code it takes, and the branches (by their index) whose tests it concerns."""

    slot: int
    code: int
    tested_at: frozenset[int]


class InterventionSpace(Protocol):
    """The possible interventions and their effects."""

    interventions: Sequence[Intervention]
    slots: int

    def reach(self, forced: Forced) -> Floats:
        """The probability of every node, `(set, node)`."""
        ...

    def consistent(self, interventions: Sequence[Intervention]) -> bool:
        """Whether these interventions can be made together."""
        ...

    def distance(self, interventions: Sequence[Intervention]) -> tuple[float, ...]:
        """The distance from the example as it is; it orders sets of the same size."""
        ...

    def change(self, intervention: Intervention) -> Change:
        """An intervention as part of an explanation."""
        ...


class OtherPrediction(Protocol):
    """What a counterfactual is to reach: a prediction that differs from the present one.

    Outcomes are mixtures of what the leaves say, `(set, value)`. If no leaf reaches it, no mixture of leaves does.
    """

    def reached(self, outcomes: Floats) -> npt.NDArray[np.bool_]:
        """Whether each outcome is another prediction, `(set,)`."""
        ...

    def quality(self, outcome: Floats) -> float:
        """The larger, the better an outcome, `(value,)`, is among equally near ones."""
        ...

    def found(self, changes: tuple[Change, ...], outcome: Floats) -> Counterfactual:
        """The counterfactual of these changes with this outcome."""
        ...


@dataclass(frozen=True, slots=True)
class OtherClass:
    """Another class than the predicted one, which has the number `predicted` among `classes`."""

    classes: tuple[Any, ...]
    predicted: int

    def reached(self, outcomes: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray((outcomes > outcomes[:, [self.predicted]] + MARGIN).any(axis=1))

    def quality(self, outcome: Floats) -> float:
        return float(outcome.max())

    def found(self, changes: tuple[Change, ...], outcome: Floats) -> Counterfactual:
        prediction = self.classes[int(outcome.argmax())]
        return Counterfactual("found", len(changes), changes, prediction, tuple(outcome.tolist()))


@dataclass(frozen=True, slots=True)
class BeyondThreshold:
    """A number above a threshold, or below it; at the threshold itself it has not crossed it."""

    threshold: float
    above: bool

    def reached(self, outcomes: Floats) -> npt.NDArray[np.bool_]:
        sign = 1.0 if self.above else -1.0
        return np.asarray(sign * (outcomes[:, 0] - self.threshold) > MARGIN * max(abs(self.threshold), MARGIN))

    def quality(self, outcome: Floats) -> float:
        """The nearer to the threshold, the better."""
        return -abs(float(outcome[0]) - self.threshold)

    def found(self, changes: tuple[Change, ...], outcome: Floats) -> Counterfactual:
        return Counterfactual("found", len(changes), changes, float(outcome[0]))


def smallest_change(
    view: ExampleView, space: InterventionSpace, other: OtherPrediction, max_changes: int
) -> Counterfactual:
    """The nearest of the smallest sets of interventions after which the prediction is another one.

    Parameters
    ----------
    view : the example.
    space : the possible interventions.
    other : the predictions that are other ones.
    max_changes : the most interventions in a set.
    """
    if not other.reached(view.leaves).any():
        return Counterfactual("impossible", 0)
    sets: list[IndexSet] = [()]
    _, reached = _outcomes(view, space, sets)
    for size in range(1, max_changes + 1):
        extended = _extend(space, sets, reached)
        if extended is None:
            return Counterfactual("too many", size - 1)
        if not extended:
            return Counterfactual("impossible", size - 1)
        sets = extended
        outcomes, reached = _outcomes(view, space, sets)
        changed = [(sets[i], outcomes[i]) for i in np.flatnonzero(other.reached(outcomes))]
        consistent = [(s, p) for s, p in changed if space.consistent([space.interventions[i] for i in s])]
        if consistent:
            return _nearest(other, space, consistent)
    return Counterfactual("none", max_changes)


def _outcomes(
    view: ExampleView, space: InterventionSpace, sets: Sequence[IndexSet]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What the leaves say after each set of interventions, `(set, value)`, and which nodes it leaves reachable, `(set, node)`."""
    outcomes, reached = [], []
    for start in range(0, len(sets), BATCH_SIZE):
        reach = space.reach(_forced(space, sets[start : start + BATCH_SIZE]))
        outcomes.append(reach[:, view.leaf_indices] @ view.leaves)
        reached.append(reach > 0.0)
    return np.concatenate(outcomes), np.concatenate(reached)


def _extend(
    space: InterventionSpace, sets: Sequence[IndexSet], reached: npt.NDArray[np.bool_]
) -> list[IndexSet] | None:
    """Every set extended by one intervention on a reachable test; None if there are too many."""
    extended: dict[IndexSet, None] = {}
    for indices, reachable in zip(sets, reached, strict=True):
        used_slots = {space.interventions[i].slot for i in indices}
        reachable_nodes = frozenset(np.flatnonzero(reachable).tolist())
        for i, intervention in enumerate(space.interventions):
            if intervention.slot not in used_slots and not reachable_nodes.isdisjoint(intervention.tested_at):
                extended[tuple(sorted((*indices, i)))] = None
        if len(extended) > MAX_SETS:
            return None
    return list(extended)


def _forced(space: InterventionSpace, sets: Sequence[IndexSet]) -> Forced:
    forced = np.zeros((len(sets), space.slots), dtype=np.int64)
    for row, indices in enumerate(sets):
        for i in indices:
            forced[row, space.interventions[i].slot] = space.interventions[i].code
    return forced


def _nearest(
    other: OtherPrediction, space: InterventionSpace, candidates: Iterable[tuple[IndexSet, Floats]]
) -> Counterfactual:
    def rank(candidate: tuple[IndexSet, Floats]) -> tuple[tuple[float, ...], float, IndexSet]:
        indices, outcome = candidate
        return space.distance([space.interventions[i] for i in indices]), -other.quality(outcome), indices

    indices, outcome = min(candidates, key=rank)
    return other.found(tuple(space.change(space.interventions[i]) for i in indices), outcome)


class ResponseInterventions:
    """Interventions on the responses of tests. Slots are tests; code 1 is no, code 2 is yes.

    The distance of a set is the smaller, the more probable its responses are together.
    """

    def __init__(self, view: ExampleView, joint: JointProbabilities) -> None:
        self.view, self.joint = view, joint
        self.slots = len(view.formulas)
        self.interventions: Sequence[Intervention] = [
            Intervention(test, 1 + response, view.tested_at[test])
            for test in range(len(view.tree.tests))  # values of goals follow from variables
            for response in (False, True)
            if self.joint.satisfiable([(test, response)]) and self.joint.probability([(test, response)]) < 1.0
        ]
        # P(node) is a product of independent parts; products with a common prefix share it. 0 is the empty product.
        parts: dict[frozenset[SignedTest], int] = {}
        products: dict[tuple[int, int], int] = {}
        self._ends: list[int] = []
        for node in view.nodes:
            product = 0
            for part in joint.independent_parts(node.path):
                key = (product, parts.setdefault(part, len(parts)))
                product = products.setdefault(key, len(products) + 1)
            self._ends.append(product)
        self._parts = [sorted(part) for part in parts]
        self._products = list(products)

    def reach(self, forced: Forced) -> Floats:
        factors = [self._part_probabilities(forced, part) for part in self._parts]
        products = np.ones((len(self._products) + 1, len(forced)))
        for number, (product, part) in enumerate(self._products, 1):
            products[number] = products[product] * factors[part]
        return products[self._ends].T

    def _part_probabilities(self, forced: Forced, part: Sequence[SignedTest]) -> Floats:
        """P(the responses of a part that are not forced), and 0 where another response is forced, `(set,)`."""
        codes = forced[:, [test for test, _ in part]]  # (set, signed test)
        agrees = ((codes == 0) | (codes == [1 + response for _, response in part])).all(axis=1)
        masks, inverse = np.unique(codes == 0, axis=0, return_inverse=True)
        by_mask = [
            self.joint.probability(s for s, free in zip(part, mask, strict=True) if free) for mask in masks.tolist()
        ]
        return np.where(agrees, np.array(by_mask)[inverse.ravel()], 0.0)

    def consistent(self, interventions: Sequence[Intervention]) -> bool:
        return self.joint.satisfiable(map(_signed_test, interventions))

    def distance(self, interventions: Sequence[Intervention]) -> tuple[float, ...]:
        return (-self.joint.probability(map(_signed_test, interventions)),)

    def change(self, intervention: Intervention) -> Change:
        test, response = _signed_test(intervention)
        name, opposite = self.view.test_names[test], self.joint.probability([(test, not response)])
        before, after = ("false", "true") if response else ("true", "false")
        text = f"{name} were {after} (it is {_with_probability(before, opposite)})"
        return Change(name, before, after, self.joint.probability([(test, response)]), text)


def _signed_test(intervention: Intervention) -> SignedTest:
    return intervention.slot, intervention.code == 2


class VariableInterventions:
    """Interventions on columns and network outputs. Slots are variables; code v + 1 is value v.

    Distances compare the number of contradicted certain values, then the number of cuts that numbers cross, then the
    improbability of the new values.
    """

    def __init__(self, view: ExampleView) -> None:
        self.view = view
        self.variables: list[Variable] = [v for v in variables_in(view.formulas) if not isinstance(v, ChoiceVariable)]
        self.slots = len(self.variables)
        self.interventions: Sequence[Intervention] = [
            intervention for slot in range(self.slots) for intervention in self._of_slot(slot)
        ]

    def _of_slot(self, slot: int) -> list[Intervention]:
        """One intervention for each class of values that no test distinguishes: its nearest value.

        The class of a certain value is left out.
        """
        variable = self.variables[slot]
        nodes, literals = self.view.tested_at[variable], self.view.literals_of[variable]
        by_literals: dict[tuple[bool, ...], list[int]] = {}
        for value in range(variable.size):
            by_literals.setdefault(tuple(value in values for values in literals), []).append(value)
        weights = self.view.weights[variable]
        uncertain = [values for values in by_literals.values() if all(weights[value] < 1.0 for value in values)]
        nearest = [min(values, key=lambda v: self._distance(variable, v)) for values in uncertain]
        return [Intervention(slot, 1 + value, nodes) for value in nearest]

    def _distance(self, variable: Variable, value: int) -> tuple[float, float, float]:
        """Whether a certain value is contradicted, the number of cuts crossed, and the improbability of the value."""
        weights = self.view.weights[variable]
        crossed = _cuts_crossed(variable, weights.index(1.0), value) if 1.0 in weights else 0
        probability = weights[value]
        return (0.0, crossed, -math.log(probability)) if probability > 0.0 else (1.0, crossed, 0.0)

    def reach(self, forced: Forced) -> Floats:
        codes = {variable: forced[:, slot] for slot, variable in enumerate(self.variables)}
        return self.view.path_probabilities(codes, len(forced))

    def consistent(self, interventions: Sequence[Intervention]) -> bool:  # noqa: ARG002 - variables are independent
        return True

    def distance(self, interventions: Sequence[Intervention]) -> tuple[float, ...]:
        parts = [
            self._distance(self.variables[intervention.slot], intervention.code - 1) for intervention in interventions
        ]
        return tuple(map(math.fsum, zip(*parts, strict=True)))

    def change(self, intervention: Intervention) -> Change:
        variable, value = self.variables[intervention.slot], intervention.code - 1
        names, reading = self.view.names[variable], self.view.readings[variable]
        before = _current_value(reading)
        is_cell = isinstance(variable, (CellVariable, CalculatedVariable))
        condition = f"{names.phrases[value]} held" if is_cell else f"{names.name} were {names.values[value]}"
        probability = self.view.weights[variable][value]
        return Change(names.name, before, names.values[value], probability, f"{condition} (it is {before})")


def _cuts_crossed(variable: Variable, before: int, after: int) -> int:
    """The number of cuts between two values of a number or of expressions; 0 for other variables."""
    match variable:
        case CellVariable():
            return abs(after - before)
        case CalculatedVariable():
            pairs = zip(variable.cells(before), variable.cells(after), strict=True)
            return sum(abs(one - other) for one, other in pairs)
        case _:
            return 0


def _current_value(reading: Reading) -> str:
    """The value of a variable in the example, as text."""
    if reading.missing or reading.undefined:
        return "missing" if reading.missing else "undefined"
    if reading.number is not None:
        return number_of(reading)
    value, probability = reading.values[0]
    return _with_probability(value, probability)


def _with_probability(value: str, probability: float) -> str:
    return value if probability >= 0.995 else f"{value} with {probability:.2f}"
