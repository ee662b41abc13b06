"""Loading of saved classifiers, trees and trained tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.errors import ModelFileError
from neuid3.estimators.classifier import NeuID3Classifier
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.io.container import read_container, reporting_damage
from neuid3.io.models import restore_model
from neuid3.io.trained_tests import TrainedTest, restore_test
from neuid3.logic.sandbox import Limits

if TYPE_CHECKING:
    import torch


def load(
    path: Path | str,
    networks: Mapping[str, Callable[..., Any]] | None = None,
    *,
    limits: Limits | None = None,
    device: str | torch.device = "cpu",
) -> NeuID3Classifier | NeurosymbolicTree | TrainedTest:
    """The fitted classifier, tree or trained test that `save` has written. No code of the file is run.

    Parameters
    ----------
    path : the file.
    networks : for networks of classes that are not registered (see `neuid3.register`), functions that make one, by the
        names of the networks in the program.
    limits : the time, memory and circuit size that the file's background knowledge may take.
    device : where networks run, as torch names it.

    Raises
    ------
    ModelFileError : where the file is damaged, or written by a newer version.
    """
    path = Path(path)
    saved = read_container(path)
    kind = saved.fields.get("kind")
    if kind == "test":
        return restore_test(path, saved, networks or {}, device)
    if kind not in ("tree", "classifier"):
        raise ModelFileError(f"{path} holds a {kind!r:.40}, which this neuid3 does not know; upgrade neuid3.")
    with reporting_damage(path):
        model = restore_model(saved, networks or {}, NeurosymbolicTree, limits, device)
        return model if kind == "tree" else NeuID3Classifier.restored(model, saved.fields)
