"""Trees of the experiments' settings, and their parameters under the names that result files have for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from neuid3 import Limits, NeuID3Classifier, NeuID3Regressor
from neuid3.training.config import TRAINING_RULES, changed_training, read_training

# Result files name every setting on one level. For those that are fields of `TrainingConfig` today: the name in a file, the
# field, and what a file says where the field has the value that the recipe gives it.
_FLAT: Mapping[str, tuple[str, Any]] = {
    "augment": ("augment", True),
    "batch_size": ("batch_size", None),
    "device": ("device", "cpu"),
    "epochs": ("epochs", None),
    "epsilon": ("min_reach", 0.001),
    "joint_epochs": ("joint_epochs", None),
    "learning_rate": ("learning_rate", None),
    "loss": ("loss", None),
    "one_cycle": ("one_cycle", None),
    "read_together": ("shared", False),
    "restarts": ("restarts", None),
    "sharpness": ("sharpness", None),
    "validation_fraction": ("validation_fraction", 0.2),
    "warm_starts": ("reuse", True),
    "weight_decay": ("weight_decay", None),
}

# The training in a result file: its names, and the attributes of `TrainingConfig` that have the values.
_TRAINING: Mapping[str, str] = {
    "loss": "loss",
    "epochs": "epochs",
    "batch_size": "batch_size",
    "learning_rate": "learning_rate",
    "one_cycle": "one_cycle",
    "weight_decay": "weight_decay",
    "shift": "max_shift",
    "restarts": "restarts",
    "joint_epochs": "joint_epochs",
    "joint_learning_rate": "joint_learning_rate",
    "enough": "max_steps",
    "sharpness": "sharpness",
    "warp": "max_warp",
}

_OMITTED = ("criterion", "tests", "leaves", "background", "random_state", "training")


AnyTree: TypeAlias = NeuID3Classifier | NeuID3Regressor


def classifier(settings: Mapping[str, Any], **more: Any) -> NeuID3Classifier:
    """The unfitted tree of some settings.

    Parameters
    ----------
    settings : the `recipe`, fields of `TrainingConfig` that replace those of the recipe, and parameters of the classifier.
    **more : further parameters of the classifier.
    """
    return NeuID3Classifier(**_parameters(settings), **more)


def regressor(settings: Mapping[str, Any], **more: Any) -> NeuID3Regressor:
    """The unfitted tree of some settings that predicts numbers; parameters as in `classifier`."""
    return NeuID3Regressor(**_parameters(settings), **more)


def _parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in settings.items() if name != "recipe" and name not in TRAINING_RULES}
    changes = {name: value for name, value in settings.items() if name in TRAINING_RULES}
    return {**own, "training": changed_training(settings["recipe"], changes)}


# The penalty that `pruning="auto"` stands for, by the class of the estimator.
PRUNING = {NeuID3Classifier: 0.75, NeuID3Regressor: 0.6}


def recorded_parameters(tree: AnyTree, recipe: str) -> dict[str, Any]:
    """All parameters of a tree by the names of result files; a parameter that the recipe sets is None.

    >>> recorded_parameters(NeuID3Classifier(), "default")["epsilon"]
    0.001
    """
    parameters = {name: value for name, value in tree.get_params(deep=False).items() if name not in _OMITTED}
    config, base = read_training(tree.training), read_training(recipe)
    flat = {
        name: default if getattr(config, field) == getattr(base, field) else getattr(config, field)
        for name, (field, default) in _FLAT.items()
    }
    candidates = (tree.limits or Limits()).max_candidates
    recorded = {**parameters, **flat, "recipe": recipe, "max_candidates": candidates}
    if recorded["pruning"] == "auto":  # the same wherever no number is cut, as in all experiments with these files
        recorded["pruning"] = PRUNING[type(tree)]
    return {name: recorded[name] for name in sorted(recorded) if isinstance(recorded[name], str | int | float | None)}


def recorded_training(tree: AnyTree) -> dict[str, Any]:
    """How the networks of a tree are trained, by the names of result files."""
    config = read_training(tree.training)
    return {name: getattr(config, attribute) for name, attribute in _TRAINING.items()}
