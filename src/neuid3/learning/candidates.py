"""Candidate tests: from columns, rules, modes and the tests that a caller names."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from neuid3.data.columns import (
    Boolean,
    Category,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Tensor,
    Text,
    kind_name,
)
from neuid3.data.slots import picture_columns
from neuid3.errors import NeuID3Error, NodeTestError, did_you_mean
from neuid3.learning.families import Family, find_families, named_family
from neuid3.logic.formula import Compare, Formula, NeuralVariable, Truth, bottom_up, constant_value, sources
from neuid3.logic.program import Program
from neuid3.logic.quoting import atom_name, atom_text, plain_name
from neuid3.tree.node_tests import AtomTest, FactTest, NodeTest, ValueTest


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of a fit.

    Attributes
    ----------
    tests : the tests to choose from.
    numbers : number columns, whose thresholds are found at each node.
    expanded : the atoms that rules, neural facts and modes were expanded to, which are among `tests`.
    families : tests with an open constant, which is found at each node.
    """

    tests: tuple[NodeTest, ...]
    numbers: tuple[str, ...]
    expanded: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What rules, neural facts and modes were expanded to: atoms, and families such as `bmi > …`."""
        return (*self.expanded, *(family.name for family in self.families))


@dataclass(frozen=True, slots=True)
class Mode:
    """A language bias as in TILDE: which columns may fill which argument of a predicate."""

    predicate: str
    arguments: tuple[tuple[str, ...], ...]

    def atoms(self) -> Iterator[str]:
        """Every atom of the mode whose columns are distinct."""
        for atom, _ in self.instances():
            yield atom

    def instances(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Every atom of the mode whose columns are distinct, with its arguments."""
        for chosen in itertools.product(*self.arguments):
            if len(set(chosen)) == len(chosen):
                yield f"{self.predicate}({', '.join(chosen)})" if chosen else self.predicate, chosen

    def __len__(self) -> int:
        return math.prod(len(choices) for choices in self.arguments)


def neural_facts(schema: Schema, predicates: Sequence[str]) -> str:
    """A neural fact for each tensor column: a Boolean network of its own; for a text only where an encoder reads it.

    >>> neural_facts({"card": Tensor((28, 28))}, [])
    'nn(card_net, [card]) :: card_net(card).\\n'
    """
    taken = {entry.rsplit("/", 1)[0] for entry in predicates} | set(schema)
    lines = []
    for column, kind in schema.items():
        if isinstance(kind, Tensor) and (not isinstance(kind, Text) or kind.encoded is not None):
            name = plain_name(f"{column}_net")
            while name in taken:
                name += "_"
            taken.add(name)
            lines.append(f"nn({name}, [{atom_text(column)}]) :: {name}({atom_text(column)}).\n")
    for part, columns in picture_columns(schema).items():
        for column in columns:
            name = plain_name(f"{part}_{column}_net")
            while name in taken:
                name += "_"
            taken.add(name)
            if len(columns) == 1:  # a part stands for its only picture
                lines.append(f"nn({name}, [P]) :: {name}(P) :- {atom_text(part)}(P).\n")
            else:
                body = f"{atom_text(part)}(P), {atom_text(column)}(P, I)"
                lines.append(f"nn({name}, [I]) :: {name}_of(I).\n{name}(P) :- {body}, {name}_of(I).\n")
    return "".join(lines)


def column_candidates(schema: Schema) -> Candidates:
    """The tests of symbolic columns: Boolean facts, categories by value, numbers by threshold."""
    tests: list[NodeTest] = []
    numbers: list[str] = []
    for name, kind in schema.items():
        match kind:
            case Boolean() | Probability():
                tests.append(FactTest(name))
            case Category() | Distribution():
                tests.extend(ValueTest(name, value) for value in kind.values)
            case Number():
                numbers.append(name)
            case Tensor():
                pass
    return Candidates(tuple(tests), tuple(numbers))


def rule_modes(program: Program) -> list[Mode]:
    """A mode for every head of the program that can be a test: rules and neural facts, over tensor columns."""
    fillers = tuple(_image_columns(program))
    modes = []
    for name, arguments in program.test_heads:
        choices = tuple((argument,) if argument is not None else fillers for argument in arguments)
        modes.append(Mode(atom_text(name), choices))
    return modes


_MODE = re.compile(r"\s*('[^']*'|[a-z]\w*)\s*(?:\((.*)\))?\s*\.?\s*", re.DOTALL)


