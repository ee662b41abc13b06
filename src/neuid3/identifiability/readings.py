"""Empirical re-readings: maps of network values that give every observed example the same result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import groups
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.errors import CircuitLimitError, SearchLimitError
from neuid3.identifiability.symmetries import Deadline, Reading
from neuid3.logic.formula import (
    And,
    ChoiceVariable,
    Formula,
    Literal,
    NeuralVariable,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
    rebuild,
)
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

_Element = TypeVar("_Element", bound=Any)

# A value of a network that occurs; a reading says what it is read as.
ValueOf = tuple[str, int]

Booleans = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

# At most so many assignments of probabilistic facts are compared one by one.
MAX_CHOICES = 1024

# The most seconds of one search for a smallest set that meets all counterexamples.
SOLVER_SECONDS = 10.0

# The fewest seconds that the solver of integer programs is given: it needs some to set up.
LEAST_SOLVER_SECONDS = 0.2


def evaluate(formulas: Sequence[Formula], codes: Mapping[Variable, npt.NDArray[Any]], n: int) -> list[Booleans]:
    """The truth of formulas for assignments of values, `(assignment,)` each.

    Parameters
    ----------
    formulas : formulas without comparisons.
    codes : the index of the value of each variable, `(assignment,)`.
    n : the number of assignments.

    Returns
    -------
    A Boolean array for each formula.
    """
    truth: dict[int, Booleans] = {}
    for node in bottom_up(formulas):
        match node:
            case Truth(value):
                truth[id(node)] = np.full(n, value)
            case Literal(variable, values):
                truth[id(node)] = np.isin(codes[variable], list(values))
            case Not(part):
                truth[id(node)] = ~truth[id(part)]
            case And(parts):
                truth[id(node)] = np.logical_and.reduce([np.full(n, True), *(truth[id(p)] for p in parts)])
            case Or(parts):
                truth[id(node)] = np.logical_or.reduce([np.full(n, False), *(truth[id(p)] for p in parts)])
            case _:
                raise AssertionError("comparisons are replaced by cells before evaluation")
    return [truth[id(formula)] for formula in formulas]


def possible_results(
    formulas: Sequence[Formula],
    domains: Mapping[Variable, Booleans],
    n: int,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Booleans]:
    """Whether each formula is true for some choice of possible values, `(example,)` each.

    Parameters
    ----------
    formulas : formulas without comparisons.
    domains : the possible values of each variable, `(value, example)`; all values of variables that it does not name.
    n : the number of examples.
    limits : the size and time of circuits.

    Returns
    -------
    A Boolean array for each formula.
    """
    circuit = compile_formulas(formulas, limits)
    levels = [domains.get(v, np.ones((v.size, n), dtype=bool)) for v in circuit.variables]
    return [
        np.full(n, root == TRUE) if root in (FALSE, TRUE) else _LayeredDiagram(circuit, root).possible(levels)[1]
        for root in circuit.roots
    ]


class _LayeredDiagram:
    """A decision diagram in which every arc leads to the next level, for vectorised passes over many observations.

    Parameters
    ----------
    circuit : a circuit of formulas.
    root : the node of one of them.
    """

    def __init__(self, circuit: Circuit, root: int) -> None:
        levels = [len(circuit.variables)] * 2 + list(circuit.levels)
        self.children: list[Indices] = []  # of each level, (node, value); indices into the next level
        layer = [root]
        for level, variable in enumerate(circuit.variables):
            rows = [circuit.children[node - 2] if levels[node] == level else (node,) * variable.size for node in layer]
            following = list(dict.fromkeys(child for row in rows for child in row))
            position = {node: i for i, node in enumerate(following)}
            self.children.append(np.array([[position[child] for child in row] for row in rows]))
            layer = following
        self.terminals = np.array([node == TRUE for node in layer])

    def possible(self, domains: Sequence[Booleans]) -> tuple[list[Booleans], Booleans]:
        """Whether each node can become true, `(node, observation)` for each level, and whether the root can.

        Parameters
        ----------
        domains : the values that are possible at each level, `(value, observation)`.
        """
        n = domains[0].shape[1]
        below = np.repeat(self.terminals[:, None], n, axis=1)
        layers = [below]
        for children, domain in zip(reversed(self.children), reversed(domains), strict=True):
            below = np.logical_or.reduce(
                [below[column] & values for column, values in zip(children.T, domain, strict=True)]
            )
            layers.append(below)
        return layers[::-1], below[0]

    def cheapest(self, costs: Sequence[npt.NDArray[np.float64]]) -> tuple[float, list[int]]:
        """The least cost of values with which the root is true, and these values; infinite where there are none.

        Parameters
        ----------
        costs : the cost of each value at each level, `(value,)` each.
        """
        below = np.where(self.terminals, 0.0, np.inf)
        layers = []
        for children, of_values in zip(reversed(self.children), reversed(costs), strict=True):
            totals = below[children] + of_values  # (node, value)
            layers.append(totals.argmin(axis=1))
            below = totals.min(axis=1)
        values, node = [], 0
        for children, choices in zip(self.children, reversed(layers), strict=True):
            values.append(int(choices[node]))
            node = int(children[node, values[-1]])
        return float(below[0]), values

    def certain(self, domains: Sequence[Booleans]) -> Booleans:
        """Whether the root is true for every choice of possible values, `(observation,)`."""
        below = np.repeat(self.terminals[:, None], domains[0].shape[1], axis=1)
        for children, domain in zip(reversed(self.children), reversed(domains), strict=True):
            below = np.logical_and.reduce(
                [below[column] | ~values for column, values in zip(children.T, domain, strict=True)]
            )
        certain: Booleans = below[0]
        return certain

    def supported(self, domains: Sequence[Booleans], layers: Sequence[Booleans]) -> list[Booleans]:
        """The values of each level with which the root can become true, `(value, observation)` each."""
        reached = layers[0]
        supports = []
        for level, (children, domain) in enumerate(zip(self.children, domains, strict=True)):
            below = layers[level + 1]
            support = np.empty_like(domain)
            following = np.zeros_like(below)
            for value, column in enumerate(children.T):
                arcs = reached & domain[value]
                arcs &= below[column]
                support[value] = arcs.any(0)
                np.logical_or.at(following, column, arcs)
            supports.append(support)
            reached = following
        return supports


@dataclass(frozen=True, eq=False)
class _Constraint:
    """Observations whose results are kept by the same diagram.

    Attributes
    ----------
    diagram : true of readings that keep the result.
    scope : for each level the number of the value that is read there, `(level, observation)`.
    """

    diagram: _LayeredDiagram
    scope: Indices

    def domains(self, domains: Booleans) -> list[Booleans]:
        return [
            domains[row].T[: children.shape[1]] for row, children in zip(self.scope, self.diagram.children, strict=True)
        ]

    def narrowed(self, domains: Booleans) -> bool:
        """Remove impossible values from the domains in place; False where nothing is possible."""
        own = self.domains(domains)
        layers, satisfiable = self.diagram.possible(own)
        if not satisfiable.all():
            return False
        for row, support in zip(self.scope, self.diagram.supported(own, layers), strict=True):
            padded = np.zeros((support.shape[1], domains.shape[1]), dtype=bool)
            padded[:, : support.shape[0]] = support.T
            np.logical_and.at(domains, row, padded)
        return True

    def open(self, domains: Booleans) -> _Constraint | None:
        """The observations that some choice of the possible values would violate; None where there are none."""
        kept = ~self.diagram.certain(self.domains(domains))
        return _Constraint(self.diagram, self.scope[:, kept]) if kept.any() else None


@dataclass(frozen=True, slots=True)
class ReadingCount:
    """The number of readings.

    Attributes
    ----------
    number : how many there are, the identity among them.
    exact : whether there are no more; otherwise the number is a lower bound.
    """

    number: int
    exact: bool

    def __str__(self) -> str:
        return f"{self.number:,}" if self.exact else f"at least {self.number:,}"


class ReadingProblem:
    """All maps of occurring values that keep the result of every observation.

    Parameters
    ----------
    formulas : a formula for each result of the function, without comparisons; exactly one is true of an assignment.
    codes : the observed value of each neural and column variable, `(example,)`.
    interchangeable : for each network its values in classes; exchanging two values of a class leaves the function unchanged.
    limits : the size and time of circuits.
    deadline : the time by which the constraints must be made.

    Attributes
    ----------
    sizes : the number of values of each network.
    occurring : the values of each network that occur.
    values : the same as pairs of a network and a value.

    Raises
    ------
    SearchLimitError : after the deadline.
    CircuitLimitError, GroundingLimitError : where a circuit, or the number of choices, exceeds its limits.
    """

    def __init__(
        self,
        formulas: Sequence[Formula],
        codes: Mapping[Variable, npt.NDArray[Any]],
        interchangeable: Mapping[str, Sequence[frozenset[int]]] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        deadline: Deadline | None = None,
    ) -> None:
        neural = [variable for variable in codes if isinstance(variable, NeuralVariable)]
        self.sizes = {variable.network: variable.size for variable in neural}
        self.occurring = {
            name: tuple(sorted({int(x) for v in neural if v.network == name for x in np.unique(codes[v])}))
            for name in sorted(self.sizes)
        }
        self.values: tuple[ValueOf, ...] = tuple((n, v) for n, values in self.occurring.items() for v in values)
        self._number = {value: i for i, value in enumerate(self.values)}
        self.class_of = {
            (name, value): (name, min(members))
            for name, classes in (interchangeable or {}).items()
            for members in classes
            for value in members
        }
        self._constraints = list(_constraints(formulas, codes, self._number, limits, deadline or Deadline()))

    def _domains(self, settled: Iterable[ValueOf]) -> Booleans:
        """The values that each occurring value may be read as, `(occurring value, value)`."""
        domains = np.zeros((len(self.values), max(self.sizes.values(), default=0)), dtype=bool)
        for i, (name, _) in enumerate(self.values):
            domains[i, : self.sizes[name]] = True
        for name, value in settled:
            domains[self._number[name, value]] = np.arange(domains.shape[1]) == value
        return domains

    def count(self, settled: Iterable[ValueOf] = (), deadline: Deadline | None = None) -> ReadingCount:
        """The number of readings that read every settled value as itself.

        Parameters
        ----------
        settled : values that occur.
        deadline : the number is a lower bound where the count takes longer.

        Returns
        -------
        The number, and whether it is exact.
        """
        search = _CountingSearch(self, deadline or Deadline())
        number = search.count(self._domains(settled), self._constraints)
        return ReadingCount(max(number, 1), search.complete)

    def other_reading(self, settled: Iterable[ValueOf] = (), deadline: Deadline | None = None) -> Reading | None:
        """A reading that is not the identity and reads every settled value as itself; None where there is none.

        Parameters
        ----------
        settled : values that occur.
        deadline : the time by which the search must end.

        Returns
        -------
        A reading that a search which tries the identity first comes to; None where there is none.

        Raises
        ------
        SearchLimitError : after the deadline.
        """
        deadline = deadline or Deadline()
        domains = self._domains(settled)
        if not _propagate(domains, self._constraints):
            raise AssertionError("the identity satisfies all constraints")
        for i, (_, value) in enumerate(self.values):
            if domains[i].sum() > 1:
                without = domains.copy()
                without[i, value] = False
                reading = self._solution(without, self._constraints, deadline)
                if reading is not None:
                    return reading
        return None

    def _solution(self, domains: Booleans, constraints: Sequence[_Constraint], deadline: Deadline) -> Reading | None:
        deadline.check()
        if not _propagate(domains, constraints):
            return None
        constraints = [kept for c in constraints if (kept := c.open(domains)) is not None]
        if not constraints:
            return self._nearest(domains)
        i = _smallest_domain(domains, constraints)
        value = self.values[i][1]
        for image in sorted(np.flatnonzero(domains[i]).tolist(), key=lambda v: v != value):
            chosen = domains.copy()
            chosen[i] = np.arange(domains.shape[1]) == image
            reading = self._solution(chosen, constraints, deadline)
            if reading is not None:
                return reading
        return None

    def _nearest(self, domains: Booleans) -> Reading:
        """The reading from these domains that reads as many values as themselves as possible."""
        reading = {name: list(range(size)) for name, size in self.sizes.items()}
        for (name, value), domain in zip(self.values, domains, strict=True):
            reading[name][value] = value if domain[value] else int(np.flatnonzero(domain)[0])
        return {name: tuple(images) for name, images in reading.items()}

    def examples(self, n: int, deadline: Deadline | None = None) -> list[Reading]:
        """Some readings that are not the identity; each changes a value that those after it keep.

        Parameters
        ----------
        n : the most readings.
        deadline : no further reading is looked for after it.

        Returns
        -------
        At most `n` readings.
        """
        readings: list[Reading] = []
        settled: set[ValueOf] = set()
        with suppress(SearchLimitError):
            while len(readings) < n and (reading := self.other_reading(settled, deadline)) is not None:
                readings.append(reading)
                settled.add(next(value for value in moved(reading) if value in self._number))
        return readings


def _constraints(
    formulas: Sequence[Formula],
    codes: Mapping[Variable, Any],
    number: Mapping[ValueOf, int],
    limits: Limits,
    deadline: Deadline,
) -> Iterator[_Constraint]:
    """For each observed context of columns and each result, the observations and the readings that keep the result."""
    variables = list(dict.fromkeys(v for formula in formulas for v in _variables(formula)))
    choices = [v for v in variables if isinstance(v, ChoiceVariable)]
    neural = [v for v in variables if isinstance(v, NeuralVariable)]
    columns = [v for v in variables if v not in choices and v not in neural]
    if not neural:
        return
    if math.prod(v.size for v in choices) > MAX_CHOICES:
        raise CircuitLimitError(
            f"The tree depends on {len(choices)} probabilistic facts, whose values have more than {MAX_CHOICES} "
            "combinations; re-readings are counted for fewer."
        )
    observed = [*columns, *neural]
    distinct = np.unique(np.column_stack([codes[v] for v in observed]), axis=0)
    contexts, context_of = np.unique(distinct[:, : len(columns)], axis=0, return_inverse=True)
    for chosen in product(*(range(v.size) for v in choices)):
        fixed = _with_values(formulas, dict(zip(choices, chosen, strict=True)))
        truths = evaluate(fixed, dict(zip(observed, distinct.T, strict=True)), len(distinct))
        for c, context in enumerate(contexts):
            deadline.check()
            rows = context_of.reshape(-1) == c
            present = [k for k, truth in enumerate(truths) if truth[rows].any()]
            residual = _with_values(fixed, dict(zip(columns, context.tolist(), strict=True)))
            circuit = compile_formulas([residual[k] for k in present], deadline.limited(limits))
            for k, root in zip(present, circuit.roots, strict=True):
                if root == TRUE:
                    continue
                assert root != FALSE, "the result of an observation is possible"
                levels = [v for v in circuit.variables if isinstance(v, NeuralVariable)]  # all of them
                assignments = distinct[rows & truths[k]]
                scope = np.array(
                    [[number[v.network, int(x)] for x in assignments[:, observed.index(v)]] for v in levels]
                )
                yield _Constraint(_LayeredDiagram(circuit, root), np.unique(scope, axis=1))


def _variables(formula: Formula) -> Iterator[Variable]:
    for node in bottom_up([formula]):
        if isinstance(node, Literal):
            yield node.variable


def _with_values(formulas: Sequence[Formula], known: Mapping[Any, int]) -> list[Formula]:
    """The formulas with known values filled in."""

    def filled(node: Formula) -> Formula:
        match node:
            case Literal(variable, values) if variable in known:
                return Truth(known[variable] in values)
            case _:
                return node

    return rebuild(formulas, filled) if known else list(formulas)


def _propagate(domains: Booleans, constraints: Sequence[_Constraint]) -> bool:
    """Remove values that no reading has, in place, until nothing changes; False where no reading is left."""
    while True:
        before = int(domains.sum())
        if not all(constraint.narrowed(domains) for constraint in constraints) or not domains.any(1).all():
            return False
        if int(domains.sum()) == before:
            return True


def _smallest_domain(domains: Booleans, constraints: Sequence[_Constraint]) -> int:
    """A value with the fewest possible images, of those that the constraints leave open."""
    involved = np.unique(np.concatenate([constraint.scope.reshape(-1) for constraint in constraints]))
    sizes = domains[involved].sum(1)
    return int(involved[np.argmin(np.where(sizes > 1, sizes, domains.shape[1] + 1))])


class _CountingSearch:
    """Counts readings; parts that share no value are counted apart, and interchangeable images once."""

    def __init__(self, problem: ReadingProblem, deadline: Deadline) -> None:
        self.problem, self.deadline = problem, deadline
        self.complete = True

    def count(self, domains: Booleans, constraints: Sequence[_Constraint]) -> int:
        """The number of readings within these domains."""
        if not _propagate(domains, constraints):
            return 0
        constraints = [kept for c in constraints if (kept := c.open(domains)) is not None]
        scopes = [
            frozenset(np.flatnonzero((domains.sum(1) > 1) & np.isin(np.arange(len(domains)), c.scope)).tolist())
            for c in _by_observation(constraints)
        ]
        if not scopes:
            return math.prod(domains.sum(1).tolist())
        pieces = _by_observation(constraints)
        total = math.prod(int(n) for i, n in enumerate(domains.sum(1)) if not any(i in scope for scope in scopes))
        for members in groups(range(len(pieces)), scopes):
            inside = frozenset().union(*(scopes[i] for i in members))
            total *= self._count_part(domains, sorted(inside), _merged([pieces[i] for i in sorted(members)]))
        return total

    def _count_part(self, domains: Booleans, part: Sequence[int], constraints: Sequence[_Constraint]) -> int:
        """The number of readings of one part, whose values depend on each other."""
        try:
            self.deadline.check()
        except SearchLimitError:
            self.complete = False
            return 0
        i = _smallest_domain(domains, constraints)
        total = 0
        for image, multiplicity in self._images(domains, i):
            chosen = domains.copy()
            chosen[i] = np.arange(domains.shape[1]) == image
            others = [j for j in range(len(domains)) if j not in part]
            # Values outside of this part are counted elsewhere.
            chosen[others] = self._first_only(chosen[others])
            total += multiplicity * self.count(chosen, constraints)
            if not self.complete:
                break
        return total

    @staticmethod
    def _first_only(domains: Booleans) -> Booleans:
        first: Booleans = np.arange(domains.shape[1]) == domains.argmax(1)[:, None]
        return first

    def _images(self, domains: Booleans, i: int) -> Iterator[tuple[int, int]]:
        """The images to try for a value, each with the number of images that it stands for.

        Images that are interchangeable and that no value is read as for certain yet lead to equally many readings.
        """
        network = self.problem.values[i][0]
        same = [j for j, (name, _) in enumerate(self.problem.values) if name == network]
        decided = {int(domains[j].argmax()) for j in same if domains[j].sum() == 1}
        waiting: dict[Any, list[int]] = {}
        for image in np.flatnonzero(domains[i]).tolist():
            key = self.problem.class_of.get((network, image), (network, image))
            profile = domains[same, image].tobytes()  # interchangeable images must be possible for the same values
            waiting.setdefault(("used", image) if image in decided else (key, profile), []).append(image)
        for members in waiting.values():
            yield members[0], len(members)


def _by_observation(constraints: Sequence[_Constraint]) -> list[_Constraint]:
    """The constraints with one observation each."""
    return [_Constraint(c.diagram, c.scope[:, [k]]) for c in constraints for k in range(c.scope.shape[1])]


def _merged(pieces: Sequence[_Constraint]) -> list[_Constraint]:
    """Constraints of one diagram as one."""
    by_diagram: dict[int, list[_Constraint]] = {}
    for piece in pieces:
        by_diagram.setdefault(id(piece.diagram), []).append(piece)
    return [
        _Constraint(members[0].diagram, np.concatenate([member.scope for member in members], axis=1))
        for members in by_diagram.values()
    ]


def moved(reading: Reading) -> tuple[ValueOf, ...]:
    """The values that a reading reads as others.

    Parameters
    ----------
    reading : the image of every value of each network.

    Returns
    -------
    Pairs of a network and a value.
    """
    return tuple((name, v) for name, images in reading.items() for v, image in enumerate(images) if image != v)


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

    >>> from neuid3.logic.formula import NeuralVariable
    >>> a, b = (NeuralVariable(0, "red", (column,), (column,), 2) for column in "ab")
    >>> [v.inputs for v in smallest_contradiction(And((Literal(a, frozenset({1})),)), {a: 0, b: 0}, {})]
    [('a',)]
    """
    circuit = compile_formulas([formula], limits)
    (root,) = circuit.roots
    if root == FALSE:
        return ()
    diagram = _LayeredDiagram(circuit, root)
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
