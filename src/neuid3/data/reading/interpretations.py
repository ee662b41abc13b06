"""Prolog facts about examples with parts: interpretations, facts with keys, and facts with separate labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.data.reading.prolog_facts import Fact, read_facts
from neuid3.errors import DataError

Constant = str | int | float
Position = tuple[str, int, int]  # predicate, number of arguments, argument

# The type of the parts of interpretations, whose facts do not say what they are.
OBJECT = "object"


@dataclass(frozen=True, slots=True, eq=False)
class Interpretations:
    """Examples with parts that were read from Prolog facts.

    Attributes
    ----------
    examples : the examples, with their parts and relations.
    labels : the class of each example.
    keys : what each example is called in the file.
    notes : one sentence for each predicate that was left out.
    """

    examples: Examples
    labels: npt.NDArray[Any]
    keys: tuple[Constant, ...]
    notes: tuple[str, ...] = ()


def read_interpretations(
    path: Path | str,
    examples: Path | str | None = None,
    *,
    classes: Sequence[str] = ("pos", "neg"),
    ignore: Sequence[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
    kinds: Mapping[str, Any] | None = None,
    symmetric: Sequence[str] = (),
) -> Interpretations:
    """Examples with parts from Prolog facts, in one of three forms.

    - Interpretations: facts between `begin(model(3)).` and `end(model(3)).`, with the class as a fact without arguments.
    - Facts with keys: the first argument of every fact is the key of its example, as in `atom(3, d3_1, c, 22, 0.1).`
    - Facts with separate labels, in two files: `pos(f(t10)).` and `neg(f(t11)).` in `examples` name the examples.

    Constants that several predicates or a predicate of one argument mention are parts. A binary predicate that gives each
    part one owner makes it a part of that owner; other facts about one part are columns of it, and facts about several parts
    are relations. A predicate of values, such as `small(2).`, becomes a fact about the parts that have the value.

    Parameters
    ----------
    path : the file of facts.
    examples : the file of labels, for the third form.
    classes : the predicates that name the class of an example.
    ignore : predicates that are left out.
    names : names for the arguments of a predicate that holds several values, as in
        `{"atom": ("key", "atom", "element", "type", "charge")}`.
    kinds : the kinds of columns, as in `Examples`: `{"atom": {"type": "category"}}`.
    symmetric : relations that hold in both directions, though the file has one of them.

    Returns
    -------
    The examples, their classes and keys, and notes about what was left out.

    Raises
    ------
    DataError
        Where a clause is no fact, an example has no class, or there are no examples.
    """
    facts = list(read_facts(Path(path)))
    if examples is not None:
        grouped = _by_label_file(facts, list(read_facts(Path(examples))), classes, Path(examples))
    elif any(fact.predicate == "begin" for fact in facts):
        grouped = _by_model(facts, classes, Path(path))
    else:
        grouped = _by_key(facts, classes, Path(path))
    return _Reader(grouped, frozenset(ignore), dict(names or {}), dict(kinds or {}), frozenset(symmetric)).read()


# Facts by example -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Grouped:
    """Facts by example, and what is said about values of all examples."""

    facts: dict[Constant, list[Fact]] = field(default_factory=dict)
    labels: dict[Constant, str] = field(default_factory=dict)
    of_values: list[Fact] = field(default_factory=list)
    has_keys: bool = False

    def label(self, key: Constant, name: str, path: Path) -> None:
        """Give an example its class; two different ones are an error."""
        known = self.labels.setdefault(key, name)
        if known != name:
            raise DataError(f"{path}: example {key} has the classes {known} and {name}; give it one.")


def _labelled(grouped: _Grouped, path: Path, classes: Sequence[str]) -> _Grouped:
    if not grouped.facts:
        raise DataError(f"{path} has no examples; give interpretations, facts with keys, or a file of labels.")
    for key in grouped.facts:
        if key not in grouped.labels:
            raise DataError(f"{path}: example {key} has no class; give one of {', '.join(classes)} for it.")
    return grouped


def _by_model(facts: Iterable[Fact], classes: Sequence[str], path: Path) -> _Grouped:
    grouped, current = _Grouped(), None
    for fact in facts:
        match fact:
            case Fact("begin", (Fact("model", (key,)),)):
                if current is not None:
                    raise DataError(
                        f"{path}: model {key} begins before the end of {current}; write end(model({current}))."
                    )
                if key in grouped.facts:
                    raise DataError(f"{path}: model {key} begins twice; give each a key of its own.")
                current, grouped.facts[key] = key, []
            case Fact("end", (Fact("model", (key,)),)):
                if key != current:
                    raise DataError(
                        f"{path}: model {key} ends where it has not begun; write begin(model({key})) before its facts."
                    )
                current = None
            case Fact(name, ()) if current is not None and name in classes:
                grouped.label(current, name, path)
            case _ if current is not None:
                grouped.facts[current].append(fact)
            case _:
                grouped.of_values.append(fact)
    if current is not None:
        raise DataError(f"{path}: model {current} has no end; write end(model({current})) after its facts.")
    return _labelled(grouped, path, classes)


def _by_key(facts: Iterable[Fact], classes: Sequence[str], path: Path) -> _Grouped:
    grouped = _Grouped(has_keys=True)
    for fact in facts:
        if not fact.arguments:
            raise DataError(f"{path}: the fact {fact.predicate} has no key; its first argument names its example.")
        key = fact.arguments[0]
        of_example = grouped.facts.setdefault(key, [])
        if fact.predicate in classes and len(fact.arguments) == 1:
            grouped.label(key, fact.predicate, path)
        else:
            of_example.append(fact)
    return _labelled(grouped, path, classes)


def _by_label_file(facts: Iterable[Fact], labels: Iterable[Fact], classes: Sequence[str], path: Path) -> _Grouped:
    grouped = _Grouped(has_keys=True)
    for label in labels:
        key = label.arguments[0] if len(label.arguments) == 1 else None
        if isinstance(key, Fact):
            key = key.arguments[0] if len(key.arguments) == 1 else None
        if label.predicate not in classes or not isinstance(key, (str, int)):
            raise DataError(f"{path}: {label.predicate}(…) is no label; write {classes[0]}(f(example)).")
        grouped.label(key, label.predicate, path)
        grouped.facts[key] = []
    example_of: dict[Constant, Constant] = {key: key for key in grouped.facts}
    waiting, has_grown = list(facts), True
    while has_grown:  # constants belong to the example from which binary facts lead to them
        has_grown, remaining = False, []
        for fact in waiting:
            named = _named(fact, grouped)
            owners = {example_of[constant] for constant in named if constant in example_of}
            if len(owners) == 1:
                owner = owners.pop()
                grouped.facts[owner].append(fact)
                example_of.update(dict.fromkeys(named, owner))
                has_grown = True
            else:
                remaining.append(fact)
        waiting = remaining
    grouped.of_values += waiting
    return _labelled(grouped, path, classes)


def _named(fact: Fact, grouped: _Grouped) -> list[Constant]:
    """The arguments that may name an example or a part; numbers name examples only before other arguments."""
    return [
        argument
        for i, argument in enumerate(fact.arguments)
        if isinstance(argument, str) or (i == 0 and len(fact.arguments) > 1 and argument in grouped.facts)
    ]


# From facts to tables -------------------------------------------------------------------------------


class _Reader:
    """Facts by example, turned into columns, parts and relations."""

    def __init__(
        self,
        grouped: _Grouped,
        ignore: frozenset[str],
        names: dict[str, Sequence[str]],
        kinds: dict[str, Any],
        symmetric: frozenset[str],
    ) -> None:
        self.keys = list(grouped.facts)
        self.labels = [grouped.labels[key] for key in self.keys]
        self.names, self.kinds, self.symmetric = names, kinds, symmetric
        self.notes: list[str] = []
        self.has_keys = grouped.has_keys
        self.facts: list[tuple[int, Fact]] = [
            (number, fact)
            for number, key in enumerate(self.keys)
            for fact in dict.fromkeys(grouped.facts[key])
            if fact.predicate not in ignore
        ]
        self.of_values = [fact for fact in dict.fromkeys(grouped.of_values) if fact.predicate not in ignore]
        self._drop_compound_arguments()
        self.type_of = self._types()

    def _drop_compound_arguments(self) -> None:
        compound = {f.predicate for _, f in self.facts if any(isinstance(a, (tuple, Fact)) for a in f.arguments)}
        for predicate in sorted(compound):
            self.notes.append(f"{predicate} has lists or terms as arguments and was left out.")
        self.facts = [(number, fact) for number, fact in self.facts if fact.predicate not in compound]

    def _positions(self) -> dict[Position, set[tuple[int, Constant]]]:
        """The constants at each argument, with their examples; keys of examples have none."""
        constants: dict[Position, set[tuple[int, Constant]]] = defaultdict(set)
        for number, fact in self.facts:
            for i, argument in enumerate(fact.arguments):
                if not (self.has_keys and argument == self.keys[number] and (i == 0 or isinstance(argument, str))):
                    constants[fact.predicate, len(fact.arguments), i].add((number, argument))
        return constants

    def _types(self) -> dict[Position, str]:
        """The type of part at each argument that holds parts."""
        constants = {
            position: found
            for position, found in self._positions().items()
            if all(isinstance(constant, str) for _, constant in found)
        }
        group = {position: position for position in constants}

        def root(position: Position) -> Position:
            while group[position] != position:
                position = group[position]
            return position

        first_at: dict[Any, Position] = {}
        for position, found in constants.items():
            for number, constant in found:
                # Interpretations use the same names for their parts; keys are followed by names of their own.
                key = (number, constant) if self.has_keys else constant
                group[root(position)] = root(first_at.setdefault(key, position))
        members: dict[Position, list[Position]] = defaultdict(list)
        for position in constants:
            members[root(position)].append(position)
        types: dict[Position, str] = {}
        used: set[str] = {predicate for predicate, arity, _ in constants if arity == 1}
        for positions in members.values():
            if len(positions) > 1 or positions[0][1] == 1:
                name = self._type_name(positions, used)
                used.add(name)
                types |= dict.fromkeys(positions, name)
        return types

    def _type_name(self, positions: Sequence[Position], used: set[str]) -> str:
        """A name for a type: that of the predicate that introduces it after an owner, without `has_`."""
        for predicate, arity, argument in positions:
            name = self.names[predicate][argument] if predicate in self.names else predicate.removeprefix("has_")
            introduces = argument == 1 and arity >= 2 and (predicate, arity, 0) not in positions
            if introduces and name not in used:
                return name
        return next(name for name in (OBJECT, *(f"{OBJECT}_{i}" for i in range(2, 1000))) if name not in used)

    def read(self) -> Interpretations:
        by_predicate: dict[tuple[str, int], list[tuple[int, Fact]]] = defaultdict(list)
        for number, fact in self.facts:
            by_predicate[fact.predicate, len(fact.arguments)].append((number, fact))
        parts = self._parts()
        owners = self._owners(by_predicate, parts)
        columns: dict[str, dict[str, Any]] = {"": {}, **{name: {} for name in parts}}
        relations: dict[str, dict[str, list[Any]]] = {}
        for (predicate, arity), facts in by_predicate.items():
            types = [self.type_of.get((predicate, arity, i)) for i in range(arity)]
            arguments = [i for i, kind in enumerate(types) if kind is not None]
            values = [i for i in range(arity) if types[i] is None and not self._is_key(i)]
            if predicate in owners.values() and len(values) == 0:
                continue
            if len(arguments) > 1:
                relations[predicate] = self._relation(predicate, facts, types, arguments, values)
            else:
                self._add_columns(columns, parts, predicate, facts, types, values)
        self._add_value_facts(columns)
        tables = self._tables(columns, parts, owners)
        own = {"example_key": list(range(len(self.keys))), **columns[""]}
        if tables:
            whole = Examples(own, self.kinds, parts=tables, relations=self._keyed_relations(relations, parts))
        else:
            whole = Examples(columns[""], self.kinds)
        return Interpretations(whole, np.array(self.labels), tuple(self.keys), tuple(self.notes))

    def _is_key(self, argument: int) -> bool:
        return self.has_keys and argument == 0

    def _parts(self) -> dict[str, dict[tuple[int, Constant], int]]:
        """The parts of each type, numbered, by example and constant."""
        parts: dict[str, dict[tuple[int, Constant], int]] = {name: {} for name in self.type_of.values()}
        for number, fact in self.facts:
            for i, argument in enumerate(fact.arguments):
                kind = self.type_of.get((fact.predicate, len(fact.arguments), i))
                if kind is not None and not (self.has_keys and argument == self.keys[number]):
                    parts[kind].setdefault((number, argument), len(parts[kind]))
        return parts

    def _owners(self, by_predicate: Mapping[Any, Any], parts: Mapping[str, Any]) -> dict[str, str]:
        """For a type that parts of another type own, the predicate that says so; types that examples own are not listed."""
        owners: dict[str, str] = {}
        direct = {
            self.type_of[predicate, arity, 1]
            for predicate, arity in by_predicate
            if self.has_keys
            and arity >= 2
            and (predicate, arity, 0) not in self.type_of
            and (predicate, arity, 1) in self.type_of
        }
        for (predicate, arity), facts in by_predicate.items():
            above, below = self.type_of.get((predicate, arity, 0)), self.type_of.get((predicate, arity, 1))
            if arity != 2 or above is None or below is None or above == below or below in direct or below in owners:
                continue
            owned = [(number, fact.arguments[1]) for number, fact in facts]
            if len(set(owned)) == len(owned) == len(parts[below]):
                owners[below] = predicate
        return {kind: predicate for kind, predicate in owners.items() if kind not in direct}

    def _relation(
        self,
        predicate: str,
        facts: Sequence[tuple[int, Fact]],
        types: Sequence[str | None],
        arguments: list[int],
        values: list[int],
    ) -> dict[str, list[Any]]:
        if predicate in self.symmetric:
            facts = list(dict.fromkeys([*facts, *((number, _reversed(fact, arguments)) for number, fact in facts)]))
        table: dict[str, list[Any]] = {
            f"{types[i]}_{count}": [(number, fact.arguments[i]) for number, fact in facts]
            for count, i in enumerate(arguments, 1)
        }
        for i in values:
            table[self._value_name(predicate, i, len(values))] = [fact.arguments[i] for _, fact in facts]
        return table

    def _value_name(self, predicate: str, argument: int, values: int) -> str:
        if predicate in self.names:
            return self.names[predicate][argument]
        return predicate if values == 1 else f"{predicate}_{argument + 1}"

    def _add_columns(
        self,
        columns: dict[str, dict[str, Any]],
        parts: Mapping[str, Mapping[tuple[int, Constant], int]],
        predicate: str,
        facts: Sequence[tuple[int, Fact]],
        types: Sequence[str | None],
        values: list[int],
    ) -> None:
        """The columns of parts, or of examples, that a predicate about at most one part gives."""
        part_argument = next((i for i, kind in enumerate(types) if kind is not None), None)
        kind = "" if part_argument is None else str(types[part_argument])
        size = len(self.keys) if part_argument is None else len(parts[kind])

        def row(number: int, fact: Fact) -> int:
            return number if part_argument is None else parts[kind][number, fact.arguments[part_argument]]

        rows = [row(number, fact) for number, fact in facts]
        if not values:
            if self.has_keys and part_argument is not None and len(rows) == size:
                return  # it only says whose part it is
            column: list[Any] = [False] * size
            for i in rows:
                column[i] = True
            columns[kind][predicate] = column
            return
        if len(set(rows)) < len(rows):
            self.notes.append(f"{predicate} has several values for one {kind or 'example'} and was left out.")
            return
        for i in values:
            entries: list[Any] = [None] * size
            for place, (_, fact) in zip(rows, facts, strict=True):
                entries[place] = fact.arguments[i]
            columns[kind][self._value_name(predicate, i, len(values))] = entries

    def _add_value_facts(self, columns: dict[str, dict[str, Any]]) -> None:
        """Facts about values become Boolean columns of what has the value."""
        by_predicate: dict[str, set[Any]] = defaultdict(set)
        for fact in self.of_values:
            if len(fact.arguments) == 1 and isinstance(fact.arguments[0], (str, int, float)):
                by_predicate[fact.predicate].add(fact.arguments[0])
            else:
                self.notes.append(f"{fact.predicate}/{len(fact.arguments)} is about no example and was left out.")
        for predicate, values in by_predicate.items():
            holders = [
                (kind, name)
                for kind, of_kind in columns.items()
                for name, entries in of_kind.items()
                if not all(isinstance(entry, bool) for entry in entries) and values & set(entries)
            ]
            numbers = {value for value in values if not isinstance(value, str)}
            best = max(holders, key=lambda holder: _coverage(columns[holder[0]][holder[1]], values), default=None)
            if best is None or (len(values) == 1 and numbers):
                self.notes.append(f"{predicate} is about no value of an example and was left out.")
                continue
            columns[best[0]][predicate] = [
                None if entry is None else entry in values for entry in columns[best[0]][best[1]]
            ]
        self.notes = list(dict.fromkeys(self.notes))

    def _tables(
        self,
        columns: Mapping[str, Mapping[str, Any]],
        parts: Mapping[str, Mapping[tuple[int, Constant], int]],
        owners: Mapping[str, str],
    ) -> dict[str, tuple[dict[str, Any], str]]:
        """Tables of parts for `Examples`, with keys of owners."""
        tables: dict[str, tuple[dict[str, Any], str]] = {}
        owner_of = {
            (kind, number, fact.arguments[1]): (number, fact.arguments[0])
            for kind, predicate in owners.items()
            for number, fact in self.facts
            if fact.predicate == predicate and len(fact.arguments) == 2
        }
        for kind, numbers in parts.items():
            own: dict[str, Any] = {kind: [str(key) for key in numbers], **columns[kind]}
            if kind in owners:
                above = self.type_of[owners[kind], 2, 0]
                own[above] = [str(owner_of[kind, number, constant]) for number, constant in numbers]
                tables[kind] = (own, above)
            else:
                own["example_key"] = [number for number, _ in numbers]
                tables[kind] = (own, "example_key")
        return tables

    def _keyed_relations(
        self, relations: Mapping[str, dict[str, list[Any]]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        keyed: dict[str, Any] = {}
        for name, table in relations.items():
            kinds = {column: column.rsplit("_", 1)[0] for column in table if column.rsplit("_", 1)[0] in parts}
            keyed[name] = ({c: list(map(str, v)) if c in kinds else v for c, v in table.items()}, kinds)
        return keyed


def _coverage(entries: Sequence[Any], values: set[Any]) -> int:
    return sum(entry in values for entry in entries)


def _reversed(fact: Fact, arguments: Sequence[int]) -> Fact:
    """The fact with its parts in the opposite order."""
    swapped = list(fact.arguments)
    for i, j in zip(arguments, reversed(arguments), strict=True):
        swapped[i] = fact.arguments[j]
    return Fact(fact.predicate, tuple(swapped))
