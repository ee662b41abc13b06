"""What is there to show? For every test its rules and the examples it is surest of, for every network what it sees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Distribution, Number, Probability, Tensor
from neuid3.data.examples import Examples
from neuid3.errors import DataError, did_you_mean
from neuid3.explain.page.responses import SPARE, Calls, Floats, PageNode, PageResponses, page_responses
from neuid3.explain.page.scores import Tallies, learned_rows, tallied
from neuid3.export.labels import mass_formatter
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.quoting import atom_name, entry_text
from neuid3.tree.descent import network_calls
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import Branch, Leaf, Masses, NetworkStatistics, Node

# An answer between these is called undecided.
UNSURE = (0.05, 0.95)

# How many pictures a network's strip has at most; a network of many values shows fewer of each.
STRIP = 96

# A tensor of so few numbers is told in numbers.
FEW = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """An example in a strip, the probability that it is there for, and the columns to look at."""

    row: int
    probability: float
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """How much gets to a node: of the examples it was learned from, and of the examples shown; by class if known.

    `written` is the mass of the former as text and pictures write it, "" where it is not known.
    """

    training: Masses | None
    written: str
    mass: float
    classes: Masses | None


@dataclass(frozen=True, slots=True)
class Side:
    """The examples on one side of a symbolic test: how much of them, and what the columns of the test are there."""

    reached: Reached
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A branch: what it asks, what is behind it, who gets there, and what it is sure of."""

    number: int
    test: str
    rules: tuple[str, ...]
    networks: tuple[str, ...]
    columns: tuple[str, ...]
    gain: float | None
    statistics: NetworkStatistics | None
    reached: Reached
    yes: int
    no: int
    surely_true: tuple[Shown, ...]
    undecided: tuple[Shown, ...]
    surely_false: tuple[Shown, ...]
    sides: tuple[Side, Side] | None


