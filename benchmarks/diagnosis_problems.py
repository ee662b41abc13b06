"""Learning problems that are sound, and problems with one fault each, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from neuid3.training.config import TrainingConfig

Rng = np.random.Generator
Array = Any

# Short training, which suits pictures of 8 × 8 pixels.
QUICK = TrainingConfig(
    epochs=20, batch_size=32, learning_rate=5e-3, augment=False, pretrain=False, rounds=0, joint_epochs=0
)

# A rule over two pictures, the digits that are shown, and the concept. All of them can be learned.
RULES: dict[str, tuple[str, tuple[int, ...], Callable[[Array, Array], Array]]] = {
    "follows": (
        "nn(digit_net, [I], D, [1, 2, 3]) :: digit(I, D).\nr(A, B) :- digit(A, X), digit(B, Y), Y =:= X mod 3 + 1.\n",
        (1, 2, 3),
        lambda a, b: b == a % 3 + 1,
    ),
    "equal": (
        "nn(digit_net, [I], D, [1, 2, 3]) :: digit(I, D).\nr(A, B) :- digit(A, X), digit(B, X).\n",
        (1, 2, 3),
        lambda a, b: a == b,
    ),
    "one_large": (
        "nn(large_net, [I]) :: large(I).\nr(A, B) :- large(A), \\+ large(B).\nr(A, B) :- \\+ large(A), large(B).\n",
        (1, 2, 3, 4),
        lambda a, b: (a > 2) != (b > 2),
    ),
}


@dataclass(frozen=True)
class Problem:
    """A table with targets, and how a tree is learned from it.

    Attributes
    ----------
    columns : the columns of the table.
    targets : the target of each row.
    parameters : of the estimator.
    numbers : whether the targets are numbers.
    """

    columns: dict[str, Array]
    targets: Array
    parameters: dict[str, Any] = field(default_factory=dict)
    numbers: bool = False


# Tables -------------------------------------------------------------------------------------------


def columns(rng: Rng, rows: int, numbers: int | None = None) -> dict[str, Array]:
    """Numbers, facts and a category, all independent."""
    numbers = int(rng.integers(2, 6)) if numbers is None else numbers
    table: dict[str, Array] = {
        f"n{i}": rng.normal(rng.uniform(-5, 50), rng.uniform(1, 9), rows) for i in range(numbers)
    }
    table |= {f"f{i}": rng.random(rows) < rng.uniform(0.3, 0.7) for i in range(int(rng.integers(0, 4)))}
    if rng.random() < 0.5:
        table["kind"] = rng.choice(["red", "green", "blue"], rows)
    return table


def concept(rng: Rng, table: dict[str, Array], noise: float) -> Array:
    """A class that depends on one or two columns: a threshold, or a threshold and another or a fact."""
    names = [str(name) for name in rng.permutation([n for n in table if n[0] == "n"])]
    first = table[names[0]] > np.quantile(table[names[0]], rng.uniform(0.35, 0.65))
    shape = rng.integers(3)
    second = table[names[1]] > np.quantile(table[names[1]], 0.3)
    truth = first if shape == 0 else first & second if shape == 1 else first | ~second
    return np.where(rng.random(len(truth)) < noise, ~truth, truth)


def sound_table(rng: Rng) -> Problem:
    rows = int(rng.integers(120, 300))
    table = columns(rng, rows)
    truth = concept(rng, table, rng.uniform(0, 0.15))
    if rng.random() < 0.3:  # three classes
        other = table["n0"] > np.quantile(table["n0"], 0.75)
        return Problem(table, np.where(other, "c", np.where(truth, "b", "a")))
    return Problem(table, np.where(truth, "yes", "no"))


def sound_numbers(rng: Rng) -> Problem:
    table = columns(rng, int(rng.integers(150, 300)))
    truth = concept(rng, table, 0.0)
    return Problem(table, truth * rng.uniform(2, 9) + rng.normal(0, 1, len(truth)), numbers=True)


def unrelated(rng: Rng) -> Problem:
    """Columns that have nothing to do with the target."""
    rows = int(rng.integers(100, 300))
    table = columns(rng, rows)
    kind = rng.integers(5)
    if kind == 0:
        return Problem(table, rng.normal(0, 1, rows), numbers=True)
    classes = ["a", "b", "c"] if kind == 1 else ["no", "yes"]
    return Problem(table, rng.choice(classes, rows))


def few_rows(rng: Rng) -> Problem:
    """A class of two to four rows."""
    rows = int(rng.integers(120, 300))
    table = columns(rng, rows)
    chosen = rng.choice(rows, int(rng.integers(2, 5)), replace=False)
    if rng.random() < 0.5:
        targets = np.full(rows, "healthy", dtype=object)
    else:
        targets = np.where(concept(rng, table, 0.1), "healthy", "tired").astype(object)
    targets[chosen] = "ill"
    return Problem(table, targets.astype(str))


def contradicting(rng: Rng) -> Problem:
    """Rows that are there twice, with different classes."""
    problem = sound_numbers(rng) if rng.random() < 0.2 else sound_table(rng)
    rows = len(problem.targets)
    copied = rng.choice(rows, int(rng.uniform(0.4, 1.0) * rows), replace=False)
    if problem.numbers:
        others = problem.targets[copied] + rng.choice([-1, 1], len(copied)) * 4 * problem.targets.std()
    else:
        names = np.unique(problem.targets)
        codes = np.searchsorted(names, problem.targets[copied])
        others = names[(codes + 1) % len(names)]
    table = {name: np.concatenate((values, values[copied])) for name, values in problem.columns.items()}
    return Problem(table, np.concatenate((problem.targets, others)), numbers=problem.numbers)


def constant_rule(rng: Rng) -> Problem:
    """A rule with a wrong constant, which is true of every row or of none, beside columns that tell nothing."""
    rows = int(rng.integers(120, 300))
    table = columns(rng, rows) | {
        "weight": rng.uniform(50, 110, rows),
        "height": rng.uniform(1.5, 2.0, rows),
        "age": rng.uniform(20, 80, rows).round(),
    }
    bmi = table["weight"] / table["height"] ** 2
    truth = [bmi > 28, table["age"] > 50, (bmi > 26) & (table["age"] > 40)]
    bodies = [
        ("weight / height ** 2 > 2800", "weight / height ** 2 > 0.28"),
        ("age > 500", "age > 5"),
        ("at_least(1, [weight / height ** 2 > 260, age > 400])", "at_least(1, [weight / height ** 2 > 2.6, age > 4])"),
    ]
    number, side = int(rng.integers(3)), int(rng.integers(2))
    targets = np.where(np.where(rng.random(rows) < 0.1, ~truth[number], truth[number]), "ill", "well")
    others = [name for name in table if name not in ("weight", "height", "age", "kind")]
    parameters = {"background": f"at_risk :- {bodies[number][side]}.\n", "tests": ["at_risk", *others]}
    return Problem(table, targets, parameters)


# Pictures -----------------------------------------------------------------------------------------

_DIGITS = load_digits()


def pictures(rng: Rng, digits: tuple[int, ...], rows: int) -> tuple[Array, Array]:
    """Pictures of these digits, 8 × 8 pixels from 0 to 1, and what they show."""
    drawn = rng.choice(np.flatnonzero(np.isin(_DIGITS.target, digits)), rows, replace=False)
    return (_DIGITS.images[drawn] / 16).astype(np.float32), _DIGITS.target[drawn]


def sound_picture(rng: Rng) -> Problem:
    digits = [(0, 1), (1, 2), (0, 7), (4, 6), (2, 5)][rng.integers(5)]
    images, shown = pictures(rng, digits, 160)
    return Problem({"picture": images}, shown, {"training": QUICK})


def pair(rng: Rng, name: str, rows: int = 200, **training: Any) -> Problem:
    """Two pictures in each row, and a rule about them."""
    background, digits, truth = RULES[name]
    (first, a), (second, b) = pictures(rng, digits, rows), pictures(rng, digits, rows)
    config = TrainingConfig(**{**QUICK.to_json(), **training})
    parameters = {"background": background, "tests": ["r(first, second)"], "training": config}
    return Problem({"first": first, "second": second}, np.where(truth(a, b), "yes", "no"), parameters)


def sound_pair(rng: Rng) -> Problem:
    return pair(rng, str(rng.choice(list(RULES))))


def unrelated_pair(rng: Rng) -> Problem:
    """Good pictures, and classes that have nothing to do with them."""
    problem = pair(rng, str(rng.choice(list(RULES))), restarts=2)
    return Problem(problem.columns, rng.permutation(problem.targets), problem.parameters)


def few_pictures(rng: Rng) -> Problem:
    """Two to four pictures of the second class."""
    problem = sound_picture(rng)
    names, codes = np.unique(problem.targets, return_inverse=True)
    second = np.flatnonzero(codes == 1)[: int(rng.integers(2, 5))]
    rows = np.sort(np.concatenate((np.flatnonzero(codes == 0), second)))
    return Problem({"picture": problem.columns["picture"][rows]}, names[codes[rows]], problem.parameters)


def bad_pictures(rng: Rng) -> Problem:
    """Pictures that are blank, all the same, almost without contrast, noise, or not those of their rows."""
    kind = rng.integers(5)
    problem = sound_picture(rng) if kind == 4 or rng.random() < 0.5 else sound_pair(rng)
    spoiled = {}
    for name, images in problem.columns.items():
        match kind:
            case 0:
                spoiled[name] = np.full_like(images, rng.random())
            case 1:
                spoiled[name] = np.repeat(images[:1], len(images), axis=0)
            case 2:
                spoiled[name] = (0.5 + 0.004 * rng.normal(size=images.shape)).astype(np.float32)
            case 3:
                spoiled[name] = rng.random(images.shape).astype(np.float32)
            case _:
                spoiled[name] = rng.permutation(images)
    return Problem(spoiled, problem.targets, problem.parameters)


def contradicting_pictures(rng: Rng) -> Problem:
    """Pictures that are there twice, with different classes."""
    problem = sound_picture(rng)
    rows = len(problem.targets)
    copied = rng.choice(rows, int(rng.uniform(0.5, 1.0) * rows), replace=False)
    images, names = problem.columns["picture"], np.unique(problem.targets)
    others = np.where(problem.targets[copied] == names[0], names[1], names[0])
    table = {"picture": np.concatenate((images, images[copied]))}
    return Problem(table, np.concatenate((problem.targets, others)), problem.parameters)


def stuck(rng: Rng) -> Problem:
    """A rule whose networks start on a saddle, almost uniform, and have one restart."""
    return pair(rng, ["follows", "one_large"][rng.integers(2)], sharpness=1.0, restarts=1)


# Each fault with the makers of its problems, in turn; and those of sound problems.
FAULTS: dict[str, tuple[Callable[[Rng], Problem], ...]] = {
    "no_candidate": (unrelated, unrelated, unrelated, unrelated_pair),
    "few_rows": (few_rows, few_rows, few_rows, few_pictures),
    "pictures_alike": (bad_pictures,),
    "contradicting_labels": (contradicting, contradicting, contradicting, contradicting_pictures),
    "constant_rule": (constant_rule,),
    "more_restarts": (stuck,),
}
SOUND = (sound_table, sound_table, sound_table, sound_numbers, sound_picture, sound_table, sound_table, sound_pair)
