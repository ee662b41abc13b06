"""Boosted sums: losses, stages, the number of stages by unseen examples, perception and fine-tuning."""

from neuid3.learning.boosting.boost import Boosting, BoostingSettings, boosted
from neuid3.learning.boosting.losses import LogisticLoss, Loss, SquaredLoss
from neuid3.learning.boosting.stages import (
    LeafReach,
    PlainStageGrower,
    StageConstraints,
    StageGrower,
    StageLimits,
)

__all__ = [
    "Boosting",
    "BoostingSettings",
    "LeafReach",
    "LogisticLoss",
    "Loss",
    "PlainStageGrower",
    "SquaredLoss",
    "StageConstraints",
    "StageGrower",
    "StageLimits",
    "boosted",
]
