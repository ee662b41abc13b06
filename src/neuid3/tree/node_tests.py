"""Tests of tree nodes: the formulas that they stand for, the networks that they call, and their JSON."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from neuid3.data.columns import Boolean, Category, Date, Distribution, Kind, Number, Probability, Value, kind_name
from neuid3.data.dates import date_text
from neuid3.data.derived import column_text
from neuid3.errors import ModelFileError, NodeTestError, did_you_mean
from neuid3.logic.formula import ColumnVariable, Compare, Formula, Literal, bind, columns_of
from neuid3.logic.program import Program, fact
from neuid3.logic.quoting import atom_text, number_text
from neuid3.utils.json_values import as_category, as_number, as_text

# Pairs of a declared network and the instance of it that a test calls.
Instances = tuple[tuple[str, str], ...]

_Kind = TypeVar("_Kind", bound="type[NodeTest]")


if TYPE_CHECKING:
    from neuid3.queries.language import Query

    _FieldOrDefault = property
else:

    class _FieldOrDefault:
        """A property that a field of a subclass may replace; a dataclass would take another one for the field's default."""

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self.compute, self.__doc__ = compute, compute.__doc__

        def __get__(self, test: Any, kind: type) -> Any:
            if test is None:
                raise AttributeError("it has a value for each test only")
            return self.compute(test)


class NodeTest(ABC):
    """A Boolean test at a node: the base class of all kinds of tests.

    A kind of test is a frozen dataclass. It must have `formula`; everything else has a default. `atoms`, `goal` and
    `instances` may be fields.

    - Learning, inference and explanation ask for its `formula` only. It is made of `program.formulas(atoms)`, and of
      `And`, `Or`, `Not` and `Compare` (of a number column) of `neuid3.logic`.
    - A test that calls networks has a field `instances`, and its formula is bound to it: `bind_networks(formula,
      self.instances)`. The library trains such a test by giving it new instances (`bind`).
    - `goal` is what export to ProbLog writes. It must mean the same as the formula, which `verify` checks.
    - `to_json` and `from_json` save and load it, once the class is registered by `register_test_kind`.

    Laws: tests are hashable values; equal tests have equal formulas; `bind` changes nothing but the networks that are
    called; `from_json(to_json(test)) == test`.
    """

    __slots__ = ()

    @_FieldOrDefault
    def instances(self) -> Instances:
        """Pairs of a network of the program and the instance of it that this test calls."""
        return ()

    @abstractmethod
    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of this program.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.
        """

    def columns(self, program: Program) -> frozenset[str]:
        """The columns that its formula depends on, directly and through networks.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        The names of the columns.
        """
        return columns_of(self.formula(program))

    @_FieldOrDefault
    def atoms(self) -> tuple[str, ...]:
        """The atoms of the program that its formula is made of; those of many tests are grounded in one request.

        A test without any reads columns only: it is no candidate where all of them are constant.
        """
        return ()

    @_FieldOrDefault
    def goal(self) -> str:
        """The test as a goal of the program: an atom, or a body such as `a, \\+ b` or `a ; b`."""
        return str(self)

    @property
    def column_value(self) -> tuple[str, Value] | None:
        """The column and its value, where the test is whether a column has this value; True of a column that is a fact.

        Learners that count the values of columns need no formula for such a test.
        """
        return None

    @_FieldOrDefault
    def query(self) -> Query | None:
        """The query over parts which holds in the yes-branch of the test, and which tests below may continue."""
        return None

    @property
    def standalone(self) -> NodeTest:
        """The same test as one that needs no test above it to be read; the trees of forests and sums have such tests."""
        return self

    def export_goals(self, program: Program) -> tuple[str, ...]:  # noqa: ARG002
        """The goals of the program that export translates for this test: by default the test itself.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        Goals, as in `goal`.
        """
        return (self.goal,)

    def export_clauses(self, name: str, goals: Sequence[str], program: Program) -> list[str]:  # noqa: ARG002
        """Clauses that define an atom to be this test, where that is not its only goal.

        Parameters
        ----------
        name : the atom.
        goals : the translated goals of `export_goals`.
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        The clauses; none where the first goal is the test.
        """
        return []

    def bind(self, instances: Mapping[str, str]) -> NodeTest:
        """The same test with these instances of its networks, and none besides them.

        Parameters
        ----------
        instances : the instance of each declared network, by the name of the network.

        Returns
        -------
        The test with these instances.

        Raises
        ------
        NodeTestError : where its class has no field `instances`.
        """
        if is_dataclass(self) and any(field.name == "instances" for field in fields(self)):
            return replace(self, instances=tuple(sorted(instances.items())))
        if instances:
            raise NodeTestError(
                f"Test '{self}' calls network {min(instances)!r}, which is not trained, and {type(self).__name__} has no "
                "field `instances` for the networks that are trained for it; add the field, write it as a rule, or give "
                "a trained network."
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON.

        Raises
        ------
        ModelFileError
            Where its class cannot be saved.
        """
        raise ModelFileError(
            f"Test '{self}' is a {type(self).__name__}, which has no method to_json and cannot be saved; add to_json and "
            "from_json to the class, or express the test as an atom of a rule."
        )

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> NodeTest:  # noqa: ARG003 - for kinds that have it
        """The test of these fields; a TypeError, ValueError or KeyError where one is invalid. Files may be hostile.

        Parameters
        ----------
        json : the fields, as `to_json` returns them.

        Returns
        -------
        The test.

        Raises
        ------
        ModelFileError
            Where its class cannot be loaded.
        """
        raise ModelFileError(f"{cls.__name__} has no method from_json; add it to the class to load such tests.")


