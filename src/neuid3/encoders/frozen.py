"""Encoders with their weights: vectors of pictures, each picture encoded once."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from neuid3.data.columns import Column, Tensor, Text
from neuid3.data.examples import Examples
from neuid3.data.slots import is_picture, part_tables, pictures_of
from neuid3.encoders.cache import Vector, VectorCache, digest_of
from neuid3.encoders.encoder import SELF, Encoder
from neuid3.encoders.pretrained import load_pretrained
from neuid3.encoders.self_supervised import learn_encoder
from neuid3.encoders.sentences import SentenceEncoder, load_sentence_encoder
from neuid3.errors import EncoderError

# Rows whose pictures are in memory at a time, and pictures in one pass of the encoder.
_ROWS, _BATCH = 1024, 64


class FrozenEncoder:
    """An encoder whose weights do not change any more.

    Parameters
    ----------
    name : what messages call it.
    module : the network, from pictures, `(example, channel, y, x)` from 0 to 1, to vectors.
    folder : where vectors are kept, if anywhere.

    Attributes
    ----------
    key : a digest of the architecture and the weights.

    Raises
    ------
    EncoderError : where a weight is no finite number, or has no shape yet.
    """

    def __init__(self, name: str, module: nn.Module, folder: Path | str | None = None) -> None:
        self.name = name
        lazy = [key for key, weights in module.named_parameters() if is_lazy(weights)]
        if lazy:
            raise EncoderError(
                f"The encoder {name} has {lazy[0]} without a shape yet; call it on a picture before the fit."
            )
        self.module = copy.deepcopy(module).cpu().eval().requires_grad_(False)
        self.key = _digest_of_module(self.module, name)
        self._cache = None if folder is None else VectorCache(folder, self.key)

    def encoded(self, examples: Examples) -> Examples:
        """The examples with the vectors of all their pictures; columns that have vectors keep them.

        Parameters
        ----------
        examples : the examples.

        Returns
        -------
        The same examples; networks read the vectors in place of the pictures.

        Raises
        ------
        EncoderError : where the encoder cannot read the pictures of a column.
        """
        if not any(column.vectors is None for _, column in pictures_of(examples)):
            return examples
        known = {} if self._cache is None else self._cache.read()
        new: dict[bytes, Vector] = {}
        encoded = self._with_vectors(examples, known, new)
        if self._cache is not None:
            self._cache.add(new)
        return encoded

    def _with_vectors(self, examples: Examples, known: dict[bytes, Vector], new: dict[bytes, Vector]) -> Examples:
        """The examples, and the parts that they own, with vectors; `known` and `new` receive those that are computed."""
        vectors = {
            name: self._vectors_of(name, column, known, new)
            for name, column in examples.items()
            if is_picture(column) and column.vectors is None
        }
        tables = {name: self._with_vectors(table, known, new) for name, table in part_tables(examples)}
        return examples.with_vectors(vectors).with_tables(tables)

    def _vectors_of(self, name: str, column: Column, known: dict[bytes, Vector], new: dict[bytes, Vector]) -> Vector:
        """The vectors of a column, `(row, number)`; `known` and `new` receive those that are computed."""
        size = self._vector_size(name, column)
        vectors = np.zeros((len(column), size), dtype=np.float32)
        present = np.arange(len(column)) if column.missing is None else np.flatnonzero(~column.missing)
        for start in range(0, len(present), _ROWS):
            rows = present[start : start + _ROWS]
            pictures = np.asarray(column.values[rows])
            digests = [digest_of(picture) for picture in pictures]
            first = {digest: i for i, digest in reversed(list(enumerate(digests))) if digest not in known}
            if first:
                computed = self._run(pictures[sorted(first.values())])
                _check_finite(self.name, name, computed)
                added = dict(zip(sorted(first, key=first.__getitem__), computed, strict=True))
                known |= added
                new |= added
            vectors[rows] = [known[digest] for digest in digests]
        return vectors

    def _vector_size(self, name: str, column: Column) -> int:
        """The length of the vectors of a column, from one picture; an `EncoderError` where the encoder cannot read it."""
        assert isinstance(column.kind, Tensor)
        shape = column.kind.shape
        try:
            output = self._run(np.zeros((2, *shape), dtype=np.float32))
        except EncoderError:
            raise
        except Exception as error:  # a module can fail in any way
            reason = str(error).strip().partition("\n")[0][:160]
            raise EncoderError(
                f"The encoder {self.name} cannot read column {name!r}, whose pictures have shape {shape} ({reason}); give "
                "pictures of another size or number of channels, or Encoder(…, size=224) where it needs a certain size."
            ) from error
        return int(output.shape[1])

    def _run(self, pictures: npt.NDArray[Any]) -> Vector:
        """The vectors of an array of pictures, `(picture, number)`."""
        vectors = []
        with torch.no_grad():
            for start in range(0, len(pictures), _BATCH):
                output = self.module(as_pictures(pictures[start : start + _BATCH], self.module))
                if not isinstance(output, torch.Tensor) or output.ndim < 2:
                    raise EncoderError(
                        f"The encoder {self.name} returned {_described(output)}; it must return a vector for each picture."
                    )
                vectors.append(output.flatten(1).float().numpy())
        return np.concatenate(vectors)


def as_pictures(values: npt.NDArray[Any], module: nn.Module | None = None) -> torch.Tensor:
    """Pictures as input of an encoder, `(picture, channel, y, x)`: bytes as fractions of 255, in the precision of a module."""
    parameters = [] if module is None else [p for p in module.parameters() if p.is_floating_point()]
    dtype = parameters[0].dtype if parameters else torch.get_default_dtype()
    tensor = torch.from_numpy(np.array(values)).to(dtype)
    scaled = tensor / 255 if values.dtype == np.uint8 else tensor
    return scaled.unsqueeze(1) if scaled.ndim == 3 else scaled


def freeze(encoder: Encoder, examples: Examples) -> FrozenEncoder | SentenceEncoder:
    """An encoder with its weights: loaded from a file, given by the caller, or learned from the pictures of the examples.

    Parameters
    ----------
    encoder : what it is made from.
    examples : the examples whose pictures "self" learns from.

    Returns
    -------
    The frozen encoder.

    Raises
    ------
    EncoderError : where no column has pictures, or texts, a name is not known, or weights do not fit.
    MissingFileError : where the weights of a named architecture are not found.
    """
    if encoder.reads_texts:
        return _of_texts(encoder, examples)
    if next(pictures_of(examples), None) is None:
        raise EncoderError("There is no column of pictures to encode; leave `encoder` out.")
    if isinstance(encoder.source, nn.Module):
        return FrozenEncoder(f"of class {type(encoder.source).__name__}", encoder.source, encoder.cache)
    if encoder.source == SELF:
        return FrozenEncoder(repr(SELF), learn_encoder(examples, folder=encoder.cache), encoder.cache)
    module = load_pretrained(encoder.source, encoder.weights, encoder.size)
    return FrozenEncoder(repr(encoder.source), module, encoder.cache)


def _of_texts(encoder: Encoder, examples: Examples) -> SentenceEncoder:
    if not any(isinstance(kind, Text) for kind in examples.schema.values()):
        raise EncoderError(
            "There is no column of texts to encode; leave `encoder` out, or declare one, Examples(X, kinds={'note': 'text'})."
        )
    if isinstance(encoder.source, str):
        return load_sentence_encoder(encoder.source, encoder.cache)
    name = getattr(encoder.source, "__name__", f"of class {type(encoder.source).__name__}")
    return SentenceEncoder(name, encoder.source, folder=encoder.cache)


def _digest_of_module(module: nn.Module, name: str) -> str:
    """A digest of the layers and the weights of a module."""
    digest = hashlib.blake2b(f"{module}{getattr(module, 'settings', '')}".encode(), digest_size=16)
    for key, values in sorted(module.state_dict().items()):
        if values.is_floating_point() and not bool(torch.isfinite(values).all()):
            raise EncoderError(f"The encoder {name} has {key} with NaN or infinity; give other weights.")
        digest.update(f"{key}{values.dtype}{tuple(values.shape)}".encode())
        digest.update(values.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _check_finite(encoder: str, column: str, vectors: Vector) -> None:
    if not np.isfinite(vectors).all():
        raise EncoderError(
            f"The encoder {encoder} returned NaN or infinity for a picture of column {column!r}; check its weights."
        )


def _described(output: Any) -> str:
    return f"shape {tuple(output.shape)}" if isinstance(output, torch.Tensor) else f"a {type(output).__name__}"
