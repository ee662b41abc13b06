"""Neural tests at a node: scores of those that are ready, training of others where it can improve the split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from neuid3.learning.candidates import Candidates
from neuid3.learning.canonical import CanonicalCandidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.pretraining import Pretrainer
from neuid3.learning.progress import SilentProgress
from neuid3.learning.ready_splitter import ReadySplitter
from neuid3.learning.sample import Instance
from neuid3.learning.splitter import ScoredCandidate
from neuid3.learning.tasks import TaskBuilder
from neuid3.training.halving import successive_halving
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.task import Task, TrainingResult
from neuid3.tree.node_tests import NodeTest

# No networks are trained where a test of the bank gains this fraction of the impurity at a node.
SUFFICIENT_FRACTION = 0.1

# Below a test of the bank, networks are trained where the entropy is at least this, in bits per example; one error in 13
# examples is 0.4 bits.
SETTLED_ENTROPY = 0.4

# Networks are trained where the training examples outside the majority have at least this mass.
MIN_MINORITY_MASS = 8.0

# Of the tests that trained networks can serve, so many are trained further: those with the highest gain without training.
# On two folds of five UCI tables as images more training changed no accuracy.
MAX_RETRAINED = 2


class TrainingSplitter:
    """Scores and trains neural tests.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    tests : the tests with networks that are known before the tree is grown; others may come up at nodes.
    ready : scores tests without training.
    tasks : builds training tasks.
    pretrainer : trains networks that many columns share, before the first split.
    pool : worker processes.
    penalty : the bits that a split with networks must save.
    bank_tests : tests of a bank, which are tried before others are trained.
    progress : receives reports.
    canonical : finds candidates that are equivalent to others; None where each is trained by itself.
    """

    def __init__(
        self,
        inference: ExactInference,
        tests: Sequence[NodeTest],
        ready: ReadySplitter,
        tasks: TaskBuilder,
        pretrainer: Pretrainer,
        pool: WorkerPool,
        *,
        penalty: float,
        bank_tests: frozenset[NodeTest],
        progress: SilentProgress,
        canonical: CanonicalCandidates | None = None,
    ) -> None:
        self.inference, self.sample = inference, inference.sample
        self.steps = 0  # gradient steps so far
        self._is_neural = dict.fromkeys(tests, True)
        self._open_tests: list[NodeTest] = []  # those of the node at hand
        self.ready, self.tasks, self.pretrainer, self.pool = ready, tasks, pretrainer, pool
        self.penalty, self.bank_tests, self.progress = penalty, bank_tests, progress
        self.canonical = canonical

    def candidates(self, node: OpenNode, offered: Candidates) -> list[ScoredCandidate]:
        """The tests with networks, scored with trained networks and, where it can improve the split, with new ones."""
        self._open_tests = self._neural_tests(node, offered)
        ready = self._ready_candidates(node)
        if not ready:  # a table without networks: what follows would pass over all examples once more
            return []
        trained: list[ScoredCandidate] = []
        if self._may_train(node, ready):
            if not node.path:
                is_pretrained = self.pretrainer.pretrain_by_columns(node, self._open_tests)
                self.steps += self.pretrainer.steps
                ready = self._ready_candidates(node) if is_pretrained else ready
            trained = self._train(node, ready)
        scored = [*(candidate for candidates in ready.values() for candidate in candidates), *trained]
        self.progress.compared(node, [(str(candidate.test), candidate.gain) for candidate in scored])
        return scored

    def trains_at(self, node: OpenNode, offered: Candidates) -> bool:
        """Whether networks are trained for this node: not where nothing can be gained, nor where a bank suffices."""
        self._open_tests = self._neural_tests(node, offered)
        ready = self._ready_candidates(node)
        return bool(ready) and self._may_train(node, ready)

    def _may_train(self, node: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]) -> bool:
        """Whether networks that are trained can improve the split of this node."""
        return not self._bank_suffices(node, ready) and not self._is_settled(node) and self._is_promising(node)

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The tests with networks that are known so far."""
        return tuple(test for test, is_neural in self._is_neural.items() if is_neural)

    def add(self, offered: Candidates) -> None:
        """Add tests that were not offered before to those that are known."""
        for test in offered.tests:
            if test not in self._is_neural:
                self._is_neural[test] = self.inference.semantics.is_neural(test)

    def _neural_tests(self, node: OpenNode, offered: Candidates) -> list[NodeTest]:
        """The tests with networks that are offered and that the path has not used up, of equivalent ones the first."""
        self.add(offered)
        tests = [test for test in offered.tests if self._is_neural[test] and test not in node.used]
        if not any(test.query is not None for test in tests):
            return tests if self.canonical is None else self.canonical.first_forms(tests)
        # A node has hundreds of queries. They are compared and compiled only where one of them can be worth a split.
        if not self._is_promising(node):
            return []
        if not any(self.ready.untrained(self.inference.bound(test)) for test in tests):
            return tests  # scores leave out those that are too large, one after the other
        small = [test for test in tests if test.query is None or self.inference.is_small(node.path, test)]
        return small if self.canonical is None else self.canonical.first_forms(small)

    def _ready_candidates(self, node: OpenNode) -> dict[NodeTest, list[ScoredCandidate]]:
        """The scores of each test that can be had without training."""
        return {test: list(self.ready.scored(node, test)) for test in self._open_tests}

    def _train(self, node: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]) -> list[ScoredCandidate]:
        """The scores of tests whose networks are trained for this node."""
        tasks: list[tuple[NodeTest, NodeTest, Task]] = []
        gains_to_beat = self.gains_to_beat(node, ready)
        for test, gain in gains_to_beat.items():
            bound = self.inference.bound(test)
            untrained = self.ready.untrained(bound)
            if untrained:
                built = self.tasks.build(node, bound, untrained, () if gain else ready[test], self._penalty(), gain)
                if built is not None:
                    tasks.append((test, *built))
        names = [str(test) for test, _, _ in tasks]
        finished, steps = successive_halving(
            [task for _, _, task in tasks],
            self.pool,
            lambda i, done, total: self.progress.training(node, names[i], done, total),
        )
        candidates = [
            self._scored(test, named, task, trained, gains_to_beat[test])
            for (test, named, task), trained in zip(tasks, finished, strict=True)
            if trained is not None
        ]
        self.steps += steps
        return [candidate for candidate in candidates if candidate is not None]

    def gains_to_beat(
        self, node: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]
    ) -> dict[NodeTest, float]:
        """The tests to train, each with the gain that it must beat, in bits per example.

        These are the tests that no trained network serves, and the best of those that one does. Shared networks are not
        trained further. But some images may differ from those that they were trained on: at the root, each of their
        tests is also trained with a network of its own, which must gain more than the shared network.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        ready : for each test of the node its scores with networks that are trained already.

        Returns
        -------
        The gain of each test that is to be trained; 0 where there is none to beat.
        """
        shared = {test for test in ready if self.ready.has_shared_network(test)}
        best = {test: max(scored, key=lambda candidate: candidate.gain) for test, scored in ready.items() if scored}
        is_bound = {test for test in ready if not self.ready.untrained(self.inference.bound(test))}
        served = sorted(
            (test for test in best if test not in shared and test not in is_bound), key=lambda test: -best[test].gain
        )
        retrained = set(served[:MAX_RETRAINED])
        penalty = self._penalty()
        gains = {}
        for test in ready:
            if test not in shared and (test in retrained or test not in best):
                gains[test] = 0.0
            elif test in shared and not node.path:
                is_informative = test in best and best[test].bits >= penalty
                gains[test] = self.ready.validation_bits(node, best[test].test) if is_informative else 0.0
        return gains

    def _bank_suffices(self, node: OpenNode, ready: Mapping[NodeTest, Sequence[ScoredCandidate]]) -> bool:
        """Whether a test of the bank is good enough at this node without training."""
        impurity = float(self.sample.criterion.impurity(self.sample.sums(node.reach)))
        return any(
            candidate.bits >= self._penalty() and candidate.gain >= SUFFICIENT_FRACTION * impurity
            for test, candidates in ready.items()
            if test in self.bank_tests
            for candidate in candidates
        )

    def _is_settled(self, node: OpenNode) -> bool:
        """Whether tests of the bank leave so little entropy here that networks would learn from their errors only."""
        by_bank = any(test in self.bank_tests for test, _ in node.path)
        return by_bank and float(self.sample.criterion.entropy(self.sample.sums(node.reach))) < SETTLED_ENTROPY

    def _is_promising(self, node: OpenNode) -> bool:
        """Whether a perfect test could save the bits that a split must save, and there are examples to train it on.

        The bits are those of the validation examples; the training examples must include some outside the majority.
        """
        sample, criterion = self.sample, self.sample.criterion
        if not sample.unseen.any():
            return True
        training = sample.sums(np.where(sample.unseen, 0.0, node.reach))
        if criterion.minority_mass(training) < MIN_MINORITY_MASS:
            return False
        validation = sample.sums(np.where(sample.unseen, node.reach, 0.0))
        return float(criterion.mass(validation) * criterion.entropy(validation)) >= self._penalty()

    def _penalty(self) -> float:
        """The bits that a trained test must save: those of a split, and log₂ of the number of tests to choose from."""
        return self.penalty + np.log2(max(len(self._open_tests), 1)) if self.penalty else 0.0

    def _scored(
        self,
        candidate: NodeTest,
        named: NodeTest,
        task: Task,
        trained: TrainingResult,
        gain_to_beat: float,
    ) -> ScoredCandidate | None:
        """The score of a trained test on validation examples; None where training failed.

        Only information gain above `gain_to_beat` saves bits.
        """
        if trained.failed is not None:
            warnings.warn(f"Test '{candidate}' was dropped at one node: {trained.failed}", UserWarning, stacklevel=2)
            return None
        weights = task.target.weights
        rows = task.unseen if bool((task.unseen & (weights > 0)).any()) else np.ones(len(weights), dtype=bool)
        mass = float(weights[rows].sum())
        columns = (
            frozenset(name for output in task.outputs.values() for name in output.inputs) | self._columns_trained_on()
        )
        declared = {instance: network for network, instance in named.instances}
        instances = {name: Instance(net, declared[name], columns, False) for name, net in trained.networks.items()}
        # The measured gain of the best of many trained tests is too high on average.
        bits = (trained.score - gain_to_beat) * mass - (self._penalty() - self.penalty)
        return ScoredCandidate(named, trained.gain, bits, candidate, bool(task.unseen.any()), instances=instances)

    def _columns_trained_on(self) -> frozenset[str]:
        """The columns that networks to start from were trained on."""
        instances = self.inference.instances.values()
        return frozenset(name for instance in instances if not instance.frozen for name in instance.trained_on)
