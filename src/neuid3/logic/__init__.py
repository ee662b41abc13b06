"""Background knowledge: programs in DeepProbLog's syntax, grounded by ProbLog in a sandbox into formulas over finite-valued variables."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.logic.formula import And, Compare, Formula, Literal, Not, Or, Truth, Variable
    from neuid3.logic.program import Declaration, Program, Rule
    from neuid3.logic.quoting import atom_text, number_text
    from neuid3.logic.sandbox import Limits

__all__ = [
    "And",
    "Compare",
    "Declaration",
    "Formula",
    "Limits",
    "Literal",
    "Not",
    "Or",
    "Program",
    "Rule",
    "Truth",
    "Variable",
    "atom_text",
    "number_text",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.logic.formula": ["And", "Compare", "Formula", "Literal", "Not", "Or", "Truth", "Variable"],
        "neuid3.logic.program": ["Declaration", "Program", "Rule"],
        "neuid3.logic.quoting": ["atom_text", "number_text"],
        "neuid3.logic.sandbox": ["Limits"],
    },
)
