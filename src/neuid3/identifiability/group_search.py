"""The best element of a group of value permutations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from neuid3.identifiability.symmetries import Deadline, Reading, SymmetryGroup

Floats = npt.NDArray[np.float64]

# A reading must make the labels more likely by so many nats, more than rounding.
MIN_GAIN = 1e-6

# At most so many cosets of a group are gone through; larger groups are searched by steps.
MAX_COSETS = 2000

# The steps of that search, and the number of its starts besides the identity.
MAX_PERMUTATIONS, STARTS = 500, 8

# What decides between readings that labels do not tell apart: as many values as possible keep their names.
_TIE = 1e-9

# The cost of an assignment that is not allowed, far above any log-likelihood.
_FORBIDDEN = 1e12


class GroupSearch:
    """The element of a group of value permutations with the highest score.

    Permutations within classes of interchangeable values form a subgroup, in which an assignment problem finds the best
    element; so one element of each of its cosets is gone through. Of a group with too many cosets, a search by steps
    finds a good element, which need not be the best.

    Parameters
    ----------
    group : the group.
    classes : for each network its values in classes, any permutation of which is in the group.
    deadline : the time by which the search must end.
    """

    def __init__(
        self, group: SymmetryGroup, classes: Mapping[str, tuple[frozenset[int], ...]], deadline: Deadline
    ) -> None:
        self.names, self.deadline = sorted(group.sizes), deadline
        self.classes = {name: [sorted(members) for members in classes[name]] for name in self.names}
        self.class_of = {
            name: {value: number for number, members in enumerate(self.classes[name]) for value in members}
            for name in self.names
        }
        self.identity: Reading = {name: tuple(range(size)) for name, size in group.sizes.items()}
        self.generators = [
            generator for generator in group.generators if self._coset(generator) != self._coset(self.identity)
        ]
        self.representatives, self.complete = self._closure(self.generators, [self.identity], _composed, MAX_COSETS)

    def _coset(self, permutation: Reading) -> Hashable:
        """Equal for permutations that differ by a permutation within classes."""
        return tuple(tuple(self.class_of[name][image] for image in permutation[name]) for name in self.names)

    def _closure(
        self,
        generators: Iterable[Reading],
        start: Iterable[Reading],
        step: Callable[[Reading, Reading], Reading],
        most: int,
    ) -> tuple[list[Reading], bool]:
        """All cosets that steps lead to from the start, by one element each; and whether there are no more."""
        steps = list(generators)
        known = {self._coset(permutation): permutation for permutation in start}
        waiting = list(known.values())
        while waiting:
            self.deadline.check()
            current = waiting.pop()
            for generator in steps:
                following = step(generator, current)
                key = self._coset(following)
                if key not in known:
                    if len(known) == most:
                        return list(known.values()), False
                    known[key] = following
                    waiting.append(following)
        return list(known.values()), True

    def best(self, scores: Mapping[str, Floats]) -> tuple[Reading, float]:
        """The permutation with the highest sum of scores, and this sum.

        Parameters
        ----------
        scores : for each network the score of reading each value as another, `(value, image)`; -inf where it may not be.
            Networks that the group does not know keep their values.

        Returns
        -------
        The image of each value of each network of the group, and the sum over all networks.
        """
        others = sum(float(of_network.trace()) for name, of_network in scores.items() if name not in self.identity)
        candidates = self.representatives if self.complete else self._climbed(scores)
        found = max((self._in_coset(permutation, scores) for permutation in candidates), key=lambda pair: pair[1])
        # The identity comes first among equals, since `max` returns the first and the closure starts with it.
        return found[0], found[1] + others

    def _in_coset(self, permutation: Reading, scores: Mapping[str, Floats]) -> tuple[Reading, float]:
        """The best permutation that differs from this one within classes, and its score."""
        total, chosen = 0.0, {}
        for name in self.names:
            images = np.array(permutation[name])
            for members in (members for members in self.classes[name] if len(members) > 1):
                rows = np.flatnonzero(np.isin(images, members))
                kept = images[rows][:, None] == np.array(members)
                assignment, _ = best_assignment(scores[name][rows][:, members] + _TIE * kept)
                images[rows] = np.array(members)[assignment]
            total += float(scores[name][np.arange(len(images)), images].sum())
            chosen[name] = tuple(images.tolist())
        return chosen, total

    def _climbed(self, scores: Mapping[str, Floats]) -> list[Reading]:
        """Permutations that no step improves, from the identity and some random elements."""
        steps, _ = self._closure(self.generators, self.generators, _conjugate, MAX_PERMUTATIONS)
        random = np.random.default_rng(0)
        starts = [self.identity]
        for _ in range(STARTS):
            start = self.identity
            for number in random.integers(len(steps), size=2 * len(self.names) + 8):
                start = _composed(steps[number], start)
            starts.append(start)
        return [self._top(start, steps, scores) for start in starts]

    def _top(self, start: Reading, steps: Iterable[Reading], scores: Mapping[str, Floats]) -> Reading:
        current, height = self._in_coset(start, scores)
        while True:
            self.deadline.check()
            neighbours = (self._in_coset(_composed(step, current), scores) for step in steps)
            best, score = max(neighbours, key=lambda pair: pair[1])
            if not score > height + MIN_GAIN:
                return current
            current, height = best, score


def _composed(second: Reading, first: Reading) -> Reading:
    """First one permutation, then the other."""
    return {name: tuple(second[name][image] for image in images) for name, images in first.items()}


def _conjugate(by: Reading, permutation: Reading) -> Reading:
    """The permutation with its values renamed by another."""
    inverse = {name: tuple(np.argsort(images).tolist()) for name, images in by.items()}
    return _composed(by, _composed(permutation, inverse))


def best_assignment(scores: Floats) -> tuple[npt.NDArray[np.int64], float]:
    """The permutation with the highest sum of scores, `(value,)`, and this sum."""
    from scipy.optimize import linear_sum_assignment  # it takes a second to import

    _, columns = linear_sum_assignment(np.where(np.isneginf(scores), -_FORBIDDEN, scores), maximize=True)
    return columns, float(scores[np.arange(len(scores)), columns].sum())