def bind_networks(formula: Formula, instances: Instances) -> Formula:
    """The formula with each of these networks replaced by its instance.

    Parameters
    ----------
    formula : a formula of the program.
    instances : pairs of a declared network and the instance that replaces it.

    Returns
    -------
    The formula over the variables of the instances.
    """
    return bind(formula, dict(instances)) if instances else formula


# The kinds of tests that files may hold, by name.
_KINDS: dict[str, type[NodeTest]] = {}


def register_test_kind(name: str) -> Callable[[_Kind], _Kind]:
    """A class decorator that lets files hold a kind of test, under this name.

    Only registered kinds are loaded: a file cannot name any other class.

    Parameters
    ----------
    name : the name in files; it must stay the same as long as there are files with it.

    Returns
    -------
    The decorator.

    Raises
    ------
    NodeTestError : where another class has the name.
    """

    def register(kind: _Kind) -> _Kind:
        known = _KINDS.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
            raise NodeTestError(
                f"The kind of test {name!r} is {known.__module__}.{known.__qualname__}; register {kind.__qualname__} under "
                "another name."
            )
        _KINDS[name] = kind
        return kind

    return register


def test_to_json(test: NodeTest) -> dict[str, Any]:
    """The fields of a test, and its kind.

    The kinds of this module are distinguished by their fields, so that files of all versions are alike.

    Raises
    ------
    ModelFileError : where its class is not registered.
    """
    name = next((name for name, kind in _KINDS.items() if kind is type(test)), None)
    if name is None:
        raise ModelFileError(
            f"Test '{test}' is a {type(test).__name__}, which cannot be saved; register the class with "
            "@register_test_kind, or express the test as an atom of a rule."
        )
    return test.to_json() if name in _OWN_KINDS else {"kind": name, **test.to_json()}


# Kinds of the library that are registered by modules which import this one.
_OWN_MODULES = {"query": "neuid3.tree.query_tests"}


def test_from_json(json: Mapping[str, Any]) -> NodeTest:
    """The inverse of `test_to_json`.

    Raises
    ------
    ModelFileError : where its kind is not registered.
    """
    name = _kind_name(json)
    if name in _OWN_MODULES:
        importlib.import_module(_OWN_MODULES[name])
    if name not in _KINDS:
        raise ModelFileError(
            f"A test is of kind {name!r:.40}, which is not registered; import the module that registers it with "
            f"@register_test_kind before you load the file.{did_you_mean(name, _KINDS)}"
        )
    return _KINDS[name].from_json(json)


def _kind_name(json: Mapping[str, Any]) -> str:
    """The name of the kind of a test; ours are known by their fields."""
    match json:
        case {"kind": name}:
            return as_text(name)
        case {"atom": _}:
            return "atom"
        case {"fact": _}:
            return "fact"
        case {"column": _, "value": _}:
            return "value"
        case {"column": _, "at_most": _}:
            return "cut"
        case {"column": _, "until": _}:
            return "date_cut"
        case _:
            raise ValueError("a test is of unknown class")


@register_test_kind("atom")
@dataclass(frozen=True, slots=True)
class AtomTest(NodeTest):
    """A ground atom of the program or of the columns: `alarm`, `suit(hearts)`, `gt_rank(card_1, card_2)`.

    Attributes
    ----------
    atom : the atom, in Prolog's syntax.
    instances : pairs of a network of the program and the instance of it that this test uses; a network without a pair
        is its own only instance.
    """

    atom: str
    instances: Instances = ()

    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of a program.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.
        """
        return bind_networks(program.formula(self.atom), self.instances)

    @property
    def atoms(self) -> tuple[str, ...]:
        """The atom, in a tuple."""
        return (self.atom,)

    def __str__(self) -> str:
        return self.atom

    def to_json(self) -> dict[str, Any]:
        return {"atom": self.atom, "instances": dict(self.instances)} if self.instances else {"atom": self.atom}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> AtomTest:
        return cls(as_text(json["atom"]), instances_from_json(json.get("instances", {})))


@register_test_kind("fact")
@dataclass(frozen=True, slots=True)
class FactTest(NodeTest):
    """The test whether a Boolean or probability column is true.

    Attributes
    ----------
    column : the name of the column.
    """

    column: str

    @property
    def column_value(self) -> tuple[str, Value]:
        """The column, and True."""
        return self.column, True

    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of a program.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.

        Raises
        ------
        NodeTestError
            Where the column is no fact.
        """
        kind = program.schema.get(self.column)
        if kind is not None and not isinstance(kind, (Boolean, Probability)):
            raise NodeTestError(
                f"Column {self.column!r} is a {kind_name(kind)} and no fact; test a Boolean or probability column."
            )
        return program.formula(self.column) if kind is None else fact(self.column)

    def __str__(self) -> str:
        return column_text(self.column)

    def to_json(self) -> dict[str, Any]:
        return {"fact": self.column}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> FactTest:
        return cls(as_text(json["fact"]))


