"""Monotone trees: a checker that walks the leaves, and the nearest leaf values that keep to monotone constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import ParameterError, TreeError
from neuid3.logic.formula import (
    And,
    CellVariable,
    ColumnVariable,
    Formula,
    Literal,
    Not,
    Or,
    Variable,
    columns_of,
    draw_cells,
    rebuild,
)
from neuid3.logic.program import Program
from neuid3.tree.constraints import Constraints, TestOrders, is_derived, is_satisfiable, read_constraints, variable_of
from neuid3.tree.isotonic import isotonic
from neuid3.tree.leaves import Leaf, LeafNode, NumberLeaf
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.sums import ScoreLeaf
from neuid3.tree.tree import Branch, Node, Path, Tree, Visit, branches, fold, paths

Relation = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Violation:
    """Two leaves that break a monotone constraint: examples that differ in one column only reach one and the other.

    Attributes
    ----------
    column : the constrained column.
    direction : 1 where the prediction must not fall as the column rises, -1 where it must not rise.
    lower, upper : the paths to the leaves that are reached with the lower and with the higher entry of the column.
    lower_value, upper_value : what these leaves predict.
    """

    column: str
    direction: int
    lower: Path
    upper: Path
    lower_value: float
    upper_value: float

    def __str__(self) -> str:
        verb = "falls" if self.direction > 0 else "rises"
        return (
            f"As {self.column!r} rises, the prediction {verb} from {self.lower_value:.6g} at [{_text(self.lower)}] to "
            f"{self.upper_value:.6g} at [{_text(self.upper)}]."
        )


def _text(path: Path) -> str:
    return ", ".join(f"{test}" if response else f"\\+ {test}" for test, response in path) or "true"


def check_monotone(model: Any, constraints: Constraints | Mapping[str, int] | None = None) -> Violation | None:
    """The first pair of leaves that breaks a monotone constraint, or None, which proves that there is none.

    Two leaves are compared where values of all other variables exist with which a lower entry of the column leads to one
    and a higher entry to the other. A missing entry, a probability and the output of a network are mixtures of such
    values, so that the prediction keeps to the constraint for these too. Where all tests read columns, each violation
    belongs to a pair of examples; below networks and probabilistic facts it belongs to a pair of possible worlds. Of a sum,
    every tree is checked: where each keeps to the constraints the sum does, and it may do so where one does not.

    Parameters
    ----------
    model : a fitted estimator, or a tree with its program. The positive class is that of the estimator, or the second.
    constraints : directions by column, as in `monotonic_cst`, or `Constraints`; by default those of the estimator.

    Returns
    -------
    The violation, or None.

    Raises
    ------
    ParameterError : where there is no constraint, a column does not exist or has no order, or there are more than two
        classes.
    TreeError : where the model is neither a tree nor a sum of trees, or a test reads the column through a network, a
        calculation or a query.

    >>> from neuid3 import Examples, Leaf, NeurosymbolicTree, Tree
    >>> X = Examples({"age": [30.0, 70.0], "smoker": [True, False]})
    >>> tree = Tree(Branch("smoker", Leaf(0.9), Branch("age > 60", Leaf(0.1), Leaf(0.4))))
    >>> print(check_monotone(NeurosymbolicTree(tree, X.schema), {"age": 1}))
    As 'age' rises, the prediction falls from 0.4 at [\\+ smoker, \\+ age > 60] to 0.1 at [\\+ smoker, age > 60].
    """
    fitted = getattr(model, "model_", model)
    if not hasattr(fitted, "boosted_sum") and not isinstance(getattr(fitted, "tree", None), Tree):
        found = getattr(fitted, "noun", type(model).__name__)
        raise TreeError(
            f"check_monotone found a {found}; give a fitted tree or boosted sum of trees: an estimator, or its `model_`."
        )
    if constraints is None:
        constraints = getattr(model, "monotonic_cst", None)
    if constraints is None:
        raise ParameterError(
            "The model has no monotonic_cst, so there is nothing to check; give the directions, such as {'age': 1}."
        )
    if not isinstance(constraints, Constraints):
        constraints = read_constraints(constraints, None, fitted.schema)
    positive = positive_index(model, fitted.classes)
    violations = (find_violation(root, fitted.program, constraints, positive) for root in _roots(fitted))
    return next((violation for violation in violations if violation is not None), None)


def _roots(model: Any) -> tuple[Node, ...]:
    """The trees of a model."""
    boosted_sum = getattr(model, "boosted_sum", None)
    return (model.tree.root,) if boosted_sum is None else boosted_sum.trees


def positive_index(model: Any, classes: tuple[Any, ...]) -> int:
    """The index of the class whose probability constraints are about; 0 for numbers.

    Parameters
    ----------
    model : an estimator, whose `pos_label` counts, or any other model.
    classes : the classes of the tree; empty for numbers.

    Returns
    -------
    The index.

    Raises
    ------
    ParameterError : where there are more than two classes.
    """
    if not classes:
        return 0
    check_two_classes(len(classes))
    label = getattr(model, "pos_label", None)
    return classes.index(label) if label in classes else 1


def check_two_classes(classes: int) -> None:
    """Raise a `ParameterError` where there are more than two classes, since these have no order.

    Parameters
    ----------
    classes : the number of classes.

    Raises
    ------
    ParameterError : where there are more than two.
    """
    if classes > 2:
        raise ParameterError(
            f"monotonic_cst is for two classes or for numbers, and there are {classes} classes, which have no order; leave "
            "it out, or join classes to two."
        )


def find_violation(root: Node, program: Program, constraints: Constraints, positive: int = 1) -> Violation | None:
    """The first pair of leaves of a tree that breaks a constraint, or None; see `check_monotone`.

    Parameters
    ----------
    root : the root of the tree.
    program : background knowledge.
    constraints : the constraints.
    positive : the index of the positive class; ignored for numbers.

    Returns
    -------
    The violation, or None.
    """
    cells = LeafCells(root, program)
    values = np.array([leaf_number(leaf, positive) for _, leaf in cells.leaves])
    for column, direction in constraints.directions:
        wrong = values[:, None] > values[None, :] if direction > 0 else values[:, None] < values[None, :]
        for low, high in np.argwhere(cells.below(column) & wrong):
            if cells.are_comparable(column, int(low), int(high)):
                lower, upper = cells.leaves[low], cells.leaves[high]
                return Violation(column, direction, lower[0], upper[0], float(values[low]), float(values[high]))
    return None


class LeafCells:
    """The values of all variables with which each leaf of a tree is reached.

    A test of one variable leaves some of its values possible, so that a leaf is a box of values. Other tests, such as
    rules over several columns, are variables of their own here, unless they read the column in question.

    Parameters
    ----------
    root : the root of the tree.
    program : background knowledge.
    """

    def __init__(self, root: Node, program: Program) -> None:
        self.leaves = list(paths(root))
        self.limits = program.limits
        tests = list(dict.fromkeys(branch.test for branch in branches(root)))
        own = [test.formula(program) for test in tests]
        self.formulas: dict[NodeTest, Formula] = dict(zip(tests, draw_cells(own), strict=True))
        self._alone = {test: draw_cells([formula])[0] for test, formula in zip(tests, own, strict=True)}
        self._boxes: dict[Variable | NodeTest, Relation] = {}  # (leaf, value)
        for number, (path, _) in enumerate(self.leaves):
            for test, response in path:
                self._narrow(number, test, response)
        self._disjoint = {key: ~_meet(box) for key, box in self._boxes.items()}
        self._count = sum((part.astype(np.int32) for part in self._disjoint.values()), np.zeros((1, 1), dtype=np.int32))

    def _narrow(self, leaf: int, test: NodeTest, response: bool) -> None:
        """Leave those values possible at a leaf with which a test has this response."""
        formula = self.formulas[test]
        if isinstance(formula, Not) and isinstance(formula.part, Literal):
            formula, response = formula.part, not response
        key: Variable | NodeTest = test
        size, values = 2, frozenset({1})
        if isinstance(formula, Literal):
            key, size, values = formula.variable, formula.variable.size, formula.values
        box = self._boxes.setdefault(key, np.ones((len(self.leaves), size), dtype=bool))
        true_values = np.isin(np.arange(size), list(values))
        box[leaf] &= true_values if response else ~true_values

    def below(self, column: str) -> Relation:
        """Whether the second leaf may be reached instead of the first as a column rises and all else stays, `(leaf, leaf)`.

        Where rules read the column, some of these pairs may be impossible: `are_comparable` decides.

        Parameters
        ----------
        column : the name of the column.

        Returns
        -------
        A Boolean matrix.

        Raises
        ------
        TreeError : where a test reads the column through a network, a calculation or a query.
        """
        self._check_is_read_directly(column)
        conflicts = self._count
        is_lower = np.ones((len(self.leaves), len(self.leaves)), dtype=bool)
        for key, box in self._boxes.items():
            if isinstance(key, (ColumnVariable, CellVariable)) and key.column == column:
                possible = np.asarray(box.any(axis=1))
                first, last = box.argmax(axis=1), box.shape[1] - 1 - box[:, ::-1].argmax(axis=1)
                is_lower &= (first[:, None] < last[None, :]) & possible[:, None] & possible[None, :]
            elif not isinstance(key, NodeTest) or column not in columns_of(self.formulas[key]):
                continue
            conflicts = conflicts - self._disjoint[key]
        related: Relation = is_lower & (conflicts == 0)
        np.fill_diagonal(related, False)
        return related

    def _check_is_read_directly(self, column: str) -> None:
        """Raise a `TreeError` where a test reads a column through a network, a calculation or a query."""
        for test, formula in self._alone.items():
            if is_derived(formula, column):
                raise TreeError(
                    f"Test '{test}' reads column {column!r} through a network, a calculation or a query; whether the tree is "
                    "monotone in it cannot be proved."
                )

    def are_comparable(self, column: str, low: int, high: int) -> bool:
        """Whether some values of all variables lead to one leaf, and to the other with a higher entry of a column.

        Parameters
        ----------
        column : the name of the column.
        low, high : the numbers of the leaves; `below` must hold for them.

        Returns
        -------
        True if there are such values.
        """
        tests = {test for number in (low, high) for test, _ in self.leaves[number][0]}
        if all(isinstance(self.formulas[test], Literal) for test in tests):
            return True
        reading = [self.formulas[test] for test in tests if column in columns_of(self.formulas[test])]
        variables = {variable_of(formula, column) for formula in reading}
        signed = [self._conjunction(number) for number in (low, high)]
        if not variables:
            return False  # the two leaves do not differ in the column
        (variable,) = variables
        assert variable is not None
        higher = ColumnVariable(f"{column}, higher", variable.size)
        rises = Or(
            tuple(
                And((Literal(variable, frozenset({v})), Literal(higher, frozenset(range(v + 1, variable.size)))))
                for v in range(variable.size - 1)
            )
        )
        return is_satisfiable(And((signed[0], _renamed(signed[1], variable, higher), rises)), self.limits)

    def _conjunction(self, leaf: int) -> Formula:
        path = self.leaves[leaf][0]
        return And(tuple(self.formulas[test] if response else Not(self.formulas[test]) for test, response in path))


def _meet(box: Relation) -> Relation:
    """Whether two leaves have a value of a variable in common, `(leaf, leaf)`."""
    counted = box.astype(np.float32)
    common: Relation = counted @ counted.T > 0
    return common


def _renamed(formula: Formula, variable: Variable, other: Variable) -> Formula:
    """The formula with another variable in the place of one."""

    def renamed(node: Formula) -> Formula:
        return Literal(other, node.values) if isinstance(node, Literal) and node.variable == variable else node

    return rebuild([formula], renamed)[0]


# Leaf values that keep to constraints ---------------------------------------------------------------


def leaf_number(leaf: LeafNode, positive: int = 1) -> float:
    """The number that constraints are about: the probability of the positive class, or the number that a leaf predicts.

    Parameters
    ----------
    leaf : the leaf.
    positive : the index of the positive class.

    Returns
    -------
    The number.
    """
    if isinstance(leaf, (NumberLeaf, ScoreLeaf)):
        return leaf.value[0]
    if isinstance(leaf, Leaf):
        return leaf.probabilities[positive]
    raise TreeError(
        f"A leaf of the tree is a {type(leaf).__name__}, which predicts no fixed number; monotone constraints need leaves that "
        "hold probabilities or numbers."
    )


def with_number(leaf: Any, number: float, positive: int = 1) -> Any:
    """A leaf that predicts another number, with the masses of the old one.

    Parameters
    ----------
    leaf : the leaf.
    number : the probability of the positive class, or the number that it predicts.
    positive : the index of the positive class.

    Returns
    -------
    The new leaf.
    """
    if isinstance(leaf, NumberLeaf):  # the deviation is that of the same examples about the new number
        return replace(leaf, mean=number, deviation=math.hypot(leaf.deviation, number - leaf.mean))
    probabilities = (number, 1.0 - number) if positive == 0 else (1.0 - number, number)
    return replace(leaf, probabilities=probabilities)


def monotone_tree(
    root: Node, program: Program, constraints: Constraints, positive: int = 1
) -> tuple[Node, list[Branch]]:
    """The tree whose leaf values are the nearest that keep to the constraints, and the branches that it lost.

    Values are those of isotonic regression, weighted by the masses of the leaves, which stay as they are. A branch both of
    whose leaves have got the same value becomes a leaf.

    Parameters
    ----------
    root : the root of the tree; its tests must have an order, see `TestOrders`.
    program : background knowledge.
    constraints : the constraints.
    positive : the index of the positive class; ignored for numbers.

    Returns
    -------
    The root of the new tree, and the branches that became leaves.
    """
    if not constraints.directions or not isinstance(root, Branch):
        return root, []
    leaves = [leaf for _, leaf in paths(root)]
    values = np.array([leaf_number(leaf, positive) for leaf in leaves])
    weights = np.array([1.0 if leaf.masses is None else sum(leaf.masses) for leaf in leaves])
    return _with_numbers(
        root, values, monotone_values(root, TestOrders(constraints, program), values, weights), positive
    )


def monotone_values(
    root: Node,
    orders: TestOrders,
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """The nearest values of the leaves of a tree that keep to the constraints.

    Where all trees of a sum have such values, the sum is monotone.

    Parameters
    ----------
    root : the root of the tree; its tests must have an order.
    orders : the constraints, with the order of the sides of each test.
    values : what the leaves say, from left to right, `(leaf,)`.
    weights : how much each counts, `(leaf,)`.

    Returns
    -------
    The new values, `(leaf,)`.
    """
    cells = LeafCells(root, orders.program)
    below = np.zeros((len(cells.leaves), len(cells.leaves)), dtype=bool)
    for column, direction in orders.constraints.directions:
        related = cells.below(column)
        below |= related if direction > 0 else related.T
    below &= _ordered_by_tests([path for path, _ in cells.leaves], orders)
    return isotonic(values, weights, below)


def _ordered_by_tests(leaf_paths: list[Path], orders: TestOrders) -> Relation:
    """Whether the test at which two paths part puts the first leaf below the second, `(leaf, leaf)`."""
    n = len(leaf_paths)
    ordered = np.zeros((n, n), dtype=bool)
    stack = [(0, n, 0)]  # leaves from left to right that have the first so many tests in common
    while stack:
        start, stop, depth = stack.pop()
        if stop - start < 2:
            continue
        test = leaf_paths[start][depth][0]
        middle = next(i for i in range(start, stop) if not leaf_paths[i][depth][1])
        order = orders.of(test)
        if order is None or order > 0:
            ordered[middle:stop, start:middle] = True
        if order is None or order < 0:
            ordered[start:middle, middle:stop] = True
        stack += [(start, middle, depth + 1), (middle, stop, depth + 1)]
    return ordered


def _with_numbers(root: Node, old: Any, new: Any, positive: int) -> tuple[Node, list[Branch]]:
    """The tree with these numbers in its leaves, and the branches whose leaves became equal and were joined."""
    lost: list[Branch] = []
    remaining = list(zip(old.tolist(), new.tolist(), strict=True))

    def rebuilt(visit: Visit, below: tuple[Any, Any] | None) -> tuple[Node, bool]:
        """A node, and whether its value was changed."""
        node: Any = visit.node
        if below is None:
            before, after = remaining.pop()
            return (with_number(node, after, positive), True) if before != after else (node, False)
        (yes, yes_changed), (no, no_changed) = below
        if not isinstance(yes, Branch) and not isinstance(no, Branch) and (yes_changed or no_changed):
            value = leaf_number(yes, positive)
            if value == leaf_number(no, positive):
                lost.append(node)
                return with_number(_joined(yes, no), value, positive), True
        return replace_children(node, yes, no), False

    return fold(root, rebuilt)[0], lost


def _joined(yes: Any, no: Any) -> Any:
    """One leaf with the masses of both."""
    if yes.masses is None or no.masses is None:
        return yes
    masses = tuple(a + b for a, b in zip(yes.masses, no.masses, strict=True))
    if isinstance(yes, NumberLeaf) and sum(masses) > 0:  # both have the same mean
        fraction = sum(yes.masses) / sum(masses)
        variance = fraction * yes.deviation**2 + (1.0 - fraction) * no.deviation**2
        return replace(yes, deviation=math.sqrt(variance), masses=masses)
    return replace(yes, masses=masses)


def replace_children(branch: Branch, yes: Node, no: Node) -> Branch:
    """The branch with other subtrees; the same branch where these are the same.

    Parameters
    ----------
    branch : the branch.
    yes, no : the subtrees.

    Returns
    -------
    The branch.
    """
    if branch.yes is yes and branch.no is no:
        return branch
    return Branch(branch.test, yes, no, branch.gain, statistics=branch.statistics, summary=branch.summary)
