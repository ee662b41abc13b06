"""What does a saved file look like from outside? A zip archive of three parts, none of them compressed."""

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

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from neuid3.errors import MissingFileError, ModelFileError, NeuID3Error, UnreadableFileError
from neuid3.utils.files import model_path, read_file, write_atomically

# Files of this version and of all before it can be read.
VERSION = 1
NAME = "neuid3"

_WORDS, _BACKGROUND, _NETWORKS = "model.json", "background.pl", "networks.safetensors"
_PARTS = (_WORDS, _BACKGROUND, _NETWORKS)

# What reading bytes that somebody made up can raise.
UNREADABLE = (
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

# How deep JSON may be nested; what we write ourselves has six levels.
MOST_LEVELS = 32

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class SavedFile:
    """What a file says: words for JSON, the background knowledge, and the networks' numbers by name."""

    words: Mapping[str, Any]
    background: str
    tensors: Tensors


def write(path: Path, saved: SavedFile) -> Path:
    """Write a file; a crash or a full disk leaves the old one or none."""
    return write_atomically(model_path(path), packed(saved))


def packed(saved: SavedFile) -> bytes:
    """The content of a file."""
    words = {"format": NAME, "version": VERSION, **saved.words}
    try:
        text = json.dumps(words, indent=1, ensure_ascii=False, allow_nan=False).encode()
        background = saved.background.encode()
    except UnicodeEncodeError as error:
        start, end = error.object.rfind('"', 0, error.start) + 1, error.object.find('"', error.end)
        near = error.object[max(start, error.start - 40) : min(end if end > 0 else error.end, error.end + 40)]
        raise ModelFileError(f"The text {near!r} cannot be written to a file; rename what it stands in.") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"The model cannot be written as JSON ({error}); change what JSON cannot hold.") from None
    parts = {_WORDS: text, _BACKGROUND: background, _NETWORKS: save(dict(saved.tensors))}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            # Without the time of day, the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def read(path: Path) -> SavedFile:
    """Read a file of this version or an earlier one. Nothing is unpacked or run, and nothing outside the file is looked at."""
    try:
        content = read_file(path, "model")
    except (MissingFileError, UnreadableFileError) as error:
        raise ModelFileError(str(error)) from None
    with reporting_damage(path):
        return unpacked(content, path)


def unpacked(content: bytes, path: Path) -> SavedFile:
    """What the content of a file says; bytes that somebody made up raise one of `UNREADABLE`."""
    if not content.startswith(b"PK"):
        raise ModelFileError(f"{path} is no model of neuid3; give a file that save() or `neuid3 fit` has written.")
    parts = dict(_parts(content))
    words = json.loads(parts[_WORDS].decode(), object_pairs_hook=_without_doubles)
    _check_version(words, path)
    _check_depth(words)
    # What can be read can be written again: no number is infinite, and no text lacks half of a letter.
    json.dumps(words, ensure_ascii=False, allow_nan=False).encode()
    return SavedFile(words, parts[_BACKGROUND].decode(), load(parts[_NETWORKS]))


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is the file's fault."""
    try:
        yield
    except NeuID3Error:
        raise
    except UNREADABLE as error:
        told = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelFileError(f"{path} is damaged ({told}); save the model again, or take a copy of it.") from None


def _parts(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if sorted(entry.filename for entry in entries) != sorted(_PARTS):
            raise ValueError(f"its parts are not {', '.join(_PARTS)}")
        for entry in entries:
            # What is not compressed cannot be larger than the file.
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(content):
                raise ValueError(f"its part {entry.filename} is packed")
            yield entry.filename, archive.read(entry)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it says something twice")
    return found


def _check_depth(words: Any) -> None:
    """Lists in lists in lists would overflow the stack of whoever copies, compares or prints them."""
    inside, depth = [words], 0
    while inside:
        if depth > MOST_LEVELS:
            raise ValueError("lists in it are nested too deeply")
        lists = (value.values() if isinstance(value, dict) else value for value in inside)
        inside, depth = [v for values in lists for v in values if isinstance(v, (dict, list))], depth + 1


def _check_version(words: Any, path: Path) -> None:
    if not isinstance(words, dict) or words.get("format") != NAME:
        raise ModelFileError(f"{path} is no model of neuid3; give a file that save() or `neuid3 fit` has written.")
    version = words.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"its version is {version!r}")
    if version > VERSION:
        raise ModelFileError(
            f"{path} was written by a newer neuid3 (format {version}, and this one reads up to {VERSION}); upgrade neuid3."
        )
