"""Content of the evidence page: the rules and most certain examples of each test, and the values of each network."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.explain.page.entries import column_summary, entry_summary, is_textual
from neuid3.explain.page.numbers import NumberContent, check_numbers, number_content
from neuid3.explain.page.responses import MIN_REACH, Floats, NetworkValues, PageNode, PageResponses, page_responses
from neuid3.explain.page.scores import RowGroups, class_codes, group_numbers, group_rows, learned_rows, page_reliability
from neuid3.explain.quotes import with_sources
from neuid3.export.labels import mass_formatter
from neuid3.export.meanings import instance_lines
from neuid3.identifiability.audit import short_forms
from neuid3.logic.formula import NeuralVariable, Source, sources
from neuid3.logic.quoting import atom_name
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.instance_names import display_names
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import clauses_behind
from neuid3.tree.reliability import Reliability
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Branch, LeafNode, Masses, NetworkStatistics, Node

# A response with a probability between these is undecided.
UNDECIDED = (0.05, 0.95)

# The most examples of a network; a network of many values shows fewer of each.
MAX_NETWORK_EXAMPLES = 96


@dataclass(frozen=True, slots=True)
class Tile:
    """An example in a strip, the probability that it is shown with, and the columns that are shown."""

    row: int
    probability: float
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeMasses:
    """The mass of the examples that reach a node.

    Attributes
    ----------
    training : the mass of the training examples by class, if known.
    training_text : the total of these as text exports and drawings write it; "" if unknown.
    mass : the mass of the examples of the table.
    classes : the same by class, if their classes are known.
    """

    training: Masses | None
    training_text: str
    mass: float
    classes: Masses | None


@dataclass(frozen=True, slots=True)
class Side:
    """The examples on one side of a symbolic test: their mass, and a summary of each column of the test."""

    masses: NodeMasses
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BranchContent:
    """A branch: its test with rules, networks and columns, its masses, and its most certain and undecided examples."""

    number: int
    test: str
    rules: tuple[str, ...]
    networks: tuple[str, ...]
    columns: tuple[str, ...]
    gain: float | None
    statistics: NetworkStatistics | None
    masses: NodeMasses
    yes: int
    no: int
    surely_true: tuple[Tile, ...]
    undecided: tuple[Tile, ...]
    surely_false: tuple[Tile, ...]
    sides: tuple[Side, Side] | None


@dataclass(frozen=True, slots=True)
class LeafContent:
    """A leaf: what it says, class probabilities or a mean and a deviation, its masses, and what its goal computes."""

    number: int
    probabilities: tuple[float, ...]
    masses: NodeMasses
    goal: str = ""
    noise: float = 0.0
    rules: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueContent:
    """One value of a neural predicate.

    Attributes
    ----------
    name : the value.
    count : how often it is the most probable value.
    mean_probability : its mean probability where it is the most probable value; None if it never is.
    shown : the examples with the highest probabilities.
    """

    name: str
    count: int
    mean_probability: float | None
    shown: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class PredicateContent:
    """A neural predicate: a network in one of its declarations.

    Attributes
    ----------
    network, predicate : the names of the network and of the predicate.
    inputs : the columns of each network call.
    branches : the numbers of the nodes whose tests or goals call it.
    calls : the number of examples that it is called for, over all network calls.
    values : its values.
    fixed : what its values are fixed up to, as in "fixed up to reversal"; "" for a network that is a test by itself.
    """

    network: str
    predicate: str
    inputs: tuple[tuple[str, ...], ...]
    branches: tuple[int, ...]
    calls: int
    values: tuple[ValueContent, ...]
    fixed: str = ""


@dataclass(frozen=True, slots=True)
class ExampleContent:
    """An example that is shown on the page.

    Attributes
    ----------
    row : its row in the table.
    label : the index of its class, if known; None where numbers are predicted.
    probabilities : the predicted class probabilities; none where numbers are predicted.
    responses : P(yes | reached) at every branch; None where the example does not reach it.
    values : its symbolic entries as text, by column.
    network_values : for every neural predicate and each of its calls, the index of the most probable value.
    learned : whether the tree was learned from it; None if that is unknown.
    """

    row: int
    label: int | None
    probabilities: tuple[float, ...]
    responses: tuple[float | None, ...]
    values: tuple[tuple[str, str], ...]
    network_values: tuple[tuple[int | None, ...], ...]
    learned: bool | None


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of an evidence page as plain values.

    Attributes
    ----------
    classes : the names of the classes.
    rows : the number of rows of the table.
    columns : the columns that the tree reads.
    nodes : the nodes in preorder.
    predicates : the neural predicates of the tests.
    instances : a sentence for each declared network of which the tree has several instances.
    examples : the examples that are shown anywhere on the page.
    row_groups : training rows and others, with their scores.
    errors : examples that are predicted to be of another class, with the probability of their own; of numbers, those with
        the largest errors, with the fraction of the largest one.
    reliability : how often predictions are right on rows that the tree was not learned from, if these have classes.
    numbers : what the page of a tree that predicts numbers shows besides; None for classes.
    """

    classes: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]
    nodes: tuple[BranchContent | LeafContent, ...]
    predicates: tuple[PredicateContent, ...]
    instances: tuple[str, ...]
    examples: tuple[ExampleContent, ...]
    row_groups: RowGroups
    errors: tuple[Tile, ...]
    reliability: Reliability | None = None
    numbers: NumberContent | None = None