def read_mode(text: str, schema: Schema) -> Mode:
    """The mode of a text: `+name` is a column, `+kind` any column of a kind, `+[a, b]` one of several.

    >>> read_mode("gt_rank(+tensor, +[b, a])", {"a": Tensor((2, 2)), "b": Tensor((2, 2))})
    Mode(predicate='gt_rank', arguments=(('a', 'b'), ('b', 'a')))
    """
    match = _MODE.fullmatch(text)
    if match is None:
        raise NodeTestError(f"Mode {text!r} cannot be read; write it as 'gt_rank(+rank_1, +rank_2)'.")
    predicate, inside = match.group(1), match.group(2)
    parts = re.findall(r"\s*(\+\s*\[[^\]]*\]|[^,]+)", inside) if inside else []
    return Mode(predicate, tuple(_fillers(part.strip(), text, schema) for part in parts))


def _fillers(part: str, text: str, schema: Schema) -> tuple[str, ...]:
    """The columns that may fill one argument of a mode, or the argument itself where it is a constant."""
    if not part.startswith("+"):
        return (part,)
    wanted = part[1:].strip()
    names = [name.strip() for name in wanted[1:-1].split(",")] if wanted.startswith("[") else [wanted]
    chosen: list[str] = []
    for name in names:
        of_kind = [column for column, kind in schema.items() if kind_name(kind) == name]
        if name not in schema and not of_kind:
            raise NodeTestError(f"Mode {text!r} names {name!r}, which is no column.{did_you_mean(name, schema)}")
        chosen.extend([name] if name in schema else of_kind)
    return tuple(map(atom_text, chosen))


def expand(modes: Sequence[Mode], program: Program, most: int) -> tuple[AtomTest, ...]:
    """The tests of these modes.

    Left out are atoms that cannot be grounded, that are always true or always false, or in which one network would read
    inputs of different shapes.

    Raises
    ------
    NodeTestError : where the modes have more than `most` atoms.
    """
    count = sum(len(mode) for mode in modes)
    if count > most:
        largest = max(modes, key=len)
        example = f"{largest.predicate}({', '.join(f'+{choices[0]}' for choices in largest.arguments)})"
        raise NodeTestError(
            f"The rules have {count} ground instances over the columns, more than max_candidates={most}; restrict "
            f"the columns of each argument, as in modes=[{example!r}], or raise max_candidates."
        )
    atoms = list(dict.fromkeys(atom for mode in modes for atom in mode.atoms()))
    formulas = program.formulas_or_none(atoms)
    return tuple(
        AtomTest(atom)
        for atom, formula in zip(atoms, formulas, strict=True)
        if formula is not None
        and not isinstance(formula, Truth)
        and all(len(shapes) == 1 for shapes in _input_shapes(formula, program.schema).values())
    )


Shapes: TypeAlias = tuple[tuple[int, ...], ...]


def _input_shapes(formula: Formula, schema: Schema, without: Container[str] = ()) -> dict[str, set[Shapes]]:
    """The input shapes of each network in a formula, without calls that read a column of `without`."""
    shapes: dict[str, set[Shapes]] = {}
    for source in sources(formula):
        if isinstance(source, NeuralVariable) and not any(name in without for name in source.inputs):
            shapes.setdefault(source.network, set()).add(tuple(shapes_of(source.inputs, schema)))
    return shapes


def _from_rules(
    program: Program, most: int, named: Sequence[str], goals: Sequence[str]
) -> tuple[tuple[AtomTest, ...], tuple[Family, ...]]:
    """The tests of all rules and neural facts, and families; warns of each rule without any that no other rule needs.

    Where the program, or a test in `named`, names a column for a network, the network is called only on columns of the
    same shape.
    """
    modes = rule_modes(program)
    families, of_families, predicates = find_families(program, _image_columns(program))
    filled = _filled_columns(modes, program) | {test.atom: frozenset[str]() for test in of_families}
    tests = tuple(dict.fromkeys((*expand(modes, program, most), *of_families)))
    known: dict[str, set[Shapes]] = {}  # shapes of the columns that are named for each network
    for atom, columns in [
        *((test.atom, filled[test.atom]) for test in tests),
        *((atom, frozenset()) for atom in named),
    ]:
        for network, shapes in _input_shapes(program.formula(atom), program.schema, columns).items():
            known.setdefault(network, set()).update(shapes)
    compatible = tuple(
        test
        for test in tests
        if all(
            shapes <= known.get(network, shapes)
            for network, shapes in _input_shapes(program.formula(test.atom), program.schema).items()
        )
    )
    _warn_of_unused_rules(modes, compatible, [*named, *predicates, *goals], program)
    return compatible, tuple(families)


def _image_columns(program: Program) -> list[str]:
    """The columns of images; those of parts are asked about by queries."""
    schema = program.given_schema
    return [atom_text(name) for name, kind in schema.items() if isinstance(kind, Tensor)]


