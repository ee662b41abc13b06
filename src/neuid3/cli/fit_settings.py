"""Settings of the command `fit` that have no option of their own: fields of the training, parameters, trained networks."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError, NetworkError, ParameterError, did_you_mean
from neuid3.training.config import NAMED_TRAINING, TrainingConfig, changed_training

if TYPE_CHECKING:
    from neuid3.cli.fit_options import FitOptions

# Fields of the training that have an option, and their names among the options.
TRAINING_OPTIONS = {
    "restarts": "--restarts",
    "epochs": "--epochs",
    "learning_rate": "--learning-rate",
    "validation_fraction": "--validation-fraction",
    "shared": "--read-together",
}

# Parameters of the estimators that have an option, and those that cannot be written as text.
PARAMETER_OPTIONS = {
    "background": "--background",
    "bank": "--bank",
    "class_weight": "--class-weight",
    "leaves": "--leaf",
    "limits": "--limit",
    "max_depth": "--max-depth",
    "max_splits": "--max-splits",
    "modes": "--mode",
    "monotonic_cst": "--monotone",
    "n_estimators": "--trees",
    "n_jobs": "--jobs",
    "networks": "--network",
    "pos_label": "--pos-label",
    "pruning": "--pruning",
    "random_state": "--seed",
    "relations": "--relations",
    "tests": "--tests",
    "time_limit": "--time-limit",
    "training": "--training",
    "verbose": "--verbose",
}


def training_of(options: FitOptions) -> TrainingConfig:
    """How networks are trained: the named training, with the fields that the options change.

    Raises
    ------
    ParameterError : where a field is unknown, has an option of its own, or a value that it cannot have.
    """
    names = [entry for entry in options.training if "=" not in entry]
    for name in names:
        if name not in NAMED_TRAINING or len(names) > 1:
            raise ParameterError(
                f"--training {name} is no way to train networks; write one of {', '.join(NAMED_TRAINING)}, or FIELD=VALUE."
            )
    changes = _pairs("--training", options.training)
    known = [field.name for field in fields(TrainingConfig)]
    for name in changes:
        if name in TRAINING_OPTIONS:
            raise ParameterError(f"--training {name}=… has an option of its own; write {TRAINING_OPTIONS[name]}.")
        if name not in known:
            raise ParameterError(f"--training {name}=… is no field of the training.{did_you_mean(name, known)}")
    given = {
        "restarts": options.restarts,
        "epochs": options.epochs,
        "learning_rate": options.learning_rate,
        "validation_fraction": options.validation_fraction,
        "shared": options.shared or None,
    }
    changes |= {name: value for name, value in given.items() if value is not None}
    return changed_training(names[0] if names else "default", changes)


def parameters_of(options: FitOptions, kind: Any) -> dict[str, Any]:
    """The parameters of an estimator that `--parameter` gives.

    Parameters
    ----------
    options : the options.
    kind : the class of the estimator.

    Raises
    ------
    ParameterError : where the estimator has no such parameter, or it has an option of its own.
    """
    given = _pairs("--parameter", options.parameters)
    known = [name for name in kind().get_params(deep=False) if name not in PARAMETER_OPTIONS]
    for name in given:
        if name in PARAMETER_OPTIONS:
            raise ParameterError(f"--parameter {name}=… has an option of its own; write {PARAMETER_OPTIONS[name]}.")
        if name not in known:
            raise ParameterError(f"--parameter {name}=… is no parameter of {kind.__name__}.{did_you_mean(name, known)}")
    return given


def _pairs(option: str, given: Sequence[str]) -> dict[str, Any]:
    """Entries of the form NAME=VALUE; a value that is no Python literal is text."""
    pairs: dict[str, Any] = {}
    for entry in given:
        name, sign, text = entry.partition("=")
        if not sign and option == "--training":
            continue  # the name of a training
        if not sign or not name.strip() or not text.strip():
            raise ParameterError(f"{option} {entry} is incomplete; write {option} NAME=VALUE.")
        if name.strip() in pairs:
            raise ParameterError(f"{option} gives {name.strip()} twice; leave one of them out.")
        try:
            pairs[name.strip()] = literal_eval(_LITERALS.get(text.strip().lower(), text.strip()))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pairs[name.strip()] = text.strip()
    return pairs


_LITERALS: Mapping[str, str] = {"true": "True", "false": "False", "none": "None", "yes": "True", "no": "False"}


def trained_networks(options: FitOptions) -> dict[str, Any] | None:
    """Networks that come trained, by the names that the rules declare: those of other models, which run no code.

    Raises
    ------
    ParameterError, NetworkError : where an entry is incomplete, or a model has no such network, or several.
    """
    given: dict[str, Any] = {}
    for entry in options.networks:
        name, sign, source = entry.partition("=")
        if not sign or not name.strip() or not source.strip():
            raise ParameterError(f"--network {entry} is incomplete; write --network rank_net=cards.neuid3.")
        if name.strip() in given:
            raise ParameterError(f"--network gives {name.strip()} twice; leave one of them out.")
        given[name.strip()] = _network(name.strip(), source.strip())
    return given or None


def _network(name: str, source: str) -> Any:
    """The network of a model: `FILE` for the network of the same name, `FILE:OTHER` for another one."""
    from neuid3.estimators.loading import load_model
    from neuid3.tree.instance_names import plain_name

    path, _, other = source.rpartition(":") if ":" in source and not Path(source).exists() else (source, "", "")
    if Path(path).suffix.lower() in (".pt", ".pth", ".pkl", ".bin", ".ckpt"):
        raise DataError(
            f"--network {name}={source} is a file of PyTorch, which may run code when it is read; load it in Python, fit once "
            "with networks={…} and save the model, or give a model of neuid3."
        )
    networks, wanted = load_model(path).networks, other or name
    exact = [instance for instance in networks if instance == wanted]
    found = exact or [instance for instance in networks if plain_name(instance) == wanted]
    if not found:
        raise NetworkError(
            f"{path} has no network {wanted!r}; write --network {name}={path}:NETWORK."
            f"{did_you_mean(wanted, map(plain_name, networks))}"
        )
    if len(found) > 1:
        raise NetworkError(
            f"{path} has {len(found)} instances of {wanted!r}, {', '.join(found)}; name one, as in --network "
            f"{name}={path}:{found[0]}."
        )
    return networks[found[0]]
