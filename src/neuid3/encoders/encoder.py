"""What an encoder is made from: the parameter `encoder` of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuid3.errors import EncoderError

# The source of an encoder that is learned from the pictures of the table.
SELF = "self"

# What the names of sentence encoders begin with.
SENTENCES = "sentence-transformers/"


@dataclass(frozen=True, slots=True)
class Encoder:
    """A network that turns each picture, or each text, into a vector before a tree is grown, and that is not trained with the tree.

    Networks read the vectors in place of the pictures, so that a candidate test trains a small network on vectors.

    Parameters
    ----------
    source : "self", which learns an encoder from the pictures of the table without their targets; the name of an
        architecture, such as "resnet18", "torchvision/resnet18" or "timm/resnet18"; or a module that maps pictures,
        `(example, channel, y, x)` from 0 to 1, to vectors. For texts: "sentence-transformers/NAME", with a folder or the name of a
        model on this machine; or a function from a list of texts to their vectors, or an object with such a method `encode`.
    weights : the file with the weights of a named architecture. By default it is looked for in the folder `encoders` of
        neuid3's cache, and among the downloads of torch.
    size : height and width in pixels to which pictures are scaled for a named architecture; by default they stay as they are.
    cache : a folder in which vectors are kept, by weights and by pictures; several fits may share it. By default vectors are
        computed once in a fit, and not kept.

    Raises
    ------
    EncoderError : where a value is none of these.

    >>> Encoder("resnet18", size=224)
    Encoder(source='resnet18', weights=None, size=224, cache=None)
    """

    source: Any
    weights: Path | str | None = None
    size: int | None = None
    cache: Path | str | None = None

    def __post_init__(self) -> None:
        is_name = isinstance(self.source, str)
        if not is_name and not hasattr(self.source, "state_dict") and not self.reads_texts:
            raise EncoderError(
                f"encoder={self.source!r:.60} is no encoder; give 'self', a name such as 'resnet18', a torch module, or a function of texts."
            )
        named = is_name and self.source != SELF and not self.reads_texts
        if not named and (self.weights is not None or self.size is not None):
            given = "weights" if self.weights is not None else "size"
            raise EncoderError(f"`{given}` is for an architecture by name, such as 'resnet18'; leave it out.")
        is_whole = type(self.size) is int and self.size >= 1
        if self.size is not None and not is_whole:
            raise EncoderError(f"size={self.size!r:.40} is no number of pixels; give a whole number such as 224.")

    @property
    def reads_texts(self) -> bool:
        """Whether it encodes texts, and not pictures."""
        if isinstance(self.source, str):
            return self.source.startswith(SENTENCES)
        is_function = callable(self.source) and not hasattr(self.source, "state_dict")
        return is_function or callable(getattr(self.source, "encode", None))


def read_encoder(encoder: Any) -> Encoder | None:
    """The encoder that the parameter `encoder` of an estimator stands for; None where there is none.

    Parameters
    ----------
    encoder : an `Encoder`, its source, or None.

    Returns
    -------
    The encoder.

    >>> read_encoder("self")
    Encoder(source='self', weights=None, size=None, cache=None)
    """
    return encoder if encoder is None or isinstance(encoder, Encoder) else Encoder(encoder)
