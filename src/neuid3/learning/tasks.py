"""What is to be trained for a test at a node? Fresh networks, and one that was trained before, on its examples."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.restarts import RestartVariants
from neuid3.learning.sample import Floats, ScoredCandidate
from neuid3.learning.semantics import variables_of
from neuid3.logic.formula import NeuralVariable
from neuid3.networks.defaults import sharpened
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.shared import RowSubset, SharedColumns
from neuid3.training.task import RestartVariant, Task
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.node_tests import AtomTest


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Examples at a node that networks learn from and are judged by."""

    place: OpenNode
    rows: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]


class TaskBuilder:
    """Makes tasks: a test, named after the networks it is to be trained with, and all that training needs."""

    def __init__(
        self,
        exact: ExactInference,
        starts: NetworkInitializer,
        manners: RestartVariants,
        stock: SharedColumns,
        recipe: TrainingConfig,
    ) -> None:
        self.exact, self.sample, self.meaning = exact, exact.sample, exact.meaning
        self.starts, self.manners, self.stock, self.recipe = starts, manners, stock, recipe
        self.lesson: TrainingRows | None = None

    def of(
        self,
        place: OpenNode,
        test: AtomTest,
        untrained: Sequence[str],
        ready: Sequence[ScoredCandidate],
        price: float,
        beaten: float = 0.0,
    ) -> tuple[AtomTest, Task] | None:
        """A task for a test whose networks are not all trained; None where there is nothing to be learned.

        `ready` are ways to start from, and `price` the bits that it must save in the end, beyond a gain to be `beaten`.
        """
        looks = self.meaning.looks(test)
        renamed = {network: f"{network}#{self.starts.number()}" for network in untrained}
        named = AtomTest(test.atom, tuple(sorted(renamed.items())))
        inputs = sorted({name for look in looks if look.network in renamed for name in look.inputs})
        lesson = self._lesson(place)
        if not self._teaches(lesson, [look for look in looks if look.network in renamed]):
            return None
        factored = self.meaning.sides(place.path, named)
        variables = variables_of(factored)
        new = {v for v in variables if isinstance(v, NeuralVariable) and v.network in renamed.values()}
        if not new:
            return None
        manners, modules = self._begun(place, test, inputs, _firsts(looks, untrained), ready)
        task = Task(
            factored,
            {v: self.meaning.use(v) for v in variables if v in new},
            self.exact.fixed([v for v in variables if v not in new], lesson.rows),
            RowSubset(self.stock, tuple(inputs), lesson.rows),
            lesson.labels,
            lesson.weights,
            lesson.unseen,
            self.sample.classes,
            self.sample.positive,
            tuple({renamed[network]: module for network, module in start.items()} for start in modules),
            self.recipe,
            self.starts.seed * 104_729 + self.starts.count,
            self.exact.device,
            variants=tuple(manners),
            min_gain=self._min_gain(place, lesson, price, beaten),
            missing=self.sample.missing(inputs, lesson.rows),
        )
        return named, task

    def _lesson(self, place: OpenNode) -> TrainingRows:
        """The candidates of a node share its examples, which are then sent once for all that are trained together."""
        sample, last = self.sample, self.lesson
        if last is None or last.place is not place:
            rows = np.flatnonzero(place.reach > 0)
            weights = (place.reach * sample.weights)[rows]
            last = self.lesson = TrainingRows(place, rows, sample.labels[rows], weights, sample.unseen[rows])
        return last

    def _teaches(self, lesson: TrainingRows, calls: Sequence[NetworkCall]) -> bool:
        """Can networks be called on examples of two classes, and on an unseen example, where some are kept apart?"""
        computable = np.any([self.sample.examples.complete(call.inputs)[lesson.rows] for call in calls], axis=0)
        witnesses = bool((lesson.unseen & computable).any()) or not self.sample.unseen.any()
        return len(np.unique(lesson.labels[~lesson.unseen & computable])) > 1 and witnesses

    def _begun(
        self,
        place: OpenNode,
        test: AtomTest,
        inputs: Sequence[str],
        looks: Sequence[NetworkCall],
        ready: Sequence[ScoredCandidate],
    ) -> tuple[list[RestartVariant], list[dict[str, nn.Module]]]:
        """The restarts: a manner for each, and the networks that they start from."""
        manners = self.manners.of(place, test, inputs)
        warm = ready and len(looks) == 1
        if warm:
            manners = manners[:1]  # a network that reads such images is there to start from
        modules = [{look.network: self._sharp(look, test) for look in looks} for _ in manners]
        if warm:
            best = max(ready, key=lambda option: option.gain).test
            assert isinstance(best, AtomTest)
            network = looks[0].network
            trained = self.exact.instances[dict(best.instances)[network]].module
            manners, modules = [RestartVariant(), *manners], [{network: copy.deepcopy(trained)}, *modules]
        return manners, modules

    def _sharp(self, look: NetworkCall, test: AtomTest) -> nn.Module:
        calls = [call for call in self.meaning.looks(test) if call.network == look.network]
        return sharpened(self.starts.fresh(look, calls), look.width, self.recipe.sharpness)

    def _min_gain(self, place: OpenNode, lesson: TrainingRows, price: float, beaten: float) -> float:
        """The gain that a restart must show whenever it is judged: half of what it needs in the end, where it is compared.

        At the root, where nothing else tells as much, it may take its time.
        """
        mass = float((place.reach * self.sample.weights)[lesson.rows[lesson.unseen]].sum())
        return beaten + price / mass / 2 if (place.path or beaten) and mass > 0 else -np.inf


def _firsts(looks: Sequence[NetworkCall], networks: Sequence[str]) -> list[NetworkCall]:
    """How each network looks first."""
    return [next(look for look in looks if look.network == network) for network in networks]
