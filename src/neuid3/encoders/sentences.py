"""Sentence encoders: frozen models that turn texts into vectors, each text once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from neuid3.data.columns import Column, Text
from neuid3.data.examples import Examples
from neuid3.data.texts import texts_of
from neuid3.encoders.cache import Vector, VectorCache
from neuid3.encoders.encoder import SENTENCES
from neuid3.errors import EncoderError, MissingFileError, MissingPackageError
from neuid3.utils.cache import cache_folder


class SentenceEncoder:
    """A frozen encoder of texts.

    Parameters
    ----------
    name : what messages call it.
    model : a function from a list of texts to their vectors, `(text, number)`, or an object with such a method `encode`.
    source : the name by which the model is loaded again; empty for a model of the caller's.
    folder : where vectors are kept, if anywhere.

    Attributes
    ----------
    key : a digest of the weights; of a model without weights, of its name.
    """

    def __init__(self, name: str, model: Any, source: str = "", folder: Path | str | None = None) -> None:
        self.name, self.model, self.source = name, model, source
        self.key = _digest(name, model)
        # Without weights nothing says whether two functions are the same, so that vectors are not kept in files.
        has_weights = callable(getattr(model, "state_dict", None))
        self._cache = VectorCache(folder, self.key) if folder is not None and has_weights else None
        self._known: dict[bytes, Vector] = {}

    def encoded(self, examples: Examples) -> Examples:
        """The examples with the vectors of all their texts; columns that have vectors keep them.

        Parameters
        ----------
        examples : the examples.

        Returns
        -------
        The same examples; networks read the vectors in place of bags of words.

        Raises
        ------
        EncoderError : where the model fails, or returns no vector for each text.
        """
        columns = {
            name: column
            for name, column in examples.items()
            if isinstance(column.kind, Text) and column.vectors is None
        }
        if not columns:
            return examples
        if self._cache is not None and not self._known:
            self._known |= self._cache.read()
        return examples.with_vectors({name: self._vectors_of(name, column) for name, column in columns.items()})

    def _vectors_of(self, name: str, column: Column) -> Vector:
        """The vectors of a column, `(row, number)`; zeros where a text is missing."""
        texts = texts_of(column)
        absent = np.zeros(len(texts), dtype=bool) if column.missing is None else column.missing
        digests = [hashlib.blake2b(text.encode(), digest_size=20).digest() for text in texts]
        new = {d: t for d, t, gone in zip(digests, texts, absent, strict=True) if not gone and d not in self._known}
        if new:
            vectors = dict(zip(new, self._run(name, list(new.values())), strict=True))
            self._known |= vectors
            if self._cache is not None:
                self._cache.add(vectors)
        size = len(next(iter(self._known.values()))) if self._known else self._run(name, [""]).shape[1]
        result = np.zeros((len(texts), size), dtype=np.float32)
        for row in np.flatnonzero(~absent).tolist():
            result[row] = self._known[digests[row]]
        return result

    def _run(self, name: str, texts: Sequence[str]) -> Vector:
        encode: Callable[[list[str]], Any] = getattr(self.model, "encode", self.model)
        try:
            output = encode(list(texts))
            output = output.detach().cpu().numpy() if hasattr(output, "detach") else output
            vectors = np.asarray(output, dtype=np.float32)
        except Exception as error:  # a model of the caller's can fail in any way
            reason = str(error).strip().partition("\n")[0][:160]
            raise EncoderError(
                f"The encoder {self.name} cannot read the texts of column {name!r} ({reason}); give one that turns a list of "
                "texts into an array of vectors."
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise EncoderError(
                f"The encoder {self.name} returned shape {vectors.shape} for {len(texts)} texts of column {name!r}; it must "
                "return a vector for each text."
            )
        if not np.isfinite(vectors).all():
            raise EncoderError(
                f"The encoder {self.name} returned NaN or infinity for a text of column {name!r}; check it."
            )
        return vectors


def load_sentence_encoder(source: str, folder: Path | str | None = None) -> SentenceEncoder:
    """A sentence encoder of the package sentence-transformers, from files on this machine; nothing is downloaded.

    Parameters
    ----------
    source : "sentence-transformers/NAME", where NAME is a folder, the name of one in the folder `encoders` of neuid3's cache,
        or that of a model that the package has in its own cache.
    folder : where vectors are kept, if anywhere.

    Returns
    -------
    The encoder.

    Raises
    ------
    MissingPackageError, MissingFileError : where the package or the model is not there.
    """
    name = source.removeprefix(SENTENCES)
    try:
        package = import_module("sentence_transformers")
    except Exception as error:  # a build for another torch fails in many ways
        reason = str(error).strip().partition("\n")[0][:160]
        raise MissingPackageError(
            f"encoder={source!r} needs sentence-transformers ({reason}): pip install 'neuid3[text]'."
        ) from error
    kept = cache_folder() / "encoders" / name
    path = next((str(place) for place in (Path(name), kept) if place.is_dir()), name)
    try:
        model = package.SentenceTransformer(path, device="cpu", local_files_only=True)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0][:160]
        raise MissingFileError(
            f"The sentence encoder {name!r} is not on this machine, and nothing is downloaded ({reason}); put its folder into "
            f"{cache_folder() / 'encoders'}, or give its path, encoder='{SENTENCES}FOLDER'."
        ) from error
    return SentenceEncoder(repr(source), model, source, folder)


def _digest(name: str, model: Any) -> str:
    digest = hashlib.blake2b(name.encode(), digest_size=16)
    state = model.state_dict() if callable(getattr(model, "state_dict", None)) else {}
    for key, values in sorted(state.items()):
        digest.update(f"{key}{values.dtype}{tuple(values.shape)}".encode())
        digest.update(values.detach().cpu().contiguous().flatten().view(-1).numpy().tobytes())
    return digest.hexdigest()
