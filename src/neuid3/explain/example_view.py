"""One example as a tree reads it: the variables of its tests and the probabilities of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.conjunctions import SignedTest, factorise, groups
from neuid3.circuits.reach import Reach
from neuid3.data.columns import Array, Number, Tensor, kind_name
from neuid3.data.examples import Examples
from neuid3.errors import DataError, MissingPriorError
from neuid3.explain.explanation import Assignment, Reading, number_of
from neuid3.explain.names import VariableNames, name_variables
from neuid3.export.pixels import brightness, channels_last, displayed_range, is_image
from neuid3.logic.expressions import expression_kind
from neuid3.logic.formula import (
    And,
    CalculatedVariable,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    Formula,
    Literal,
    NeuralVariable,
    Not,
    Or,
    QueryVariable,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    parts_of,
    variables_in,
)
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.tree.calculations import expression_values
from neuid3.tree.components import Components
from neuid3.tree.evidence import Evidence
from neuid3.tree.instance_names import display_names
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import LeafNode, Node, Tree, preorder

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """A node of the tree.

    Attributes
    ----------
    path : the signed tests that lead to it.
    node : the node itself.
    test : the number of its test; None for a leaf.
    parent : the index of its parent; None for the root.
    """

    path: tuple[SignedTest, ...]
    node: Node
    test: int | None
    parent: int | None


@dataclass(frozen=True)
class ExampleView:
    """One example as the tree reads it. A number column is one variable, with the cuts of all tests of the tree.

    Attributes
    ----------
    tree : the tree.
    formulas : the formula of each test, by its number.
    weights : the probabilities of the values of each variable.
    names, readings : the names of each variable and its values, and the reading that an explanation shows.
    limits : the limits of compilation.
    components : the leaves of the tree, those with a goal divided by its values.
    """

    tree: Tree
    formulas: tuple[Formula, ...]
    weights: Mapping[Variable, tuple[float, ...]]
    names: Mapping[Variable, VariableNames]
    readings: Mapping[Variable, Reading]
    limits: Limits
    components: Components

    @cached_property
    def tests(self) -> tuple[NodeTest, ...]:
        """The tests by their number: those of the tree, then those that the goal of a leaf has a value."""
        return tests_of(self.tree, self.components)

    @cached_property
    def test_names(self) -> tuple[str, ...]:
        """The names of the tests by their number."""
        names = self.tree.test_names
        return tuple(names.get(test, str(test)) for test in self.tests)

    @cached_property
    def nodes(self) -> tuple[ExplainedNode, ...]:
        """All nodes in preorder, yes before no; then one for each value of a leaf's goal, whose parent is the leaf."""
        numbers = {test: i for i, test in enumerate(self.tests)}
        nodes = list(_nodes(self.tree.root, numbers))
        leaves = [i for i, node in enumerate(nodes) if node.test is None]
        for path, leaf, value in zip(
            self.components.paths, self.components.leaf_numbers, self.components.values, strict=True
        ):
            if value is not None:
                parent = leaves[leaf]
                signed = (*nodes[parent].path, (numbers[path[-1][0]], True))
                nodes.append(ExplainedNode(signed, nodes[parent].node, None, parent))
        return tuple(nodes)

    @cached_property
    def of_components(self) -> Mapping[int, int]:
        """The component of each node that is a plain leaf or a value of a goal, by the index of the node."""
        leaves = [i for i, node in enumerate(self.nodes) if node.test is None]
        plain, values = leaves[: len(self.components.leaves)], iter(leaves[len(self.components.leaves) :])
        return {
            plain[leaf] if value is None else next(values): number
            for number, (leaf, value) in enumerate(
                zip(self.components.leaf_numbers, self.components.values, strict=True)
            )
        }

    @cached_property
    def _reach(self) -> Reach:
        return Reach(factorise(self.formulas, [node.path for node in self.nodes], self.limits))

    def path_probabilities(self, codes: Mapping[Variable, Codes] | None = None, n: int = 1) -> Floats:
        """P(path | e) for every node, `(n, node)`, after n interventions.

        Parameters
        ----------
        codes : for forced variables, n codes each; 0 leaves the variable as it is, v + 1 forces value v.
        n : the number of interventions.
        """
        return np.asarray(self._reach(_ForcedEvidence(self.weights, codes or {}, n)))

    def assignment(self, variable: Variable, value: int) -> Assignment:
        """A variable with one of its values; the text of a known number shows the number instead of its cell."""
        assignment, reading = self.names[variable].assignment(value), self.readings[variable]
        if reading.number is None:
            return assignment
        return replace(assignment, text=f"{assignment.variable} = {number_of(reading)}")

    @cached_property
    def variables_of(self) -> tuple[frozenset[Variable], ...]:
        """The variables of each test."""
        return tuple(frozenset(variables_in([formula])) for formula in self.formulas)

    @cached_property
    def variable_indices_of(self) -> tuple[frozenset[int], ...]:
        """The indices of the variables of each test; a number variable with many cuts is slow to hash."""
        index = {variable: i for i, variable in enumerate(self.weights)}
        return tuple(frozenset(index[variable] for variable in variables) for variables in self.variables_of)

    @cached_property
    def isolated_tests(self) -> frozenset[int]:
        """The tests that share no variable with any other test of the tree."""
        return frozenset(
            test
            for part in groups(range(len(self.formulas)), self.variable_indices_of)
            if len(part) == 1
            for test in part
        )

    @cached_property
    def certain_responses(self) -> Mapping[int, bool]:
        """The responses of the tests all of whose variables are certain in this example, by the number of the test."""
        values = {variable: weights.index(1.0) for variable, weights in self.weights.items() if 1.0 in weights}
        known: dict[int, bool | None] = {}
        for node in bottom_up(self.formulas):
            known[id(node)] = _evaluate(node, values, known)
        responses = {test: known[id(formula)] for test, formula in enumerate(self.formulas)}
        return {test: response for test, response in responses.items() if response is not None}

    @cached_property
    def literals_of(self) -> Mapping[Variable, Sequence[frozenset[int]]]:
        """For each variable, the sets of values in the literals of the tests."""
        literals: dict[Variable, list[frozenset[int]]] = {}
        for node in bottom_up(self.formulas):
            if isinstance(node, Literal):
                literals.setdefault(node.variable, []).append(node.values)
        return literals

    @cached_property
    def tested_at(self) -> Mapping[int | Variable, frozenset[int]]:
        """The indices of the branches with a test, by its number, and of those whose test has a variable, by the variable."""
        indices: dict[int | Variable, list[int]] = {}
        for i, node in enumerate(self.nodes):
            test = node.path[-1][0] if node.test is None and self.is_value(i) else node.test
            if test is not None:
                place = i if node.test is not None else int(node.parent or 0)
                for key in (test, *self.variables_of[test]):
                    indices.setdefault(key, []).append(place)
        return {key: frozenset(nodes) for key, nodes in indices.items()}

    def is_value(self, index: int) -> bool:
        """Whether a node stands for a value of a leaf's goal."""
        number = self.of_components.get(index)
        return number is not None and self.components.values[number] is not None

    @cached_property
    def leaf_indices(self) -> npt.NDArray[np.intp]:
        """The indices of the plain leaves and of the values of goals, in the order of the components."""
        return np.array(sorted(self.of_components, key=self.of_components.__getitem__))

    @cached_property
    def leaves(self) -> Floats:
        """P(class | component), `(component, class)`; or the mean and the deviation of each component, `(component, 2)`."""
        if self.tree.predicts_numbers:
            return np.array([leaf.value for leaf in self.components.plain_leaves(())])
        return self.components.class_probabilities(self.tree.classes)


