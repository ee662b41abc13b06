"""Data files: found in the data folder or in the cache, or downloaded from their official place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from urllib.request import urlopen

from neuid3.errors import DamagedFileError, MissingFileError
from neuid3.utils.cache import cache_folder
from neuid3.utils.files import write_atomically

TIMEOUT = 30.0  # seconds without a response until a server counts as unreachable
CHUNK = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class Official:
    """An official file of a dataset.

    `unpack` returns the contents of our files by name, or raises a `DamagedFileError` with the reason.
    """

    url: str
    unpack: Callable[[Path], Mapping[str, bytes]]

    @property
    def filename(self) -> str:
        return Path(urlsplit(self.url).path).name


def data_folder() -> Path | None:
    """The folder in NEUID3_DATA, or None."""
    folder = os.environ.get("NEUID3_DATA")
    return Path(folder) if folder else None


def find(name: str) -> Path | None:
    """The file of this name in the data folder, else in the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def locate(name: str, official: Official) -> Path:
    """The file of this name, converted from the official file or downloaded if it is nowhere yet."""
    path = find(name)
    if path is not None:
        return path
    original = find(f"{Path(name).parent.as_posix()}/{official.filename}")
    if original is not None:
        with damage_in(original):
            return _cache(official.unpack(original), name)
    try:
        with downloaded(official.url) as download, damage_in(official.url, "nothing of it was kept; try again later"):
            return _cache(official.unpack(download), name)
    except (HTTPException, OSError) as error:
        raise MissingFileError(_not_found(name, official, error)) from None


def local(name: str, origin: str) -> Path:
    """The file of this name, which is not downloaded; `origin` says in errors where it comes from."""
    path = find(name)
    if path is None:
        raise MissingFileError(f"{_searched(name)}: put it there; {origin}.")
    return path


def _not_found(name: str, official: Official, error: Exception) -> str:
    return (
        f"{_searched(name)}, and downloading {official.url} failed ({error}): "
        f"try again with internet, or put that file into {(cache_folder() / name).parent}."
    )


def _searched(name: str) -> str:
    data = data_folder()
    searched = f"{data} (NEUID3_DATA)" if data is not None else "a data folder (NEUID3_DATA is not set)"
    return f"{name} is neither in {searched} nor in the cache {cache_folder()}"


def _cache(files: Mapping[str, bytes], requested: str) -> Path:
    for name, content in files.items():
        path = cache_folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return cache_folder() / requested


@contextmanager
def downloaded(url: str) -> Iterator[Path]:
    """The content of a URL as a temporary file."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=".download-") as folder:
        path = Path(folder) / Path(urlsplit(url).path).name
        with path.open("wb") as file:
            _download(url, file)
        yield path


def _download(url: str, file: IO[bytes]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with urlopen(url, timeout=TIMEOUT) as response, Progress(*columns, console=Console(stderr=True)) as bar:
        expected_size = response.headers.get("Content-Length")
        task = bar.add_task(url, total=None if expected_size is None else int(expected_size))
        while chunk := response.read(CHUNK):
            file.write(chunk)
            bar.advance(task, len(chunk))
        if expected_size is not None and file.tell() != int(expected_size):
            raise ConnectionError(f"the connection broke after {file.tell():,} of {int(expected_size):,} bytes")


@contextmanager
def damage_in(file: Path | str, remedy: str = "delete it and get it again") -> Iterator[None]:
    """A context in which a `DamagedFileError` is raised again with the name of the file and a remedy."""
    try:
        yield
    except DamagedFileError as error:
        raise DamagedFileError(f"{file} is damaged: {error}; {remedy}.") from None
