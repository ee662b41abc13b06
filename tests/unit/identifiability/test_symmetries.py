"""Value permutations that leave a function unchanged, compared with all permutations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import permutations, product

import pytest
from value_tables import LAYOUTS, formulas, variable

from neuid3.errors import SearchLimitError
from neuid3.identifiability import Deadline, PairOfFunctions, symmetry_group

RESULTS: tuple[Callable[[tuple[int, ...], random.Random], int], ...] = (
    lambda _, draw: draw.choice([0, 0, 0, 1]),
    lambda values, _: int(len(set(values)) == 1),
    lambda values, _: sum(values) % 3,
    lambda values, _: int(max(values) == values[0]),
)


@pytest.mark.parametrize("seed", range(60))
def test_the_order_of_the_group_is_the_number_of_permutations_without_effect(seed: int) -> None:
    draw = random.Random(seed)
    sizes = {"p": draw.choice([2, 3, 4]), "q": draw.choice([2, 3])}
    variables = [variable(name, column, sizes[name]) for name, column in draw.choice(LAYOUTS)]
    result = draw.choice(RESULTS)
    assignments = list(product(*(range(v.size) for v in variables)))
    table = {values: result(values, draw) for values in assignments}
    names = sorted({v.network for v in variables})
    number = 0
    for images in product(*(permutations(range(sizes[name])) for name in names)):
        reading = dict(zip(names, images, strict=True))
        number += all(
            table[values] == table[tuple(reading[v.network][i] for v, i in zip(variables, values, strict=True))]
            for values in assignments
        )
    group = symmetry_group(formulas(variables, table))
    # Networks that the function does not depend on are not in the group.
    free = math.prod(math.factorial(sizes[name]) for name in names if name not in group.sizes)
    assert group.order * free == number
    pair = PairOfFunctions(formulas(variables, table), formulas(variables, table))
    assert all(pair.agree(generator) for generator in group.generators)


@pytest.mark.parametrize("seed", range(40))
def test_an_isomorphism_is_found_exactly_where_there_is_one(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.choice([2, 3, 4])
    variables = [variable("p", column, n) for column in "ab"]
    assignments = list(product(range(n), repeat=2))
    left = {values: draw.choice([0, 0, 1]) for values in assignments}
    hidden = draw.sample(range(n), n)
    right = {tuple(hidden[i] for i in values): result for values, result in left.items()}
    if draw.random() < 0.5:
        right[draw.choice(assignments)] ^= 1
    if len(set(left.values()) | set(right.values())) < 2 or set(left.values()) != set(right.values()):
        return
    exists = any(
        all(left[i, j] == right[images[i], images[j]] for i, j in assignments) for images in permutations(range(n))
    )
    pair = PairOfFunctions(formulas(variables, left), formulas(variables, right))
    reading = pair.isomorphism()
    assert (reading is not None) == exists
    if reading and "p" in reading:
        assert all(left[i, j] == right[reading["p"][i], reading["p"][j]] for i, j in assignments)


@pytest.mark.parametrize("n", [10, 20])
def test_orders_equality_and_successors_have_their_known_groups(n: int) -> None:
    variables = [variable("rank", column, n) for column in "ab"]

    def order(holds: Callable[[int, int], bool]) -> int:
        table = {(i, j): holds(i, j) for i in range(n) for j in range(n)}
        return symmetry_group(formulas(variables, table)).order

    assert order(lambda i, j: i < j) == 1
    assert order(lambda i, j: i == j) == math.factorial(n)
    assert order(lambda i, j: j == (i + 1) % n) == n
    assert order(lambda i, j: abs(i - j) == 1) == 2


def test_an_order_and_its_opposite_are_the_same_up_to_reversal() -> None:
    variables = [variable("rank", column, 20) for column in "ab"]
    less = {(i, j): i < j for i in range(20) for j in range(20)}
    more = {(i, j): j < i for i in range(20) for j in range(20)}
    pair = PairOfFunctions(formulas(variables, less), formulas(variables, more))
    assert pair.isomorphism() == {"rank": tuple(reversed(range(20)))}


def test_a_search_ends_at_its_deadline() -> None:
    variables = [variable("rank", column, 5) for column in "ab"]
    table = {(i, j): i < j for i in range(5) for j in range(5)}
    with pytest.raises(SearchLimitError, match="time limit"):
        symmetry_group(formulas(variables, table), deadline=Deadline.after(0))
