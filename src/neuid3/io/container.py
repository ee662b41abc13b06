"""The container of saved files: an uncompressed zip archive of JSON fields, background knowledge and tensors."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from neuid3.errors import MissingFileError, ModelFileError, NeuID3Error, UnreadableFileError
from neuid3.utils.files import model_path, read_file, write_atomically

# The format version that is written; files of this version and earlier ones can be read.
VERSION = 1
FORMAT = "neuid3"

_FIELDS, _BACKGROUND, _NETWORKS = "model.json", "background.pl", "networks.safetensors"
_PARTS = (_FIELDS, _BACKGROUND, _NETWORKS)

# The errors that reading damaged or forged bytes can raise.
READ_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    SafetensorError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)

# The deepest nesting of JSON that is read; files that are written have six levels.
MAX_DEPTH = 32

# Parameters of networks are torch tensors, and all other entries, whose names begin with a slash, numpy arrays.
Tensors = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class SavedFile:
    """The content of a saved file.

    Attributes
    ----------
    fields : what is stored as JSON.
    background : the background knowledge, a ProbLog program.
    tensors : the parameters of networks, by network and name, and arrays, by names that begin with a slash.
    """

    fields: Mapping[str, Any]
    background: str
    tensors: Tensors


def write_container(path: Path, saved: SavedFile) -> Path:
    """Write a file atomically; returns its path."""
    return write_atomically(model_path(path), to_bytes(saved))


def to_bytes(saved: SavedFile) -> bytes:
    """The bytes of a file; equal content gives equal bytes."""
    fields = {"format": FORMAT, "version": VERSION, **saved.fields}
    try:
        text = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False).encode()
        background = saved.background.encode()
    except UnicodeEncodeError as error:
        start, end = error.object.rfind('"', 0, error.start) + 1, error.object.find('"', error.end)
        excerpt = error.object[max(start, error.start - 40) : min(end if end > 0 else error.end, error.end + 40)]
        raise ModelFileError(
            f"The text {excerpt!r} cannot be written to a file; rename the column or value that contains it."
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"The model cannot be written as JSON ({error}); replace the values that JSON cannot represent."
        ) from None
    parts = {_FIELDS: text, _BACKGROUND: background, _NETWORKS: _tensors_to_bytes(saved.tensors)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            # A ZipInfo has a fixed time stamp: the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def read_container(path: Path) -> SavedFile:
    """Read a file of this version or an earlier one; nothing is extracted to disk, run, or read outside of the file.

    Raises
    ------
    ModelFileError
        Where the file is missing, damaged, or written by a newer version.
    """
    try:
        content = read_file(path, "model")
    except (MissingFileError, UnreadableFileError) as error:
        raise ModelFileError(str(error)) from None
    with reporting_damage(path):
        return from_bytes(content, path)


def from_bytes(content: bytes, path: Path) -> SavedFile:
    """The content of a file from its bytes; damaged bytes raise one of `READ_ERRORS`, `path` is for error messages."""
    if not content.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a neuid3 model; give a file written by save() or `neuid3 fit`.")
    parts = dict(_parts(content))
    fields = json.loads(parts[_FIELDS].decode(), object_pairs_hook=_unique_keys)
    _check_version(fields, path)
    _check_depth(fields)
    # Fields that are read can be written: no number is infinite, and no text has lone surrogates.
    json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    return SavedFile(fields, parts[_BACKGROUND].decode(), _tensors_from_bytes(parts[_NETWORKS]))


def _tensors_to_bytes(tensors: Tensors) -> bytes:
    """Tensors in the safetensors format; torch is imported where there are parameters of networks."""
    if all(isinstance(values, np.ndarray) for values in tensors.values()):
        return save_arrays(dict(tensors))
    from safetensors.torch import save
    from torch import from_numpy

    return save({n: from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for n, v in tensors.items()})


def _tensors_from_bytes(content: bytes) -> Tensors:
    """Tensors of the safetensors format."""
    if all(name.startswith("/") for name, _ in deserialize(content)):  # type: ignore[no-untyped-call]
        return load_arrays(content)
    from safetensors.torch import load

    return load(content)


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Report errors of reading as a `ModelFileError` about this file."""
    try:
        yield
    except NeuID3Error:
        raise
    except READ_ERRORS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelFileError(f"{path} is damaged ({reason}); save the model again, or restore a copy of it.") from None


def _parts(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if sorted(entry.filename for entry in entries) != sorted(_PARTS):
            raise ValueError(f"its parts are not {', '.join(_PARTS)}")
        for entry in entries:
            # An uncompressed part cannot be larger than the file: no zip bombs.
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(content):
                raise ValueError(f"its part {entry.filename} is compressed")
            yield entry.filename, archive.read(entry)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a JSON object has a repeated key")
    return mapping


def _check_depth(fields: Any) -> None:
    """Refuse JSON nested so deeply that copying, comparing or printing it would overflow the stack."""
    level, depth = [fields], 0
    while level:
        if depth > MAX_DEPTH:
            raise ValueError("its JSON is nested too deeply")
        lists = (value.values() if isinstance(value, dict) else value for value in level)
        level, depth = [v for values in lists for v in values if isinstance(v, (dict, list))], depth + 1


def _check_version(fields: Any, path: Path) -> None:
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a neuid3 model; give a file written by save() or `neuid3 fit`.")
    version = fields.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"its version is {version!r}")
    if version > VERSION:
        raise ModelFileError(
            f"{path} was written by a newer neuid3 (format {version}; this version reads up to {VERSION}); upgrade neuid3."
        )