def page_content(model: TreeModel, X: Any, y: Any = None, images: int = 9, table: Any = None) -> PageContent:
    """The content of the evidence page of a tree on a table.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples.
    y : their classes or numbers, if known.
    images : the most examples of each kind.
    table : the whole table if `X` has only the columns that the tree reads; training rows are recognised by all columns.

    Raises
    ------
    DataError : if `images` is not positive, or `y` does not fit.
    """
    if isinstance(images, bool) or not isinstance(images, int) or images < 1:
        raise DataError(f"images={images!r} is no number of pictures; give a whole number, 1 or more.")
    examples = model.read(X)
    is_number = model.predicts_numbers
    labels = None if y is None or is_number else class_codes(model.classes, model.noun, y, len(examples))
    numbers = check_numbers(y, len(examples)) if y is not None and is_number else None
    whole = X if table is None else table
    learned = learned_rows(model, whole, labels)
    mass_text, responses = mass_formatter(model.tree.root), page_responses(model, examples)
    shown = with_sources(model, examples, whole)
    return _ContentBuilder(model, shown, labels, learned, responses, images, mass_text, numbers).content()


@dataclass(frozen=True, slots=True, eq=False)
class _ContentBuilder:
    model: TreeModel
    examples: Examples
    labels: npt.NDArray[np.int64] | None
    learned: npt.NDArray[np.bool_] | None
    responses: PageResponses
    images: int
    mass_text: Callable[[Node], str]
    numbers: Floats | None = None

    @property
    def names(self) -> dict[str, str]:
        """What the page calls each network instance."""
        return display_names(sorted({call.network for call in self.model.network_calls}))

    def content(self) -> PageContent:
        branches = [node for node in self.responses.nodes if isinstance(node.node, Branch)]
        rules = clauses_behind([node.node.test for node in branches], self.model.program)  # type: ignore[union-attr]
        rules_of = {node.number: clauses for node, clauses in zip(branches, rules, strict=True)}
        names = self.model.tree.test_names
        nodes = tuple(
            self._branch(node, node.node, names[node.node.test], rules_of[node.number])
            if isinstance(node.node, Branch)
            else self._leaf(node, node.node)
            for node in self.responses.nodes
        )
        predicates = tuple(self._predicates(self.responses.nodes))
        if self.model.predicts_numbers:
            return self._number_content(nodes, branches, predicates)
        probabilities = self.responses.classes()
        errors = self._errors(probabilities)
        rows = sorted({tile.row for tile in (*errors, *_branch_tiles(nodes), *_predicate_tiles(predicates))})
        return PageContent(
            tuple(map(str, self.model.classes)),
            len(self.examples),
            self.examples.names,
            nodes,
            predicates,
            tuple(instance_lines(self.model.tree)),
            tuple(self._examples(rows, branches, predicates, probabilities)),
            group_rows(self.learned, probabilities, self.labels),
            errors,
            page_reliability(self.learned, probabilities, self.labels),
        )

    def _number_content(
        self,
        nodes: tuple[BranchContent | LeafContent, ...],
        branches: Sequence[PageNode],
        predicates: tuple[PredicateContent, ...],
    ) -> PageContent:
        """The content of the page of a tree that predicts numbers."""
        predictions = self.responses.classes()[:, 0]
        errors = self._largest_errors(predictions)
        rows = sorted({tile.row for tile in (*errors, *_branch_tiles(nodes), *_predicate_tiles(predicates))})
        return PageContent(
            (),
            len(self.examples),
            self.examples.names,
            nodes,
            predicates,
            tuple(instance_lines(self.model.tree)),
            tuple(self._examples(rows, branches, predicates, np.empty((len(self.examples), 0)))),
            group_numbers(self.learned, predictions, self.numbers),
            errors,
            numbers=number_content(self.model.tree, self.responses, self.numbers, rows),
        )

    def _largest_errors(self, predictions: Floats) -> tuple[Tile, ...]:
        """The examples whose numbers are farthest from their predictions."""
        if self.numbers is None:
            return ()
        errors = np.abs(predictions - self.numbers)
        largest = float(errors.max())
        rows = smallest(-errors, errors > 0.0, self.images)
        return tuple(Tile(int(row), float(errors[row]) / largest, self.examples.names) for row in rows)

    # Nodes -------------------------------------------------------------------------------------------

    def _leaf(self, node: PageNode, leaf: LeafNode) -> LeafContent:
        if not isinstance(leaf, GoalLeaf):
            return LeafContent(node.number, leaf.value, self._masses(node.number))
        (rules,) = self.model.program.clauses_behind([leaf.goal.text])
        networks = sorted({call.network for call in self.model.inference.semantics.goal_calls(leaf.goal)})
        masses = self._masses(node.number)
        return LeafContent(node.number, leaf.value, masses, leaf.goal.label, leaf.noise, rules, tuple(networks))

    def _masses(self, number: int) -> NodeMasses:
        mass, node = self.responses.reach[:, number], self.responses.nodes[number].node
        classes = None
        if self.labels is not None:
            classes = tuple(np.bincount(self.labels, mass, len(self.model.classes)).tolist())
        return NodeMasses(node.masses, self.mass_text(node), float(mass.sum()), classes)

    def _branch(self, node: PageNode, branch: Branch, name: str, rules: tuple[str, ...]) -> BranchContent:
        calls = self.model.inference.semantics.calls(branch.test)
        columns = in_order(str(branch.test), self.model.columns_of(branch.test))
        yes, no = self.responses.children(node)
        surely_true, undecided, surely_false = self._strips(node, columns)
        return BranchContent(
            node.number,
            name,
            rules,
            tuple(sorted({self.names[network] for network, _, _ in calls})),
            columns,
            branch.gain,
            branch.statistics,
            self._masses(node.number),
            yes,
            no,
            surely_true,
            undecided,
            surely_false,
            None if calls else (self._side(yes, columns), self._side(no, columns)),
        )

    def _strips(self, node: PageNode, columns: tuple[str, ...]) -> tuple[tuple[Tile, ...], ...]:
        """The examples for which the test is most surely true, most undecided, and most surely false."""
        rows = reaching(self.responses.reach[:, node.number], 3 * self.images)
        yes = self.responses.yes_probabilities(node)[rows]
        low, high = UNDECIDED
        strips = (
            smallest(-yes, yes >= 0.5, self.images),
            smallest(np.abs(yes - 0.5), (yes > low) & (yes < high), self.images),
            smallest(yes, yes < 0.5, self.images),
        )
        return tuple(tuple(Tile(int(rows[i]), float(yes[i]), columns) for i in strip) for strip in strips)

    def _side(self, number: int, columns: Sequence[str]) -> Side:
        mass = self.responses.reach[:, number]
        values = tuple(column_summary(self.examples.column(name), mass) for name in columns)
        return Side(self._masses(number), values)

    # Networks ----------------------------------------------------------------------------------------

    def _predicates(self, nodes: Sequence[PageNode]) -> Iterable[PredicateContent]:
        """Every network of the tree, once for each declaration that uses it."""
        calls: dict[tuple[str, int], dict[tuple[str, ...], list[int]]] = {}  # branches, by predicate and inputs
        for node in nodes:
            variables = self._variables(node.node)
            for neural in sorted((v for v in variables if isinstance(v, NeuralVariable)), key=lambda v: v.inputs):
                by_inputs = calls.setdefault((neural.network, neural.declaration), {})
                by_inputs.setdefault(neural.inputs, []).append(node.number)
        fixed = short_forms(self.model) if calls else {}
        for (network, number), by_inputs in calls.items():
            declaration = self.model.program.declarations[number]
            names = ("no", "yes") if declaration.values is None else declaration.values
            values = {
                inputs: self.responses.network_values[NetworkCall(network, inputs, declaration.width)]
                for inputs in by_inputs
            }
            yield PredicateContent(
                self.names[network],
                atom_name(declaration.predicate),
                tuple(by_inputs),
                tuple(sorted({branch for numbers in by_inputs.values() for branch in numbers})),
                sum(len(of_call.rows) for of_call in values.values()),
                tuple(self._value(name, code, values, len(names)) for code, name in enumerate(names)),
                fixed.get(self.names[network], ""),
            )

    def _variables(self, node: Node) -> frozenset[Source]:
        """The variables of a branch's test or of a leaf's goal."""
        semantics = self.model.inference.semantics
        if isinstance(node, Branch):
            return sources(semantics.formula(node.test))
        tests = [test for _, test in semantics.value_tests(node.goal)] if isinstance(node, GoalLeaf) else []
        return frozenset[Source]().union(*(sources(semantics.formula(test)) for test in tests))

    def _value(
        self, name: str, code: int, values: dict[tuple[str, ...], NetworkValues], value_count: int
    ) -> ValueContent:
        """The examples for which a value is the most probable one, in all network calls, most probable first."""
        entries = [
            (float(of_call.probabilities[i]), int(of_call.rows[i]), inputs)
            for inputs, of_call in values.items()
            for i in np.flatnonzero(of_call.values == code).tolist()
        ]
        max_tiles = max(1, min(self.images, MAX_NETWORK_EXAMPLES // value_count))
        best = sorted(entries, key=lambda entry: -entry[0])[:max_tiles]
        mean = math.fsum(probability for probability, _, _ in entries) / len(entries) if entries else None
        return ValueContent(name, len(entries), mean, tuple(Tile(row, p, inputs) for p, row, inputs in best))

    # Examples ----------------------------------------------------------------------------------------

    def _errors(self, probabilities: Floats) -> tuple[Tile, ...]:
        """The misclassified examples whose own class has the smallest probability."""
        if self.labels is None:
            return ()
        of_label = probabilities[np.arange(len(self.labels)), self.labels]
        rows = smallest(of_label, probabilities.argmax(axis=1) != self.labels, self.images)
        return tuple(Tile(int(row), float(of_label[row]), self.examples.names) for row in rows)

    def _examples(
        self,
        rows: Sequence[int],
        branches: Sequence[PageNode],
        predicates: Sequence[PredicateContent],
        probabilities: Floats,
    ) -> Iterable[ExampleContent]:
        responses = [self.responses.yes_probabilities(node) for node in branches]
        columns = [(name, column) for name, column in self.examples.items() if is_textual(column)]
        network_values = {
            (self.names[network], inputs): values.by_row()
            for (network, inputs, _), values in self.responses.network_values.items()
        }
        for row in rows:
            yield ExampleContent(
                row,
                None if self.labels is None else int(self.labels[row]),
                tuple(probabilities[row].tolist()),
                tuple(None if math.isnan(of_branch[row]) else float(of_branch[row]) for of_branch in responses),
                tuple((name, entry_summary(column, row)) for name, column in columns),
                tuple(tuple(network_values[p.network, inputs].get(row) for inputs in p.inputs) for p in predicates),
                None if self.learned is None else bool(self.learned[row]),
            )


def _branch_tiles(nodes: Iterable[BranchContent | LeafContent]) -> Iterable[Tile]:
    for node in nodes:
        if isinstance(node, BranchContent):
            yield from (*node.surely_true, *node.undecided, *node.surely_false)


def _predicate_tiles(predicates: Iterable[PredicateContent]) -> Iterable[Tile]:
    return (tile for predicate in predicates for value in predicate.values for tile in value.shown)


def reaching(reach: Floats, enough: int) -> npt.NDArray[np.int64]:
    """The rows with a reach of at least 0.5; if these are fewer than `enough`, those with the largest reach.

    >>> reaching(np.array([0.9, 0.2, 0.6, 0.0, 0.3]), 2), reaching(np.array([0.9, 0.2, 0.6, 0.0, 0.3]), 3)
    (array([0, 2]), array([0, 2, 4]))
    """
    least = 0.0 if len(reach) <= enough else float(np.partition(reach, -enough)[-enough])
    return np.flatnonzero((reach >= min(least, 0.5)) & (reach > MIN_REACH))


def smallest(keys: Floats, eligible: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.int64]:
    """The indices of the smallest keys among the eligible ones, in stable order.

    >>> smallest(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, True, True]), 3)
    array([1, 3, 2])
    """
    indices = np.flatnonzero(eligible)
    return indices[np.argsort(keys[indices], kind="stable")[:count]]


def in_order(test: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns in the order in which a test names them, followed by those that only its rules name.

    >>> in_order("gt(rank_2, rank_10)", ("rank_1", "rank_10", "rank_2"))
    ('rank_2', 'rank_10', 'rank_1')
    """
    names = [atom_name(token) for token in re.findall(r"'(?:\\.|[^'\\])*'|\w+", test)]
    return tuple(sorted(columns, key=lambda name: names.index(name) if name in names else len(names)))
