"""Empirical re-readings: maps of network values that give every observed example the same result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.conjunctions import groups
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.errors import CircuitLimitError, SearchLimitError
from neuid3.identifiability.diagrams import Booleans, Indices, LayeredDiagram, evaluate
from neuid3.identifiability.symmetries import Deadline, Reading
from neuid3.logic.formula import ChoiceVariable, Formula, Literal, NeuralVariable, Truth, Variable, bottom_up, rebuild
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# A value of a network that occurs; a reading says what it is read as.
ValueOf = tuple[str, int]

# At most so many assignments of probabilistic facts are compared one by one.
MAX_CHOICES = 1024


@dataclass(frozen=True, eq=False)
class _Constraint:
    """Observations whose results are kept by the same diagram.

    Attributes
    ----------
    diagram : true of readings that keep the result.
    scope : for each level the number of the value that is read there, `(level, observation)`.
    """

    diagram: LayeredDiagram
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
                yield _Constraint(LayeredDiagram(circuit, root), np.unique(scope, axis=1))


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
