"""How is a file written? Whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from neuid3.errors import ModelFileError


def place_for_model(path: Path | str) -> Path:
    """Where a model is to be written, if a file can be there."""
    place = Path(path)
    if not place.parent.is_dir():
        raise ModelFileError(f"The folder {place.parent} is not there; make it, or save somewhere else.")
    if place.is_dir():
        raise ModelFileError(f"{place} is a folder; give the name of a file.")
    return place


def write_whole(path: Path, content: bytes) -> Path:
    """Put a file in its place; whoever reads meanwhile, or stops us at any moment, finds the old one or the new one."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(_mode(path))
            Path(file.name).replace(path)
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