def _filled_columns(modes: Sequence[Mode], program: Program) -> dict[str, frozenset[str]]:
    """For each atom of the rules' modes, the columns that fill variables of the head."""
    return {
        atom: frozenset(atom_name(c) for c, argument in zip(chosen, arguments, strict=True) if argument is None)
        for mode, (_, arguments) in zip(modes, program.test_heads, strict=True)
        for atom, chosen in mode.instances()
    }


def _warn_of_unused_rules(
    modes: Sequence[Mode], tests: Sequence[AtomTest], named: Sequence[str], program: Program
) -> None:
    """Warn of every rule that no candidate is an instance of, unless other rules need it."""
    used = {_predicate(test.atom) for test in tests} | {_predicate(atom) for atom in named}
    atoms: dict[str, list[str]] = {}
    for mode in modes:
        atoms.setdefault(f"{atom_name(mode.predicate)}/{len(mode.arguments)}", []).extend(mode.atoms())
    for predicate, rule in program.rules().items():
        rule_atoms = atoms.get(predicate, [])
        if rule.needed or predicate.rsplit("/", 1)[0] in used:
            continue
        if rule.example in rule_atoms:
            reason = _reason_against(rule_atoms, program)
        elif rule.repeats:
            reason = "There are fewer columns than it has variables, and no column is tried twice in one test."
        else:
            reason = (
                "Only columns of images are tried for its variables; name its other arguments, as in "
                f"tests=['auto', {rule.example!r}] or modes=[{rule.example!r}] (--tests auto --tests "
                f'"{rule.example}", or --mode "{rule.example}").'
            )
        warnings.warn(f"The rule '{rule.head}' in line {rule.line} is never tried. {reason}", UserWarning, stacklevel=8)


def constant_rules(program: Program) -> list[tuple[str, bool, str]]:
    """The rules all of whose instances over the columns are always true or always false.

    Parameters
    ----------
    program : background knowledge.

    Returns
    -------
    For each of them its head, its value and a sentence that says why.
    """
    atoms: dict[str, list[str]] = {}
    for mode in rule_modes(program):
        atoms.setdefault(f"{atom_name(mode.predicate)}/{len(mode.arguments)}", []).extend(mode.atoms())
    found = []
    for predicate, rule in program.rules().items():
        instances = atoms.get(predicate, [])
        if not rule.needed and instances:
            formulas = program.formulas_or_none(instances)
            values = {formula.value if isinstance(formula, Truth) else None for formula in formulas}
            if values in ({True}, {False}):
                value = values == {True}
                found.append((rule.head, value, _constant(instances[0], value, program)))
    return found


def _predicate(atom: str) -> str:
    return atom_name(re.split(r"\s*\(", atom.strip(), maxsplit=1)[0])


def _reason_against(atoms: Sequence[str], program: Program) -> str:
    """A sentence that says why the first of these atoms is no test."""
    try:
        formula = program.formula(atoms[0])
    except NeuID3Error as error:
        return str(error)
    if isinstance(formula, Truth):
        return _constant(atoms[0], formula.value, program)
    return (
        f"'{atoms[0]}' would let one network read inputs of different shapes, or of another shape than the rules name."
    )


def _constant(goal: str, value: bool, program: Program) -> str:
    """A sentence about a test that is always true or always false."""
    flaw = program.flaw(goal)
    reason = f"In {flaw}" if flaw else "No column, fact or network can change it."
    return f"'{goal}' is always {str(value).lower()}. {reason}"


def _from_modes(modes: Sequence[str], program: Program, most: int) -> tuple[AtomTest, ...]:
    """The tests of the modes that a caller gave; an error where one of these has no test."""
    parsed = {text: read_mode(text, program.schema) for text in modes}
    tests = expand(list(parsed.values()), program, most)
    atoms_of_tests = {test.atom for test in tests}
    for text, mode in parsed.items():
        atoms = list(mode.atoms())
        if atoms_of_tests.isdisjoint(atoms):
            predicate = f"{atom_name(mode.predicate)}/{len(mode.arguments)}"
            if predicate in program.predicates and atoms:
                raise NodeTestError(f"Mode {text!r} gives no test. {_reason_against(atoms, program)}")
            heads = sorted({head.rsplit("/", 1)[0] for head in program.predicates})
            hint = "" if mode.predicate in heads else did_you_mean(mode.predicate, heads)
            raise NodeTestError(
                f"Mode {text!r} gives no test: the background knowledge has no {mode.predicate}/{len(mode.arguments)} "
                f"that may be true or false of these arguments.{hint}"
            )
    return tests


