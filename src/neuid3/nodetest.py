"""Which formula does a test stand for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from neuid3.logic.formula import Formula, bind
from neuid3.logic.program import Program


@runtime_checkable
class NodeTest(Protocol):
    """A question that a tree can ask. A new kind of test says what it means, and the rest follows.

    Laws: tests are hashable values; equal tests have equal formulas; `str(test)` is a goal of the program.
    """

    def formula(self, program: Program) -> Formula:
        """What the test means, over the variables of this program."""
        ...


@dataclass(frozen=True, slots=True)
class AtomTest:
    """A ground atom of the program or of the columns: `alarm`, `suit(hearts)`, `gt_rank(card_1, card_2)`.

    `instances` names, for a network of the program, the instance of it that this test looks through;
    a network that is not named is its own only instance.
    """

    atom: str
    instances: tuple[tuple[str, str], ...] = ()

    def formula(self, program: Program) -> Formula:
        return bind(program.formula(self.atom), dict(self.instances)) if self.instances else program.formula(self.atom)

    def __str__(self) -> str:
        return self.atom
