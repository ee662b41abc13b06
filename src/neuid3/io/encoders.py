"""Encoders in files: by class name, constructor arguments and weights, as networks are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuid3.io.container import Tensors
from neuid3.io.networks import NetworkFactories
from neuid3.io.serialize import Json
from neuid3.utils.json_values import as_text

if TYPE_CHECKING:
    from neuid3.encoders.frozen import FrozenEncoder

# The name by which `load(…, networks=…)` is given a function that makes an encoder of a class of the caller's.
ENCODER = "encoder"

# Not a name of a network: these are atoms of the program.
_PREFIX = "(encoder)/"


def encoder_to_json(encoder: FrozenEncoder) -> Json:
    """The name and class of an encoder, and its constructor arguments where its class is registered."""
    from neuid3.io.network_modules import network_to_json

    return {**network_to_json(encoder.module, ENCODER), "name": encoder.name}


def encoder_tensors(encoder: FrozenEncoder) -> Tensors:
    """The weights of an encoder, by their names in a file."""
    return {f"{_PREFIX}{name}": values.contiguous().clone() for name, values in encoder.module.state_dict().items()}


def encoder_from_json(
    fields: Any, tensors: Tensors, factories: NetworkFactories
) -> tuple[FrozenEncoder | None, Tensors, NetworkFactories]:
    """The encoder of a file, the tensors that are not its own, and the factories of networks.

    Parameters
    ----------
    fields : as `encoder_to_json` returns them; None where there is no encoder.
    tensors : the tensors of the file.
    factories : functions that build networks of unregistered classes; the one named "encoder" builds the encoder.
    """
    if fields is None:
        return None, tensors, factories
    from neuid3.encoders.frozen import FrozenEncoder
    from neuid3.io.network_modules import build_network

    if not isinstance(fields, dict):
        raise TypeError(f"its encoder is {fields!r:.40}")
    as_text(fields["class"])
    own = {name.removeprefix(_PREFIX): values for name, values in tensors.items() if name.startswith(_PREFIX)}
    others = {name: values for name, values in tensors.items() if not name.startswith(_PREFIX)}
    factory = factories.get(ENCODER)
    module = build_network({**fields, "declared": ENCODER}, own, factory, "cpu")
    remaining = {name: make for name, make in factories.items() if name != ENCODER}
    return FrozenEncoder(as_text(fields["name"]), module), others, remaining
