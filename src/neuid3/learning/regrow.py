"""Would the tree be another one, now that its networks can read? Grown once more, from what they read as from facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.inference import ExactInference
from neuid3.learning.ready_splitter import MOST_BOUND
from neuid3.learning.responses import BooleanResponse, ProbabilisticResponse, Response
from neuid3.learning.sample import Floats, best_candidate, same_architecture
from neuid3.learning.shared_networks import FEWEST, SharedNetworks
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.training.train import is_clearly_worse
from neuid3.tree.criteria import gain_of, leaf_estimate
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.tree import Node, branches, paths

# How many examples the shares of the classes are worth in a leaf, where trees are compared.
DOUBT = 2.0


class Regrower:
    """A learner of trees that takes what networks read for facts; nothing is trained.

    Networks that never saw a column cannot know it by heart, but those of a finished tree have seen many. So a tree that is
    grown from what they read must stand before examples which they have not seen.
    """

    def __init__(
        self,
        exact: ExactInference,
        plain: Sequence[NodeTest],
        numbers: Sequence[str],
        read: Mapping[NodeTest, Response],
        least: float,
    ) -> None:
        self.exact, self.sample = exact, exact.sample
        self.tests = frozenset((*plain, *read))
        self.read = read
        self.symbolic = SymbolicSplitter(exact, (*plain, *read), numbers, least, read)

    @property
    def root(self) -> OpenNode:
        return OpenNode.root(len(self.sample.labels), self.tests)

    def masses(self, place: OpenNode) -> Floats:
        """Σ P(κ|e) of each class: what was read is counted on all examples."""
        labels, masses = self.sample.here(place)
        return np.bincount(labels, masses, self.sample.classes)

    def best(self, place: OpenNode) -> Split | None:
        """The test that tells most about the class."""
        found = best_candidate(list(self.symbolic.options(place)))
        if found is None:
            return None
        option, among = found
        return Split(option.test, self._answers(place, option.test), option.gain, False, option.asked, among)

    def _answers(self, place: OpenNode, test: NodeTest) -> Floats:
        """What a test says of the examples that reach a place; what was read is no surer or less sure than it was counted."""
        match self.read.get(test):
            case BooleanResponse(column) | ProbabilisticResponse(column):
                return column[place.rows]
        said = self.symbolic.said(place, test)
        return self.exact.conditional(place.path, test, place.rows) if said is None else said

    def is_refused(self, tree: Node, before: Node) -> bool:
        """Do unseen examples clearly speak for the tree that was there before?"""
        weights = self.sample.weights[self.sample.unseen]
        return is_clearly_worse(self._likelihoods(before), self._likelihoods(tree), weights)

    def _likelihoods(self, root: Node) -> Floats:
        """log P(class | e) of every unseen example, by leaves that the other examples fill."""
        sample, unseen = self.sample, self.sample.unseen
        reach = self.exact.reach([path for path, _ in paths(root)])
        taught = np.where(unseen, 0.0, sample.weights)
        masses = np.stack([np.bincount(sample.labels, taught * share, sample.classes) for share in reach.T])
        counted = masses + DOUBT * np.array(leaf_estimate(masses.sum(0)))
        told = reach[unseen] @ (counted / counted.sum(1, keepdims=True))
        likelihoods: Floats = np.log(np.maximum(told[np.arange(len(told)), sample.labels[unseen]], 1e-12))
        return likelihoods


def network_responses(root: Node, readers: SharedNetworks, candidates: Sequence[NodeTest]) -> dict[NodeTest, Response]:
    """What the networks of a tree read in all columns that are like those they learned from.

    Nothing where some of them do more than read an image, where there are few columns to read, or nobody judges it.
    """
    exact, sample = readers.exact, readers.sample
    asked = [test for test in dict.fromkeys(branch.test for branch in branches(root)) if exact.meaning.is_neural(test)]
    looks = [readers.lone(test) for test in asked]
    asking = {look.network for look in looks if look is not None}
    networks = [name for name, instance in exact.instances.items() if name in asking and not instance.frozen]
    alone = {test: look for test in candidates if (look := readers.lone(test)) is not None}
    ways = {test: _ways(test, look, networks, readers) for test, look in alone.items()}
    columns = {look.inputs for test, look in alone.items() if look.network not in exact.instances and ways[test]}
    if None in looks or len(columns) < FEWEST or not 0 < sample.unseen.sum() < len(sample.unseen):
        return {}
    read: dict[NodeTest, Response] = {}
    for test, look in alone.items():
        said = {through: _likelier(exact, through, look) for through in ways[test]}
        if said:
            best = max(said, key=lambda way: gain_of(said[way], sample.weights, sample.labels, sample.classes))
            read[best] = _kept(said[best])
    return read


def _ways(test: NodeTest, look: NetworkCall, networks: Sequence[str], readers: SharedNetworks) -> list[NodeTest]:
    """A test that came trained as it is; any other through networks that can stand in for its own, those that read its column first."""
    instances = readers.exact.instances
    if look.network in instances or not isinstance(test, AtomTest):
        return [test]
    fresh = readers.starts.shaped(look)
    found = [name for name in networks if same_architecture(instances[name].module, fresh)]
    near = sorted(found, key=lambda name: not instances[name].read.issuperset(look.inputs))[:MOST_BOUND]
    return [AtomTest(test.atom, ((look.network, name),)) for name in found if name in near]


def _likelier(exact: ExactInference, test: NodeTest, look: NetworkCall) -> Floats:
    """What a network reads in every example: yes or no, and how probable a yes is where there is no image."""
    said = exact.conditional((), test)
    return np.where(exact.sample.examples.complete(look.inputs), said > 0.5, said)


def _kept(said: Floats) -> Response:
    certain = said == 1.0
    return (
        BooleanResponse(certain)
        if bool((certain | (said == 0.0)).all())
        else ProbabilisticResponse(said.astype(np.float32))
    )
