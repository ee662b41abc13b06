"""Tests of tree nodes and the formulas that they stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from neuid3.data.columns import Boolean, Category, Distribution, Number, Probability, Value, kind_name
from neuid3.errors import NodeTestError
from neuid3.logic.formula import ColumnVariable, Compare, Formula, Literal, bind
from neuid3.logic.program import Program, fact
from neuid3.logic.quoting import atom_text, number_text


@runtime_checkable
class NodeTest(Protocol):
    """The protocol of a Boolean test at a node. A new kind of test implements `formula`.

    Laws: tests are hashable values; equal tests have equal formulas; `str(test)` is a goal of the program.
    """

    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of this program."""
        ...


@dataclass(frozen=True, slots=True)
class AtomTest:
    """A ground atom of the program or of the columns: `alarm`, `suit(hearts)`, `gt_rank(card_1, card_2)`.

    Attributes
    ----------
    atom : the atom, in Prolog's syntax.
    instances : pairs of a network of the program and the instance of it that this test uses; a network without a pair
        is its own only instance.
    """

    atom: str
    instances: tuple[tuple[str, str], ...] = ()

    def formula(self, program: Program) -> Formula:
        return bind(program.formula(self.atom), dict(self.instances)) if self.instances else program.formula(self.atom)

    def __str__(self) -> str:
        return self.atom


@dataclass(frozen=True, slots=True)
class FactTest:
    """The test whether a Boolean or probability column is true."""

    column: str

    def formula(self, program: Program) -> Formula:
        kind = program.schema.get(self.column)
        if kind is not None and not isinstance(kind, (Boolean, Probability)):
            raise NodeTestError(
                f"Column {self.column!r} is a {kind_name(kind)} and no fact; test a Boolean or probability column."
            )
        return program.formula(self.column) if kind is None else fact(self.column)

    def __str__(self) -> str:
        return atom_text(self.column)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """The test whether a category or distribution column has this value."""

    column: str
    value: Value

    def formula(self, program: Program) -> Formula:
        kind = program.schema.get(self.column)
        if not isinstance(kind, (Category, Distribution)) or self.value not in kind.domain:
            raise NodeTestError(f"Column {self.column!r} has no value {self.value!r}; test another one.")
        return Literal(ColumnVariable(self.column, len(kind.domain)), frozenset({kind.domain.index(self.value)}))

    def __str__(self) -> str:
        return f"{atom_text(self.column)}({self.value if isinstance(self.value, int) else atom_text(self.value)})"


@dataclass(frozen=True, slots=True)
class CutTest:
    """The test whether a number column is at most a threshold."""

    column: str
    threshold: float

    def formula(self, program: Program) -> Formula:
        if not isinstance(program.schema.get(self.column), Number) or not math.isfinite(self.threshold):
            raise NodeTestError(
                f"Column {self.column!r} cannot be cut at {self.threshold!r}; cut a number column at a finite threshold."
            )
        return Compare(self.column, "=<", self.threshold)

    def __str__(self) -> str:
        return f"{atom_text(self.column)} =< {number_text(self.threshold)}"
