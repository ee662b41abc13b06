"""Perception of a sum: one trained instance of each network, and the responses of the tests that call it."""

from __future__ import annotations

import numpy as np

from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.perception import perceiving
from neuid3.learning.responses import ProbabilisticResponse, Response
from neuid3.tree.node_tests import NodeTest


def perceive(learner: NodeLearner) -> dict[NodeTest, Response]:
    """The tests with networks that the trees of a sum may ask, with P(τ | e) of every example.

    Every candidate whose networks are trained has responses; networks that came trained stay as they are. A test of one
    image whose own network is not trained is asked with one that is, where their architectures are the same.

    Parameters
    ----------
    learner : the learner of the single tree that has trained the networks; see `learn_perception`.

    Returns
    -------
    Responses by test; empty where no candidate calls a network.
    """
    learning = learner.network_learning
    if learning is None or learner.neural is None:
        return {}
    # Imported here, since a table without networks is learned without torch.
    from neuid3.learning.regrow import bindings

    inference, target = learner.inference, learner.sample.target
    trainable = [name for name in perceiving(inference) if not inference.instances[name].frozen]
    responses: dict[NodeTest, Response] = {}
    for test in learner.neural.tests:
        bound = bindings(test, trainable, learning.pretrainer.columns)
        probabilities = {one: inference.conditional((), one) for one in bound}
        if probabilities:
            best = max(probabilities, key=lambda one: target.gain(probabilities[one]))
            responses[best.standalone] = ProbabilisticResponse(probabilities[best].astype(np.float32))
    return responses
