"""Exact means exact: against ProbLog and DeepProbLog."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from oracles import enumerate_worlds
from problog import get_evaluatable
from problog.clausedb import ClauseDB
from problog.engine import DefaultEngine
from problog.logic import Term
from problog.program import PrologString
from strategies import (
    HELPERS,
    OPEN_GOALS,
    PREAMBLE,
    PRIORS,
    RANDOM_FACTS,
    REFERENCE,
    Case,
    TinyNetwork,
    built_in_rules,
    cases,
    table,
    term_rules,
)

from neuid3 import AtomTest, Branch, Leaf, NeurosymbolicTree, Tree
from neuid3.logic.formula import Literal, bottom_up
from neuid3.logic.program import Program
from neuid3.logic.prolog.library import LIBRARY

pytestmark = pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning", "ignore:.*:UserWarning:deepproblog")


@given(cases())
def test_generated_trees_agree_with_problog(case: Case) -> None:
    assert case.model.verify(case.examples, rows=1) < 1e-6


def probability(program: Program, test: str) -> float:
    """P(test) of a program without columns, by summing over the worlds of its formula."""
    formula = program.formula(test)
    variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
    return enumerate_worlds(formula, {variable: list(variable.weights) for variable in variables})


@given(term_rules())
def test_terms_that_print_alike_are_told_apart_as_problog_does(text: str) -> None:
    plain = get_evaluatable().create_from(PrologString(f"{text} query(p).")).evaluate()
    theirs = next((float(value) for value in plain.values()), 0.0)
    program = Program(text, {})
    assert probability(program, "p") == pytest.approx(theirs, abs=1e-9)
    tree = NeurosymbolicTree(Tree(Branch("p", Leaf(0.9), Leaf(0.1))), REFERENCE.schema, background=text)
    assert tree.verify(REFERENCE, rows=1) < 1e-9


LIBRARIES = ":- use_module(library(lists)). :- use_module(library(apply))."


def by_worlds(rules: str, libraries: ClauseDB) -> float:
    """P(p): the worlds in which ProbLog proves p when every random fact is either there or not."""
    total = []
    for present in itertools.product([True, False], repeat=len(RANDOM_FACTS)):
        facts = [fact if there else f"{fact} :- fail" for fact, there in zip(RANDOM_FACTS, present, strict=True)]
        world = libraries.extend()
        for clause in PrologString(". ".join(facts) + ". " + HELPERS + rules):
            world.add_statement(clause)
        if DefaultEngine().query(world, Term("p")):
            weights = [p if there else 1 - p for p, there in zip(RANDOM_FACTS.values(), present, strict=True)]
            total.append(math.prod(weights))
    return math.fsum(total)


def with_facts(rules: str) -> str:
    return " ".join(f"{p} :: {fact}." for fact, p in RANDOM_FACTS.items()) + HELPERS + rules


@pytest.fixture(scope="module")
def libraries() -> ClauseDB:
    return DefaultEngine().prepare(PrologString(LIBRARIES + LIBRARY))


@pytest.mark.parametrize("entry", sorted(OPEN_GOALS))
def test_every_open_predicate_means_in_all_worlds_what_it_means_in_each(entry: str, libraries: ClauseDB) -> None:
    rules = f"p :- {OPEN_GOALS[entry]}."
    assert probability(Program(with_facts(rules), {}), "p") == pytest.approx(by_worlds(rules, libraries), abs=1e-9)


@given(built_in_rules())
def test_generated_rules_with_built_ins_agree_with_problog(rules: str) -> None:
    text = with_facts(rules)
    tree = NeurosymbolicTree(Tree(Branch("p", Leaf(0.9), Leaf(0.1))), REFERENCE.schema, background=text)
    assert tree.verify(REFERENCE, rows=1) < 1e-9


@pytest.mark.parametrize(
    "root",
    [
        Branch("gt(left, right)", Branch("odd(left)", Leaf(0.9), Leaf(0.3)), Leaf(0.1)),
        Branch(
            "same(left, right)",
            Branch("age > 40", Leaf(0.8), Branch("alarm", Leaf(0.6), Leaf(0.2))),
            Branch(
                AtomTest("gt(left, right)", (("rank_net", "rank_net#2"),)),
                Leaf(0.7),
                Branch("gt(left, right)", Leaf(0.5), Leaf(0.0)),
            ),
        ),
        Branch(
            "both",
            Branch("path(1, 3)", Leaf(0.9), Leaf(0.4)),
            Branch("tinted(left)", Leaf(0.2), Branch("twin(left, 1)", Leaf(0.3), Leaf(1.0))),
        ),
        Branch(
            "suit(hearts)", Leaf(0.75), Branch("mood(2)", Leaf(0.25), Branch("rank(right, 2)", Leaf(0.9), Leaf(0.05)))
        ),
    ],
    ids=["shared", "instances", "recursion", "columns"],
)
def test_deepproblog_runs_the_exported_program(root: Branch) -> None:
    networks = {
        "rank_net": TinyNetwork(3, 1, 1).float(),
        "rank_net#2": TinyNetwork(3, 1, 2).float(),
        "parity_net": TinyNetwork(2, 1, 3).float(),
        "same_net": TinyNetwork(1, 2, 4).float(),
    }
    tree = Tree(root)
    if not any(test.instances for test in tree.tests):
        del networks["rank_net#2"]
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=PREAMBLE, networks=networks, priors=PRIORS)
    rows = table(7, 4)
    for row in range(4):
        theirs = model.to_deepproblog(rows, row).class_probabilities()
        np.testing.assert_allclose(theirs, model.predict_proba(rows[row])[0], atol=1e-5)
