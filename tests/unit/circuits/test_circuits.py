"""Formulas become circuits that mean the same, and circuits become tensors that say so."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import drawn, enumerate_worlds, holds

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import factorise
from neuid3.circuits.diagram import FALSE, TRUE, Diagram
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.circuits.torch_arrays import TorchArrays
from neuid3.errors import GroundingLimitError
from neuid3.logic.formula import (
    And,
    Boundary,
    CellVariable,
    ColumnVariable,
    Compare,
    Formula,
    Literal,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    sources,
)
from neuid3.logic.sandbox import Limits

VARIABLES = [ColumnVariable(f"v{size}{i}", size) for size in (2, 3, 5) for i in range(2)]


def formulas() -> st.SearchStrategy[Formula]:
    literals = st.sampled_from(VARIABLES).flatmap(
        lambda v: st.frozensets(st.integers(0, v.size - 1)).map(lambda values: Literal(v, values))
    )
    compares = st.builds(
        Compare,
        st.just("age"),
        st.sampled_from(["<", "=<", ">", ">=", "=:=", "=\\="]),
        st.sampled_from([10.0, 20.0, 30.0]),
    )
    return st.recursive(
        st.one_of(literals, compares, st.booleans().map(Truth)),
        lambda parts: st.one_of(
            parts.map(Not),
            st.lists(parts, max_size=3).map(lambda p: And(tuple(p))),
            st.lists(parts, max_size=3).map(lambda p: Or(tuple(p))),
        ),
        max_leaves=10,
    )


def weights_for(variables: list[Variable], seed: int) -> dict[Variable, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        v: torch.softmax(3 * torch.randn(v.size, 2, generator=generator, dtype=torch.float64), 0) for v in variables
    }


def walk(circuit: Circuit, root: int, world: dict[Variable, int]) -> bool:
    while root > TRUE:
        root = circuit.children[root - 2][world[circuit.variables[circuit.levels[root - 2]]]]
    return root == TRUE


@given(st.lists(formulas(), min_size=1, max_size=3), st.integers(0, 99))
def test_a_circuit_counts_what_enumeration_counts(generated: list[Formula], seed: int) -> None:
    circuit = compile_formulas(generated)
    cells = draw_cells(generated)
    variables = list(dict.fromkeys(n.variable for n in bottom_up(cells) if isinstance(n, Literal)))
    weights = weights_for(variables, seed)
    if circuit.variables:
        found = LayeredCircuit(circuit, TorchArrays())([weights[v] for v in circuit.variables])
    else:
        found = torch.tensor(LayeredCircuit(circuit).constant_roots)[:, None].expand(-1, 2)
    for root, formula in zip(found, cells, strict=True):
        for example in range(2):
            plain = {variable: column[:, example].tolist() for variable, column in weights.items()}
            assert enumerate_worlds(formula, plain) == pytest.approx(float(root[example]), abs=1e-9)


@given(formulas(), st.randoms())
def test_a_circuit_has_the_value_of_its_formula_in_every_world(formula: Formula, random: object) -> None:
    circuit = compile_formulas([formula])
    cells = drawn(formula)
    variables = {n.variable for n in bottom_up([cells]) if isinstance(n, Literal)}
    for _ in range(20):
        world = {variable: random.randrange(variable.size) for variable in variables}
        assert walk(circuit, circuit.roots[0], world) == holds(cells, world)


@given(formulas())
def test_equal_formulas_get_equal_nodes(formula: Formula) -> None:
    double_negation = Not(Not(formula))
    excluded_middle = Or((formula, Not(formula)))
    one, two, three = compile_formulas([formula, double_negation, excluded_middle]).roots
    assert one == two
    assert three == TRUE


@given(st.lists(formulas(), min_size=2, max_size=4), st.integers(0, 99))
def test_factors_multiply_to_the_conjunction(tests: list[Formula], seed: int) -> None:
    path = [(i, i % 2 == 0) for i in range(len(tests))]
    factored = factorise(tests, [path, path[:1]])
    whole = compile_formulas([And(tuple(t if a else Not(t) for t, (_, a) in zip(tests, path, strict=True)))])
    columns = {v.column for c in (*factored.circuits, whole) for v in c.variables}
    # One world for all: a value of `age` decides its cell, whatever the cuts.
    generator = torch.Generator().manual_seed(seed)
    world = {v.column: int(torch.randint(v.size, (1,), generator=generator)) for v in VARIABLES}
    age = float(torch.randint(0, 40, (1,), generator=generator))

    def value(variable: Variable) -> int:
        if isinstance(variable, CellVariable):
            return sum(age > b.at if b.above else age >= b.at for b in variable.boundaries)
        return world[variable.column]

    roots = [(c, r) for c in factored.circuits for r in c.roots]
    product = all(walk(*roots[i], {v: value(v) for v in roots[i][0].variables}) for i in factored.factors[0])
    assert product == walk(whole, whole.roots[0], {v: value(v) for v in whole.variables})
    assert columns <= {v.column for v in VARIABLES} | {"age"}


def test_tests_that_share_nothing_stay_apart() -> None:
    a, b, c = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "abc")
    factored = factorise([a, And((a, b)), c], [[(0, True), (1, True), (2, False)], [(2, True)]])
    assert len(factored.circuits) == 2
    assert [len(factors) for factors in factored.factors] == [2, 1]


def test_cuts_of_one_column_are_one_variable() -> None:
    above, beyond = Compare("age", ">", 40.0), Compare("age", ">", 60.0)
    circuit = compile_formulas([And((above, Not(beyond))), And((Not(above), beyond))])
    assert circuit.variables == (CellVariable("age", (Boundary(40.0, True), Boundary(60.0, True))),)
    assert circuit.roots[1] == FALSE
    assert sources(above) == sources(beyond) == {"age"}


def test_a_variable_of_many_values_is_one_level() -> None:
    left, right = (ColumnVariable(name, 50) for name in "ab")
    rising = Or(
        tuple(
            And((Literal(left, frozenset({i})), Literal(right, frozenset({j}))))
            for i in range(50)
            for j in range(i + 1, 50)
        )
    )
    assert len(compile_formulas([rising])) == 50


def test_a_diagram_of_a_thousand_variables_needs_no_deep_recursion() -> None:
    diagram = Diagram([2] * 3000)
    node = diagram.conjoin(diagram.literal(i, {1}) for i in range(3000))
    assert diagram.negate(diagram.negate(node)) == node
    assert len(diagram) >= 3000


def test_wide_variables_make_the_circuits_that_narrow_ones_make(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (ColumnVariable(name, 4) for name in "ab")
    one, two, three = (Literal(a, frozenset({value})) for value in (1, 2, 3))
    other = Literal(b, frozenset({0}))
    formulas = [
        Or((one, two, other)),
        And((Or((one, three)), Not(two))),
        Not(Or((one, one))),
        one,
        Or((two, other, two)),
    ]
    narrow = compile_formulas(formulas)
    monkeypatch.setattr("neuid3.circuits.compile._WIDE", 3)
    wide = compile_formulas(formulas)
    for root, same in zip(narrow.roots, wide.roots, strict=True):
        for x in range(4):
            for y in range(4):
                assert walk(narrow, root, {a: x, b: y}) == walk(wide, same, {a: x, b: y})
    assert len(wide) <= len(narrow)


def test_a_circuit_that_is_there_when_the_time_is_over_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the search for a better order of the variables is given up."""
    pairs = [(ColumnVariable(f"a{i}", 2), ColumnVariable(f"b{i}", 2)) for i in range(8)]
    parts = [And((Literal(a, frozenset({1})), Literal(b, frozenset({1})))) for a, b in pairs]
    firsts = Or(tuple(Literal(a, frozenset({0, 1})) for a, _ in pairs))
    formula = And((firsts, Or(tuple(parts))))
    found = compile_formulas([formula])

    def over(*_: object) -> list[Variable]:
        raise GroundingLimitError("over")

    monkeypatch.setattr("neuid3.circuits.compile.force_order", over)
    assert len(compile_formulas([formula])) > len(found)


def test_the_time_of_a_circuit_is_limited() -> None:
    firsts, seconds = ([Literal(ColumnVariable(f"{name}{i}", 2), frozenset({1})) for i in range(150)] for name in "ab")
    pairs = [Or((first, second)) for first in firsts for second in seconds]
    with pytest.raises(GroundingLimitError, match=r"raise the limit with Limits\(seconds=…\)"):
        compile_formulas(pairs, Limits(seconds=0.0))
