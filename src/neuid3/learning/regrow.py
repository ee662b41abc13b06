"""Regrowing of a tree from the predictions of its networks, which are counted like facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.inference import ExactInference
from neuid3.learning.ready_splitter import MAX_BINDINGS
from neuid3.learning.responses import BooleanResponse, ProbabilisticResponse, Response
from neuid3.learning.sample import Floats, same_architecture
from neuid3.learning.shared_networks import MIN_COLUMNS, SharedNetworks
from neuid3.learning.splitter import best_candidate
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.training.train import is_clearly_worse
from neuid3.tree.criteria import Criterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Node, branches, paths


class Regrower:
    """A learner of nodes that takes the predictions of networks for facts; nothing is trained.

    A network cannot have memorised columns that it was not trained on, but those of a finished tree were trained on many.
    So a regrown tree has to be compared with the tree before on validation examples, see `is_worse`.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    symbolic : candidates without networks, and number columns.
    responses : tests with networks, and their responses for all examples.
    min_child_mass : the least mass of each child.
    offered : the candidates of each node, given those of all nodes.
    """

    def __init__(
        self,
        inference: ExactInference,
        symbolic: Candidates,
        responses: Mapping[NodeTest, Response],
        min_child_mass: float,
        offered: Callable[[OpenNode, Candidates], Candidates],
    ) -> None:
        self.inference, self.sample = inference, inference.sample
        self.network_responses = responses
        self.listed, self.offered = Candidates((*symbolic.tests, *responses), symbolic.numbers), offered
        self.symbolic = SymbolicSplitter(inference, self.listed, min_child_mass, responses)

    @property
    def root(self) -> OpenNode:
        """The root, with all examples."""
        return OpenNode.root(len(self.sample))

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.sample.criterion

    def leaf_statistics(self, node: OpenNode) -> Floats:
        """The statistics of the targets at a node, `(statistic,)`; all examples count."""
        return self.sample.target_at(node).sums()

    def best_split(self, node: OpenNode) -> Split | None:
        """The candidate with the highest gain."""
        best = best_candidate(list(self.symbolic.candidates(node, self.offered(node, self.listed))))
        if best is None:
            return None
        chosen, choices = best
        return Split(chosen.test, self._responses(node, chosen.test), chosen.gain, False, chosen.candidate, choices)

    def _responses(self, node: OpenNode, test: NodeTest) -> Floats:
        """Responses for the examples that reach a node; those of networks are as they were counted."""
        match self.network_responses.get(test):
            case BooleanResponse(column) | ProbabilisticResponse(column):
                return column[node.rows]
        certain = self.symbolic.certain_responses(node, test)
        return self.inference.conditional(node.path, test, node.rows) if certain is None else certain

    def is_worse(self, tree: Node, before: Node) -> bool:
        """Whether validation examples are clearly less likely under `tree` than under the tree `before`."""
        weights = self.sample.weights[self.sample.unseen]
        return is_clearly_worse(self._likelihoods(before), self._likelihoods(tree), weights)

    def _likelihoods(self, root: Node) -> Floats:
        """Log-likelihood of every validation example, `(example,)`, with leaves estimated from training examples."""
        target, unseen = self.sample.target, self.sample.unseen
        reach = self.inference.reach([path for path, _ in paths(root)])  # (example, leaf)
        training_weights = np.where(unseen, 0.0, target.weights)
        statistics = np.stack([target.weighted(training_weights * leaf).sums() for leaf in reach.T])
        return self.criterion.log_likelihoods(reach[unseen], statistics, target.values[unseen])


def network_responses(
    root: Node, shared_networks: SharedNetworks, candidates: Sequence[NodeTest]
) -> dict[NodeTest, Response]:
    """Tests that call the networks of a tree on all columns that these accept, with their responses for all examples.

    Empty where a test of the tree is more than one network call on one image, where there are too few such columns, or
    where there is no validation split.
    """
    inference, sample = shared_networks.inference, shared_networks.sample
    tests = dict.fromkeys(branch.test for branch in branches(root))
    calls = [shared_networks.single_image_call(test) for test in tests if inference.semantics.is_neural(test)]
    network_names = {call.network for call in calls if call is not None}
    networks = [name for name, instance in inference.instances.items() if name in network_names and not instance.frozen]
    calls_or_none = {test: shared_networks.single_image_call(test) for test in candidates}
    single_image_calls = {test: call for test, call in calls_or_none.items() if call is not None}
    bindings = {test: _bindings(test, call, networks, shared_networks) for test, call in single_image_calls.items()}
    columns = {
        call.inputs
        for test, call in single_image_calls.items()
        if call.network not in inference.instances and bindings[test]
    }
    if None in calls or len(columns) < MIN_COLUMNS or not 0 < sample.unseen.sum() < len(sample.unseen):
        return {}
    responses: dict[NodeTest, Response] = {}
    for test, call in single_image_calls.items():
        decisions = {bound: _decisions(inference, bound, call) for bound in bindings[test]}
        if decisions:
            gains = {bound: sample.target.gain(decided) for bound, decided in decisions.items()}
            best = max(gains, key=lambda bound: gains[bound])
            responses[best] = _as_response(decisions[best])
    return responses


def _bindings(
    test: NodeTest, call: NetworkCall, networks: Sequence[str], shared_networks: SharedNetworks
) -> list[NodeTest]:
    """A trained test itself; any other with the networks that can replace its own, first those trained on its column."""
    instances = shared_networks.inference.instances
    if call.network in instances:
        return [test]
    fresh = shared_networks.initializer.template(call)
    similar = [name for name in networks if same_architecture(instances[name].module, fresh)]
    preferred = sorted(similar, key=lambda name: not instances[name].trained_on.issuperset(call.inputs))[:MAX_BINDINGS]
    return [test.bind({call.network: name}) for name in similar if name in preferred]


def _decisions(inference: ExactInference, test: NodeTest, call: NetworkCall) -> Floats:
    """The likelier response of a network for every example; the probability of a yes where the image is missing."""
    responses = inference.conditional((), test)
    return np.where(inference.sample.examples.complete(call.inputs), responses > 0.5, responses)


def _as_response(responses: Floats) -> Response:
    """Boolean responses where all are certain, otherwise probabilistic ones."""
    certain = responses == 1.0
    return (
        BooleanResponse(certain)
        if bool((certain | (responses == 0.0)).all())
        else ProbabilisticResponse(responses.astype(np.float32))
    )
