"""Families of tests with an open constant: rules with a numeric argument, and numbers that rules define."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from neuid3.binned.cuts import readable_cut
from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.diagram import TRUE
from neuid3.data.columns import Kind, Number
from neuid3.data.examples import Examples
from neuid3.logic.expressions import expression_kind
from neuid3.logic.formula import (
    HOLDS,
    And,
    Compare,
    CompareExpression,
    Formula,
    NeuralVariable,
    OpenCompare,
    Or,
    Truth,
    bottom_up,
    columns_of,
    expressions_in,
    parts_of,
    rebuild,
    sources,
)
from neuid3.logic.program import OPEN_CONSTANT, Program
from neuid3.logic.quoting import atom_name, atom_text, constant_term, entry_text
from neuid3.tree.calculations import expression_values
from neuid3.tree.node_tests import AtomTest

Floats = npt.NDArray[np.float64]

# The most constants of a grid, where the best one cannot be found at each node in one pass.
GRID = 16

# The same for tests with networks, each of which is trained.
NEURAL_GRID = 8

# Whole numbers that are tried for a numeric argument which is neither compared with a column nor with a known number.
WHOLE_NUMBERS = range(13)


_NAMED = re.compile(r"\s*('[^']*'|[a-z]\w*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that differ in one constant, `older_than(40.0)` and `older_than(65.5)`, or `bmi > 25.0` and `bmi > 30.0`.

    Attributes
    ----------
    template : the test, with an open constant in the place of the number.
    formula : its formula, in which comparisons with the constant are open.
    kind : a date where the constant is compared with dates; otherwise a number.
    """

    template: str
    formula: Formula = field(compare=False, repr=False)
    kind: Kind = field(default=Number(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """What the family is called: its template with an ellipsis for the constant."""
        return self.template.replace(OPEN_CONSTANT, "…")

    def test(self, constant: float, program: Program) -> AtomTest:
        """The test with this constant, whose formula the program then knows without grounding it."""
        test = AtomTest(self.template.replace(OPEN_CONSTANT, constant_term(constant, self.kind)))
        program.set_formula(test.atom, with_constant(self.formula, constant))
        return test

    @property
    def direction(self) -> str | None:
        """The comparison with the constant, where all are the same and none is negated; otherwise None.

        Then a test of the family is true for an example where one number of the example compares so with the constant.
        """
        return direction_of(self.formula)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that its tests depend on."""
        return columns_of(self.formula)

    @property
    def is_neural(self) -> bool:
        """Whether its tests call networks."""
        return any(isinstance(source, NeuralVariable) for source in sources(self.formula))


def with_constant(formula: Formula, constant: float) -> Formula:
    """The formula of a family with a constant in the place of the open one."""

    def closed(node: Formula) -> Formula:
        if not isinstance(node, OpenCompare):
            return node
        expression, operator = node.expression, node.operator
        if expression.number is not None:
            return Truth(HOLDS[operator](expression.number, constant))
        if expression.column is not None:
            return Compare(expression.column, operator, constant)
        return CompareExpression(expression, operator, constant)

    return rebuild([formula], closed)[0]


def direction_of(formula: Formula) -> str | None:
    """The comparison with the open constant that makes the formula monotone in it; None where there is none."""
    operators: set[str] = set()
    is_open: dict[int, bool] = {}
    for node in bottom_up([formula]):
        if isinstance(node, OpenCompare):
            operators.add(node.operator)
            is_open[id(node)] = True
            continue
        is_open[id(node)] = any(is_open[id(part)] for part in parts_of(node))
        if is_open[id(node)] and not isinstance(node, (And, Or)):
            return None
    (operator,) = operators if len(operators) == 1 else (None,)
    return operator if operator in ("<", "=<", ">", ">=") else None


def named_family(test: str, program: Program) -> Family | tuple[AtomTest, ...]:
    """The family that a caller names: `bmi` of a rule that defines a number, or `older_than(Years)`.

    Parameters
    ----------
    test : the name.
    program : background knowledge.

    Returns
    -------
    The family; its tests where its constants are known without data, as of `symptoms(K)`; no test where the name is of none.
    """
    match = _NAMED.fullmatch(test)
    if match is None or test in program.schema:
        return ()
    name, inside = atom_name(match[1]), match[2]
    if inside is None:
        is_number = f"{name}/1" in program.predicates and f"{name}/0" not in program.predicates
        family = _family(f"{match[1]} > {OPEN_CONSTANT}", program) if is_number else None
        return () if family is None else family
    arguments = [part.strip() for part in inside.split(",")]
    open_positions = [i for i, argument in enumerate(arguments) if argument[:1].isupper() or argument[:1] == "_"]
    if len(open_positions) != 1 or f"{name}/{len(arguments)}" not in program.predicates:
        return ()
    arguments[open_positions[0]] = OPEN_CONSTANT
    return _family_or_tests(f"{match[1]}({', '.join(arguments)})", program)


def find_families(program: Program, fillers: Sequence[str]) -> tuple[list[Family], list[AtomTest], set[str]]:
    """The families of tests of a program, tests of families without data, and the predicates that these come from.

    Rules with a numeric argument that other rules call are left out: their constants are known there.

    Parameters
    ----------
    program : background knowledge.
    fillers : the image columns, as atoms, that stand for the other variables of a rule.
    """
    families: list[Family] = []
    tests: list[AtomTest] = []
    predicates: set[str] = set()
    for head in program.open_heads:
        name = atom_text(head.name)
        family = _family(f"{name} > {OPEN_CONSTANT}", program) if head.arguments == (None,) else None
        if family is not None and expressions_in([family.formula])[0].columns:
            families.append(family)
            predicates.add(head.name)
            continue
        if head.needed:
            continue
        for arguments in _filled(head.arguments, head.position, fillers):
            found = _family_or_tests(f"{name}({', '.join(arguments)})", program)
            if isinstance(found, Family):
                families.append(found)
            else:
                tests.extend(found)
            predicates.update([head.name] if found else [])
    unique = {family.template: family for family in families}
    return list(unique.values()), list(dict.fromkeys(tests)), predicates


def _filled(arguments: Sequence[str | None], position: int, fillers: Sequence[str]) -> Iterator[list[str]]:
    """The arguments of a rule with the open constant, and image columns for its other variables."""
    choices = [
        [OPEN_CONSTANT] if i == position else [argument] if argument is not None else list(fillers)
        for i, argument in enumerate(arguments)
    ]
    for chosen in product(*choices):
        columns = [c for c, argument in zip(chosen, arguments, strict=True) if argument is None and c != OPEN_CONSTANT]
        if len(set(columns)) == len(columns):
            yield list(chosen)


def _family_or_tests(template: str, program: Program) -> Family | tuple[AtomTest, ...]:
    """The family of a template where its constant is compared with columns; otherwise its tests, with all constants."""
    family = _family(template, program)
    if family is not None and any(e.columns for e in expressions_in([family.formula])):
        return family
    constants = _known_constants(family) if family is not None else [float(k) for k in WHOLE_NUMBERS]
    return tuple(_varying(template, constants, program))


def _family(template: str, program: Program) -> Family | None:
    """The family of a template; None where it cannot be grounded, or its constant is compared with nothing."""
    (formula,) = program.formulas_or_none([template])
    compared = [] if formula is None else [n for n in bottom_up([formula]) if isinstance(n, OpenCompare)]
    if formula is None or not compared:
        return None
    kinds = {expression_kind(node.expression, program.schema) for node in compared}
    return Family(template, formula, kinds.pop() if len(kinds) == 1 else Number())


def _known_constants(family: Family) -> list[float]:
    """The numbers that the open constant is compared with."""
    compared = (node.expression.number for node in bottom_up([family.formula]) if isinstance(node, OpenCompare))
    return sorted({number for number in compared if number is not None})


def _varying(template: str, constants: Iterable[float], program: Program) -> list[AtomTest]:
    """The tests of a template with these constants that are neither always true nor always false."""
    atoms = [template.replace(OPEN_CONSTANT, entry_text(constant)) for constant in constants]
    return [
        AtomTest(atom)
        for atom, formula in zip(atoms, program.formulas_or_none(atoms), strict=True)
        if formula is not None and not _is_constant(formula, program)
    ]


def _is_constant(formula: Formula, program: Program) -> bool:
    """Whether a formula is true in all worlds or in none, also where no constant in it says so."""
    return compile_formulas([formula], program.limits).roots[0] <= TRUE


def grid_tests(family: Family, examples: Examples, program: Program) -> list[AtomTest]:
    """Tests of a family with constants between quantiles of the numbers that the constant is compared with.

    Parameters
    ----------
    family : a family of tests.
    examples : the training examples.
    program : background knowledge.
    """
    most = NEURAL_GRID if family.is_neural else GRID
    constants: set[float] = set()
    for node in bottom_up([family.formula]):
        if isinstance(node, OpenCompare) and node.expression.number is None:
            values, defined = expression_values(node.expression, examples)
            constants.update(_grid(values[defined], node.operator, most, family.kind))
        elif isinstance(node, OpenCompare) and node.expression.number is not None:
            constants.add(node.expression.number)
    return [family.test(constant, program) for constant in sorted(constants)]


def _grid(values: Floats, operator: str, most: int, kind: Kind) -> Iterator[float]:
    distinct, counts = np.unique(values, return_counts=True)
    if operator in ("=:=", "=\\="):
        yield from distinct[np.argsort(-counts, kind="stable")[:most]].tolist()
        return
    below = np.cumsum(counts)[:-1] / counts.sum()
    positions = np.unique(np.searchsorted(below, (np.arange(most) + 1) / (most + 1)))
    for position in positions[positions < len(below)]:
        yield readable_cut(float(distinct[position]), float(distinct[position + 1]), kind)
