"""Frozen networks that turn pictures or texts into vectors: by name, a module of the caller's, or learned from the pictures."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.encoders.encoder import Encoder, read_encoder
    from neuid3.encoders.frozen import FrozenEncoder, freeze

__all__ = ["Encoder", "FrozenEncoder", "freeze", "read_encoder"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.encoders.encoder": ["Encoder", "read_encoder"],
        "neuid3.encoders.frozen": ["FrozenEncoder", "freeze"],
    },
)
