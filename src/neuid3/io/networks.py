"""Serialization of networks by class name, constructor arguments and parameters; never by code.

Files without networks are written and read without torch; `network_modules` is imported for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuid3.errors import ModelFileError, NetworkError
from neuid3.io.container import Tensors
from neuid3.io.serialize import Json
from neuid3.utils.json_values import as_text

if TYPE_CHECKING:
    import torch

NetworkFactories = Mapping[str, Callable[..., Any]]


def networks_to_json(networks: Mapping[str, Any], declared: Mapping[str, str]) -> dict[str, Json]:
    """The declared name and class of each network, and its constructor arguments where its class is registered.

    Parameters
    ----------
    networks : the networks by instance.
    declared : the declared names of instances; an instance that is not in it has its own name.
    """
    if not networks:
        return {}
    from neuid3.io.network_modules import network_to_json

    return {name: network_to_json(network, declared.get(name, name)) for name, network in networks.items()}


def tensors_of(networks: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The parameters and buffers of these networks, by `network/name`."""
    return {
        f"{instance}/{name}": values.detach().cpu().contiguous().clone()
        for instance, network in networks.items()
        if hasattr(network, "state_dict")  # a module, not a function
        for name, values in network.state_dict().items()
    }


def networks_from_json(
    fields: Mapping[str, Json],
    tensors: Tensors,
    factories: NetworkFactories,
    device: str | torch.device,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The networks of a file, by instance.

    Parameters
    ----------
    fields : as `network_to_json` returns them, by instance.
    tensors : the parameters, by `instance/name`.
    factories : functions that build networks of unregistered classes, by instance or declared name.
    device : the device of the networks.
    aliases : further declared names of an instance, by which its factory may be given.
    """
    aliases = aliases or {}
    for network in fields.values():
        as_text(network["declared"]), as_text(network["class"])
    parameters = _by_network(fields, tensors)
    known = (
        {network["declared"] for network in fields.values()}
        | set(fields)
        | {name for names in aliases.values() for name in names}
    )
    for name in factories:
        if name not in known:
            raise NetworkError(
                f"networks[{name!r}] is given, but the model has no such network; it has {sorted(known)}."
            )
    if not fields:
        return {}
    from neuid3.io.network_modules import build_network

    networks = {}
    for instance, network in fields.items():
        names = (instance, network["declared"], *aliases.get(instance, ()))
        factory = next((factories[name] for name in names if name in factories), None)
        networks[instance] = build_network(network, parameters[instance], factory, device)
    return networks


def _by_network(instances: Iterable[str], tensors: Tensors) -> dict[str, dict[str, torch.Tensor]]:
    """The parameters of each network by name; the name of a network may contain a slash too."""
    by_network: dict[str, dict[str, torch.Tensor]] = {instance: {} for instance in instances}
    for name, values in tensors.items():
        owner = max((i for i in by_network if name.startswith(f"{i}/")), key=len, default=None)
        if owner is None:
            raise ModelFileError(f"The parameters {name!r:.80} in the file belong to no network; save the model again.")
        by_network[owner][name[len(owner) + 1 :]] = values
    return by_network
