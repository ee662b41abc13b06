"""Rules that are written for a neural predicate or a category: order, equality, neighbours, parity, sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from neuid3.data.columns import Category, Date, Number, Schema
from neuid3.errors import ParameterError, RuleError, did_you_mean
from neuid3.logic.program import Program
from neuid3.logic.quoting import atom_text, plain_name
from neuid3.logic.sandbox import Limits

# Categories of more values than this have no order: their whole numbers are names.
_MAX_VALUES = 1000


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that rules can be written for.

    Attributes
    ----------
    name : what it is called in `relations`.
    meaning : what its tests ask.
    suffix : the predicate is called after what is read and this suffix.
    things : how many images, or columns, it relates.
    condition : the condition on the values, X of the first thing and Y of the second.
    needs_numbers : whether the values must be whole numbers; otherwise, names count by their position.
    open_argument : the number that the learner finds, where there is one.
    """

    name: str
    meaning: str
    suffix: str
    things: int
    condition: str
    needs_numbers: bool = False
    open_argument: str | None = None


RELATIONS: Mapping[str, Relation] = {
    relation.name: relation
    for relation in (
        Relation("order", "is the first higher than the second?", "higher", 2, "X > Y"),
        Relation("equal", "are both the same?", "equal", 2, "X =:= Y"),
        Relation("next", "does the second follow the first?", "next", 2, "Y =:= X + 1"),
        Relation("parity", "is it an even number?", "even", 1, "0 =:= X mod 2", needs_numbers=True),
        Relation("sum", "is the sum above a number that is found?", "sum_over", 2, "X + Y > N", True, "N"),
        Relation(
            "difference", "do they differ by more than a number that is found?", "apart", 2, "abs(X - Y) > N", True, "N"
        ),
        Relation("above", "is it above a number that is found?", "above", 1, "X > N", open_argument="N"),
    )
}

