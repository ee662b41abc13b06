"""Regrowing of a tree from the predictions of its networks, which are counted like facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from neuid3.learning.candidates import Candidates
from neuid3.learning.column_pretraining import ColumnPretraining
from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.inference import ExactInference
from neuid3.learning.node_bounds import NodeBounds
from neuid3.learning.ready_splitter import MAX_BINDINGS
from neuid3.learning.responses import BooleanResponse, ProbabilisticResponse, Response
from neuid3.learning.sample import Floats, same_architecture
from neuid3.learning.splitter import best_candidate
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.tree.criteria import Criterion
from neuid3.tree.node_tests import NodeTest


class Regrower:
    """A learner of nodes that takes the predictions of networks for facts; nothing is trained.

    A network cannot have memorised columns that it was not trained on, but those of a finished tree were trained on many.
    So a regrown tree has to be compared with the tree before on validation examples.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    symbolic : candidates without networks, and number columns.
    responses : tests with networks, and their responses for all examples.
    min_child_mass : the least mass of each child.
    offered : the candidates of each node, given those of all nodes.
    bounds : what monotone constraints leave to the leaves.
    """

    def __init__(
        self,
        inference: ExactInference,
        symbolic: Candidates,
        responses: Mapping[NodeTest, Response],
        min_child_mass: float,
        offered: Callable[[OpenNode, Candidates], Candidates],
        bounds: NodeBounds | None = None,
    ) -> None:
        self.inference, self.sample, self.bounds = inference, inference.sample, bounds
        self.network_responses = responses
        self.listed, self.offered = replace(symbolic, tests=(*symbolic.tests, *responses)), offered
        self.symbolic = SymbolicSplitter(inference, self.listed, min_child_mass, responses)

    @property
    def root(self) -> OpenNode:
        """The root, with all examples."""
        return OpenNode.root(len(self.sample), self.bounds)

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.sample.growth_criterion

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


def network_responses(
    networks: Sequence[str], columns: ColumnPretraining, candidates: Sequence[NodeTest]
) -> dict[NodeTest, Response]:
    """Tests that call these networks, with their responses for all examples, counted like facts.

    A test calls the instances that its networks are bound to. One that is a single call of another network on an
    image calls those of the networks that can replace it; the one with the highest gain remains.

    Parameters
    ----------
    networks : the trained networks of a tree, by instance.
    columns : finds tests of a single image.
    candidates : the tests with networks.
    """
    inference, sample = columns.inference, columns.sample
    trainable = [name for name in networks if not inference.instances[name].frozen]
    responses: dict[NodeTest, Response] = {}
    for test in candidates:
        decisions = {bound: _decisions(inference, bound) for bound in bindings(test, trainable, columns)}
        if decisions:
            gains = {bound: sample.target.gain(decided) for bound, decided in decisions.items()}
            best = max(gains, key=lambda bound: gains[bound])
            responses[best] = _as_response(decisions[best])
    return responses


def bindings(test: NodeTest, networks: Sequence[str], columns: ColumnPretraining) -> list[NodeTest]:
    """A test whose networks are trained; one image's test with networks that can replace its own, those of its column first."""
    inference = columns.inference
    instances, bound = inference.instances, inference.bound(test)
    if all(call.network in instances for call in inference.semantics.calls(bound)):
        return [bound]
    call = columns.single_image_call(bound)
    if call is None:
        return []
    fresh = columns.initializer.template(call)
    similar = [name for name in networks if same_architecture(instances[name].module, fresh)]
    preferred = sorted(similar, key=lambda name: not instances[name].trained_on.issuperset(call.inputs))[:MAX_BINDINGS]
    return [test.bind({call.network: name}) for name in similar if name in preferred]


def _decisions(inference: ExactInference, test: NodeTest) -> Floats:
    """The likelier response of a test for every example; the probability of a yes where an image is missing."""
    responses = inference.conditional((), test)
    inputs = {name for call in inference.semantics.calls(test) for name in call.inputs}
    return np.where(inference.sample.examples.complete(inputs), responses > 0.5, responses)


def _as_response(responses: Floats) -> Response:
    """Boolean responses where all are certain, otherwise probabilistic ones."""
    certain = responses == 1.0
    return (
        BooleanResponse(certain)
        if bool((certain | (responses == 0.0)).all())
        else ProbabilisticResponse(responses.astype(np.float32))
    )
