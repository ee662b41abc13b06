"""Perception of many trees: networks that a single tree trains, once for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from neuid3.learning.checkpoint import Checkpoint
from neuid3.learning.fit import learn_tree
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.inference import ExactInference
from neuid3.learning.node_learner import NodeLearner
from neuid3.training.config import TrainingConfig

# Restarts of a network that many columns share. So many columns teach it the same thing; a second restart is for bad starts.
SHARED_RESTARTS = 2


def learn_perception(
    make: Callable[[TrainingConfig], NodeLearner],
    config: TrainingConfig,
    limits: GrowthLimits,
    checkpoint: Checkpoint | None = None,
    deadline: float = np.inf,
) -> NodeLearner:
    """A learner whose networks are trained by a single tree.

    Columns of images may each say too little for a network of their own, so that the tree has no test with networks. Then
    one network is trained on all columns of a kind, as with `TrainingConfig(shared=True)`: many trees can use what one cannot.
    No tree is grown from it, since the many trees are.

    Parameters
    ----------
    make : makes a learner with these settings of training.
    config : how networks are trained.
    limits : limits of the single tree.
    checkpoint : where finished nodes of that tree are saved, if anywhere.
    deadline : the time of `time.monotonic` from which on no node of it is split.

    Returns
    -------
    The learner, with the trained networks.
    """
    learner = make(config)
    if learner.network_learning is None or learner.neural is None:
        return learner
    learn_tree(learner, limits, checkpoint, deadline)
    if _has_trained(learner) or config.shared or time.monotonic() >= deadline:
        return learner
    sharing = make(replace(config, shared=True, restarts=min(config.restarts, SHARED_RESTARTS)))
    sharing.pretrain_by_columns()
    return sharing if _has_trained(sharing) else learner


def perceiving(inference: ExactInference) -> list[str]:
    """The instances that many trees may call: those of the single tree, those that came trained, and those of many columns.

    Parameters
    ----------
    inference : exact inference of the learner that `learn_perception` returned.
    """
    given = (name for name, instance in inference.instances.items() if instance.frozen or instance.is_shared)
    return sorted({*inference.bindings.values(), *given})


def _has_trained(learner: NodeLearner) -> bool:
    """Whether some network was trained, or came trained."""
    return bool(learner.inference.instances)
