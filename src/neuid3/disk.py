"""How is a file written? Whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from neuid3.errors import MissingFileError, ModelFileError, did_you_mean


def place_for_model(path: Path | str) -> Path:
    """Where a model is to be written, if a file can be there."""
    place = Path(path)
    if not place.parent.is_dir():
        raise ModelFileError(f"The folder {place.parent} is not there; make it, or save somewhere else.")
    if place.is_dir():
        raise ModelFileError(f"{place} is a folder; give the name of a file.")
    return place


def check_place(path: Path, *read: Path) -> None:
    """Can a file be written here? Better asked before the work than after it; and not over what is read."""
    if any(path.resolve() == other.resolve() for other in read):
        raise MissingFileError(f"{path} is read by this very command; write to another file.")
    if path.is_dir():
        raise MissingFileError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise MissingFileError(f"There is no folder {path.parent}; make it first, or write somewhere else.")
    if not os.access(path.parent, os.W_OK):
        raise MissingFileError(f"Nothing can be written to the folder {path.parent}; write somewhere else.")


def write_whole(path: Path, content: bytes) -> Path:
    """Put a file in its place; whoever reads meanwhile, or stops us at any moment, finds the old one or the new one.

    A link keeps leading to its file. A device or a pipe cannot be replaced and is written to.
    """
    place = path.resolve()
    if place.exists() and not place.is_file():
        place.write_bytes(content)
        return path
    with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", suffix=".tmp", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(_mode(place))
            Path(file.name).replace(place)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    return path


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced; those of any new file otherwise."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def neighbours(path: Path) -> str:
    """A hint that ends a sentence about a file that is not there: perhaps one of another name is."""
    near = [entry.name for entry in path.parent.iterdir() if entry.is_file()] if path.parent.is_dir() else []
    hint = did_you_mean(path.name, near)
    return hint if hint.startswith(" Did") else " Check the path."
