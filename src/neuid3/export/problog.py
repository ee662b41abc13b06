"""Export of a tree to ProbLog: `leaf_i :- literals.`, `δ_i::d_i.`, `pos :- d_i, leaf_i.`"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuid3.data.columns import Category, Distribution, Number, Tensor
from neuid3.errors import ExportError
from neuid3.export.meanings import instance_lines
from neuid3.logic.formula import (
    FLIPPED,
    ColumnVariable,
    Compare,
    CompareExpression,
    Formula,
    Literal,
    NeuralVariable,
    QueryVariable,
    bottom_up,
    draw_cells,
    expressions_in,
    variables_in,
)
from neuid3.logic.program import Program, comparison_from_json
from neuid3.logic.quoting import RESERVED, atom_text, number_text, plain_name
from neuid3.logic.sandbox import send_request
from neuid3.queries.grounding import SlotQuery
from neuid3.queries.prolog import entries_with_priors
from neuid3.tree.components import Components, components
from neuid3.tree.evidence import Evidence
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Tree, paths

# The precision of ProbLog's floats.
_DECIMALS = 15


@dataclass(frozen=True, slots=True)
class Translation:
    """A tree as a program for one example, and the atom of each class; of each leaf, where the tree predicts numbers."""

    program: str
    class_atoms: tuple[str, ...]


def to_problog(model: TreeModel, X: Any, row: int = 0) -> str:
    """A tree as a ProbLog program for one example, with the outputs of the networks as probabilities.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : a table of examples.
    row : the example.

    Returns
    -------
    The text of the program, with a query for each class, or for each leaf of a tree that predicts numbers.
    """
    translation = translate_row(model, X, row)
    return translation.program + "\n" + _queries(translation)


def verify(model: TreeModel, X: Any, *, rows: int = 10) -> float:
    """The largest difference between the class probabilities of ProbLog and of this library; for numbers, of the leaves.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : a table of examples.
    rows : the number of examples, from the first, whose exported programs are run in ProbLog.

    Returns
    -------
    The largest absolute difference of a probability; about 1e-12 in double precision.
    """
    examples = model.read(X)
    expected = (model.leaf_probabilities if model.predicts_numbers else model.predict_proba)(examples[:rows])
    largest = 0.0
    for row in range(min(rows, len(examples))):
        translation = translate_row(model, examples, row)
        reply = send_request(
            {"do": "evaluate", "program": translation.program + _queries(translation)}, model.program.limits
        )
        exported = [reply["probabilities"][atom] for atom in translation.class_atoms]
        largest = max(largest, float(np.abs(expected[row] - exported).max()))
    return largest


def translate_row(model: TreeModel, X: Any, row: int, constants: Mapping[str, str] | None = None) -> Translation:
    """A tree as a program for one row of a table; `constants` as in `translate`."""
    example = model.read(X)[row]
    with model.evaluating(), model.inference.arrays.without_gradients():
        return translate(model.tree, model.program, model.evidence_of(example), constants)


def _queries(translation: Translation) -> str:
    return "".join(f"query({atom}).\n" for atom in translation.class_atoms)


def translate(
    tree: Tree, program: Program, evidence: Evidence, constants: Mapping[str, str] | None = None
) -> Translation:
    """A tree as a program, for the one example in `evidence`.

    Parameters
    ----------
    tree : the tree.
    program : its background knowledge.
    evidence : one example.
    constants : the terms that stand for the columns that networks read. With them, the networks stay in the program, except
        where an input is missing; without them, the outputs of the networks become probabilities in the program.

    Raises
    ------
    ExportError : if a column name or two constants cannot be written in ProbLog.
    """
    leaf_components = components(tree.root, Semantics(program, tree.tests))
    tests = tuple(dict.fromkeys((*tree.tests, *(path[-1][0] for path in leaf_components.paths if path))))
    formulas = [test.formula(program) for test in tests]
    variables = variables_in(formulas)
    of_tests = [test.export_goals(program) for test in tests]
    goals_to_translate = [
        {"goal": goal, "instances": dict(test.instances)}
        for test, goals in zip(tests, of_tests, strict=True)
        for goal in goals
    ]
    reply = program.request(
        {
            "do": "translate",
            "tests": goals_to_translate,
            "constants": dict(constants or {}),
            "compares": any(isinstance(node, (Compare, CompareExpression)) for node in bottom_up(formulas)),
            "calculates": bool(expressions_in(formulas)),
            "neural": [_neural(v, evidence, constants) for v in variables if isinstance(v, NeuralVariable)],
        }
    )
    taken = {name.rsplit("/", 1)[0] for name in program.predicates} | set(program.schema) | RESERVED
    taken |= set(reply["defined"])
    reserved = sorted(RESERVED & {v.column for v in variables if isinstance(v, ColumnVariable)})
    if reserved:
        raise ExportError(
            f"Column {reserved[0]!r} has a name that ProbLog reserves; rename the column to export the tree."
        )
    goals, queries = _defined_tests(tests, of_tests, reply["goals"], program)
    classes = tuple(_class_atom(label, taken) for label in tree.classes)
    mentioned = " ".join([*reply["goals"], *reply["clauses"]])
    sections = [
        ("columns of this example", list(_facts(program, evidence, formulas, mentioned))),
        ("numbers of this example", _numbers(program, formulas, evidence, reply, constants or {})),
        ("parts of this example", _part_facts(program, variables, evidence, mentioned)),
        ("background knowledge", [*(f"% {line}" for line in instance_lines(tree)), *reply["clauses"]]),
        ("queries", queries),
        ("the tree", list(_tree_clauses(tree, leaf_components, goals, classes, taken))),
    ]
    text = "\n\n".join("\n".join([f"% {title}", *lines]) for title, lines in sections if lines)
    atoms = tuple(_leaf_atoms(tree, taken)) if tree.predicts_numbers else classes
    return Translation(text + "\n", atoms)


def _defined_tests(
    tests: Sequence[NodeTest], of_tests: Sequence[Sequence[str]], translated: Sequence[str], program: Program
) -> tuple[dict[NodeTest, str], list[str]]:
    """The goal of each test, and the clauses of those that are no goal by themselves."""
    goals: dict[NodeTest, str] = {}
    clauses: list[str] = []
    remaining = iter(translated)
    for number, (test, own) in enumerate(zip(tests, of_tests, strict=True), 1):
        of_test = [next(remaining) for _ in own]
        name = f"neuid3_query_{number}"
        definition = test.export_clauses(name, of_test, program)
        goals[test] = name if definition else of_test[0]
        clauses += definition
    return goals, clauses


def _part_facts(program: Program, variables: Sequence[Any], evidence: Evidence, mentioned: str) -> list[str]:
    """The parts of the example, where a query or a rule asks about them."""
    derived = [variable for variable in variables if isinstance(variable, QueryVariable)]
    facts = list(
        dict.fromkeys(line for variable in derived for line in variable.query.facts(evidence.examples, evidence.priors))
    )
    slots = {} if program.parts is None else program.parts.variables
    is_open = bool(slots) and bool(entries_with_priors(evidence.examples, evidence.priors))
    for fact, variable in slots.items():
        atom = atom_text(fact)
        if atom in mentioned:
            clause = variable.query.clause(atom) if is_open and isinstance(variable.query, SlotQuery) else None
            is_true = clause is None and float(evidence.weights(variable)[1, 0]) > 0.5
            facts.append(clause or (f"{atom}." if is_true else f"{atom} :- fail."))
    return facts


def _neural(variable: NeuralVariable, evidence: Evidence, constants: Mapping[str, str] | None) -> dict[str, Any]:
    as_probabilities = constants is None or any(evidence.is_missing(name) for name in variable.inputs)
    return {
        "declaration": variable.declaration,
        "network": variable.network,
        "inputs": list(variable.inputs),
        "arguments": list(variable.arguments),
        "weights": at_most_one(evidence.weights(variable)[:, 0].tolist()) if as_probabilities else None,
    }


def at_most_one(weights: Sequence[float]) -> list[float]:
    """A distribution rounded so that it never sums to more than 1, which ProbLog would reject.

    >>> sum(at_most_one([0.1] * 10)) <= 1.0
    True
    """
    total = math.fsum(weights)
    scaled = [weight / total for weight in weights] if total > 0 else list(weights)
    largest = max(range(len(scaled)), key=scaled.__getitem__)
    while sum(scaled) > 1.0 or math.fsum(scaled) > 1.0:
        scaled[largest] = math.nextafter(scaled[largest], 0.0)
    return scaled


def _disjunction(heads: Sequence[str], weights: Sequence[float]) -> str:
    return "; ".join(f"{weight!r}::{head}" for weight, head in zip(at_most_one(weights), heads, strict=True)) + "."


def _facts(program: Program, evidence: Evidence, formulas: Sequence[Formula], mentioned: str) -> Iterator[str]:
    """Clauses for the symbolic columns that are mentioned; a false atom gets a clause that fails, so that it is known."""
    used = {variable.column for variable in variables_in(formulas) if isinstance(variable, ColumnVariable)}
    for name, kind in program.schema.items():
        atom = atom_text(name)
        if atom not in mentioned or isinstance(kind, (Number, Tensor)):
            continue
        if isinstance(kind, (Category, Distribution)):
            if name not in used:
                yield f"{atom}(_) :- fail."
                continue
            weights = evidence.weights(ColumnVariable(name, len(kind.domain)))[:, 0].tolist()
            heads = [f"{atom}({v if isinstance(v, int) else atom_text(v)})" for v in kind.domain]
            yield f"{heads[weights.index(1.0)]}." if 1.0 in weights else _disjunction(heads, weights)
        else:
            p = float(evidence.weights(ColumnVariable(name, 2))[1, 0]) if name in used else 0.0
            yield f"{atom} :- fail." if p == 0.0 else f"{atom}." if p == 1.0 else f"{p!r}::{atom}."


def _numbers(
    program: Program,
    formulas: Sequence[Formula],
    evidence: Evidence,
    reply: Mapping[str, Any],
    constants: Mapping[str, str],
) -> list[str]:
    """Clauses for all comparisons of number columns in the rules."""
    names = {c: constants.get(c, atom_text(c)) for c, kind in program.schema.items() if isinstance(kind, Number)}
    if reply["calculated"]:
        return [*_calculated(reply["calculated"], evidence), *_arithmetic(list(names.values()), reply["held"])]
    lines = list(_comparisons(formulas, evidence, names))
    if reply["held"] or any("neuid3_compare(" in line for line in (*reply["goals"], *reply["clauses"])):
        # A comparison that is never true has no fact; without this clause ProbLog raises an unknown-clause error.
        lines.append("neuid3_compare(_, _, _) :- fail.")
    if reply["held"]:
        lines.extend(_holds(list(names.values()), reply["held"]))
    return lines


def _comparisons(formulas: Sequence[Formula], evidence: Evidence, names: Mapping[str, str]) -> Iterator[str]:
    """A fact for each comparison that holds; where the number is missing, a distribution over its cells."""
    comparisons = {node for node in bottom_up(formulas) if isinstance(node, Compare)}
    for column in sorted({comparison.column for comparison in comparisons}):
        of_column = sorted((c for c in comparisons if c.column == column), key=lambda c: (c.constant, c.operator))
        _check_precision(column, {c.constant for c in of_column})
        cells = [node for node in draw_cells(of_column) if isinstance(node, Literal)]
        variable = cells[0].variable
        weights = evidence.weights(variable)[:, 0].tolist()
        name = names[column]
        if 1.0 not in weights:
            yield _disjunction([f"neuid3_cell({name}, {k})" for k in range(variable.size)], weights)
        for comparison, cell in zip(of_column, cells, strict=True):
            goal = f"neuid3_compare({name}, '{comparison.operator}', {number_text(comparison.constant)})"
            if 1.0 not in weights:
                yield from (f"{goal} :- neuid3_cell({name}, {k})." for k in sorted(cell.values))
            elif weights.index(1.0) in cell.values:
                yield f"{goal}."


def _calculated(comparisons: Sequence[Any], evidence: Evidence) -> Iterator[str]:
    """A fact for each comparison that holds; where it is uncertain, a distribution over cells that it follows from."""
    nodes = [comparison_from_json(node) for *_, node in comparisons]
    present = [name for name, _ in evidence.examples.items() if not evidence.is_missing(name)]
    cells = [node for node in draw_cells(nodes, present) if isinstance(node, Literal)]
    numbers = {variable: i for i, variable in enumerate(dict.fromkeys(cell.variable for cell in cells), 1)}
    weights = {variable: evidence.weights(variable)[:, 0].tolist() for variable in numbers}
    for variable, number in numbers.items():
        possible = [k for k, weight in enumerate(weights[variable]) if weight > 0.0]
        if len(possible) > 1:
            shares = [weights[variable][k] for k in possible]
            yield _disjunction([f"neuid3_cell({number}, {k})" for k in possible], shares)
    for (operator, left, right, _), cell in zip(comparisons, cells, strict=True):
        possible = [k for k, weight in enumerate(weights[cell.variable]) if weight > 0.0]
        goal = f"neuid3_compare('{operator}', {left}, {right})"
        if len(possible) > 1:
            number = numbers[cell.variable]
            yield from (f"{goal} :- neuid3_cell({number}, {k})." for k in possible if k in cell.values)
        elif possible[0] in cell.values:
            yield f"{goal}."
    yield "neuid3_compare(_, _, _) :- fail."


def _arithmetic(columns: Sequence[str], operators: Sequence[str]) -> Iterator[str]:
    """Clauses for arithmetic in which columns stand for themselves: a term with a column is not calculated."""
    yield from (f"neuid3_number({column})." for column in columns)
    yield "neuid3_symbolic(X) :- neuid3_number(X)."
    yield "neuid3_symbolic(X) :- compound(X), X =.. [_ | Parts], neuid3_some(Parts)."
    yield "neuid3_some([X | _]) :- neuid3_symbolic(X)."
    yield "neuid3_some([_ | Parts]) :- neuid3_some(Parts)."
    yield "neuid3_is(X, Y) :- neuid3_symbolic(Y), X = Y."
    yield "neuid3_is(X, Y) :- \\+ neuid3_symbolic(Y), X is Y."
    for operator in operators:
        yield f"neuid3_holds('{operator}', X, Y) :- neuid3_some([X, Y]), neuid3_compare('{operator}', X, Y)."
        yield f"neuid3_holds('{operator}', X, Y) :- \\+ neuid3_some([X, Y]), X {operator} Y."


def _check_precision(column: str, constants: Iterable[float]) -> None:
    """Refuse constants that are equal after ProbLog rounds them to 15 decimals."""
    rounded: dict[float, float] = {}
    for constant in sorted(constants):
        other = rounded.setdefault(round(constant, _DECIMALS), constant)
        if other != constant:
            raise ExportError(
                f"Column {column!r} is compared with {other!r} and with {constant!r}, which ProbLog rounds to one number "
                f"({_DECIMALS} decimals); scale the column to export the tree."
            )


def _holds(columns: Sequence[str], operators: Sequence[str]) -> Iterator[str]:
    """Clauses for comparisons whose operands are bound only when they are called."""
    yield from (f"neuid3_number({column})." for column in columns)
    yield "neuid3_holds(O, X, Y) :- neuid3_number(X), C is 1.0 * Y, neuid3_compare(X, O, C)."
    for operator in operators:
        flipped = FLIPPED[operator]
        yield (
            f"neuid3_holds('{operator}', X, Y) :- \\+ neuid3_number(X), neuid3_number(Y), C is 1.0 * X, "
            f"neuid3_compare(Y, '{flipped}', C)."
        )
        yield f"neuid3_holds('{operator}', X, Y) :- \\+ neuid3_number(X), \\+ neuid3_number(Y), X {operator} Y."


def _class_atom(label: Any, taken: set[str]) -> str:
    name = plain_name(str(label))
    if name in taken or name.startswith(("leaf_", "d_")):
        name = f"class_{name}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _leaf_atoms(tree: Tree, taken: set[str]) -> Iterator[str]:
    """The atom of each leaf, from left to right."""
    name = "leaf" if not any(name.startswith("leaf_") for name in taken) else "tree_leaf"
    return (f"{name}_{i}" for i in range(1, len(tree.leaves) + 1))


def _tree_clauses(
    tree: Tree, leaf_components: Components, goals: Mapping[Any, str], classes: Sequence[str], taken: set[str]
) -> Iterator[str]:
    choice_name = "d" if not any(name.startswith("d_") for name in taken) else "tree_d"
    numbered = enumerate(zip(_leaf_atoms(tree, taken), paths(tree.root), strict=True), 1)
    for i, (atom, (path, leaf)) in numbered:
        literals = [goals[test] if response else f"\\+ {goals[test]}" for test, response in path]
        yield f"{atom} :- {', '.join(literals) or 'true'}."
        chosen = atom
        if isinstance(leaf, GoalLeaf):
            yield from _goal_clauses(tree, leaf_components, i - 1, atom, goals, classes)
            chosen = f"{_noise_atom(atom)}, {atom}"
        if tree.predicts_numbers:
            mean, deviation = leaf.value
            yield f"% {atom}: {mean!r} with deviation {deviation!r}"
        elif len(classes) == 2:
            yield f"{leaf.value[1]!r}::{choice_name}_{i}."
            yield f"{classes[1]} :- {choice_name}_{i}, {chosen}."
            yield f"{classes[0]} :- \\+ {choice_name}_{i}, {chosen}."
        else:
            yield _disjunction([f"{choice_name}_{i}({name})" for name in classes], leaf.value)
            yield from (f"{name} :- {choice_name}_{i}({name}), {chosen}." for name in classes)


def _noise_atom(leaf: str) -> str:
    """The atom that a leaf follows its class distribution and not its goal."""
    return f"{leaf}_noise"


def _goal_clauses(
    tree: Tree,
    leaf_components: Components,
    number: int,
    atom: str,
    goals: Mapping[Any, str],
    classes: Sequence[str],
) -> Iterator[str]:
    """The clauses of a leaf's goal, which applies except with the probability of noise."""
    leaf = leaf_components.leaves[number]
    assert isinstance(leaf, GoalLeaf)
    values = np.flatnonzero(leaf_components.leaf_numbers == number)
    if tree.predicts_numbers:
        yield f"% {atom}: {leaf.goal.label} with noise {leaf.noise!r} and deviation {leaf.deviation!r}"
        return
    yield f"{leaf.noise!r}::{_noise_atom(atom)}."
    of_values = leaf_components.classes_of_values(tree.classes)
    for k in values:
        value = goals[leaf_components.paths[k][-1][0]]
        yield f"{classes[of_values[k]]} :- \\+ {_noise_atom(atom)}, {value}, {atom}."