def tests_of(tree: Tree, components: Components) -> tuple[NodeTest, ...]:
    """The tests of a tree, and those that the goals of its leaves have a value."""
    values = zip(components.paths, components.values, strict=True)
    return tuple(dict.fromkeys((*tree.tests, *(path[-1][0] for path, value in values if value is not None))))


@dataclass(frozen=True, slots=True)
class _ForcedEvidence:
    """One example, repeated with different variables forced."""

    free: Mapping[Variable, tuple[float, ...]]
    codes: Mapping[Variable, Codes]
    length: int

    def __len__(self) -> int:
        return self.length

    def weights(self, variable: Variable) -> Floats:
        """The probability of every value of a variable, as `(value, repetition)`."""
        free = np.array(self.free[variable])[:, None]
        if variable not in self.codes:
            return np.broadcast_to(free, (len(free), self.length))
        by_code = np.concatenate((free, np.eye(len(free))), axis=1)
        return by_code[:, self.codes[variable]]


def _nodes(root: Node, number: Mapping[NodeTest, int]) -> Iterator[ExplainedNode]:
    above: list[tuple[tuple[SignedTest, ...], int]] = []  # the last path and test of every depth
    for visit in preorder(root):
        path: tuple[SignedTest, ...] = ()
        if visit.response is not None:
            parent_path, parent_test = above[visit.depth - 1]
            path = (*parent_path, (parent_test, visit.response))
        test = None if isinstance(visit.node, LeafNode) else number[visit.node.test]
        above[visit.depth :] = [] if test is None else [(path, test)]
        yield ExplainedNode(path, visit.node, test, visit.parent)


def _evaluate(node: Formula, values: Mapping[Variable, int], known: Mapping[int, bool | None]) -> bool | None:
    """The truth value of a formula under these values; None if one of its variables has no value."""
    if isinstance(node, Literal):
        return values[node.variable] in node.values if node.variable in values else None
    parts = [known[id(part)] for part in parts_of(node)]
    if None in parts:
        return None
    match node:
        case Truth(value):
            return value
        case Not():
            return not parts[0]
        case And():
            return all(parts)
        case Or():
            return any(parts)
        case _:
            raise AssertionError("comparisons are replaced by cells before a formula is evaluated")


