"""Constraints on the parameters of the estimators."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from neuid3.io.bank import Bank
from neuid3.learning.generators import CandidateGenerator
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, NumberCriterion

# Parameters that do not change the tree of a fit; the fields of `training` count one by one.
# An encoder counts by its weights.
IRRELEVANT_TO_TREE = frozenset({"encoder", "n_jobs", "verbose", "limits", "time_limit", "training", "training__device"})

SHARED_CONSTRAINTS: dict[str, Any] = {
    "background": [str],
    "networks": [dict, Mapping, None],
    "tests": [str, list, tuple, CandidateGenerator],
    "bank": [Bank, str, Path, None],
    "modes": [list, tuple, None],
    "leaves": [list, tuple, None],
    "training": [str, TrainingConfig],
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "min_mass": [Interval(Real, 0, None, closed="left")],
    "min_gain": [Interval(Real, 0, None, closed="left")],
    "pruning": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "time_limit": [Interval(Real, 0, None, closed="left"), None],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "limits": [Limits, None],
    "monotonic_cst": [dict, Mapping, "array-like", None],
    "interaction_cst": [StrOptions({"pairwise", "no_interactions"}), list, tuple, set, frozenset, None],
    "relations": [dict, Mapping, None],
    "encoder": "no_validation",
}

CLASSIFIER_CONSTRAINTS: dict[str, Any] = {
    **SHARED_CONSTRAINTS,
    "criterion": [str, ClassCriterion],
    "pos_label": "no_validation",
    "class_weight": [StrOptions({"balanced"}), dict, None],
}

REGRESSOR_CONSTRAINTS: dict[str, Any] = {**SHARED_CONSTRAINTS, "criterion": [str, NumberCriterion]}
