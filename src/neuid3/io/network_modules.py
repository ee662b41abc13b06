"""Networks as torch modules: the registry of their classes, and networks built from the fields of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from neuid3.encoders.pretrained import PretrainedEncoder
from neuid3.errors import ModelFileError, NetworkError
from neuid3.io.container import Tensors
from neuid3.io.serialize import Json
from neuid3.networks.defaults import Dense, LeNet
from neuid3.networks.reordering import ReorderedOutputs
from neuid3.networks.residual import PictureFeatures, ResidualNet
from neuid3.networks.series import SeriesNet
from neuid3.networks.vectors import VectorNet

_REGISTRY: dict[str, type[nn.Module]] = {
    network.__name__: network
    for network in (LeNet, ResidualNet, Dense, SeriesNet, VectorNet, PictureFeatures, PretrainedEncoder)
}


def register(network: type[nn.Module]) -> type[nn.Module]:
    """Register a class of networks, so that its networks are loaded without a factory; also as a decorator.

    Parameters
    ----------
    network : the class; its instances have an attribute `settings`, the keyword arguments of their constructor as JSON.

    Returns
    -------
    The class.

    Raises
    ------
    NetworkError
        Where it is no class of networks, or another class of this name is registered.
    """
    if not (isinstance(network, type) and issubclass(network, nn.Module)):
        raise NetworkError(f"{network!r} is not a class of networks; register a subclass of torch.nn.Module.")
    if _REGISTRY.get(network.__name__, network) is not network:
        raise NetworkError(f"Another class called {network.__name__!r} is registered; give this one another name.")
    _REGISTRY[network.__name__] = network
    return network


def network_to_json(network: Any, declared: str) -> Json:
    """The declared name and class of a network, and its constructor arguments where its class is registered."""
    if isinstance(network, ReorderedOutputs):
        return {**network_to_json(network.network, declared), "order": list(network.order)}
    kind = type(network).__name__
    if not isinstance(network, nn.Module):
        return {"declared": declared, "class": kind, "function": True}
    fields: Json = {"declared": declared, "class": kind}
    if _REGISTRY.get(kind) is type(network):
        fields["settings"] = dict(network.settings)  # type: ignore[arg-type]
    return fields


def build_network(fields: Json, parameters: Tensors, factory: Any, device: str | torch.device) -> Any:
    declared = fields["declared"]
    if fields.get("function"):
        if factory is None:
            raise ModelFileError(
                f"{_not_restorable(declared, 'a function')}; load it in Python with load(…, networks={{{declared!r}: it}})."
            )
        return factory
    if isinstance(factory, nn.Module):
        raise NetworkError(
            f"networks[{declared!r}] is a module, whose weights the file would replace; give a function that returns a new one."
        )
    if factory is not None:
        network = factory()
        if not isinstance(network, nn.Module):
            raise NetworkError(
                f"networks[{declared!r}] returns a {type(network).__name__}; it must return a torch module."
            )
    elif "settings" in fields and fields["class"] in _REGISTRY:
        # On the meta device a network has shapes and no memory, so that forged sizes cost nothing.
        with torch.device("meta"):
            network = _REGISTRY[fields["class"]](**fields["settings"])
    else:
        complaint = _not_restorable(declared, f"a {fields['class']}")
        raise ModelFileError(
            f"{complaint}; load it in Python with load(…, networks={{{declared!r}: a function that returns a new one}})."
        )
    _check_shapes(network, parameters, declared)
    _check_dtypes(network, parameters, declared)
    network.load_state_dict(parameters, assign=True)
    network = network.to(device).eval()
    return network if "order" not in fields else ReorderedOutputs(network, _order(fields["order"])).eval()


def _order(value: Any) -> list[int]:
    """The order of outputs in a file: a permutation."""
    if not isinstance(value, list) or any(type(entry) is not int for entry in value):
        raise TypeError("the order of a network's outputs is no list of numbers")
    if sorted(value) != list(range(len(value))):
        raise ValueError(f"{value!r:.80} is no order of a network's outputs")
    return value


def _not_restorable(declared: str, what: str) -> str:
    return f"Network {declared!r} of the model is {what}, which cannot be restored from the file alone"


def _check_shapes(network: nn.Module, parameters: Tensors, declared: str) -> None:
    expected = {name: tuple(values.shape) for name, values in network.state_dict().items()}
    actual = {name: tuple(values.shape) for name, values in parameters.items()}
    if expected != actual:
        wrong = sorted(name for name in {*expected, *actual} if expected.get(name) != actual.get(name))[0]
        raise ModelFileError(
            f"Network {declared!r} does not fit its parameters in the file: {wrong} is {_shape(actual.get(wrong))} there "
            f"and {_shape(expected.get(wrong))} in the network; give the factory that it was trained with."
        )


def _check_dtypes(network: nn.Module, parameters: Tensors, declared: str) -> None:
    """Refuse parameters of other dtypes than the network's, of mixed precision, or with NaN."""
    dtypes: dict[torch.dtype, torch.dtype] = {}
    for name, values in network.state_dict().items():
        dtype = parameters[name].dtype
        fits = dtype == values.dtype or {dtype, values.dtype} <= {torch.float32, torch.float64}
        if not fits or dtypes.setdefault(values.dtype, dtype) != dtype:
            raise ModelFileError(
                f"Network {declared!r} has parameters of another dtype in the file: {name} is {dtype} there and "
                f"{values.dtype} in the network; save the model again."
            )
        if dtype.is_floating_point and bool(torch.isnan(parameters[name]).any()):
            raise ModelFileError(f"Network {declared!r} has NaN in {name} of the file; train it again.")


def _shape(shape: Sequence[int] | None) -> str:
    return "missing" if shape is None else "×".join(map(str, shape)) or "a number"
