"""Empirical re-readings and smallest sets of labels, compared with all maps of values."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from value_tables import LAYOUTS, formulas, variable

from neuid3.errors import CircuitLimitError
from neuid3.identifiability import Deadline, ReadingCount, ReadingProblem, smallest_labels, symmetry_group
from neuid3.identifiability.diagrams import possible_results
from neuid3.identifiability.readings import moved
from neuid3.logic.formula import ChoiceVariable, ColumnVariable, Literal, Or

EVEN_ODD = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]


def test_even_odd_has_36_readings_and_two_labels_leave_one() -> None:
    pairs = EVEN_ODD + [(j, i) for i, j in EVEN_ODD]
    by_enumeration = 1
    for equations in ([p for p in EVEN_ODD if p[0] % 2 == 0], [p for p in EVEN_ODD if p[0] % 2]):
        digits = sorted({digit for pair in equations for digit in pair})
        solutions = 0
        for images in product(range(10), repeat=len(digits)):
            reading = dict(zip(digits, images, strict=True))
            solutions += all(reading[i] + reading[j] == i + j for i, j in equations)
        by_enumeration *= solutions
    assert by_enumeration == 36
    first, second = (variable("digit", column, 10) for column in ("first", "second"))
    total = formulas([first, second], {(i, j): i + j for i in range(10) for j in range(10)})
    codes = {first: np.array([i for i, _ in pairs]), second: np.array([j for _, j in pairs])}
    problem = ReadingProblem(total, codes)
    assert problem.count() == ReadingCount(36, True)
    labels, is_smallest = smallest_labels(problem)
    assert is_smallest
    assert sorted(value % 2 for _, value in labels) == [0, 1]
    assert problem.count(labels) == ReadingCount(1, True)


@pytest.mark.parametrize("seed", range(80))
def test_counts_labels_and_examples_agree_with_enumeration(seed: int) -> None:
    draw = random.Random(seed)
    sizes = {"p": draw.choice([2, 3]), "q": draw.choice([2, 3])}
    neural = [variable(name, column, sizes[name]) for name, column in draw.choice(LAYOUTS)]
    variables = [*neural, ColumnVariable("x", 2)]
    assignments = list(product(*(range(v.size) for v in variables)))
    alike = draw.random() < 0.5
    table = {values: int(len(set(values[:-1])) == 1) if alike else draw.choice([0, 0, 1, 2]) for values in assignments}
    rows = [draw.choice(assignments) for _ in range(draw.choice([1, 3, 8]))]
    function = formulas(variables, table)
    codes = {v: np.array([row[k] for row in rows]) for k, v in enumerate(variables)}
    group = symmetry_group(function)
    classes = {name: [frozenset(range(size))] for name, size in group.sizes.items() if alike and len(group.sizes) == 1}
    problem = ReadingProblem(function, codes, classes)
    solutions = []
    for images in product(*(range(sizes[name]) for name, _ in problem.values)):
        reading = dict(zip(problem.values, images, strict=True))
        if all(
            table[row] == table[(*(reading[v.network, row[k]] for k, v in enumerate(neural)), row[-1])] for row in rows
        ):
            solutions.append(reading)
    assert problem.count() == ReadingCount(len(solutions), True)

    def settles(labels: tuple[tuple[str, int], ...]) -> bool:
        return sum(all(reading[label] == label[1] for label in labels) for reading in solutions) == 1

    labels, is_smallest = smallest_labels(problem)
    assert is_smallest
    assert settles(labels)
    assert not any(settles(fewer) for n in range(len(labels)) for fewer in combinations(problem.values, n))
    for example in problem.examples(4):
        assert moved(example)
        assert {(name, value): example[name][value] for name, value in problem.values} in solutions


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize(
    ("name", "holds", "number"),
    [
        ("equality", lambda i, j, _: i == j, math.factorial),
        ("order", lambda i, j, _: i < j, lambda _: 1),
        ("successor", lambda i, j, n: j == (i + 1) % n, lambda n: n),
        ("sum", lambda i, j, _: i + j, lambda _: 1),
    ],
)
def test_known_relations_have_known_numbers_of_readings(
    name: str, holds: Callable[[int, int, int], int], number: Callable[[int], int], n: int
) -> None:
    variables = [variable("rank", column, n) for column in "ab"]
    pairs = np.array(list(product(range(n), repeat=2)))
    function = formulas(variables, {(i, j): holds(i, j, n) for i in range(n) for j in range(n)})
    classes = {"rank": [frozenset(range(n))]} if name == "equality" else {}
    problem = ReadingProblem(function, dict(zip(variables, pairs.T, strict=True)), classes)
    assert problem.count() == ReadingCount(number(n), True)


def test_without_time_the_number_is_a_lower_bound_that_says_so() -> None:
    variables = [variable("rank", column, 20) for column in "ab"]
    pairs = np.array(list(product(range(20), repeat=2)))
    function = formulas(variables, {(i, j): i == j for i in range(20) for j in range(20)})
    problem = ReadingProblem(function, dict(zip(variables, pairs.T, strict=True)))
    count = problem.count(deadline=Deadline.after(0))
    assert count == ReadingCount(1, False)
    assert str(count) == "at least 1"
    later = problem.count(deadline=Deadline.after(0.3))
    assert not later.exact
    assert later.number <= math.factorial(20)
    labels, is_smallest = smallest_labels(problem, deadline=Deadline.after(0))
    assert not is_smallest
    assert set(labels) <= set(problem.values)


def test_probabilistic_facts_are_compared_value_by_value_and_too_many_are_refused() -> None:
    digit = variable("digit", "a", 3)
    works = ChoiceVariable(7, (), (0.9, 0.1))
    function = formulas([digit, works], {(i, k): i if k == 0 else 0 for i in range(3) for k in range(2)})
    codes = {digit: np.arange(3)}
    assert ReadingProblem(function, codes).count() == ReadingCount(1, True)
    many = [ChoiceVariable(clause, (), (0.5, 0.5)) for clause in range(11)]
    any_of = Or(tuple(Literal(v, frozenset({0})) for v in (digit, *many)))
    with pytest.raises(CircuitLimitError, match="11 probabilistic facts"):
        ReadingProblem([any_of], codes)


def test_possible_results_are_those_of_some_assignment() -> None:
    a, b = (variable("digit", column, 3) for column in "ab")
    function = formulas([a, b], {(i, j): i + j for i in range(3) for j in range(3)})
    known = np.array([[True, False], [False, False], [False, True]])  # a is 0 in the first example, 2 in the second
    possible = possible_results(function, {a: known}, 2)
    assert [row.tolist() for row in possible] == [
        [True, False],
        [True, False],
        [True, True],
        [False, True],
        [False, True],
    ]
