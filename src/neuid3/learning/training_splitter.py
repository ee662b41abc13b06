"""Which tests with networks are worth asking at a node? Those that are ready are judged, others trained where it may pay."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.progress import SilentProgress
from neuid3.learning.ready_splitter import ReadySplitter
from neuid3.learning.sample import Instance, ScoredCandidate
from neuid3.learning.shared_networks import SharedNetworks
from neuid3.learning.tasks import TaskBuilder
from neuid3.training.halving import successive_halving
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.task import Task, TrainingResult
from neuid3.tree.criteria import entropy
from neuid3.tree.node_tests import AtomTest, NodeTest

# A test of the bank that tells this share of what is open at a node spares the training of others.
ENOUGH = 0.1

# Below a test of the bank, networks are trained where so many bits an example are open: an error in 13 is 0.4 of them.
SETTLED = 0.4

# Networks are trained where examples of a second class reach a node with this mass at least.
LESSONS = 8.0

# Of the tests that can be asked through a network trained before, so many are trained further: those whose answers tell
# most as they are. On two folds of five UCI tables as images more training changed no accuracy.
FURTHER = 2


class TrainingSplitter:
    """Tests with networks: `first` are those of the bank, and `price` the bits that a split through networks must save."""

    def __init__(
        self,
        exact: ExactInference,
        tests: Sequence[NodeTest],
        ready: ReadySplitter,
        tasks: TaskBuilder,
        readers: SharedNetworks,
        crew: WorkerPool,
        *,
        price: float,
        first: frozenset[NodeTest],
        told: SilentProgress,
    ) -> None:
        self.exact, self.sample = exact, exact.sample
        self.tests, self.every = tuple(tests), frozenset(tests)
        self.ready, self.tasks, self.readers, self.crew = ready, tasks, readers, crew
        self.price, self.first, self.told = price, first, told

    def options(self, place: OpenNode) -> tuple[list[ScoredCandidate], int]:
        """All that can be asked at a place, and how many gradient steps it took to find out."""
        ready = self._as_they_are(place)
        if not ready:  # a table of plain columns: what follows would look at every example once more
            return [], 0
        trained: list[ScoredCandidate] = []
        steps = 0
        if not self._is_served(place, ready) and not self._is_settled(place) and self._is_promising(place):
            if not place.path:
                before = len(self.exact.instances)
                steps = self._learn_to_read(place)
                ready = self._as_they_are(place) if len(self.exact.instances) > before else ready
            trained, more = self._train(place, ready)
            steps += more
        return [*(option for options in ready.values() for option in options), *trained], steps

    def _as_they_are(self, place: OpenNode) -> dict[NodeTest, list[ScoredCandidate]]:
        return {test: list(self.ready.options(place, test)) for test in self.tests if test in place.tests}

    def _learn_to_read(self, place: OpenNode) -> int:
        """Before anything is asked, let networks that may serve many columns learn from all of them; returns the steps."""
        readings = list(self.readers.readings([test for test in self.tests if test in place.tests]))
        names = [f"reading {len(reading.columns)} columns" for reading in readings]
        finished, steps = successive_halving(
            [reading.task for reading in readings],
            self.crew,
            lambda i, done, total: self.told.training(place, names[i], done, total),
        )
        for reading, trained in zip(readings, finished, strict=True):
            self.exact.keep(reading.reader(trained))
        return steps

    def _train(
        self, place: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]
    ) -> tuple[list[ScoredCandidate], int]:
        tasks: list[tuple[NodeTest, AtomTest, Task]] = []
        beaten = self._worth_training(place, ready)
        for test, gain in beaten.items():
            untrained = self.ready.untrained(test)
            if untrained and isinstance(test, AtomTest):
                made = self.tasks.of(place, test, untrained, () if gain else ready[test], self._price(place), gain)
                if made is not None:
                    tasks.append((test, *made))
        names = [str(test) for test, _, _ in tasks]
        finished, steps = successive_halving(
            [task for _, _, task in tasks],
            self.crew,
            lambda i, done, total: self.told.training(place, names[i], done, total),
        )
        options = [
            self._trained(place, test, named, task, trained, beaten[test])
            for (test, named, task), trained in zip(tasks, finished, strict=True)
            if trained is not None
        ]
        return [option for option in options if option is not None], steps

    def _worth_training(
        self, place: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]
    ) -> dict[NodeTest, float]:
        """Tests that nobody can ask yet, and the best of those that can be asked through a network trained before.

        Readers are good enough as they are. But images may be of another kind than they know: at the root, networks of
        their own have a try with each test, and must tell more than readers do. Returns the gain that is to be beaten.
        """
        read = {test for test in ready if self.ready.is_read(test)}
        best = {test: max(options, key=lambda option: option.gain) for test, options in ready.items() if options}
        further = set(sorted((test for test in best if test not in read), key=lambda test: -best[test].gain)[:FURTHER])
        price = self._price(place)
        worth = {}
        for test in ready:
            if test not in read and (test in further or test not in best):
                worth[test] = 0.0
            elif test in read and not place.path:
                told = test in best and best[test].bits >= price
                worth[test] = self.ready.gain_on_unseen(place, best[test].test) if told else 0.0
        return worth

    def _is_served(self, place: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]) -> bool:
        """Is there a test of the bank that is worth asking here as it is?"""
        masses = self.sample.masses(place.reach)
        return any(
            option.bits >= self._price(place) and option.gain >= ENOUGH * float(entropy(masses))
            for test, options in ready.items()
            if test in self.first
            for option in options
        )

    def _is_settled(self, place: OpenNode) -> bool:
        """Have tests of the bank left so little open here that networks would be trained for their errors only?"""
        by_bank = any(test in self.first for test, _ in place.path)
        return by_bank and float(entropy(self.sample.masses(place.reach))) < SETTLED

    def _is_promising(self, place: OpenNode) -> bool:
        """Is there something to learn from, and could a perfect test save the bits that a split must save?

        The examples that would judge it are those that count, and there must be some of a second class to train on.
        """
        sample = self.sample
        if not sample.unseen.any():
            return True
        taught = sample.masses(np.where(sample.unseen, 0.0, place.reach))
        if taught.sum() - taught.max() < LESSONS:
            return False
        open_masses = sample.masses(np.where(sample.unseen, place.reach, 0.0))
        return float(open_masses.sum() * entropy(open_masses)) >= self._price(place)

    def _price(self, place: OpenNode) -> float:
        """The bits that a trained test must save: those of a split, and those that say which of the tests it is."""
        tests = sum(test in place.tests for test in self.tests)
        return self.price + np.log2(max(tests, 1)) if self.price else 0.0

    def _trained(
        self, place: OpenNode, asked: NodeTest, named: AtomTest, task: Task, trained: TrainingResult, beaten: float
    ) -> ScoredCandidate | None:
        """What became of a test that was trained, as the unseen examples judge it; what was `beaten` saves no bits."""
        if trained.failed is not None:
            warnings.warn(f"Test '{asked}' was dropped at one node: {trained.failed}", UserWarning, stacklevel=2)
            return None
        judged = (
            task.unseen if bool((task.unseen & (task.weights > 0)).any()) else np.ones(len(task.labels), dtype=bool)
        )
        mass = float(task.weights[judged].sum())
        read = frozenset(name for output in task.outputs.values() for name in output.inputs) | self._read_before()
        declared = {instance: network for network, instance in named.instances}
        instances = {name: Instance(net, declared[name], read, False) for name, net in trained.networks.items()}
        # The best of many that were trained looks better than it is.
        bits = (trained.score - beaten) * mass - (self._price(place) - self.price)
        return ScoredCandidate(named, trained.score, bits, asked, bool(task.unseen.any()), instances=instances)

    def _read_before(self) -> frozenset[str]:
        """The columns that networks which can be started from have read."""
        instances = self.exact.instances.values()
        return frozenset(name for instance in instances if not instance.frozen for name in instance.read)