@dataclass(frozen=True, slots=True)
class End:
    """A leaf: its classes, and who gets there."""

    number: int
    probabilities: tuple[float, ...]
    reached: Reached


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a neural predicate: how often the network names it, how sure it is, and of which examples most."""

    name: str
    count: int
    sureness: float | None
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A network through one of its declarations: what it reads, who asks it, and what it calls what it sees."""

    network: str
    predicate: str
    reads: tuple[tuple[str, ...], ...]
    asked_by: tuple[int, ...]
    looks: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """What is told of an example that is shown: its class, P(yes | reached) at every branch, and its symbols.

    `calls` has for every neural predicate and for each of the inputs it reads the value that the network names; `learned`
    says whether the tree was learned from it, None where that cannot be told.
    """

    row: int
    label: int | None
    probabilities: tuple[float, ...]
    answers: tuple[float | None, ...]
    values: tuple[tuple[str, str], ...]
    calls: tuple[tuple[int | None, ...], ...]
    learned: bool | None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a page tells, as plain values; `columns` are those that the tree reads."""

    classes: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]
    nodes: tuple[Question | End, ...]
    predicates: tuple[Predicate, ...]
    examples: tuple[Example, ...]
    tallies: Tallies
    surprises: tuple[Shown, ...]


def gather(model: TreeModel, X: Any, y: Any = None, images: int = 9, table: Any = None) -> Facts:
    """The facts of a page about this tree on these examples; `images` of each kind.

    `table` is all of the table where `X` is only what the tree reads of it: its rows are recognised by all columns.
    """
    if isinstance(images, bool) or not isinstance(images, int) or images < 1:
        raise DataError(f"images={images!r} is no number of pictures; give a whole number, 1 or more.")
    examples = model.read(X)
    labels = None if y is None else _labels(model, y, len(examples))
    learned = learned_rows(model, X if table is None else table, labels)
    mass_text = mass_formatter(model.tree.root)
    return _Gathering(model, examples, labels, learned, page_responses(model, examples), images, mass_text).facts()


def _labels(model: TreeModel, y: Any, rows: int) -> npt.NDArray[np.int64]:
    given = np.asarray(y)
    if given.shape != (rows,):
        raise DataError(f"y has shape {given.shape} and the table {rows} examples; give one class each.")
    known = {label: place for place, label in enumerate(model.classes)}
    strange = [label for label in dict.fromkeys(given.tolist()) if label not in known]
    if strange:
        told = did_you_mean(str(strange[0]), map(str, known))
        raise DataError(f"y has the class {str(strange[0])!r}, which the tree does not know.{told}")
    return np.array([known[label] for label in given.tolist()], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Gathering:
    model: TreeModel
    examples: Examples
    labels: npt.NDArray[np.int64] | None
    learned: npt.NDArray[np.bool_] | None
    sight: PageResponses
    images: int
    mass_text: Callable[[Node], str]

    def facts(self) -> Facts:
        branches = [place for place in self.sight.places if isinstance(place.node, Branch)]
        rules = self.model.program.clauses_behind([str(place.node.test) for place in branches])  # type: ignore[union-attr]
        behind = {place.number: found for place, found in zip(branches, rules, strict=True)}
        nodes = tuple(
            self._question(place, place.node, behind[place.number])
            if isinstance(place.node, Branch)
            else self._end(place, place.node)
            for place in self.sight.places
        )
        predicates = tuple(self._predicates(branches))
        probabilities = self.sight.classes()
        surprises = self._surprises(probabilities)
        shown = sorted({s.row for s in (*surprises, *_shown(nodes), *(s for p in predicates for s in _seen(p)))})
        return Facts(
            tuple(map(str, self.model.classes)),
            len(self.examples),
            self.examples.names,
            nodes,
            predicates,
            tuple(self._examples(shown, branches, predicates, probabilities)),
            tallied(self.learned, probabilities, self.labels),
            surprises,
        )

    # Nodes -------------------------------------------------------------------------------------------

    def _end(self, place: PageNode, leaf: Leaf) -> End:
        return End(place.number, leaf.probabilities, self._reached(place.number))

    def _reached(self, number: int) -> Reached:
        mass, node = self.sight.reach[:, number], self.sight.places[number].node
        classes = None
        if self.labels is not None:
            classes = tuple(np.bincount(self.labels, mass, len(self.model.classes)).tolist())
        return Reached(node.masses, self.mass_text(node), float(mass.sum()), classes)

    def _question(self, place: PageNode, branch: Branch, rules: tuple[str, ...]) -> Question:
        looks = network_calls(branch.test, self.model.program)
        columns = in_order(str(branch.test), self.model.columns_of(branch.test))
        yes, no = self.sight.sides(place)
        sure, unsure, false = self._strips(place, columns)
        return Question(
            place.number,
            str(branch.test),
            rules,
            tuple(sorted({network for network, _, _ in looks})),
            columns,
            branch.gain,
            branch.statistics,
            self._reached(place.number),
            yes,
            no,
            sure,
            unsure,
            false,
            None if looks else (self._side(yes, columns), self._side(no, columns)),
        )

    def _strips(self, place: PageNode, columns: tuple[str, ...]) -> tuple[tuple[Shown, ...], ...]:
        """The examples for which the test is most surely true, most undecided, and most surely false."""
        rows = reaching(self.sight.reach[:, place.number], 3 * self.images)
        answers = self.sight.answers(place)[rows]
        low, high = UNSURE
        chosen = (
            first(-answers, answers >= 0.5, self.images),
            first(np.abs(answers - 0.5), (answers > low) & (answers < high), self.images),
            first(answers, answers < 0.5, self.images),
        )
        return tuple(tuple(Shown(int(rows[i]), float(answers[i]), columns) for i in found) for found in chosen)

    def _side(self, number: int, columns: Sequence[str]) -> Side:
        mass = self.sight.reach[:, number]
        values = tuple(told(self.examples.column(name), mass) for name in columns)
        return Side(self._reached(number), values)

    # Networks ----------------------------------------------------------------------------------------

    def _predicates(self, branches: Sequence[PageNode]) -> Iterable[Predicate]:
        """Every network of the tree, once for each declaration that it stands in."""
        asked: dict[tuple[str, int], dict[tuple[str, ...], list[int]]] = {}
        for place in branches:
            assert isinstance(place.node, Branch)
            variables = sources(place.node.test.formula(self.model.program))
            for neural in sorted((v for v in variables if isinstance(v, NeuralVariable)), key=lambda v: v.inputs):
                asked.setdefault((neural.network, neural.declaration), {}).setdefault(neural.inputs, []).append(
                    place.number
                )
        for (network, declaration), uses in asked.items():
            declared = self.model.program.declarations[declaration]
            names = ("no", "yes") if declared.values is None else declared.values
            calls = {inputs: self.sight.calls[NetworkCall(network, inputs, declared.width)] for inputs in uses}
            yield Predicate(
                network,
                atom_name(declared.predicate),
                tuple(uses),
                tuple(sorted({number for numbers in uses.values() for number in numbers})),
                sum(len(found.rows) for found in calls.values()),
                tuple(self._value(name, code, calls, len(names)) for code, name in enumerate(names)),
            )

    def _value(self, name: str, code: int, calls: dict[tuple[str, ...], Calls], values: int) -> Value:
        """Where the network names this value, whichever columns it reads, the surest first."""
        named = [
            (float(found.sureness[i]), int(found.rows[i]), inputs)
            for inputs, found in calls.items()
            for i in np.flatnonzero(found.values == code).tolist()
        ]
        each = max(1, min(self.images, STRIP // values))
        surest = sorted(named, key=lambda entry: -entry[0])[:each]
        mean = math.fsum(sureness for sureness, _, _ in named) / len(named) if named else None
        return Value(name, len(named), mean, tuple(Shown(row, sureness, inputs) for sureness, row, inputs in surest))

    # Examples ----------------------------------------------------------------------------------------

    def _surprises(self, probabilities: Floats) -> tuple[Shown, ...]:
        """The examples to whose class the tree gives the least, of those that it takes for another class."""
        if self.labels is None:
            return ()
        given = probabilities[np.arange(len(self.labels)), self.labels]
        rows = first(given, probabilities.argmax(axis=1) != self.labels, self.images)
        return tuple(Shown(int(row), float(given[row]), self.examples.names) for row in rows)

    def _examples(
        self,
        rows: Sequence[int],
        branches: Sequence[PageNode],
        predicates: Sequence[Predicate],
        probabilities: Floats,
    ) -> Iterable[Example]:
        answers = [self.sight.answers(place) for place in branches]
        columns = [(name, column) for name, column in self.examples.items() if is_told(column)]
        named = {(network, inputs): calls.by_row() for (network, inputs, _), calls in self.sight.calls.items()}
        for row in rows:
            yield Example(
                row,
                None if self.labels is None else int(self.labels[row]),
                tuple(probabilities[row].tolist()),
                tuple(None if math.isnan(answer[row]) else float(answer[row]) for answer in answers),
                tuple((name, entry(column, row)) for name, column in columns),
                tuple(tuple(named[p.network, inputs].get(row) for inputs in p.reads) for p in predicates),
                None if self.learned is None else bool(self.learned[row]),
            )


def _shown(nodes: Iterable[Question | End]) -> Iterable[Shown]:
    for node in nodes:
        if isinstance(node, Question):
            yield from (*node.surely_true, *node.undecided, *node.surely_false)


def _seen(predicate: Predicate) -> Iterable[Shown]:
    return (shown for value in predicate.values for shown in value.shown)


def reaching(reach: Floats, enough: int) -> npt.NDArray[np.int64]:
    """The rows that reach a node more likely than not; where these are not enough, those that reach it most.

    >>> reaching(np.array([0.9, 0.2, 0.6, 0.0, 0.3]), 2), reaching(np.array([0.9, 0.2, 0.6, 0.0, 0.3]), 3)
    (array([0, 2]), array([0, 2, 4]))
    """
    least = 0.0 if len(reach) <= enough else float(np.partition(reach, -enough)[-enough])
    return np.flatnonzero((reach >= min(least, 0.5)) & (reach > SPARE))


def first(keys: Floats, among: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.int64]:
    """The places with the smallest keys, in order; places before later ones where keys are equal.

    >>> first(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, True, True]), 3)
    array([1, 3, 2])
    """
    places = np.flatnonzero(among)
    return places[np.argsort(keys[places], kind="stable")[:most]]


def in_order(test: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns in the order in which a test names them, and after them those that only its rules name.

    >>> in_order("gt(rank_2, rank_10)", ("rank_1", "rank_10", "rank_2"))
    ('rank_2', 'rank_10', 'rank_1')
    """
    words = [atom_name(word) for word in re.findall(r"'(?:\\.|[^'\\])*'|\w+", test)]
    return tuple(sorted(columns, key=lambda name: words.index(name) if name in words else len(words)))


