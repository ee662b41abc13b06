"""Constraints on the parameters of a classifier, and the training configuration that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from neuid3.errors import DataError
from neuid3.io.bank import Bank
from neuid3.learning.generators import CandidateGenerator
from neuid3.logic.sandbox import Limits
from neuid3.training.config import PAPER_TRAINING, TrainingConfig
from neuid3.tree.criteria import ClassCriterion

# The bits on unseen examples that a trained test must save, for each unit of `pruning`.
BITS_PER_PRUNING = 8 / 3

# Parameters that do not change the tree of a fit.
IRRELEVANT_TO_TREE = frozenset({"n_jobs", "device", "verbose", "limits", "time_limit"})

CONSTRAINTS: dict[str, Any] = {
    "background": [str],
    "networks": [dict, Mapping, None],
    "tests": [str, list, tuple, CandidateGenerator],
    "bank": [Bank, str, Path, None],
    "modes": [list, tuple, None],
    "recipe": [StrOptions({"default", "paper"})],
    "criterion": [str, ClassCriterion],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "min_mass": [Interval(Real, 0, None, closed="left")],
    "min_gain": [Interval(Real, 0, None, closed="left")],
    "pruning": [Interval(Real, 0, None, closed="left")],
    "epsilon": [Interval(Real, 0, 1, closed="left")],
    "max_candidates": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "pos_label": "no_validation",
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "epochs": [Interval(Integral, 1, None, closed="left"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
    "weight_decay": [Interval(Real, 0, None, closed="left"), None],
    "restarts": [Interval(Integral, 1, None, closed="left"), None],
    "joint_epochs": [Interval(Integral, 0, None, closed="left"), None],
    "sharpness": [Interval(Real, 0, None, closed="neither"), None],
    "loss": [StrOptions({"leaves", "branches"}), None],
    "one_cycle": ["boolean", None],
    "warm_starts": ["boolean"],
    "read_together": ["boolean"],
    "augment": ["boolean"],
    "time_limit": [Interval(Real, 0, None, closed="left"), None],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    "device": [str],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "limits": [Limits, None],
}


def training_config(parameters: Mapping[str, Any], classes: int) -> TrainingConfig:
    """The training configuration of a classifier's parameters; a parameter that is None keeps that of the recipe.

    Parameters
    ----------
    parameters : the parameters of the classifier by name.
    classes : how many classes there are.

    Raises
    ------
    DataError : where the paper's recipe is used with more than two classes.

    >>> training_config({"recipe": "paper", "epochs": 3, "restarts": None}, 2).epochs
    3
    """
    overrides = {field.name: parameters.get(field.name) for field in fields(TrainingConfig)}
    if parameters["recipe"] == "paper":
        if classes > 2:
            raise DataError(
                f"recipe='paper' is for two classes and y has {classes}; use recipe='default', which takes any number."
            )
        recipe = PAPER_TRAINING
    else:
        recipe = TrainingConfig() if parameters["augment"] else replace(TrainingConfig(), shift=0, warp=0.0)
    return replace(recipe, **{name: value for name, value in overrides.items() if value is not None})


def check_read_together(parameters: Mapping[str, Any]) -> None:
    """Raise a `DataError` where `read_together` contradicts another parameter."""
    if parameters["read_together"] and parameters["recipe"] == "paper":
        raise DataError("read_together=True is not part of recipe='paper'; leave one of them out.")
    if parameters["read_together"] and not parameters["warm_starts"]:
        raise DataError(
            "read_together=True shares networks between columns, which warm_starts=False forbids; leave one of them out."
        )
