"""How is a network kept? By the name of its class, what it was made with, and its numbers; never by its code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from neuid3.errors import ModelFileError, NetworkError
from neuid3.io.container import Tensors
from neuid3.io.serialize import Json, as_text
from neuid3.networks.defaults import Dense, LeNet

NetworkFactories = Mapping[str, Callable[..., Any]]

_REGISTRY: dict[str, type[nn.Module]] = {"LeNet": LeNet, "Dense": Dense}


def register(network: type[nn.Module]) -> type[nn.Module]:
    """Let models with networks of this class be loaded without a factory; also as a decorator.

    An instance must tell what it was made with: `self.settings`, keyword arguments that JSON can hold.
    """
    if not (isinstance(network, type) and issubclass(network, nn.Module)):
        raise NetworkError(f"{network!r} is no class of networks; register a subclass of torch.nn.Module.")
    if _REGISTRY.get(network.__name__, network) is not network:
        raise NetworkError(f"Another class called {network.__name__!r} is registered; give this one another name.")
    _REGISTRY[network.__name__] = network
    return network


def network_to_json(network: Any, declared: str) -> Json:
    """What is said of a network: by which name the program knows it, and how to make it again."""
    kind = type(network).__name__
    if not isinstance(network, nn.Module):
        return {"declared": declared, "class": kind, "function": True}
    words: Json = {"declared": declared, "class": kind}
    if _REGISTRY.get(kind) is type(network):
        words["settings"] = dict(network.settings)  # type: ignore[arg-type]
    return words


def tensors_of(networks: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """All numbers of these networks, by network and name."""
    return {
        f"{instance}/{name}": values.detach().cpu().contiguous().clone()
        for instance, network in networks.items()
        if isinstance(network, nn.Module)
        for name, values in network.state_dict().items()
    }


def networks_from_json(
    words: Mapping[str, Json],
    tensors: Tensors,
    makers: NetworkFactories,
    device: str | torch.device,
    serves: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The networks again: those we know from what they were made with, others by the caller's own factory.

    A factory may be given by any of the names that a network `serves` as.
    """
    serves = serves or {}
    for told in words.values():
        as_text(told["declared"]), as_text(told["class"])
    own = _by_network(words, tensors)
    known = (
        {told["declared"] for told in words.values()}
        | set(words)
        | {name for names in serves.values() for name in names}
    )
    for name in makers:
        if name not in known:
            raise NetworkError(
                f"networks[{name!r}] is given and the model has no such network; it has {sorted(known)}."
            )
    found = {}
    for instance, told in words.items():
        names = (instance, told["declared"], *serves.get(instance, ()))
        maker = next((makers[name] for name in names if name in makers), None)
        found[instance] = _made(told, own[instance], maker, device)
    return found


def _by_network(instances: Iterable[str], tensors: Tensors) -> dict[str, dict[str, torch.Tensor]]:
    """The numbers of each network, by their names in it; a network's own name may have a slash too."""
    found: dict[str, dict[str, torch.Tensor]] = {instance: {} for instance in instances}
    for name, values in tensors.items():
        owner = max((i for i in found if name.startswith(f"{i}/")), key=len, default=None)
        if owner is None:
            raise ModelFileError(f"The numbers {name!r:.80} in the file belong to no network; save the model again.")
        found[owner][name[len(owner) + 1 :]] = values
    return found


def _made(words: Json, own: Tensors, maker: Any, device: str | torch.device) -> Any:
    declared = words["declared"]
    if words.get("function"):
        if maker is None:
            raise ModelFileError(
                f"{_lacking(declared, 'a function')}; open it in Python with load(…, networks={{{declared!r}: it}})."
            )
        return maker
    if maker is not None:
        network = maker()
        if not isinstance(network, nn.Module):
            raise NetworkError(f"networks[{declared!r}] makes a {type(network).__name__}; it must make a torch module.")
    elif "settings" in words and words["class"] in _REGISTRY:
        # On this device a network has shapes and no numbers, so that sizes somebody made up cost nothing.
        with torch.device("meta"):
            network = _REGISTRY[words["class"]](**words["settings"])
    else:
        told = _lacking(declared, f"a {words['class']}")
        raise ModelFileError(
            f"{told}; open it in Python with load(…, networks={{{declared!r}: a function that makes a fresh one}})."
        )
    _check_shapes(network, own, declared)
    _check_numbers(network, own, declared)
    network.load_state_dict(own, assign=True)
    return network.to(device).eval()


def _lacking(declared: str, what: str) -> str:
    return f"Network {declared!r} of the model is {what}, which cannot be made again from the file alone"


def _check_shapes(network: nn.Module, own: Tensors, declared: str) -> None:
    wanted = {name: tuple(values.shape) for name, values in network.state_dict().items()}
    found = {name: tuple(values.shape) for name, values in own.items()}
    if wanted != found:
        wrong = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))[0]
        raise ModelFileError(
            f"Network {declared!r} does not fit its numbers in the file: {wrong} is {_shape(found.get(wrong))} there "
            f"and {_shape(wanted.get(wrong))} in the network; give the factory it was trained with."
        )


def _check_numbers(network: nn.Module, own: Tensors, declared: str) -> None:
    """Numbers are of the types that the network has, in single or double precision throughout, and none is NaN."""
    types: dict[torch.dtype, torch.dtype] = {}
    for name, values in network.state_dict().items():
        found = own[name].dtype
        fits = found == values.dtype or {found, values.dtype} <= {torch.float32, torch.float64}
        if not fits or types.setdefault(values.dtype, found) != found:
            raise ModelFileError(
                f"Network {declared!r} has numbers of another type in the file: {name} is {found} there and "
                f"{values.dtype} in the network; save the model again."
            )
        if found.is_floating_point and bool(torch.isnan(own[name]).any()):
            raise ModelFileError(f"Network {declared!r} has no number in {name} of the file (NaN); train it again.")


def _shape(shape: Sequence[int] | None) -> str:
    return "missing" if shape is None else "×".join(map(str, shape)) or "a number"
