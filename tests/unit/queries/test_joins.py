"""Queries by joins against enumeration of all bindings, and against ProbLog."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.data.parts import structure_of
from neuid3.errors import NodeTestError
from neuid3.queries import holds, parse_query
from neuid3.queries.joins import compare, parts_index
from neuid3.queries.language import Aggregate, AtLeast, Atom, Comparison, Different, Field, Negation, Query, Var
from neuid3.tree.query_tests import QueryTest


def made_examples(seed: int, size: int = 6) -> Examples:
    """Examples that own boxes, which own things; boxes touch; some examples own nothing."""
    rng = np.random.default_rng(seed)
    boxes = int(rng.integers(size, 3 * size))
    things = int(rng.integers(size, 3 * size))
    owner = rng.integers(0, size, boxes)
    pairs = [(a, b) for a in range(boxes) for b in range(boxes) if owner[a] == owner[b] and rng.random() < 0.3]
    first, second = zip(*pairs, strict=True)
    return Examples(
        {"example": list(range(size)), "alarm": rng.random(size) < 0.5},
        parts={
            "box": (
                {
                    "box": [f"b{i}" for i in range(boxes)],
                    "example": owner,
                    "red": rng.random(boxes) < 0.5,
                    "kind": rng.choice(["flat", "tall"], boxes),
                    "size": rng.integers(0, 4, boxes).astype(float),
                },
                "example",
            ),
            "thing": (
                {"box": [f"b{i}" for i in rng.integers(0, boxes, things)], "round": rng.random(things) < 0.5},
                "box",
            ),
        },
        relations={
            "touches": {
                "box_1": [f"b{i}" for i in first],
                "box_2": [f"b{i}" for i in second],
                "how": rng.choice(["firmly", "lightly"], len(pairs)),
            }
        },
        kinds={"box": {"size": "number"}},
    )


QUERIES = (
    "box(B)",
    "box(B), thing(T), B \\= T",
    "box(B), \\+ (thing(T), \\+ B \\= T)",
    "box(B), red(B)",
    "box(B), \\+ red(B), kind(B, tall)",
    "box(B), size(B) > 1.5",
    "box(B), thing(B, T), round(T)",
    "thing(T), round(T)",
    "box(B), box(C), B \\= C, size(B) =:= size(C)",
    "touches(B, C), red(B), size(B) < size(C)",
    "touches(B, C, firmly), kind(C, flat)",
    "box(B), \\+ (touches(B, C), red(C))",
    "box(B), at_least(2, thing(B, T), round(T))",
    "at_least(3, box(B), kind(B, flat))",
    "box(B), at_least(2, touches(B, C))",
    "sum(size(B), box(B)) > 4.5",
    "box(B), mean(size(C), touches(B, C)) =< 1.5",
    "max(size(B), box(B), red(B)) >= 3.0",
    "box(B), thing(B, T), touches(B, C), thing(C, U), round(U), \\+ round(T)",
)


class Enumerated:
    """The truth of queries by trying all bindings of all variables in one example, the oracle."""

    def __init__(self, examples: Examples, row: int) -> None:
        self.structure = structure_of(examples[[row]])

    def bindings(self, query: Query, bound: dict[Var, tuple[str, int]]) -> list[dict[Var, tuple[str, int]]]:
        new = [v for v in query.variables if v not in bound]
        everything = [(kind, i) for kind, parts in self.structure.parts.items() for i in range(len(parts))]
        found = []
        for chosen in product(everything, repeat=len(new)):
            binding = bound | dict(zip(new, chosen, strict=True))
            if all(self.is_true(literal, binding) for literal in query.literals):
                found.append(binding)
        return found

    def column(self, kind: str, name: str):
        table = self.structure.parts[kind].table
        return table.column(name) if table is not None and name in table.names else None

    def number(self, field: Field, binding) -> float:
        kind, i = binding[field.part]
        column = self.column(kind, field.column)
        return np.nan if column is None else float(column.values[i])

    def is_true(self, literal, binding) -> bool:
        match literal:
            case Atom(name, arguments) if name in self.structure.parts:
                kind, i = binding[arguments[-1]]
                if kind != name or len(arguments) == 1:
                    return kind == name
                parts = self.structure.parts[name]
                return binding[arguments[0]] == (parts.owner_type, int(parts.owner[i]))
            case Atom("touches", (a, b, *values)):
                relation = self.structure.relations["touches"]
                rows = [tuple(row) for row in relation.arguments.tolist()]
                how = relation.table.column("how")
                return (binding[a][0], binding[b][0]) == ("box", "box") and any(
                    row == (binding[a][1], binding[b][1])
                    and (not values or how.kind.domain[how.values[n]] == values[0])
                    for n, row in enumerate(rows)
                )
            case Atom(name, (variable, *values)):
                kind, i = binding[variable]
                column = self.column(kind, name)
                if column is None:
                    return False
                return column.kind.domain[column.values[i]] == values[0] if values else bool(column.values[i])
            case Different(left, right):
                return binding[left] != binding[right]
            case Comparison(left, operator, right):
                other = self.number(right, binding) if isinstance(right, Field) else right
                return bool(compare(np.float64(self.number(left, binding)), operator, np.float64(other)))
            case Negation(query):
                return not self.bindings(query, binding)
            case AtLeast(count, query):
                return len(self.bindings(query, binding)) >= count
            case Aggregate(function, field, query, operator, constant):
                parts = {inner[field.part]: self.number(field, inner) for inner in self.bindings(query, binding)}
                values = list(parts.values())
                return bool(values) and bool(compare(getattr(np, function)(values), operator, constant))
        raise AssertionError(literal)


@pytest.mark.parametrize("text", QUERIES)
def test_joins_find_what_enumeration_of_all_bindings_finds(text: str) -> None:
    query = parse_query(text)
    outcomes = set()
    for seed in range(6):
        examples = made_examples(seed)
        expected = [bool(Enumerated(examples, row).bindings(query, {})) for row in range(len(examples))]
        assert holds(query, examples).tolist() == expected
        outcomes |= set(expected)
    assert outcomes == {True, False} or text == "box(B)"


@pytest.mark.parametrize("text", QUERIES)
def test_the_text_of_a_query_is_parsed_to_the_same_query(text: str) -> None:
    query = parse_query(text)
    assert parse_query(str(query)) == query


def test_thresholds_of_dates_are_written_as_dates() -> None:
    for text in (
        "built(C) > 2023-04-11",
        "built(C) =< 2023-04-11 14:30",
        "max(built(C), car(C)) > 2023-04-11 14:30:05",
    ):
        assert str(parse_query(text)) == text
    assert parse_query("built(C) > 2023-04-11") == parse_query("built(C) > 19458.0")


def test_exported_queries_are_as_true_in_problog() -> None:
    examples = made_examples(11, size=3)
    for text in QUERIES:
        tree = Tree(Branch(QueryTest(parse_query(text)), Leaf(0.9), Leaf(0.2)))
        assert NeurosymbolicTree(tree, examples.schema).verify(examples, rows=3) < 1e-12, text


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("box(B), rde(B)", "rde"),
        ("red(B)", "B"),
        ("box(B), kind(B, wide)", "wide"),
        ("box(B), kind(B) > 3", "kind"),
        ("touches(B)", "touches"),
        ("box(B, C)", "box"),
    ],
)
def test_a_query_that_the_examples_cannot_answer_is_an_error_that_names_the_culprit(text: str, culprit: str) -> None:
    with pytest.raises(NodeTestError, match=culprit):
        holds(parse_query(text), made_examples(0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "box(B",
        "box(B) red(B)",
        "B",
        "box(B), ",
        "at_least(x, box(B))",
        "size(B) ? 3",
        "at_least(0, box(B))",
        "at_least(1.5, box(B))",
        "size(B) > 2024-02-31",
    ],
)
def test_a_text_that_is_no_query_is_an_error(text: str) -> None:
    with pytest.raises(NodeTestError, match="query"):
        parse_query(text)


def test_more_bindings_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuid3.queries.joins.MAX_BINDINGS", 5)
    with pytest.raises(NodeTestError, match="max_variables"):
        parts_index(made_examples(0)).bindings(parse_query("box(B), box(C), box(D)"))
