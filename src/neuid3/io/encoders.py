"""Encoders in files: by class name, constructor arguments and weights, as networks are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuid3.errors import EncoderError
from neuid3.io.container import Tensors
from neuid3.io.networks import NetworkFactories
from neuid3.io.serialize import Json
from neuid3.utils.json_values import as_text

if TYPE_CHECKING:
    from neuid3.encoders.frozen import FrozenEncoder
    from neuid3.encoders.sentences import SentenceEncoder

# The name by which `load(…, networks=…)` is given a function that makes an encoder of a class of the caller's.
ENCODER = "encoder"

SENTENCE_ENCODER = "SentenceEncoder"

# Not a name of a network: these are atoms of the program.
_PREFIX = "(encoder)/"


def encoder_to_json(encoder: FrozenEncoder | SentenceEncoder) -> Json:
    """The name and class of an encoder, and its constructor arguments where its class is registered."""
    from neuid3.encoders.sentences import SentenceEncoder
    from neuid3.io.network_modules import network_to_json

    if isinstance(encoder, SentenceEncoder):
        return {"class": SENTENCE_ENCODER, "name": encoder.name, "source": encoder.source, "key": encoder.key}
    return {**network_to_json(encoder.module, ENCODER), "name": encoder.name}


def encoder_tensors(encoder: FrozenEncoder | SentenceEncoder) -> Tensors:
    """The weights of an encoder, by their names in a file; a sentence encoder is loaded again from its own files."""
    if not hasattr(encoder, "module"):
        return {}
    return {f"{_PREFIX}{name}": values.contiguous().clone() for name, values in encoder.module.state_dict().items()}


def encoder_from_json(
    fields: Any, tensors: Tensors, factories: NetworkFactories
) -> tuple[FrozenEncoder | SentenceEncoder | None, Tensors, NetworkFactories]:
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
    if fields["class"] == SENTENCE_ENCODER:
        remaining = {name: make for name, make in factories.items() if name != ENCODER}
        return _sentence_encoder(fields, factories.get(ENCODER)), tensors, remaining
    own = {name.removeprefix(_PREFIX): values for name, values in tensors.items() if name.startswith(_PREFIX)}
    others = {name: values for name, values in tensors.items() if not name.startswith(_PREFIX)}
    factory = factories.get(ENCODER)
    module = build_network({**fields, "declared": ENCODER}, own, factory, "cpu")
    remaining = {name: make for name, make in factories.items() if name != ENCODER}
    return FrozenEncoder(as_text(fields["name"]), module), others, remaining


def _sentence_encoder(fields: Any, factory: Any) -> SentenceEncoder:
    """The sentence encoder of a file, from the model's own files or from a function of the caller's."""
    from neuid3.encoders.sentences import SentenceEncoder, load_sentence_encoder

    name, source, key = (as_text(fields[field]) for field in ("name", "source", "key"))
    if factory is not None:
        encoder = SentenceEncoder(name, factory(), source)
    elif source:
        encoder = load_sentence_encoder(source)
    else:
        raise EncoderError(
            f"The file needs the sentence encoder {name}, which is code of the user's; give a function that returns it: "
            f"load(…, networks={{'{ENCODER}': lambda: …}})."
        )
    if encoder.key != key:
        raise EncoderError(
            f"The sentence encoder {name} has other weights than the model was learned with; give those."
        )
    return encoder
