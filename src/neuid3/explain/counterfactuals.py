"""What is the least that would have to be otherwise for another class to be the most probable one?

Two kinds of changes are asked for.

*Answers.* A forced test gives its answer for certain, wherever in the tree it is asked; all other tests keep their
(joint) probabilities, as if the forced one had been replaced by a constant. Answers that no world gives together, such as
`age > 60` and not `age > 40`, are never forced together.

*Facts.* A column or the reading of a network takes a value for certain; all other variables keep their probabilities, and
every test says what follows. The program's own probabilistic facts are not changed.

The class changes when another class is more probable than the predicted one by more than `CLEARLY`. Sets are tried by size,
so the first one found is a smallest one, and all sets of its size are compared. A set is only ever extended by what can
still matter: in a smallest set, something is asked on a way that the others leave open. That loses nothing (if nothing
in the rest of a set is asked on any way left open, the rest can be dropped).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from neuid3.circuits.conjunctions import SignedTest
from neuid3.explain.example_view import Floats, Scene, variables_in
from neuid3.explain.explanation import Change, Counterfactual, Reading
from neuid3.explain.probabilities import Odds
from neuid3.logic.formula import CellVariable, ChoiceVariable, Variable
from neuid3.logic.quoting import entry_text

# How much more probable another class must be, lest rounding decide.
CLEARLY = 1e-9

# How many sets of one size are tried at most.
TRIES = 100_000

# How many sets are weighed at a time.
BLOCK = 4096

# What is forced: a row for each set, a column for each slot; 0 leaves a slot as it is, other codes are its values.
Forced = npt.NDArray[np.int64]
Moves = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """One change: a slot, the code it takes, and the branches (by their place) that ask for it."""

    slot: int
    code: int
    asked_at: frozenset[int]


class Question(Protocol):
    """What may be changed, and what happens then."""

    moves: Sequence[Move]
    slots: int

    def reach(self, forced: Forced) -> Floats:
        """The probability of every place, `(set, place)`."""
        ...

    def possible(self, moves: Sequence[Move]) -> bool:
        """Can these changes be made together?"""
        ...

    def distance(self, moves: Sequence[Move]) -> tuple[float, ...]:
        """Among sets of one size, the one with the smallest distance is the nearest."""
        ...

    def change(self, move: Move) -> Change: ...


def smallest_change(scene: Scene, question: Question, predicted: int, most: int) -> Counterfactual:
    """The nearest of the smallest sets of at most `most` changes after which another class is the most probable."""
    if not _others(scene.leaves, predicted).any():
        return Counterfactual("impossible", 0)  # no leaf is for another class, so no mixture of leaves is
    sets: list[Moves] = [()]
    _, reached = _outcomes(scene, question, sets)
    for size in range(1, most + 1):
        grown = _grow(question, sets, reached)
        if grown is None:
            return Counterfactual("too many", size - 1)
        if not grown:
            return Counterfactual("impossible", size - 1)
        sets = grown
        classes, reached = _outcomes(scene, question, sets)
        changed = [(sets[i], classes[i]) for i in np.flatnonzero(_others(classes, predicted))]
        allowed = [(s, p) for s, p in changed if question.possible([question.moves[i] for i in s])]
        if allowed:
            return _nearest(scene, question, allowed)
    return Counterfactual("none", most)


def _outcomes(scene: Scene, question: Question, sets: Sequence[Moves]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """P(class) after each set of changes, `(set, class)`, and which places can then be reached, `(set, place)`."""
    classes, reached = [], []
    for start in range(0, len(sets), BLOCK):
        masses = question.reach(_forced(question, sets[start : start + BLOCK]))
        classes.append(masses[:, scene.leaf_places] @ scene.leaves)
        reached.append(masses > 0.0)
    return np.concatenate(classes), np.concatenate(reached)


def _others(classes: Floats, predicted: int) -> npt.NDArray[np.bool_]:
    """In which rows is another class clearly more probable than the predicted one?"""
    return np.asarray((classes > classes[:, [predicted]] + CLEARLY).any(axis=1))


def _grow(question: Question, sets: Sequence[Moves], reached: npt.NDArray[np.bool_]) -> list[Moves] | None:
    """Every set extended by one change that matters; None if they are too many."""
    grown: dict[Moves, None] = {}
    for moves, open_places in zip(sets, reached, strict=True):
        taken = {question.moves[i].slot for i in moves}
        still = frozenset(np.flatnonzero(open_places).tolist())
        for i, move in enumerate(question.moves):
            if move.slot not in taken and not still.isdisjoint(move.asked_at):
                grown[tuple(sorted((*moves, i)))] = None
        if len(grown) > TRIES:
            return None
    return list(grown)


def _forced(question: Question, sets: Sequence[Moves]) -> Forced:
    forced = np.zeros((len(sets), question.slots), dtype=np.int64)
    for row, moves in enumerate(sets):
        for i in moves:
            forced[row, question.moves[i].slot] = question.moves[i].code
    return forced


def _nearest(scene: Scene, question: Question, found: Iterable[tuple[Moves, Floats]]) -> Counterfactual:
    def rank(candidate: tuple[Moves, Floats]) -> tuple[tuple[float, ...], float, Moves]:
        moves, classes = candidate
        return question.distance([question.moves[i] for i in moves]), -float(classes.max()), moves

    moves, classes = min(found, key=rank)
    changes = tuple(question.change(question.moves[i]) for i in moves)
    winner = scene.tree.classes[int(classes.argmax())]
    return Counterfactual("found", len(moves), changes, winner, tuple(classes.tolist()))


class Answers:
    """Which answers of tests could be others? Slots are tests; code 1 is no, code 2 is yes.

    Of two sets the nearer one is that whose answers the tests would more probably give.
    """

    def __init__(self, scene: Scene, odds: Odds) -> None:
        self.scene, self.odds = scene, odds
        self.slots = len(scene.formulas)
        self.moves: Sequence[Move] = [
            Move(test, 1 + answer, scene.asked_at[test])
            for test in range(self.slots)
            for answer in (False, True)
            if self.odds.possible([(test, answer)]) and self.odds.probability([(test, answer)]) < 1.0
        ]
        # A place is a product of independent parts; products that begin alike are one. 0 is the empty product.
        parts: dict[frozenset[SignedTest], int] = {}
        products: dict[tuple[int, int], int] = {}
        self._ends: list[int] = []
        for place in scene.places:
            product = 0
            for part in odds.factors(place.path):
                key = (product, parts.setdefault(part, len(parts)))
                product = products.setdefault(key, len(products) + 1)
            self._ends.append(product)
        self._parts = [sorted(part) for part in parts]
        self._products = list(products)

    def reach(self, forced: Forced) -> Floats:
        given = [self._given(forced, part) for part in self._parts]
        masses = np.ones((len(self._products) + 1, len(forced)))
        for number, (product, part) in enumerate(self._products, 1):
            masses[number] = masses[product] * given[part]
        return masses[self._ends].T

    def _given(self, forced: Forced, part: Sequence[SignedTest]) -> Floats:
        """P(those answers of a part that are left to chance), and 0 where one is forced to be another."""
        codes = forced[:, [test for test, _ in part]]  # (set, answer)
        agrees = ((codes == 0) | (codes == [1 + answer for _, answer in part])).all(axis=1)
        masks, which = np.unique(codes == 0, axis=0, return_inverse=True)
        table = [
            self.odds.probability(a for a, free in zip(part, mask, strict=True) if free) for mask in masks.tolist()
        ]
        return np.where(agrees, np.array(table)[which.ravel()], 0.0)

    def possible(self, moves: Sequence[Move]) -> bool:
        return self.odds.possible(map(_answer, moves))

    def distance(self, moves: Sequence[Move]) -> tuple[float, ...]:
        return (-self.odds.probability(map(_answer, moves)),)

    def change(self, move: Move) -> Change:
        test, answer = _answer(move)
        name, otherwise = str(self.scene.tests[test]), self.odds.probability([(test, not answer)])
        now, then = ("false", "true") if answer else ("true", "false")
        text = f"{name} were {then} (it is {_with(now, otherwise)})"
        return Change(name, now, then, self.odds.probability([(test, answer)]), text)


def _answer(move: Move) -> SignedTest:
    return move.slot, move.code == 2


class Facts:
    """Which facts could be others? Slots are columns and readings of networks; code v + 1 is value v.

    Of two sets the nearer one contradicts fewer facts that are certain, then moves numbers across fewer cuts, then is
    the more probable one, as far as its values have a probability.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.variables: list[Variable] = [v for v in variables_in(scene.formulas) if not isinstance(v, ChoiceVariable)]
        self.slots = len(self.variables)
        self.moves: Sequence[Move] = [move for slot in range(self.slots) for move in self._moves(slot)]

    def _moves(self, slot: int) -> list[Move]:
        """Values that some test tells from the present one; of those that no test tells apart, the nearest."""
        variable = self.variables[slot]
        places, literals = self.scene.asked_at[variable], self.scene.literals_of[variable]
        alike: dict[tuple[bool, ...], list[int]] = {}
        for value in range(variable.size):
            alike.setdefault(tuple(value in values for values in literals), []).append(value)
        weights = self.scene.weights[variable]
        kept = [values for values in alike.values() if all(weights[value] < 1.0 for value in values)]
        return [Move(slot, 1 + min(values, key=lambda v: self._far(variable, v)), places) for values in kept]

    def _far(self, variable: Variable, value: int) -> tuple[float, float, float]:
        """Is a certain fact contradicted, how many cuts are crossed, how improbable is the value?"""
        weights = self.scene.weights[variable]
        crossed = abs(value - weights.index(1.0)) if isinstance(variable, CellVariable) and 1.0 in weights else 0
        chance = weights[value]
        return (0.0, crossed, -math.log(chance)) if chance > 0.0 else (1.0, crossed, 0.0)

    def reach(self, forced: Forced) -> Floats:
        codes = {variable: forced[:, slot] for slot, variable in enumerate(self.variables)}
        return self.scene.masses(codes, len(forced))

    def possible(self, moves: Sequence[Move]) -> bool:  # noqa: ARG002 - any value of one variable goes with any of another
        return True

    def distance(self, moves: Sequence[Move]) -> tuple[float, ...]:
        parts = [self._far(self.variables[move.slot], move.code - 1) for move in moves]
        return tuple(map(math.fsum, zip(*parts, strict=True)))

    def change(self, move: Move) -> Change:
        variable, value = self.variables[move.slot], move.code - 1
        named, reading = self.scene.names[variable], self.scene.readings[variable]
        now = _now(reading)
        cell = isinstance(variable, CellVariable)
        wanted = f"{named.phrases[value]} held" if cell else f"{named.name} were {named.values[value]}"
        chance = self.scene.weights[variable][value]
        return Change(named.name, now, named.values[value], chance, f"{wanted} (it is {now})")


def _now(reading: Reading) -> str:
    """What a fact is as things are."""
    if reading.missing:
        return "missing"
    if reading.number is not None:
        return entry_text(reading.number)
    value, probability = reading.values[0]
    return _with(value, probability)


def _with(value: str, probability: float) -> str:
    return value if probability >= 0.995 else f"{value} with {probability:.2f}"
