"""The criteria that a counting rule counts, in one example."""

from __future__ import annotations

from collections.abc import Iterator

from neuid3.data.columns import Date
from neuid3.data.derived import column_text
from neuid3.data.examples import Examples
from neuid3.errors import NeuID3Error
from neuid3.explain.explanation import Criterion, CriterionCount
from neuid3.logic.expressions import Expression, column_expression, expression_kind
from neuid3.logic.formula import Compare, CompareExpression, bottom_up
from neuid3.logic.quoting import constant_text, value_text
from neuid3.tree.calculations import expression_values
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest, NodeTest


def counts_of(model: TreeModel, example: Examples) -> dict[int, tuple[CriterionCount, ...]]:
    """What the rules behind each test count, by the number of the test, with the criteria in this example."""
    tests = [test for test in model.tree.tests if isinstance(test, AtomTest)]
    counts = dict(zip(tests, model.program.counts([test.atom for test in tests]), strict=True))
    return {
        number: tuple(
            CriterionCount(count.goal, tuple(_criterion(model, example, goal, test) for goal in count.goals))
            for count in counts[test]
        )
        for number, test in enumerate(model.tree.tests)
        if isinstance(test, AtomTest) and counts[test]
    }


def _criterion(model: TreeModel, example: Examples, goal: str, test: NodeTest) -> Criterion:
    criterion = AtomTest(goal, test.instances)
    try:
        probability = float(model.path_probability(example, ((criterion, True),))[0])
    except NeuID3Error:  # a criterion that is no test by itself
        return Criterion(goal, None, ())
    return Criterion(goal, probability, tuple(_thresholds(model, example, criterion)))


def _thresholds(model: TreeModel, example: Examples, criterion: AtomTest) -> Iterator[tuple[str, str]]:
    """The comparisons that a criterion depends on, and the numbers of the example that are compared."""
    shown = dict[str, str]()
    for node in bottom_up([criterion.formula(model.program)]):
        match node:
            case Compare(column, operator, constant):
                comparison = f"{column_text(column)} {operator} {constant_text(constant, model.schema.get(column))}"
                shown[comparison] = _value(column_expression(column), example)
            case CompareExpression(expression, operator, constant):
                kind = expression_kind(expression, model.schema)
                shown[f"{expression} {operator} {constant_text(constant, kind)}"] = _value(expression, example)
    yield from shown.items()


def _value(expression: Expression, example: Examples) -> str:
    if not bool(example.complete(expression.columns)[0]):
        return "missing"
    values, defined = expression_values(expression, example)
    if not defined[0]:
        return "undefined"
    kind = expression_kind(expression, example.schema)
    if expression.column is None and not isinstance(kind, Date):
        return f"{values[0]:.6g}"
    return value_text(float(values[0]), kind)
