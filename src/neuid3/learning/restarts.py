"""How do the restarts of a test differ? Only in ways that can make a difference to it, likely ones first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from neuid3.circuits.reach import Reach
from neuid3.learning.candidates import shapes_of
from neuid3.learning.grow import OpenNode
from neuid3.learning.sample import Sample
from neuid3.learning.semantics import Semantics
from neuid3.logic.formula import Literal, NeuralVariable, Variable
from neuid3.training.config import TrainingConfig
from neuid3.training.task import RestartVariant
from neuid3.tree.node_tests import NodeTest

# At the root, so many restarts compete at least, however few tests there are; but no test has more than twice its restarts.
RESTARTS = 16


class RestartVariants:
    """Chooses in which manners a test is started; `tests` is how many tests are trained at the root."""

    def __init__(self, sample: Sample, meaning: Semantics, recipe: TrainingConfig, tests: int, device: str) -> None:
        self.sample, self.meaning, self.recipe, self.device = sample, meaning, recipe, device
        self.few = -(-RESTARTS // max(tests, 1))  # a single test must not hang on a few draws

    def of(self, place: OpenNode, test: NodeTest, inputs: Sequence[str]) -> list[RestartVariant]:
        """A manner for each restart of a test that is trained at a place, and whose networks read these columns."""
        ways = self._ways(place, test, inputs)
        restarts = self.recipe.restarts
        if restarts == 1:
            return ways[:1]
        # Of a rule's restarts only those can learn that take it to be true of the right class, and a single draw is luck.
        half = min(restarts, max(2, len(ways), restarts // 2))
        usual = half if self._is_network(test) else restarts
        if place.path:  # there are networks to start from, and fewer examples to tell restarts apart
            wanted = max(usual // 2, min(len(ways), -(-restarts // 2)))
        else:
            wanted = max(usual, min(self.few, 2 * restarts))
        return [ways[i % len(ways)] for i in range(wanted)]

    def _ways(self, place: OpenNode, test: NodeTest, inputs: Sequence[str]) -> list[RestartVariant]:
        shapes = [shape for shape in shapes_of(inputs, self.meaning.program.schema) if len(shape) == 3]
        sights = (False, True) if any(shape[0] == 3 for shape in shapes) else (False,)
        # A network that says yes or no can say the opposite by itself; a rule cannot.
        turns = (
            (False,) if self._is_network(test) else (False, True) if self._is_upright(place, test) else (True, False)
        )
        return [RestartVariant(flipped, warmup) for flipped in turns for warmup in sights]

    def _is_network(self, test: NodeTest) -> bool:
        """Does a test ask a network and nothing else?"""
        formula = self.meaning.formula(test)
        return isinstance(formula, Literal) and isinstance(formula.variable, NeuralVariable)

    def _is_upright(self, place: OpenNode, test: NodeTest) -> bool:
        """Is a rule about as often true, for networks that know nothing, as the positive class is met here?"""
        if self.recipe.loss == "branches" or self.sample.classes != 2:
            return True
        reach = Reach(self.meaning.sides((), test), torch.float64, self.device)
        chance = float(reach(_Clueless())[0, 0])
        masses = self.sample.masses(np.where(self.sample.unseen, 0.0, place.reach))
        share = float(masses[self.sample.positive] / max(masses.sum(), 1e-300))
        return abs(chance - share) <= abs(chance - (1.0 - share))


class _Clueless:
    """One example of which nothing is known: every value of every variable is as probable as any other."""

    def __len__(self) -> int:
        return 1

    def weights(self, variable: Variable) -> torch.Tensor:
        return torch.full((variable.size, 1), 1.0 / variable.size, dtype=torch.float64)
