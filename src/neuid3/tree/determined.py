"""The check that a goal has exactly one value in every world."""

from __future__ import annotations

from collections.abc import Sequence

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.data.columns import Category, Distribution
from neuid3.errors import NodeTestError
from neuid3.logic.formula import (
    And,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    Formula,
    Literal,
    NeuralVariable,
    Or,
    Variable,
    bottom_up,
)
from neuid3.logic.program import OpenGoal, Program
from neuid3.logic.quoting import constant_text

# A probability below this is a rounding error of probabilities that sum to 1.
MIN_PROBABILITY = 1e-12


def check_determined(text: str, goal: OpenGoal, program: Program) -> None:
    """Check that exactly one value of a goal is true for every assignment of values to its random variables.

    Parameters
    ----------
    text : the goal, for the message.
    goal : its values.
    program : the background knowledge.

    Raises
    ------
    NodeTestError : where it has no value or two values for some assignment; the message gives one.
    """
    if not goal.values:
        raise NodeTestError(
            f"Leaf {text!r} has no value for any example; name columns for which a rule gives {goal.variable} a value."
        )
    formulas = program.formulas([value.atom for value in goal.values])
    pairs = [And((formula, Or(tuple(formulas[:i])))) for i, formula in enumerate(formulas) if i]
    circuit = compile_formulas([Or((*formulas, *_impossible(formulas))), *pairs], program.limits)
    some_value, *twice = circuit.roots
    for number, root in enumerate(twice, 1):
        if root != FALSE:
            others = compile_formulas(
                [And((formulas[number], formula)) for formula in formulas[:number]], program.limits
            )
            other = next(i for i, node in enumerate(others.roots) if node != FALSE)
            world = _text(_world(others, others.roots[other], TRUE), program)
            raise NodeTestError(
                f"Leaf {text!r} does not determine {goal.variable}: it is {goal.values[other].value} and "
                f"{goal.values[number].value} {world}; write rules that exclude each other."
            )
    if some_value != TRUE:
        world = _text(_world(circuit, some_value, FALSE), program)
        raise NodeTestError(
            f"Leaf {text!r} gives {goal.variable} no value {world}; add a rule for these cases, so that each of them has "
            "one value."
        )


def _impossible(formulas: Sequence[Formula]) -> list[Literal]:
    """The literals that no head of an annotated disjunction is chosen, where their probabilities sum to 1."""
    literals = (node for node in bottom_up(formulas) if isinstance(node, Literal))
    choices = {node.variable for node in literals if isinstance(node.variable, ChoiceVariable)}
    return [Literal(v, frozenset({v.size - 1})) for v in choices if v.weights[-1] < MIN_PROBABILITY]


def _world(circuit: Circuit, root: int, terminal: int) -> list[tuple[Variable, int]]:
    """An assignment of values to variables for which a node of a circuit has this truth value."""
    dead: set[int] = set()
    world: list[tuple[int, int]] = []  # nodes from the root down, with the value that is tried next
    node = root
    while node != terminal:
        if node not in (FALSE, TRUE) and node not in dead:
            world.append((node, 0))
        else:
            while True:
                parent, value = world.pop()
                dead.add(node)
                if value + 1 < len(circuit.children[parent - 2]):
                    world.append((parent, value + 1))
                    break
                node = parent
        parent, value = world[-1]
        node = circuit.children[parent - 2][value]
    return [(circuit.variables[circuit.levels[node - 2]], value) for node, value in world]


def _text(world: Sequence[tuple[Variable, int]], program: Program) -> str:
    """An assignment as the end of a sentence."""
    phrases = [_phrase(variable, value, program) for variable, value in world]
    return f"where {', '.join(phrases)}" if phrases else "for any example"


def _phrase(variable: Variable, value: int, program: Program) -> str:
    match variable:
        case ColumnVariable(column):
            kind = program.schema[column]
            if isinstance(kind, (Category, Distribution)):
                return f"{column} = {kind.domain[value]}"
            return column if value else f"not {column}"
        case CellVariable(column, boundaries):
            kind = program.schema[column]
            if value == 0:
                return f"{column} {'=<' if boundaries[0].above else '<'} {constant_text(boundaries[0].at, kind)}"
            low = boundaries[value - 1]
            return f"{column} {'>' if low.above else '>='} {constant_text(low.at, kind)}"
        case NeuralVariable(declaration=number):
            (head,), values = program.heads(variable), program.declarations[number].values
            if values is None:
                return head if value else f"not {head}"
            return f"{head} = {values[value]}"
        case ChoiceVariable():
            heads = program.heads(variable)
            return heads[value] if value < len(heads) else f"not {' and not '.join(heads)}"
        case _:
            return f"{variable} = {value}"