@register_test_kind("value")
@dataclass(frozen=True, slots=True)
class ValueTest(NodeTest):
    """The test whether a category or distribution column has this value.

    Attributes
    ----------
    column : the name of the column.
    value : the value, one of its domain.
    """

    column: str
    value: Value

    @property
    def column_value(self) -> tuple[str, Value]:
        """The column and the value."""
        return self.column, self.value

    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of a program.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.

        Raises
        ------
        NodeTestError
            Where the column has no such value.
        """
        kind = program.schema.get(self.column)
        if not isinstance(kind, (Category, Distribution)) or self.value not in kind.domain:
            raise NodeTestError(f"Column {self.column!r} has no value {self.value!r}; test another one.")
        return Literal(ColumnVariable(self.column, len(kind.domain)), frozenset({kind.domain.index(self.value)}))

    def __str__(self) -> str:
        value = str(self.value) if isinstance(self.value, int) else atom_text(self.value)
        name = column_text(self.column)
        # The value is the last argument, as in weekday(ordered, monday).
        return f"{name[:-1]}, {value})" if name.endswith(")") else f"{name}({value})"

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "value": self.value}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> ValueTest:
        return cls(as_text(json["column"]), as_category(json["value"]))


@register_test_kind("cut")
@dataclass(frozen=True, slots=True)
class CutTest(NodeTest):
    """The test whether a number column is at most a threshold.

    Attributes
    ----------
    column : the name of the column.
    threshold : the number that its entries are compared with.
    """

    column: str
    threshold: float

    def formula(self, program: Program) -> Formula:
        """The formula of the test over the variables of a program.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.

        Raises
        ------
        NodeTestError
            Where it is no number column, or the threshold is not finite.
        """
        if not isinstance(program.schema.get(self.column), Number) or not math.isfinite(self.threshold):
            raise NodeTestError(
                f"Column {self.column!r} cannot be cut at {self.threshold!r}; cut a number column at a finite threshold."
            )
        return Compare(self.column, "=<", self.threshold)

    def __str__(self) -> str:
        return f"{column_text(self.column)} =< {number_text(self.threshold)}"

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "at_most": float(self.threshold)}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> CutTest:
        return cls(as_text(json["column"]), float(as_number(json["at_most"])))


@register_test_kind("date_cut")
@dataclass(frozen=True, slots=True)
class DateCutTest(CutTest):
    """The test whether a date column is at most a date, a number of days since 1970-01-01.

    Attributes
    ----------
    column : the name of the column.
    threshold : the number of days that its entries are compared with.

    >>> str(DateCutTest("ordered", 19783.0)), DateCutTest("ordered", 19783.0).goal
    ('ordered =< 2024-03-01', 'ordered =< 19783.0')
    """

    def __str__(self) -> str:
        return f"{column_text(self.column)} =< {date_text(self.threshold)}"

    @property
    def goal(self) -> str:
        """The comparison with a number of days."""
        return CutTest.__str__(self)

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "until": float(self.threshold)}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> DateCutTest:
        return cls(as_text(json["column"]), float(as_number(json["until"])))


def clauses_behind(tests: Sequence[NodeTest], program: Program) -> list[tuple[str, ...]]:
    """The clauses of the background knowledge that each test depends on.

    Parameters
    ----------
    tests : the tests.
    program : the background knowledge, for the columns of one schema.

    Returns
    -------
    For each test its clauses, in the user's spelling, each once.
    """
    goals = [test.export_goals(program) for test in tests]
    clauses = iter(program.clauses_behind([goal for of_test in goals for goal in of_test]))
    return [tuple(dict.fromkeys(chain.from_iterable(islice(clauses, len(of_test))))) for of_test in goals]


def cut_test(column: str, threshold: float, kind: Kind | None) -> CutTest:
    """The test whether a column of this kind is at most a threshold.

    Parameters
    ----------
    column : the name of the column.
    threshold : the number, or the number of days.
    kind : the kind of the column.

    Returns
    -------
    The test.
    """
    return (DateCutTest if isinstance(kind, Date) else CutTest)(column, threshold)


def instances_from_json(json: Mapping[str, Any]) -> Instances:
    """Pairs of a network and its instance from a JSON object, `dict(test.instances)`.

    Parameters
    ----------
    json : the instance of each declared network.

    Returns
    -------
    The pairs, sorted.
    """
    return tuple(sorted((as_text(network), as_text(instance)) for network, instance in json.items()))


# Their JSON has no field `kind`.
_OWN_KINDS = frozenset(_KINDS)
