"""Modes of queries, checked against plain enumeration of all literals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from neuid3 import Examples, Limits, NeuID3Classifier
from neuid3.data.slots import needed_slots
from neuid3.errors import NodeTestError
from neuid3.learning.first_order import FirstOrderCandidates
from neuid3.learning.problem import Problem, read_problem
from neuid3.queries import derived_modes, holds, parse_query
from neuid3.queries.language import Atom, Comparison, Different, Field, Query, Var
from neuid3.queries.modes import ModeRefiner, is_query_mode, read_query_mode, refiner_of
from neuid3.queries.refine import Language, Refiner


def made_trains(size: int, seed: int = 0) -> Examples:
    """Trains of up to four cars, which have loads and are coupled."""
    rng = np.random.default_rng(seed)
    train = np.repeat(np.arange(size), rng.integers(1, 5, size))
    cars = len(train)
    loads = rng.integers(0, 3, cars)
    first = np.flatnonzero(train[1:] == train[:-1])
    car = {
        "car": np.arange(cars),
        "train": train,
        "long": rng.random(cars) < 0.5,
        "roof": rng.choice(["flat", "open", "arc"], cars),
        "axles": rng.integers(2, 6, cars).astype(float),
    }
    load = {"car": np.repeat(np.arange(cars), loads), "shape": rng.choice(["disc", "bar"], loads.sum())}
    coupled = {"car_1": first, "car_2": first + 1, "tight": rng.choice(["yes", "no"], len(first))}
    return Examples(
        {"train": np.arange(size)},
        parts={"car": (car, "train"), "load": (load, "car")},
        relations={"coupled": coupled},
        kinds={"coupled": {"tight": "category"}},
    )


SCHEMA = made_trains(30).schema
C, C2, L = Var("C"), Var("C2"), Var("L")


def refined(modes: list[str], query: str = "", most: int = 4, types: dict[Var, str] | None = None) -> set[str]:
    refiner = ModeRefiner([read_query_mode(mode) for mode in modes], SCHEMA, most)
    parsed = parse_query(query) if query else Query()
    return {written(refinement) for refinement in refiner.refinements(parsed, types or {})}


def written(refinement: object) -> str:
    """A refinement as text, with what is open."""
    text = ", ".join(map(str, refinement.literals))
    if refinement.open_field is not None:
        return f"{text}, {refinement.open_field} {refinement.operators} #".removeprefix(", ")
    if refinement.open_aggregate is not None:
        function, field = refinement.open_aggregate
        return f"{function}({field}, {text}) {refinement.operators} #"
    return f"at_least(#, {text})" if refinement.open_count else text


def test_modes_allow_what_plain_enumeration_allows() -> None:
    """All atoms over bound variables of the right types, and all constants, written down by loops."""
    types = {C: "car", C2: "car", L: "load"}
    modes = ["long(+car)", "roof(+car, #)", "shape(+, #)", "coupled(+car, +car)", "coupled(+car, +, #)", "car(-)"]
    modes += ["axles(+car) < axles(+car)", "+car \\= +car", "load(+car, -)"]
    expected = set()
    for car in (C, C2):
        expected.add(str(Atom("long", (car,))))
        expected |= {str(Atom("roof", (car, roof))) for roof in ("flat", "open", "arc")}
    expected |= {str(Atom("shape", (L, shape))) for shape in ("disc", "bar")}
    for one, other in itertools.permutations((C, C2)):
        expected.add(str(Atom("coupled", (one, other))))
        expected |= {str(Atom("coupled", (one, other, tight))) for tight in ("yes", "no")}
        expected.add(str(Comparison(Field("axles", one), "<", Field("axles", other))))
        expected.add(str(Different(one, other)))
    found = refined(modes, "car(C), car(C2), load(C, L)", types=types)
    lookahead = {text for text in found if "car(C3)" in text or "L2" in text}
    assert found - lookahead == expected
    new = "car(C3), C3 \\= C, C3 \\= C2"
    about_new = {f"{new}, long(C3)", f"{new}, roof(C3, arc)", f"{new}, coupled(C2, C3, no)", f"{new}, C3 \\= C"}
    loads = {f"load({car}, L2), L2 \\= L" for car in (C, C2)}
    assert about_new | loads | {f"{load}, shape(L2, bar)" for load in loads} <= lookahead
    cars = {text for text in lookahead if text.startswith("car")}
    assert all(text == new or "C3" in text.removeprefix(new) for text in cars)


def test_the_derived_modes_allow_what_is_tried_without_modes() -> None:
    plain = Refiner(Language(SCHEMA, counts=False, negations=False))
    about = [mode for mode in derived_modes(SCHEMA) if not mode.startswith(("\\+", "at_least"))]
    types = {C: "car", C2: "car"}
    query = parse_query("car(C), car(C2), C2 \\= C")
    expected = set()
    for refinement in plain.refinements(query, types):
        operators = refinement.operators if refinement.open_field is not None else (None,)
        for operator in operators:
            text = written(refinement)
            if operator is not None:
                text = text.replace(str(refinement.operators), str((operator,)))
            expected.add(text)
    expected = {text for text in expected if "\\+" not in text and " > axles" not in text}
    assert expected <= refined(about, str(query), types=types)


def test_a_mode_of_several_literals_looks_further_ahead() -> None:
    mode = "car(-C), load(+C, -L), shape(+L, #), \\+ long(+C)"
    assert refined([mode]) == {f"car(C), load(C, L), shape(L, {s}), \\+ long(C)" for s in ("disc", "bar")}


def test_negations_counts_and_aggregates_are_modes() -> None:
    modes = ["\\+ (car(-C), long(+C))", "at_least(2, car(-C), long(+C))", "at_least(#, car(-C), roof(+C, #))"]
    modes += ["sum(axles(+C), car(-C), long(+C)) > #", "mean(axles(+C), car(-C)) =< 3"]
    assert refined(modes) == {
        "\\+ (car(C), long(C))",
        "at_least(2, car(C), long(C))",
        *(f"at_least(#, car(C), roof(C, {roof}))" for roof in ("flat", "open", "arc")),
        "sum(axles(C), car(C), long(C)) ('>',) #",
        "mean(axles(C), car(C)) =< 3.0",
    }


def test_lookahead_stops_at_max_variables() -> None:
    modes = ["car(-)", "load(+car, -)"]
    assert refined(modes, most=1) == {"car(C)"}
    types = {C: "car", L: "load"}
    assert refined(modes, "car(C), load(C, L)", most=2, types=types) == set()


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        (["long(+car)"], "Mode 'long\\(\\+car\\)' takes a bound car, and no mode binds one before.*'car\\(-car\\)'"),
        (["load(+car, -load)"], "takes a bound car"),
        (["shape(+L, #), load(+C, -L)", "car(-car)"], "uses \\+L before -L binds it"),
        (["car(-car)", "lond(+car)"], "names 'lond', .*Did you mean 'long'"),
        (["car(-car)", "shape(+car, #)"], "write shape\\(\\+load, # for bar, disc\\)"),
        (
            ["car(-car)", "roof(+car, round)"],
            "does not fit its arguments; write roof\\(\\+car, # for arc, flat, open\\)",
        ),
        (["car(-car)", "long(+car, #)"], "gives 'long' 2 arguments, and it has 1"),
        (["car(-car)", "axles(+car, #)"], "compare it, as in 'axles\\(\\+car\\) > #'"),
        (["car(-car)", "axles(+car) >= #"], "thresholds are found for =< and for >"),
        (["car(-car)", "axles(+car) > #, long(+car)"], "has a # for a number before its end"),
        (["car(-car)", "long(+car) > 2"], "compares 'long', which is no number column"),
        (["car(C)"], "variable C without a marker; write \\+C"),
        (["car(-car"], "cannot be read at its end"),
        (["car(-), car(-), car(-), car(-), car(-)"], "binds 5 variables, more than max_variables=4"),
    ],
)
def test_a_wrong_mode_is_an_error_that_says_what_would_be_right(modes: list[str], message: str) -> None:
    with pytest.raises(NodeTestError, match=message):
        NeuID3Classifier(modes=modes).fit(made_trains(20), np.arange(20) % 2)


def test_atoms_of_the_program_stand_in_modes() -> None:
    rng = np.random.default_rng(0)
    hand = np.repeat(np.arange(10), 3)
    cards = {"hand": hand, "face": rng.random((30, 1, 2, 2)), "trump": hand % 2 == 0}
    examples = Examples({"hand": np.arange(10)}, parts={"card": (cards, "hand")})
    rules = "nn(rank_net, [C], R, [1, 2, 3]) :: rank(C, R). pair(A, B) :- rank(A, R), rank(B, R)."
    modes = ["card(-card)", "rank(+card, #)", "trump(+card)", "card(-A), card(-B), pair(+A, +B)"]
    modes.append("at_least(#, card(-C), rank(+C, 3))")
    arguments = {"tests": "auto", "bank": None, "limits": None, "slots": needed_slots(examples)}
    problem = read_problem(examples.schema, background=rules, modes=modes, **arguments)
    assert isinstance(problem.generator, FirstOrderCandidates)
    at_root = {str(test.query) for test in problem.generator.refinements(Query(), is_root=True)}
    pair = "card(C), card(C2), C2 \\= C, pair(C, C2)"
    ranks = {f"card(C), rank(C, {rank})" for rank in (1, 2, 3)}
    assert at_root == {pair, *ranks, *(f"at_least({n}, card(C), rank(C, 3))" for n in (2, 3))}
    below = {str(test.added) for test in problem.generator.refinements(parse_query("card(C), rank(C, 1)"))}
    assert {"trump(C)", "rank(C, 2)", "rank(C, 3)", "card(C2), C2 \\= C"} <= below
    assert "card(C), trump(C)" in refined_texts(problem)
    with pytest.raises(NodeTestError, match=r"binds -card by 'pair', .*'card\(-A\), pair\("):
        read_problem(examples.schema, background=rules, modes=["card(-card)", "pair(+card, -card)"], **arguments)
    with pytest.raises(NodeTestError, match="write rank\\(\\+card, # for"):
        read_problem(examples.schema, background=rules, modes=["card(-card)", "rank(+card, 9)"], **arguments)


def refined_texts(problem: Problem) -> set[str]:
    """What joins evaluate at the root."""
    return {written(refinement) for refinement in refiner_of(problem.language, symbolic=True).refinements(Query(), {})}


def test_modes_of_columns_are_none_of_parts() -> None:
    assert not is_query_mode("higher(+first, +second)", SCHEMA)
    assert is_query_mode("same(+, -)", SCHEMA)
    assert not is_query_mode("car(-car)", {})


def test_a_tree_asks_only_what_modes_allow() -> None:
    examples = made_trains(300)
    labels = holds(parse_query("car(C), long(C), load(C, L), shape(L, disc)"), examples)
    modes = ["car(-car)", "load(+car, -load)", "long(+car)", "shape(+load, #)"]
    clf = NeuID3Classifier(modes=modes, random_state=0).fit(examples, labels)
    assert clf.score(examples, labels) == 1.0
    assert not {"roof", "axles", "coupled", "at_least", "\\+"} & set("".join(map(str, clf.tree_.tests)).split("("))
    blind = NeuID3Classifier(modes=["car(-car)", "roof(+car, #)"], random_state=0).fit(examples, labels)
    assert blind.score(examples, labels) < 0.9


def test_too_many_refinements_are_an_error_that_says_how_to_narrow() -> None:
    examples = made_trains(40)
    with pytest.raises(NodeTestError, match=r"more than 100 refinements; give modes .* lower max_variables=4"):
        NeuID3Classifier(limits=Limits(max_candidates=1)).fit(examples, np.arange(40) % 2)
    few = NeuID3Classifier(modes=["car(-car)", "long(+car)"], limits=Limits(max_candidates=1, max_variables=2))
    few.fit(examples, np.arange(40) % 2)
