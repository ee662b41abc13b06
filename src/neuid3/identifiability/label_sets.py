"""Smallest sets of labels: those that leave one reading, and those that contradict a class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.diagram import FALSE
from neuid3.errors import SearchLimitError
from neuid3.identifiability.diagrams import LayeredDiagram
from neuid3.identifiability.readings import ReadingProblem, ValueOf, moved
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import Formula, NeuralVariable
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

_Element = TypeVar("_Element", bound=Any)

# The most seconds of one search for a smallest set that meets all counterexamples.
SOLVER_SECONDS = 10.0

# The fewest seconds that the solver of integer programs is given: it needs some to set up.
LEAST_SOLVER_SECONDS = 0.2


def smallest_contradiction(
    formula: Formula,
    labels: Mapping[NeuralVariable, int],
    known: Mapping[Any, int],
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[NeuralVariable, ...]:
    """A smallest set of labels with which a formula cannot be true.

    The set must contain a label that each assignment violates of which the formula is true: those that violate the fewest
    labels are collected until a smallest set that meets all of them leaves no further one.

    Parameters
    ----------
    formula : a formula without comparisons that is not true of any assignment with all labels.
    labels : the value of each labelled variable.
    known : the value of each variable that is certain.
    limits : the size and time of its circuit.

    Returns
    -------
    The labelled variables of the set; none where the formula is false whatever the labels are.

    >>> from neuid3.logic.formula import And, Literal, NeuralVariable
    >>> a, b = (NeuralVariable(0, "red", (column,), (column,), 2) for column in "ab")
    >>> [v.inputs for v in smallest_contradiction(And((Literal(a, frozenset({1})),)), {a: 0, b: 0}, {})]
    [('a',)]
    """
    circuit = compile_formulas([formula], limits)
    (root,) = circuit.roots
    if root == FALSE:
        return ()
    diagram = LayeredDiagram(circuit, root)
    order = {variable: i for i, variable in enumerate(labels)}
    chosen: frozenset[int] = frozenset()
    violated: list[frozenset[int]] = []
    while True:
        costs = []
        for variable in circuit.variables:
            cost = np.zeros(variable.size)
            if isinstance(variable, NeuralVariable) and variable in labels:
                cost[np.arange(variable.size) != labels[variable]] = np.inf if order[variable] in chosen else 1.0
            elif variable in known:
                cost[np.arange(variable.size) != known[variable]] = np.inf
            costs.append(cost)
        total, values = diagram.cheapest(costs)
        if total == np.inf:
            return tuple(variable for variable, i in order.items() if i in chosen)
        world = dict(zip(circuit.variables, values, strict=True))
        violated.append(frozenset(i for v, i in order.items() if v in world and world[v] != labels[v]))
        assert violated[-1], "the formula cannot be true with all labels"
        chosen, _ = _hitting_set(violated, SOLVER_SECONDS)


def smallest_labels(
    problem: ReadingProblem,
    others: Iterable[Iterable[ValueOf]] = (),
    settled: Iterable[ValueOf] = (),
    deadline: Deadline | None = None,
    *,
    search: bool = True,
) -> tuple[tuple[ValueOf, ...], bool]:
    """A smallest set of values whose labels leave only the identity.

    A label of an image with a value settles how that value is read. The set must contain a value that each other reading
    changes: counterexamples are collected until a smallest set that meets all of them leaves no further one.

    Parameters
    ----------
    problem : the empirical re-readings.
    others : sets of values of which one needs a label, such as those that a reading of a rewritten tree changes.
    settled : values that have labels already.
    deadline : the set is not known to be a smallest one where the search takes longer.
    search : whether to look for counterexamples; False where the identity is known to be the only reading.

    Returns
    -------
    The values, and whether the set is a smallest one that settles everything.
    """
    deadline = deadline or Deadline()
    known = frozenset(settled)
    occurring = frozenset(problem.values)
    to_hit = [frozenset(values) & occurring for values in others]
    # Of two interchangeable values at most one may be without a label.
    by_class: dict[Any, list[ValueOf]] = {}
    for value in problem.values:
        by_class.setdefault(problem.class_of.get(value, value), []).append(value)
    to_hit += [frozenset(pair) for members in by_class.values() for pair in combinations(members, 2)]
    to_hit = [values for values in to_hit if values and not values & known]
    chosen: frozenset[ValueOf] = frozenset()
    exact = True
    try:
        while True:
            chosen, exact = _hitting_set(to_hit, min(deadline.seconds_left, SOLVER_SECONDS))
            reading = problem.other_reading(known | chosen, deadline) if search else None
            if reading is None:
                return tuple(sorted(chosen)), exact
            to_hit.append(frozenset(moved(reading)) & occurring)
    except SearchLimitError:
        return tuple(sorted(chosen)), False


def _hitting_set(sets: Sequence[frozenset[_Element]], seconds: float) -> tuple[frozenset[_Element], bool]:
    """A smallest set that meets all of these sets, and whether it surely is one."""
    if not sets:
        return frozenset(), True
    from scipy.optimize import Bounds, LinearConstraint, milp  # it takes a second to import

    elements = sorted(frozenset[_Element]().union(*sets))
    matrix = np.array([[element in values for element in elements] for values in sets], dtype=np.float64)
    solution = milp(
        np.ones(len(elements)),
        integrality=np.ones(len(elements)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1),
        options={"time_limit": max(seconds, LEAST_SOLVER_SECONDS)},
    )
    if solution.x is None:
        return frozenset(elements), False
    return frozenset(e for e, chosen in zip(elements, solution.x, strict=True) if chosen > 0.5), solution.status == 0
