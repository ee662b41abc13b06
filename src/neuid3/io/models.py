"""Models in files: a tree with its program, networks, priors and training record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from neuid3.io.calibration import calibration_from_tensors, calibration_tensors, without_calibration
from neuid3.io.container import SavedFile, write_container
from neuid3.io.encoders import encoder_from_json, encoder_tensors, encoder_to_json
from neuid3.io.networks import NetworkFactories, networks_from_json, networks_to_json, tensors_of
from neuid3.io.record import record_from_json, record_tensors, record_to_json, without_record
from neuid3.io.serialize import (
    priors_from_json,
    priors_to_json,
    schema_from_json,
    schema_to_json,
    tree_from_json,
    tree_to_json,
)
from neuid3.logic.sandbox import Limits
from neuid3.tree.base_model import BaseModel
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import NodeTest
from neuid3.utils.json_values import as_count, as_list, as_text, as_texts

if TYPE_CHECKING:
    import torch

_Model = TypeVar("_Model", bound=TreeModel)
_AnyModel = TypeVar("_AnyModel", bound=BaseModel)


def save_model(model: TreeModel, path: Path | str, more: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
    """Write a model to one file.

    Parameters
    ----------
    model : the tree with its program, networks and priors.
    path : the file; an ending is added where there is none.
    more : further fields of the file, among them its `kind`.
    remember_rows : whether digests of the training rows are stored.

    Returns
    -------
    The path of the file.
    """
    fields = {**more, "tree": tree_to_json(model.tree)}
    return write_model(model, model.tree.tests, path, fields, remember_rows=remember_rows)


def write_model(
    model: BaseModel,
    tests: Sequence[NodeTest],
    path: Path | str,
    more: Mapping[str, Any],
    *,
    arrays: Mapping[str, Any] | None = None,
    remember_rows: bool = True,
) -> Path:
    """Write what every model has, and further fields, to one file.

    Parameters
    ----------
    model : the model with its program, networks and priors.
    tests : the tests that it asks.
    path : the file; an ending is added where there is none.
    more : further fields of the file: its `kind`, and its tree or trees.
    arrays : arrays of its trees, by names that no network has.
    remember_rows : whether digests of the training rows are stored.

    Returns
    -------
    The path of the file.
    """
    declared = {
        instance: next((n for n in names if instance.startswith(f"{n}#")), names[0])
        for instance, names in declared_names(tests).items()
    }
    networks = {name: model.networks[name] for name in sorted({network for network, _, _ in model.network_calls})}
    fields = {
        **more,
        "schema": schema_to_json(model.schema),
        "priors": priors_to_json(model.priors, model.columns_with_priors),
        "networks": networks_to_json(networks, declared),
        "precision": model.precision,
    }
    if model.candidates is not None:
        fields["candidates"] = list(model.candidates)
    if model.labelled_values:
        fields["labelled_values"] = {name: list(values) for name, values in sorted(model.labelled_values.items())}
    tensors: dict[str, Any] = {**tensors_of(networks), **(arrays or {})}
    if model.encoder is not None and networks:
        fields["encoder"] = encoder_to_json(model.encoder)
        tensors |= encoder_tensors(model.encoder)
    if model.training_record is not None:
        record = model.training_record if remember_rows else model.training_record.without_rows()
        fields["training_record"] = record_to_json(record)
        tensors |= record_tensors(record)
    tensors |= calibration_tensors(model.calibration)
    return write_container(Path(path), SavedFile(fields, model.program.text, tensors))


def restore_model(
    saved: SavedFile,
    factories: NetworkFactories,
    kind: type[_Model],
    limits: Limits | None = None,
    device: torch.device | str = "cpu",
) -> _Model:
    """The model of a saved file.

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
    tree = tree_from_json(saved.fields["tree"])
    return read_model(saved, factories, kind, tree, limits, device, leaves=len(tree.leaves))


def read_model(
    saved: SavedFile,
    factories: NetworkFactories,
    kind: type[_AnyModel],
    trees: Any,
    limits: Limits | None = None,
    device: torch.device | str = "cpu",
    *,
    leaves: int = 1,
    arrays: Collection[str] = (),
) -> _AnyModel:
    """The model of one tree, or of several, with what every file holds besides them.

    Parameters
    ----------
    saved : the content of the file.
    factories : functions that build networks of unregistered classes, by their declared names.
    kind : the class of the model.
    trees : what the model is made of, with `tests` and `classes`: a tree, or a sum of trees.
    limits : what grounding and compiling its program may take.
    device : the device of its networks.
    leaves : the number of leaf groups that its calibration may name.
    arrays : the names of arrays of its trees.

    Returns
    -------
    The model, as `kind`.
    """
    fields = saved.fields
    of_model = {name: tensor for name, tensor in saved.tensors.items() if name not in arrays}
    tensors = without_calibration(without_record(fields.get("training_record"), of_model))
    encoder, tensors, factories = encoder_from_json(fields.get("encoder"), tensors, factories)
    model: Any = kind
    model = model(
        trees,
        schema_from_json(fields["schema"]),
        background=saved.background,
        networks=networks_from_json(fields["networks"], tensors, factories, device, declared_names(trees.tests)),
        priors=priors_from_json(fields["priors"]),
        limits=limits,
        dtype=_precision(fields["precision"]),
        device=device,
    )
    model.training_record = record_from_json(fields.get("training_record"), saved.tensors, len(trees.classes))
    model.encoder = encoder
    if fields.get("candidates") is not None:
        model.candidates = tuple(as_texts(fields["candidates"]))
    model.labelled_values = _labelled_values(fields.get("labelled_values"), model)
    model.calibration = calibration_from_tensors(saved.tensors, leaves)
    restored: _AnyModel = model
    return restored


def _labelled_values(saved: Any, model: BaseModel) -> dict[str, tuple[int, ...]]:
    """The values that networks have learned from labels, checked against the networks of the model."""
    if saved is None:
        return {}
    if not isinstance(saved, dict):
        raise TypeError(f"its labelled values are {saved!r:.40}")
    sizes = {call.network: max(call.width, 2) for call in model.network_calls}
    labelled = {as_text(name): tuple(map(as_count, as_list(values))) for name, values in saved.items()}
    for name, values in labelled.items():
        if name not in sizes and name not in model.program.networks:
            raise ValueError(f"it has labels of a network {name!r:.40}, which the program does not have")
        if any(value >= sizes.get(name, 0) for value in values):
            raise ValueError(f"it has labels of values that {name!r:.40} does not have")
    return labelled


def _precision(name: Any) -> str:
    if name not in ("float32", "float64"):
        raise ValueError(f"its precision is {name!r:.40}")
    return str(name)


def declared_names(tests: Iterable[NodeTest]) -> dict[str, list[str]]:
    """The declared names of every network instance that tests call, in the order of the tests."""
    names: dict[str, dict[str, None]] = {}
    for test in tests:
        for name, instance in test.instances:
            names.setdefault(instance, {})[name] = None
    return {instance: list(declared) for instance, declared in names.items()}