# Symbols in words --------------------------------------------------------------------------------


def is_told(column: Column) -> bool:
    """Are the entries of this column told in words, and not drawn?"""
    return not isinstance(column.kind, Tensor) or math.prod(column.kind.shape) <= FEW


def entry(column: Column, row: int) -> str:
    """One entry in words."""
    if column.missing is not None and column.missing[row]:
        return "missing"
    value = column.values[row]
    match column.kind:
        case Boolean():
            return "true" if value else "false"
        case Category() as kind:
            return str(kind.domain[int(value)])
        case Distribution(values):
            return f"{values[int(value.argmax())]} ({value.max():.0%})"
        case Number():
            return entry_text(value)
        case Probability():
            return f"{value:.4g}"
        case Tensor():
            return ", ".join(f"{number:.3g}" for number in np.ravel(value))


def told(column: Column, mass: Floats, most: int = 4) -> str:
    """What a symbolic column is for a mass of examples, in words.

    >>> told(Column(Number(), np.array([1.0, 5.0, 9.0, 2.0])), np.array([1.0, 1.0, 1.0, 0.0]))
    '1 to 9, median 5'
    >>> told(Column(Boolean(), np.array([True, False, True])), np.array([1.0, 1.0, 2.0]))
    'true 75%, false 25%'
    """
    there = mass if column.missing is None else np.where(column.missing, 0.0, mass)
    total = float(there.sum())
    if total <= SPARE:
        return "missing" if float(mass.sum()) > SPARE else "nobody"
    match column.kind:
        case Boolean() | Probability():
            held = float(there @ column.values.astype(np.float64)) / total
            return _shares({"true": held, "false": 1.0 - held}, most)
        case Category() as kind:
            counted = np.bincount(column.values, there, len(kind.domain)) / total
            return _shares(dict(zip(map(str, kind.domain), counted.tolist(), strict=True)), most)
        case Distribution(values):
            means = (there @ np.nan_to_num(column.values)) / total
            return _shares(dict(zip(map(str, values), means.tolist(), strict=True)), most)
        case Number():
            return _range(column.values, there)
        case Tensor():
            raise AssertionError("what networks read is no symbol")


def _shares(shares: dict[str, float], most: int) -> str:
    ranked = [(name, share) for name, share in sorted(shares.items(), key=lambda pair: -pair[1]) if share >= 0.005]
    rest = f", {len(ranked) - most} more" if len(ranked) > most else ""
    return ", ".join(f"{name} {share:.0%}" for name, share in ranked[:most]) + rest


def _range(values: Floats, mass: Floats) -> str:
    there = np.flatnonzero(mass > SPARE)
    order = there[np.argsort(values[there], kind="stable")]
    half = np.searchsorted(np.cumsum(mass[order]), mass[order].sum() / 2)
    low, middle, high = (float(values[order[i]]) for i in (0, min(half, len(order) - 1), -1))
    return f"{entry_text(low)} to {entry_text(high)}, median {entry_text(middle)}"
