"""How can a test with networks be asked without training? As it came, or through networks that were trained before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from torch import nn

from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.sample import Floats, Instance, ScoredCandidate, same_architecture
from neuid3.tree.criteria import gain_of
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.node_tests import AtomTest, NodeTest

# Through so many trained networks, or choices of them, a test is tried at most.
MOST_BOUND = 6

# Two columns that say the same are read with a few errors each. Tests that tell so many bits less than the best do as well.
BLUR = 0.5


class ReadySplitter:
    """Finds ways to ask a test as things are, and judges them; `adaptive` if networks may serve other tests too.

    What is counted like a fact must send a mass of `least` either way.
    """

    def __init__(self, exact: ExactInference, starts: NetworkInitializer, adaptive: bool, least: float) -> None:
        self.exact, self.sample, self.meaning = exact, exact.sample, exact.meaning
        self.starts, self.adaptive, self.least = starts, adaptive, least

    def untrained(self, test: NodeTest) -> list[str]:
        """The networks of a test that have no weights yet."""
        names = dict.fromkeys(look.network for look in self.meaning.looks(test))
        return [name for name in names if name not in self.exact.instances]

    def is_read(self, test: NodeTest) -> bool:
        """Is there a reader that can stand in for the network of this test?"""
        readers = [instance.module for instance in self.exact.instances.values() if instance.reader]
        untrained = self.untrained(test)
        if not readers or len(untrained) != 1:
            return False
        fresh = self.starts.shaped(next(look for look in self.meaning.looks(test) if look.network == untrained[0]))
        return any(same_architecture(reader, fresh) for reader in readers)

    def options(self, place: OpenNode, test: NodeTest) -> Iterator[ScoredCandidate]:
        """The test as it came where all its networks are trained; otherwise through those that can stand in."""
        looks, instances = self.meaning.looks(test), self.exact.instances
        held = [name for name in dict.fromkeys(look.network for look in looks) if name in instances]
        untrained = self.untrained(test)
        if not untrained:
            yield from self._judged(place, test, test, [instances[name] for name in held], looks)
        elif self.adaptive and isinstance(test, AtomTest):
            for chosen in self._bound(place, looks, untrained):
                bound = AtomTest(test.atom, tuple(sorted(zip(untrained, chosen, strict=True))))
                through = [instances[name] for name in (*chosen, *held)]
                yield from self._judged(place, test, bound, through, looks)

    def _bound(
        self, place: OpenNode, looks: Sequence[NetworkCall], untrained: Sequence[str]
    ) -> Iterator[tuple[str, ...]]:
        """Choices of trained networks for those that are not."""
        if len(untrained) == 1:
            fresh = self.starts.fresh(next(look for look in looks if look.network == untrained[0]))
            columns = frozenset(name for look in looks for name in look.inputs)
            yield from ((name,) for name in self._standing_in(place, untrained[0], fresh, columns))
        else:
            yield from islice(product(*(self._on_path(place, name) for name in untrained)), MOST_BOUND)

    def _standing_in(self, place: OpenNode, network: str, fresh: nn.Module, columns: frozenset[str]) -> list[str]:
        """Instances that could stand in for a network: those of its name on this path first, then others like it.

        Where a reader has not learned from these columns, those that have are not asked.
        """
        found = {n: i for n, i in self.exact.instances.items() if not i.frozen and same_architecture(i.module, fresh)}
        strangers = {n for n, i in found.items() if i.reader and not i.read & columns}
        biased = {n for n, i in found.items() if i.reader and strangers and n not in strangers}
        names = dict.fromkeys(self._on_path(place, network) + list(found)[::-1])
        return [name for name in names if name not in biased][:MOST_BOUND]

    def _on_path(self, place: OpenNode, network: str) -> list[str]:
        path = self.meaning.networks_on(place.path)
        return [n for n, i in self.exact.instances.items() if n in path and i.network == network]

    def _judged(
        self,
        place: OpenNode,
        asked: NodeTest,
        test: NodeTest,
        through: Sequence[Instance],
        looks: Sequence[NetworkCall],
    ) -> Iterator[ScoredCandidate]:
        columns = {name for look in looks for name in look.inputs}
        # A network that never saw these columns in training cannot have memorised them.
        fair = all(not (instance.read & columns) for instance in through)
        answers, weights, gain = self._answered(place, test, fair)
        mass, yes = float(weights.sum()), float(weights @ answers)
        if mass <= 0:
            return
        # What a reader says of columns it did not learn from is counted, and has to pay, as a fact does.
        if not fair or not all(instance.reader for instance in through):
            yield ScoredCandidate(test, gain, gain * mass, asked, True)
        elif min(yes, mass - yes) >= self.least:
            yield ScoredCandidate(test, gain, gain * mass, asked, False, blur=BLUR / mass)

    def _answered(self, place: OpenNode, test: NodeTest, by_all: bool) -> tuple[Floats, Floats, float]:
        """What a test says of examples that reach a place, of `all` or of unseen ones, their weights, and its gain."""
        labels, weights = self.sample.here(place)
        judged = slice(None) if by_all else self.sample.unseen[place.rows]
        weights = weights[judged]
        if weights.sum() <= 0:
            return weights, weights, 0.0
        answers = self.exact.conditional(place.path, test, place.rows[judged])
        return answers, weights, gain_of(answers, weights, labels[judged], self.sample.classes)

    def gain_on_unseen(self, place: OpenNode, test: NodeTest) -> float:
        """The gain of a test that can be asked on the examples that would judge a network trained for it."""
        return self._answered(place, test, not self.sample.unseen[place.rows].any())[2]