def make_candidates(
    tests: str | Sequence[str | NodeTest],
    modes: Sequence[str] | None,
    program: Program,
    most: int,
    goals: Sequence[str] = (),
) -> Candidates:
    """The candidates of a fit.

    Parameters
    ----------
    tests : `"auto"`, explicit tests, or both in one list.
    modes : modes to expand instead of all rules; None expands the rules.
    program : background knowledge.
    most : the most atoms that modes may have.
    goals : the goals that leaves may hold; no warning says that their rules are never tried.

    Raises
    ------
    NodeTestError : where a test is constant, or a mode has no test or too many.
    """
    given: list[str | NodeTest] = [tests] if isinstance(tests, str) else list(tests)
    named_families = {test: named_family(test, program) for test in given if isinstance(test, str)}
    families = [family for family in named_families.values() if isinstance(family, Family)]
    of_families = [test for tests in named_families.values() if not isinstance(tests, Family) for test in tests]
    listed = [test for test in given if not isinstance(test, str) or not named_families[test]]
    collected: list[NodeTest] = [*of_families]
    numbers: list[str] = []
    named = _check_named(listed, program)
    expanded: tuple[AtomTest, ...] = ()
    for test in listed:
        if isinstance(test, str) and test == "auto" and "auto" not in program.schema:
            columns = column_candidates(program.schema)
            collected.extend(columns.tests)
            numbers.extend(columns.numbers)
            if modes is not None:
                expanded = _from_modes(modes, program, most)
            else:
                templates = [*(family.template for family in families), *(test.atom for test in of_families)]
                expanded, of_rules = _from_rules(program, most, [*named, *templates], goals)
                families.extend(of_rules)
            collected.extend(expanded)
        elif isinstance(test, str):
            collected.append(_named(test, program.schema.get(test)))
            if isinstance(program.schema.get(test), Number):
                collected.pop()
                numbers.append(test)
        else:
            collected.append(test)
    if modes is not None and not any(test == "auto" for test in listed):
        expanded = _from_modes(modes, program, most)
        collected.extend(expanded)
    program.formulas([atom for test in collected for atom in test.atoms])
    return Candidates(
        tuple(dict.fromkeys(collected)),
        tuple(dict.fromkeys(numbers)),
        tuple(dict.fromkeys(test.atom for test in (*of_families, *expanded))),
        tuple({family.template: family for family in families}.values()),
    )


def _check_named(listed: Sequence[str | NodeTest], program: Program) -> list[str]:
    """The atoms of the tests that a caller gave; an error where such a test is constant or breaks a law of tests."""
    chosen = [_named(test, program.schema.get(test)) if isinstance(test, str) else test for test in listed]
    of_program = [
        test
        for test in chosen
        if test.atoms
        and not isinstance(program.schema.get(test.goal), Number)
        and (test.goal != "auto" or "auto" in program.schema)
    ]
    atoms = list(dict.fromkeys(atom for test in of_program for atom in test.atoms))
    program.formulas(atoms)
    for given in listed:
        if isinstance(given, NodeTest):
            _check_kind(given, program)
    for test in of_program:
        value = constant_value(test.formula(program))
        if value is not None:
            raise NodeTestError(f"Test {_constant(test.goal, value, program)} Name one that depends on the example.")
    return atoms


def _check_kind(test: NodeTest, program: Program) -> None:
    """Raise an error for a test whose class breaks a law of `NodeTest`, by which it could not be compiled or counted."""
    kind = type(test).__name__
    try:
        hash(test)
    except TypeError as error:
        raise NodeTestError(
            f"Tests of class {kind} cannot be hashed ({error}); declare the class with @dataclass(frozen=True), and give it "
            "tuples instead of lists."
        ) from None
    formula = test.formula(program)
    if not isinstance(formula, Formula):
        raise NodeTestError(
            f"The method formula of {kind} returns a {type(formula).__name__} for '{test}'; return one formula of "
            "neuid3.logic, such as And(parts) or Compare(column, operator, constant)."
        )
    for column in sorted({node.column for node in bottom_up([formula]) if isinstance(node, Compare)}):
        column_kind = program.schema.get(column)
        if column_kind is not None and not isinstance(column_kind, Number):
            raise NodeTestError(
                f"Test '{test}' compares column {column!r}, a {kind_name(column_kind)} column; only number columns can be "
                "compared."
            )


def _named(test: str, kind: Kind | None) -> NodeTest:
    return FactTest(test) if isinstance(kind, (Boolean, Probability)) else AtomTest(test)


def shapes_of(inputs: Iterable[str], schema: Mapping[str, Kind]) -> list[tuple[int, ...]]:
    """The shapes of the input columns of a network; a number is a vector of length 1."""
    return [kind.input_shape if isinstance(kind := schema[name], Tensor) else (1,) for name in inputs]
