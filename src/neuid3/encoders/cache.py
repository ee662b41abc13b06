"""Vectors of pictures in a folder, by the digest of each picture; several fits may read and write it at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import UnwritableFileError
from neuid3.utils.files import write_atomically

Vector = npt.NDArray[np.float32]

_DIGEST = 20  # bytes
_SUFFIX = ".vectors"


def digest_of(array: npt.NDArray[Any]) -> bytes:
    """A digest of the shape, the type and the numbers of an array."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(array).tobytes(), digest_size=_DIGEST).digest()


class VectorCache:
    """The vectors that one encoder has made, in the files of a folder.

    Each file is written once, under a name of its own, and holds digests of pictures followed by their vectors. A file that
    is damaged is ignored: its vectors are computed again.

    Parameters
    ----------
    folder : the folder; it is made when vectors are first added.
    key : the digest of the encoder.
    """

    def __init__(self, folder: Path | str, key: str) -> None:
        self.folder, self.key = Path(folder), key

    def read(self) -> dict[bytes, Vector]:
        """All vectors of the encoder, by the digest of their picture."""
        vectors: dict[bytes, Vector] = {}
        for path in sorted(self.folder.glob(f"{self.key}-*{_SUFFIX}")):
            vectors |= _unpacked(path.read_bytes())
        return vectors

    def add(self, vectors: Mapping[bytes, Vector]) -> None:
        """Write further vectors to a file of their own.

        Parameters
        ----------
        vectors : the vectors, by the digest of their picture.
        """
        if not vectors:
            return
        content = _packed(vectors)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnwritableFileError(
                f"The folder {self.folder} for the vectors of an encoder cannot be made ({error.strerror}); name another."
            ) from None
        name = hashlib.blake2b(content, digest_size=8).hexdigest()
        write_atomically(self.folder / f"{self.key}-{name}{_SUFFIX}", content)


def _packed(vectors: Mapping[bytes, Vector]) -> bytes:
    """A digest of the rest, the numbers of vectors and of their entries, the digests of pictures, and the vectors."""
    numbers = np.stack(list(vectors.values())).astype("<f4")
    body = np.array(numbers.shape, dtype="<i8").tobytes() + b"".join(vectors) + numbers.tobytes()
    return hashlib.blake2b(body, digest_size=_DIGEST).digest() + body


def _unpacked(content: bytes) -> dict[bytes, Vector]:
    """The inverse of `_packed`; nothing where the content is damaged."""
    checksum, body = content[:_DIGEST], content[_DIGEST:]
    if len(body) < 16 or hashlib.blake2b(body, digest_size=_DIGEST).digest() != checksum:
        return {}
    count, size = np.frombuffer(body[:16], dtype="<i8").tolist()
    start = 16 + count * _DIGEST
    numbers = np.frombuffer(body[start:], dtype="<f4").reshape(count, size).astype(np.float32)
    return {body[16 + i * _DIGEST : 16 + (i + 1) * _DIGEST]: numbers[i] for i in range(count)}
