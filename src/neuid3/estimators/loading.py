"""Loading of saved estimators, trees and trained tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.data.derived import table_columns
from neuid3.errors import ModelFileError
from neuid3.estimators.forest_model import NeurosymbolicForest
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.estimators.sum_model import NeurosymbolicSum
from neuid3.io.container import SavedFile, read_container, reporting_damage
from neuid3.io.estimators import learned_from_json
from neuid3.io.forests import restore_forest
from neuid3.io.models import restore_model
from neuid3.io.sums import restore_sum
from neuid3.io.trained_tests import TrainedTest, restore_test
from neuid3.logic.sandbox import Limits

if TYPE_CHECKING:
    import torch

    from neuid3.estimators.boosting_estimator import BoostingEstimator
    from neuid3.estimators.forest_estimator import ForestEstimator
    from neuid3.estimators.tree_estimator import TreeEstimator

# The module and the class of each kind of estimator that a file may hold. They are imported where a file holds one, since
# scikit-learn takes seconds to import and a tree does not need it.
ESTIMATORS = {
    "classifier": ("neuid3.estimators.classifier", "NeuID3Classifier"),
    "regressor": ("neuid3.estimators.regressor", "NeuID3Regressor"),
    "forest classifier": ("neuid3.estimators.forest", "NeuID3ForestClassifier"),
    "forest regressor": ("neuid3.estimators.forest", "NeuID3ForestRegressor"),
    "boosting classifier": ("neuid3.estimators.boosting", "NeuID3BoostingClassifier"),
    "boosting regressor": ("neuid3.estimators.boosting", "NeuID3BoostingRegressor"),
}

# The kinds of files that hold a sum of trees, and those that hold a forest.
SUMS = ("sum", "boosting classifier", "boosting regressor")
FORESTS = ("forest", "forest classifier", "forest regressor")

# The kinds of files that hold a model without an estimator, and the class of the model.
MODELS = {"tree": "NeurosymbolicTree", "sum": "NeurosymbolicSum", "forest": "NeurosymbolicForest"}

AnyModel = NeurosymbolicTree | NeurosymbolicSum | NeurosymbolicForest


def load(
    path: Path | str,
    networks: Mapping[str, Callable[..., Any]] | None = None,
    *,
    limits: Limits | None = None,
    device: str | torch.device = "cpu",
) -> TreeEstimator | BoostingEstimator | ForestEstimator | AnyModel | TrainedTest:
    """The fitted estimator, tree, sum, forest or trained test that `save` has written. No code of the file is run.

    Parameters
    ----------
    path : the file.
    networks : for networks of classes that are not registered (see `neuid3.register`), functions that make one, by the
        names of the networks in the program.
    limits : the time, memory and circuit size that the file's background knowledge may take.
    device : where networks run, as torch names it.

    Returns
    -------
    What was saved: a fitted estimator, a tree, a sum of trees, a forest or a trained test.

    Raises
    ------
    ModelFileError : where the file is damaged, or written by a newer version.
    """
    path = Path(path)
    saved, kind = _read(path)
    if kind == "test":
        return restore_test(path, saved, networks or {}, device)
    with reporting_damage(path):
        model = _restored(saved, kind, networks or {}, limits, device)
        if kind in MODELS:
            return model
        estimator: type[Any] = _class_of(kind)
        if ("labels" in saved.fields) == (not model.classes):
            raise ValueError(f"it holds a {kind}, and its trees predict {'classes' if model.classes else 'numbers'}")
        restored: TreeEstimator | BoostingEstimator | ForestEstimator = estimator.restored(model, saved.fields)
        return restored


def _restored(
    saved: SavedFile,
    kind: str,
    networks: Mapping[str, Callable[..., Any]],
    limits: Limits | None,
    device: str | torch.device = "cpu",
) -> AnyModel:
    """The model of a file: a tree, a sum of trees, or a forest."""
    if kind in FORESTS:
        return restore_forest(saved, networks, NeurosymbolicForest, limits, device)
    if kind in SUMS:
        return restore_sum(saved, networks, NeurosymbolicSum, limits, device)
    return restore_model(saved, networks, NeurosymbolicTree, limits, device)


def _class_of(kind: str) -> Any:
    """The class of a kind of estimator."""
    module, name = ESTIMATORS[kind]
    return getattr(import_module(module), name)


def load_model(path: Path | str, *, limits: Limits | None = None) -> AnyModel:
    """The tree, sum or forest of a fitted estimator's file with its program, networks and priors, without the estimator.

    It predicts, explains and shows the same, and needs no scikit-learn.

    Parameters
    ----------
    path : a file that `save` of an estimator or `neuid3 fit` has written.
    limits : the time, memory and circuit size that the file's background knowledge may take.

    Raises
    ------
    ModelFileError : where the file is damaged, written by a newer version, or holds no estimator.
    """
    path = Path(path)
    saved, kind = _read(path)
    if kind not in ESTIMATORS:
        contents = {**MODELS, "test": "TrainedTest"}[kind]
        raise ModelFileError(f"{path} contains a {contents}, not a classifier or regressor; load it in Python.")
    with reporting_damage(path):
        model = _restored(saved, kind, {}, limits)
        learned_from_json(
            saved.fields, model.classes, len(table_columns(model.schema))
        )  # raises an error where it is damaged
        return model


def _read(path: Path) -> tuple[SavedFile, str]:
    """The content of a file, and the kind of thing that it holds: an estimator, a tree or a test."""
    saved = read_container(path)
    kind = saved.fields.get("kind")
    if kind not in ("test", *MODELS, *ESTIMATORS):
        raise ModelFileError(f"{path} holds a {kind!r:.40}, which this neuid3 does not know; upgrade neuid3.")
    return saved, str(kind)
