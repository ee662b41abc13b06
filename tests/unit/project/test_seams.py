"""Learning asks tests for what it needs to know; it does not distinguish their kinds."""

from __future__ import annotations

import ast
from pathlib import Path

import neuid3
from neuid3.tree import node_tests, query_tests

LEARNING = Path(neuid3.__file__).parent / "learning"
KINDS = {
    name
    for module in (node_tests, query_tests)
    for name, thing in vars(module).items()
    if isinstance(thing, type) and issubclass(thing, node_tests.NodeTest) and thing is not node_tests.NodeTest
}


def distinguished(tree: ast.AST) -> set[str]:
    """The kinds of tests that `isinstance` or a pattern of `match` tells apart."""
    named = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("isinstance"), [_, kinds]):
                named |= {each.id for each in ast.walk(kinds) if isinstance(each, ast.Name)}
            case ast.MatchClass(ast.Name(name)):
                named.add(name)
    return named & KINDS


def test_kinds_of_tests_are_found_where_they_are_distinguished() -> None:
    assert {"AtomTest", "FactTest", "ValueTest", "CutTest", "QueryTest"} <= KINDS
    code = "isinstance(test, (FactTest, Leaf))\nmatch test:\n    case ValueTest(name, 1): pass"
    assert distinguished(ast.parse(code)) == {"FactTest", "ValueTest"}


def test_learning_distinguishes_no_kinds_of_tests() -> None:
    found = {path.name: distinguished(ast.parse(path.read_text(encoding="utf-8"))) for path in LEARNING.rglob("*.py")}
    assert len(found) > 50
    assert {name: kinds for name, kinds in found.items() if kinds} == {}
