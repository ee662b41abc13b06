"""Boosted sums in files: a sum with its program, networks, priors and training record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from neuid3.io.container import SavedFile
from neuid3.io.models import read_model, write_model
from neuid3.io.serialize import Json, labels_from_json, labels_to_json, nodes_from_json, nodes_to_json
from neuid3.logic.sandbox import Limits
from neuid3.tree.sum_model import SumModel
from neuid3.tree.sums import BoostedSum
from neuid3.utils.json_values import as_number

if TYPE_CHECKING:
    import torch

    from neuid3.io.networks import NetworkFactories

_Model = TypeVar("_Model", bound=SumModel)


def sum_to_json(boosted_sum: BoostedSum) -> Json:
    """The classes, F₀, learning rate and trees of a sum."""
    return {
        "classes": labels_to_json(boosted_sum.classes) if boosted_sum.classes else None,
        "initial": list(boosted_sum.initial),
        "learning_rate": boosted_sum.learning_rate,
        "trees": [nodes_to_json(root) for root in boosted_sum.trees],
    }


def sum_from_json(fields: Json) -> BoostedSum:
    """The inverse of `sum_to_json`."""
    classes = () if fields["classes"] is None else tuple(labels_from_json(fields["classes"]).tolist())
    trees = tuple(nodes_from_json(nodes) for nodes in fields["trees"])
    initial = tuple(map(as_number, fields["initial"]))
    return BoostedSum(trees, initial, classes, float(as_number(fields["learning_rate"])))


def save_sum(model: SumModel, path: Path | str, more: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
    """Write a sum with its program, networks and priors to one file.

    Parameters
    ----------
    model : the sum with its program, networks and priors.
    path : the file; an ending is added where there is none.
    more : further fields of the file, among them its `kind`.
    remember_rows : whether digests of the training rows are stored.

    Returns
    -------
    The path of the file.
    """
    fields = {**more, "sum": sum_to_json(model.boosted_sum)}
    return write_model(model, model.boosted_sum.tests, path, fields, remember_rows=remember_rows)


def restore_sum(
    saved: SavedFile,
    factories: NetworkFactories,
    kind: type[_Model],
    limits: Limits | None = None,
    device: torch.device | str = "cpu",
) -> _Model:
    """The model of a saved sum.

    Parameters
    ----------
    saved : the content of the file.
    factories : functions that build networks of unregistered classes, by their declared names.
    kind : the class of the model.
    limits : what grounding and compiling its program may take.
    device : the device of its networks.

    Returns
    -------
    The model, as `kind`.
    """
    return read_model(saved, factories, kind, sum_from_json(saved.fields["sum"]), limits, device)