def one_row(model: TreeModel, X: Any, row: int) -> Examples:
    """The example to be explained.

    Raises
    ------
    DataError : if `row` does not stand for one example.
    """
    examples = model.read(X)[row]
    if len(examples) != 1:
        raise DataError(f"row={row!r} is not one example; explain one at a time, as in explain(X, row=0).")
    return examples


def view_example(model: TreeModel, example: Examples) -> ExampleView:
    """One example as the tree reads it, also below branches that the example does not reach."""
    tests = tests_of(model.tree, model.components)
    present = [name for name, column in example.items() if column.missing is None]
    formulas = tuple(draw_cells((test.formula(model.program) for test in tests), present))
    variables = variables_in(formulas)
    with model.evaluating(), model.inference.arrays.without_gradients():
        evidence = model.evidence_of(example)
        weights = {variable: _value_probabilities(evidence, variable) for variable in variables}
    names = name_variables(variables, model.program)
    names = {variable: _with_witness(variable, known, example) for variable, known in names.items()}
    networks = display_names(v.network for v in variables if isinstance(v, NeuralVariable))
    readings = {v: _reading(v, names[v], weights[v], example, model.program, networks) for v in variables}
    return ExampleView(model.tree, formulas, weights, names, readings, model.program.limits, model.components)


def _with_witness(variable: Variable, names: VariableNames, example: Examples) -> VariableNames:
    """The names of a query, where it is true with the parts of the example that make it so."""
    witness = variable.query.witness(example) if isinstance(variable, QueryVariable) else None
    return names if witness is None else replace(names, phrases=(names.phrases[0], witness))


def _value_probabilities(evidence: Evidence, variable: Variable) -> tuple[float, ...]:
    try:
        weights = evidence.weights(variable)
    except MissingPriorError:
        if not isinstance(variable, NeuralVariable):
            raise
        # The prediction succeeded, so this network is called only below branches that the example never reaches. There its
        # output is unknown, and taken as uniform.
        return (1.0 / variable.size,) * variable.size
    return tuple(weights[:, 0].tolist())


def _reading(
    variable: Variable,
    names: VariableNames,
    weights: tuple[float, ...],
    example: Examples,
    program: Program,
    networks: Mapping[str, str],
) -> Reading:
    ranked = sorted(zip(names.values, weights, strict=True), key=lambda pair: -pair[1])
    values = tuple((value, weight) for value, weight in ranked if weight > 0.0)
    match variable:
        case ChoiceVariable():
            return Reading(names.name, "chance", (), False, values)
        case QueryVariable(columns=columns):
            return Reading(names.name, "boolean", columns, False, values)
        case NeuralVariable(network=network, inputs=inputs):
            missing = not bool(example.complete(inputs)[0])
            return Reading(names.name, "network", inputs, missing, values, networks[network])
        case CalculatedVariable(parts, columns=columns):
            missing = not bool(example.complete(columns)[0])
            numbers, defined = expression_values(parts[0].expression, example)
            known = float(numbers[0]) if len(parts) == 1 and defined[0] else None
            undefined = not missing and len(parts) == 1 and not defined[0]
            kind = expression_kind(parts[0].expression, program.schema) if len(parts) == 1 else Number()
            return Reading(names.name, kind_name(kind), columns, missing, values, None, known, undefined)  # type: ignore[arg-type]
        case ColumnVariable(column) | CellVariable(column):
            missing = not bool(example.complete([column])[0])
            kind = program.schema[column]
            number = float(example.column(column).values[0]) if isinstance(kind, Number) and not missing else None
            return Reading(names.name, kind_name(kind), (column,), missing, values, None, number)  # type: ignore[arg-type]


def images_of(example: Examples, readings: Iterable[Reading]) -> dict[str, Array]:
    """The network inputs that are images, by column, as `(height, width)` or `(height, width, 3)`."""
    columns = dict.fromkeys(name for reading in readings if reading.kind == "network" for name in reading.columns)
    images = {}
    for name in columns:
        column = example.column(name)
        if type(column.kind) is Tensor and column.missing is None:
            image = displayable(np.asarray(column.values[0]))
            if image is not None:
                images[name] = image
    return images


def displayable(tensor: Array) -> Array | None:
    """A tensor as an image with channels last, rescaled to [0, 1] by its own range if needed; None if it is no image.

    >>> [displayable(np.zeros(shape)).shape for shape in ((8, 8), (1, 8, 8), (3, 8, 8), (8, 8, 3))]
    [(8, 8), (8, 8), (8, 8, 3), (8, 8, 3)]
    >>> displayable(np.zeros((1, 3))) is None
    True
    """
    if not is_image(tensor.shape):
        return None
    image = channels_last(tensor)
    if image.shape[2] == 1:
        image = image[:, :, 0]
    low, high = displayed_range(image[None])
    return image if image.dtype == np.uint8 or (low, high) == (0.0, 1.0) else brightness(image, low, high)