_KEY = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\[(.*)\])?\s*", re.DOTALL)
_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is related: the value of an image by a neural predicate, or a category.

    Attributes
    ----------
    name : the predicate or column.
    values : its values; None for a neural fact, which is true or false.
    goal : the goal that binds a value variable, for a thing and the variable.
    """

    name: str
    values: tuple[str, ...] | None
    goal: Callable[[str, str], str]

    @property
    def are_numbers(self) -> bool:
        return self.values is not None and all(re.fullmatch(r"-?\d+", value) for value in self.values)


def relation_rules(relations: Mapping[str, Sequence[str]], program: Program) -> str:
    """The clauses of these relations, to be added to a program.

    Parameters
    ----------
    relations : for each neural predicate or category the names of its relations. `rank[1..5]` and `size[small, large]`
        also declare a neural predicate with these values, which reads one image.
    program : the background knowledge, for the columns of a table.

    Returns
    -------
    The clauses, one on each line.

    Raises
    ------
    ParameterError : where a relation, a predicate or its values are not known.
    RuleError : where a clause would define a predicate that the program defines.

    >>> from neuid3.data.columns import Tensor
    >>> print(relation_rules({"rank[1..3]": ["order"]}, Program("", {"a": Tensor((8, 8)), "b": Tensor((8, 8))})), end="")
    nn(rank_net, [Image], Value, [1, 2, 3]) :: rank(Image, Value).
    rank_higher(A, B) :- rank(A, X), rank(B, Y), X > Y.
    """
    lines: list[str] = []
    for key, names in relations.items():
        listed = [names] if isinstance(names, str) else list(names)
        name, values = _read_key(key)
        for relation in listed:
            if relation not in RELATIONS:
                raise ParameterError(
                    f"relations[{key!r}] has {relation!r}, which is no relation.{did_you_mean(str(relation), RELATIONS)}"
                )
        declared = [d for d in program.declarations.values() if d.predicate == name]
        if values is not None:
            if declared or f"{name}/2" in program.predicates:
                raise RuleError(
                    f"relations[{key!r}] declares {name}/2, which the background knowledge defines; leave out its values."
                )
            lines.append(f"nn({name}_net, [Image], Value, [{', '.join(values)}]) :: {name}(Image, Value).")
            reader = _Reader(name, values, _goal_of(name))
        elif declared:
            reader = _declared_reader(key, name, declared[0].values, declared[0].inputs)
        else:
            lines.extend(_category_rules(key, name, listed, program))
            continue
        lines.extend(_image_rules(key, reader, [RELATIONS[relation] for relation in listed]))
    _check_defined(lines, program)
    return "".join(f"{line}\n" for line in lines)


def with_relations(
    background: str, relations: Mapping[str, Sequence[str]] | None, schema: Schema, limits: Limits | None
) -> str:
    """Background knowledge with the rules of these relations.

    Parameters
    ----------
    background : the program.
    relations : as in `relation_rules`, or None.
    schema : the kinds of the columns.
    limits : the limits of grounding.

    Returns
    -------
    The program.
    """
    if not relations:
        return background
    return f"{background}\n{relation_rules(relations, Program(background, schema, limits))}".lstrip("\n")


def _read_key(key: str) -> tuple[str, tuple[str, ...] | None]:
    """The name of a key and the values that it declares: `rank[1..5]`."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise ParameterError(
            f"relations has the key {key!r}; write a predicate or a column, as in 'rank' or 'rank[1..5]'."
        )
    if match[2] is None:
        return match[1], None
    if (span := _RANGE.fullmatch(match[2])) is not None:
        values = tuple(str(value) for value in range(int(span[1]), int(span[2]) + 1))
    else:
        values = tuple(
            atom_text(value.strip()) if not re.fullmatch(r"\s*-?\d+\s*", value) else value.strip()
            for value in match[2].split(",")
        )
    if not 2 <= len(values) <= _MAX_VALUES or len(set(values)) < len(values):
        raise ParameterError(
            f"relations has the key {key!r}; give two or more different values, as in 'rank[1..5]' or 'size[small, large]'."
        )
    if not re.fullmatch(r"[a-z]\w*", match[1]):
        raise ParameterError(f"relations has the key {key!r}; a new predicate begins with a small letter.")
    return match[1], values


def _goal_of(name: str) -> Callable[[str, str], str]:
    return lambda thing, variable: f"{name}({thing}, {variable})"


def _declared_reader(key: str, name: str, values: tuple[str, ...] | None, inputs: int) -> _Reader:
    if inputs != 1:
        raise ParameterError(
            f"relations[{key!r}] relates {name}, whose network reads {inputs} inputs; write its rules in `background`."
        )
    return _Reader(name, values, _goal_of(atom_text(name)))


def _image_rules(key: str, reader: _Reader, relations: Sequence[Relation]) -> list[str]:
    """The rules of relations between images that a network reads."""
    if reader.values is None:
        return _fact_rules(key, reader, relations)
    lines: list[str] = []
    position = f"{reader.name}_position"
    for relation in relations:
        if relation.needs_numbers and not reader.are_numbers:
            raise ParameterError(_no_numbers(key, relation, reader.values))
        if not reader.are_numbers and not lines:
            lines.extend(f"{position}({value}, {i})." for i, value in enumerate(reader.values, 1))
        goals = []
        for thing, variable in zip("AB"[: relation.things], "XY", strict=False):
            goals.append(reader.goal(thing, variable if reader.are_numbers else f"{variable}0"))
            if not reader.are_numbers:
                goals.append(f"{position}({variable}0, {variable})")
        arguments = [*"AB"[: relation.things], *([relation.open_argument] if relation.open_argument else [])]
        head = f"{reader.name}_{relation.suffix}({', '.join(arguments)})"
        lines.append(f"{head} :- {', '.join([*goals, relation.condition])}.")
    return lines


