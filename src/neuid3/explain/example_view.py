"""What does a tree see in one example? Its tests over variables, and the probability of each of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.conjunctions import SignedTest, factorise, groups
from neuid3.circuits.reach import Reach
from neuid3.data.columns import Array, Number, Tensor, kind_name
from neuid3.data.examples import Examples
from neuid3.errors import DataError, MissingPriorError
from neuid3.explain.explanation import Assignment, Reading
from neuid3.explain.names import Named, name_all
from neuid3.logic.formula import (
    And,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    Formula,
    Literal,
    NeuralVariable,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    parts_of,
)
from neuid3.logic.program import Program
from neuid3.logic.quoting import entry_text
from neuid3.logic.sandbox import Limits
from neuid3.tree.evidence import Evidence
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Leaf, Node, Tree, preorder

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """A node, the answers that lead to it, what it asks (None: it is a leaf; tests by their number), and its parent."""

    path: tuple[SignedTest, ...]
    node: Node
    test: int | None
    parent: int | None


@dataclass(frozen=True)
class Scene:
    """One example as the tree sees it. Every number column is one variable, cut by all tests of the tree."""

    tree: Tree
    formulas: tuple[Formula, ...]
    weights: Mapping[Variable, tuple[float, ...]]
    names: Mapping[Variable, Named]
    readings: Mapping[Variable, Reading]
    limits: Limits

    @cached_property
    def tests(self) -> tuple[NodeTest, ...]:
        """The tests in the order of their numbers."""
        return self.tree.tests

    @cached_property
    def test_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.tests))

    @cached_property
    def places(self) -> tuple[ExplainedNode, ...]:
        """Every node, parents before children, yes before no."""
        return tuple(_places(self.tree.root, {test: i for i, test in enumerate(self.tests)}))

    @cached_property
    def _reach(self) -> Reach:
        return Reach(factorise(self.formulas, [place.path for place in self.places], self.limits))

    def masses(self, codes: Mapping[Variable, Codes] | None = None, n: int = 1) -> Floats:
        """P(path | e) for every place, `(n, place)`, n times with variables forced as `codes` say.

        Code 0 leaves a variable as the example has it, code v + 1 makes value v certain.
        """
        with torch.no_grad():
            return self._reach(_Forced(self.weights, codes or {}, n)).numpy()

    def taking(self, variable: Variable, value: int) -> Assignment:
        """The variable with this value; of a number that is known, the number itself is told."""
        made, number = self.names[variable].taking(value), self.readings[variable].number
        return made if number is None else replace(made, text=f"{made.variable} = {entry_text(number)}")

    @cached_property
    def variables_of(self) -> tuple[frozenset[Variable], ...]:
        """The variables of each test."""
        return tuple(frozenset(variables_in([formula])) for formula in self.formulas)

    @cached_property
    def numbers_of(self) -> tuple[frozenset[int], ...]:
        """The variables of each test by number: a number that is cut in many places takes long to be hashed."""
        number = {variable: i for i, variable in enumerate(self.weights)}
        return tuple(frozenset(number[variable] for variable in variables) for variables in self.variables_of)

    @cached_property
    def lonely_tests(self) -> frozenset[int]:
        """The tests that share no variable with any other test of the tree."""
        return frozenset(
            test for part in groups(range(len(self.formulas)), self.numbers_of) if len(part) == 1 for test in part
        )

    @cached_property
    def certain_answers(self) -> Mapping[int, bool]:
        """What the tests say all of whose variables have a certain value in this example, by their number."""
        values = {variable: weights.index(1.0) for variable, weights in self.weights.items() if 1.0 in weights}
        known: dict[int, bool | None] = {}
        for node in bottom_up(self.formulas):
            known[id(node)] = _truth(node, values, known)
        found = {test: known[id(formula)] for test, formula in enumerate(self.formulas)}
        return {test: answer for test, answer in found.items() if answer is not None}

    @cached_property
    def literals_of(self) -> Mapping[Variable, Sequence[frozenset[int]]]:
        """For each variable, the sets of its values that tests ask for."""
        found: dict[Variable, list[frozenset[int]]] = {}
        for node in bottom_up(self.formulas):
            if isinstance(node, Literal):
                found.setdefault(node.variable, []).append(node.values)
        return found

    @cached_property
    def asked_at(self) -> Mapping[int | Variable, frozenset[int]]:
        """The places of the branches that ask a test, by its number, or a test of a variable, by the variable."""
        found: dict[int | Variable, list[int]] = {}
        for i, place in enumerate(self.places):
            if place.test is not None:
                for key in (place.test, *self.variables_of[place.test]):
                    found.setdefault(key, []).append(i)
        return {key: frozenset(places) for key, places in found.items()}

    @cached_property
    def leaf_places(self) -> npt.NDArray[np.intp]:
        return np.array([i for i, place in enumerate(self.places) if place.test is None])

    @cached_property
    def leaves(self) -> Floats:
        """P(class | leaf), `(leaf, class)`."""
        return np.array([leaf.probabilities for leaf in self.tree.leaves])


@dataclass(frozen=True, slots=True)
class _Forced:
    """One example over and over, each time with other variables forced."""

    free: Mapping[Variable, tuple[float, ...]]
    codes: Mapping[Variable, Codes]
    length: int

    def __len__(self) -> int:
        return self.length

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, time)`."""
        free = torch.tensor(self.free[variable], dtype=torch.float64).unsqueeze(1)
        if variable not in self.codes:
            return free.expand(-1, self.length)
        by_code = torch.cat((free, torch.eye(len(free), dtype=torch.float64)), dim=1)
        return by_code.index_select(1, torch.from_numpy(np.ascontiguousarray(self.codes[variable])))


