"""Scores of neural tests that need no training: their networks are trained, or trained networks can replace them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from torch import nn

from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.sample import Floats, Instance, same_architecture
from neuid3.learning.splitter import ScoredCandidate
from neuid3.tree.criteria import Target
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall

# A test is scored with at most so many trained networks, or combinations of them.
MAX_BINDINGS = 6

# Networks classify two columns of equal content with a few errors each: candidates that are worse than the best by no more
# than so many bits count as equal.
TOLERANCE_BITS = 0.5


class ReadySplitter:
    """Scores tests with the networks that are trained so far.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    initializer : creates networks, to compare architectures.
    adaptive : whether trained networks may replace untrained ones of the same architecture.
    min_child_mass : the least mass of each child of a test that is counted like a fact.
    """

    def __init__(
        self, inference: ExactInference, initializer: NetworkInitializer, adaptive: bool, min_child_mass: float
    ) -> None:
        self.inference, self.sample, self.semantics = inference, inference.sample, inference.semantics
        self.initializer, self.adaptive, self.min_child_mass = initializer, adaptive, min_child_mass

    def untrained(self, test: NodeTest) -> list[str]:
        """The networks of a test that have not been trained."""
        names = dict.fromkeys(call.network for call in self.semantics.calls(test))
        return [name for name in names if name not in self.inference.instances]

    def has_shared_network(self, test: NodeTest) -> bool:
        """Whether a shared network can replace the only untrained network of this test."""
        modules = [instance.module for instance in self.inference.instances.values() if instance.is_shared]
        untrained = self.untrained(test)
        if not modules or len(untrained) != 1:
            return False
        fresh = self.initializer.template(
            next(call for call in self.semantics.calls(test) if call.network == untrained[0])
        )
        return any(same_architecture(module, fresh) for module in modules)

    def candidates(self, node: OpenNode, offered: Candidates) -> Iterator[ScoredCandidate]:
        """The scores of the tests with networks that are offered and that the path has not used up."""
        for test in offered.tests:
            if test not in node.used and self.semantics.is_neural(test):
                yield from self.scored(node, test)

    def scored(self, node: OpenNode, test: NodeTest) -> Iterator[ScoredCandidate]:
        """The test itself where all its networks are trained; otherwise with each choice of trained replacements."""
        candidate, test = test, self.inference.bound(test)
        if test.query is not None and not self.inference.is_small(node.path, test):
            return
        calls, instances = self.semantics.calls(test), self.inference.instances
        trained = [name for name in dict.fromkeys(call.network for call in calls) if name in instances]
        untrained = self.untrained(test)
        if not untrained:
            yield from self._scored(node, candidate, test, [instances[name] for name in trained], calls)
        elif self.adaptive:
            for chosen in self._bindings(node, calls, untrained):
                bound = test.bind(dict(test.instances) | dict(zip(untrained, chosen, strict=True)))
                instances_used = [instances[name] for name in (*chosen, *trained)]
                yield from self._scored(node, candidate, bound, instances_used, calls)

    def _bindings(
        self, node: OpenNode, calls: Sequence[NetworkCall], untrained: Sequence[str]
    ) -> Iterator[tuple[str, ...]]:
        """Choices of a trained instance for each untrained network."""
        if len(untrained) == 1:
            fresh = self.initializer.create(next(call for call in calls if call.network == untrained[0]))
            columns = frozenset(name for call in calls for name in call.inputs)
            yield from ((name,) for name in self._substitutes(node, untrained[0], fresh, columns))
        else:
            choices = [
                [
                    instance
                    for instance in self._on_path(node, name)
                    if all(self.inference.can_read(instance, call.inputs) for call in calls if call.network == name)
                ]
                for name in untrained
            ]
            yield from islice(product(*choices), MAX_BINDINGS)

    def _substitutes(self, node: OpenNode, network: str, fresh: nn.Module, columns: frozenset[str]) -> list[str]:
        """Instances that can replace a network: those of its name on this path first, then others of its architecture.

        Shared networks that were trained on these columns are left out where another one was not.
        """
        similar = {
            n: i for n, i in self.inference.instances.items() if not i.frozen and same_architecture(i.module, fresh)
        }
        unbiased = {n for n, i in similar.items() if i.is_shared and not i.trained_on & columns}
        biased = {n for n, i in similar.items() if i.is_shared and unbiased and n not in unbiased}
        on_path = [name for name in self._on_path(node, network) if self.inference.can_read(name, columns)]
        names = dict.fromkeys(on_path + list(similar)[::-1])
        return [name for name in names if name not in biased][:MAX_BINDINGS]

    def _on_path(self, node: OpenNode, network: str) -> list[str]:
        """Instances of a declared network that tests of this path call."""
        path = self.semantics.networks_on(node.path)
        return [n for n, i in self.inference.instances.items() if n in path and i.network == network]

    def _scored(
        self,
        node: OpenNode,
        candidate: NodeTest,
        test: NodeTest,
        instances_used: Sequence[Instance],
        calls: Sequence[NetworkCall],
    ) -> Iterator[ScoredCandidate]:
        """The score of a test, if examples reach the node and, where it is counted like a fact, both children."""
        columns = {name for call in calls for name in call.inputs}
        # A network that was not trained on these columns cannot have memorised them.
        is_unbiased = all(not (instance.trained_on & columns) for instance in instances_used)
        responses, target = self._responses(node, test, is_unbiased)
        mass, yes = float(target.weights.sum()), float(target.weights @ responses)
        if mass <= 0:
            return
        sides, criterion = target.sides(responses), target.criterion
        gain, bits = float(criterion.gain(*sides)), float(criterion.information_gain(*sides)) * mass
        # Predictions of a shared network for columns that it was not trained on are counted and penalised like facts.
        if not is_unbiased or not all(instance.is_shared for instance in instances_used):
            yield ScoredCandidate(test, gain, bits, candidate, True)
        elif min(yes, mass - yes) >= self.min_child_mass:
            yield ScoredCandidate(test, gain, bits, candidate, False, tolerance=TOLERANCE_BITS / mass)

    def _responses(self, node: OpenNode, test: NodeTest, on_all: bool) -> tuple[Floats, Target]:
        """Responses and targets of the examples that reach a node, all or those of the validation split."""
        rows = slice(None) if on_all else self.sample.unseen[node.rows]
        target = self.sample.target_at(node)[rows]
        if target.weights.sum() <= 0:
            return target.weights, target
        return self.inference.conditional(node.path, test, node.rows[rows]), target

    def validation_bits(self, node: OpenNode, test: NodeTest) -> float:
        """The information gain of a test on the validation examples that reach a node, or on all where there are none."""
        responses, target = self._responses(node, test, not self.sample.unseen[node.rows].any())
        return target.information_gain(responses)