def _fact_rules(key: str, reader: _Reader, relations: Sequence[Relation]) -> list[str]:
    """The rules of relations between truth values: only equality has a meaning."""
    for relation in relations:
        if relation.name != "equal":
            raise ParameterError(
                f"relations[{key!r}] has {relation.name!r}, and {reader.name} is only true or false; relate it by 'equal'."
            )
    name = reader.name
    return [f"{name}_equal(A, B) :- {name}(A), {name}(B).", f"{name}_equal(A, B) :- \\+ {name}(A), \\+ {name}(B)."]


def _category_rules(key: str, name: str, relations: Sequence[str], program: Program) -> list[str]:
    """The rules of relations between a category and every other category with some of its values."""
    kind = program.schema.get(name)
    if isinstance(kind, Number) and not isinstance(kind, Date):
        raise ParameterError(
            f"relations[{key!r}] names a number column; declare it and those that it is related to as categories "
            f"(kinds={{{name!r}: 'category'}}, or --type {name}=category), or compare the numbers in rules, as in "
            f"{atom_text(name)} > other."
        )
    if not isinstance(kind, Category):
        categories = [column for column, other in program.schema.items() if isinstance(other, Category)]
        predicates = {declaration.predicate for declaration in program.declarations.values()}
        raise ParameterError(
            f"relations[{key!r}] names neither a neural predicate nor a category; to declare a network, give its values, as in "
            f"'{key}[1..5]'.{did_you_mean(name, {*categories, *predicates})}"
        )
    are_numbers = all(re.fullmatch(r"-?\d+", str(value)) for value in kind.values)
    others = [
        column
        for column, other in program.schema.items()
        if column != name and isinstance(other, Category) and set(other.values) & set(kind.values)
    ]
    lines = []
    for relation in (RELATIONS[relation] for relation in relations):
        if relation.name != "equal" and not are_numbers:
            raise ParameterError(_no_numbers(key, relation, tuple(map(str, kind.values))))
        condition = relation.condition if relation.name != "equal" else ""
        seconds: list[str | None] = [*others] if relation.things == 2 else [None]
        lines += [_category_rule(name, second, relation, condition, are_numbers) for second in seconds]
        if relation.things == 2 and not others:
            raise ParameterError(
                f"relations[{key!r}] has {relation.name!r}, and no other category has values of {name}; name another column."
            )
    return lines


def _category_rule(name: str, other: str | None, relation: Relation, condition: str, are_numbers: bool) -> str:
    named = "_".join(plain_name(part) for part in (name, relation.suffix, *([] if other is None else [other])))
    head = f"{named}({relation.open_argument})" if relation.open_argument else named
    if not condition:
        return f"{head} :- {atom_text(name)}(X), {atom_text(str(other))}(X)."
    goals = [f"{atom_text(name)}(X0), {_number('X', are_numbers)}"]
    if other is not None:
        goals.append(f"{atom_text(other)}(Y0), {_number('Y', are_numbers)}")
    return f"{head} :- {', '.join([*goals, condition])}."


def _number(variable: str, are_numbers: bool) -> str:
    """A goal that turns the value of a category, which may be an integer or its text, into a number."""
    assert are_numbers
    return f"(integer({variable}0), {variable} = {variable}0 ; atom({variable}0), atom_number({variable}0, {variable}))"


def _no_numbers(key: str, relation: Relation, values: Sequence[str]) -> str:
    return (
        f"relations[{key!r}] has {relation.name!r}, which needs whole numbers; the values are {', '.join(values[:5])}"
        f"{', …' if len(values) > 5 else ''}. Relate them by 'equal'."
    )


def _check_defined(lines: Sequence[str], program: Program) -> None:
    """Raise an error where a clause would define a predicate that the program defines already."""
    for line in lines:
        head = line.split(" :: ")[-1].split(" :- ")[0]
        name, _, inside = head.rstrip(".").partition("(")
        predicate = f"{name}/{inside.count(',') + 1 if inside else 0}"
        if predicate in program.predicates:
            raise RuleError(
                f"The relations define {predicate}, which the background knowledge defines too; rename it there, or leave the "
                "relation out."
            )