def _places(root: Node, number: Mapping[NodeTest, int]) -> Iterator[ExplainedNode]:
    above: list[tuple[tuple[SignedTest, ...], int]] = []  # of every depth, the last path and test
    for visit in preorder(root):
        path: tuple[SignedTest, ...] = ()
        if visit.answer is not None:
            start, asked = above[visit.depth - 1]
            path = (*start, (asked, visit.answer))
        test = None if isinstance(visit.node, Leaf) else number[visit.node.test]
        above[visit.depth :] = [] if test is None else [(path, test)]
        yield ExplainedNode(path, visit.node, test, visit.parent)


def _truth(node: Formula, values: Mapping[Variable, int], known: Mapping[int, bool | None]) -> bool | None:
    """Does a formula hold where variables have these values? None where one of its variables has none."""
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
            raise AssertionError("comparisons are drawn as cells before an example is looked at")


def variables_in(formulas: Iterable[Formula]) -> list[Variable]:
    """The variables of these formulas, in the order in which they are mentioned."""
    return list(dict.fromkeys(node.variable for node in bottom_up(formulas) if isinstance(node, Literal)))


def one_row(model: TreeModel, X: Any, row: int) -> Examples:
    """The example to be explained."""
    examples = model.read(X)[row]
    if len(examples) != 1:
        raise DataError(f"row={row!r} is not one example; explain one at a time, as in explain(X, row=0).")
    return examples


def look_at(model: TreeModel, example: Examples) -> Scene:
    """Everything that the tree sees in this example, also below branches that the example does not reach."""
    formulas = tuple(draw_cells(test.formula(model.program) for test in model.tree.tests))
    variables = variables_in(formulas)
    with model.evaluating(), torch.no_grad():
        evidence = model.evidence(example)
        weights = {variable: _weigh(evidence, variable) for variable in variables}
    names = name_all(variables, model.program)
    readings = {v: _reading(v, names[v], weights[v], example, model.program) for v in variables}
    return Scene(model.tree, formulas, weights, names, readings, model.program.limits)


def _weigh(evidence: Evidence, variable: Variable) -> tuple[float, ...]:
    try:
        found = evidence.weights(variable)
    except MissingPriorError:
        if not isinstance(variable, NeuralVariable):
            raise
        # The tree could answer, so this network is asked only where the example never gets; there it knows nothing.
        return (1.0 / variable.size,) * variable.size
    return tuple(found[:, 0].double().tolist())


def _reading(
    variable: Variable, named: Named, weights: tuple[float, ...], example: Examples, program: Program
) -> Reading:
    ranked = sorted(zip(named.values, weights, strict=True), key=lambda pair: -pair[1])
    values = tuple((value, weight) for value, weight in ranked if weight > 0.0)
    match variable:
        case ChoiceVariable():
            return Reading(named.name, "chance", (), False, values)
        case NeuralVariable(network=network, inputs=inputs):
            return Reading(named.name, "network", inputs, not bool(example.complete(inputs)[0]), values, network)
        case ColumnVariable(column) | CellVariable(column):
            missing = not bool(example.complete([column])[0])
            kind = program.schema[column]
            number = float(example.column(column).values[0]) if isinstance(kind, Number) and not missing else None
            return Reading(named.name, kind_name(kind), (column,), missing, values, None, number)  # type: ignore[arg-type]


def images_of(example: Examples, readings: Iterable[Reading]) -> dict[str, Array]:
    """The tensors that networks read and that can be looked at, as `(height, width)` or `(height, width, 3)`."""
    read = dict.fromkeys(name for reading in readings if reading.kind == "network" for name in reading.columns)
    found = {}
    for name in read:
        column = example.column(name)
        if isinstance(column.kind, Tensor) and column.missing is None:
            picture = as_picture(np.asarray(column.values[0]))
            if picture is not None:
                found[name] = picture
    return found


def as_picture(tensor: Array) -> Array | None:
    """A tensor as a picture, or None where it is none.

    >>> [as_picture(np.zeros(shape)).shape for shape in ((8, 8), (1, 8, 8), (3, 8, 8), (8, 8, 3))]
    [(8, 8), (8, 8), (8, 8, 3), (8, 8, 3)]
    >>> as_picture(np.zeros((1, 3))) is None
    True
    """
    if tensor.ndim == 3 and tensor.shape[0] in (1, 3) and tensor.shape[2] != 3:
        tensor = np.moveaxis(tensor, 0, -1)
    if tensor.ndim == 3 and tensor.shape[2] == 1:
        tensor = tensor[:, :, 0]
    flat = tensor.ndim == 2 or (tensor.ndim == 3 and tensor.shape[2] == 3)
    if not flat or min(tensor.shape[:2]) < 4:
        return None
    if tensor.dtype == np.uint8:
        return tensor
    low, high = float(tensor.min()), float(tensor.max())
    if low < 0.0 or high > 1.0:  # standardised for a network: brought back to what can be shown
        return np.asarray((tensor - low) / max(high - low, 1e-12))
    return tensor
