"""Where is a data file? In the data folder, in the cache, or at its official place."""

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

PATIENCE = 30.0  # seconds without an answer until a server counts as unreachable
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Official:
    """The place where a dataset is published, and how its file becomes ours.

    `unpack` returns the files to keep by their names, or raises a `DamagedFileError` that says what is wrong.
    """

    url: str
    unpack: Callable[[Path], Mapping[str, bytes]]

    @property
    def filename(self) -> str:
        return Path(urlsplit(self.url).path).name


def data_folder() -> Path | None:
    """The folder that NEUID3_DATA names."""
    named = os.environ.get("NEUID3_DATA")
    return Path(named) if named else None


def find(name: str) -> Path | None:
    """The file of this name in the data folder, else in the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def locate(name: str, official: Official) -> Path:
    """The file of this name, converted from the official file or downloaded if it is nowhere yet."""
    found = find(name)
    if found is not None:
        return found
    placed = find(f"{Path(name).parent.as_posix()}/{official.filename}")
    if placed is not None:
        with blaming(placed):
            return _keep(official.unpack(placed), name)
    try:
        with downloaded(official.url) as path, blaming(official.url, "nothing of it was kept; try again later"):
            return _keep(official.unpack(path), name)
    except (HTTPException, OSError) as error:
        raise MissingFileError(_not_found(name, official, error)) from None


def _not_found(name: str, official: Official, error: Exception) -> str:
    data, cache = data_folder(), cache_folder()
    looked = f"{data} (NEUID3_DATA)" if data is not None else "a data folder (NEUID3_DATA is not set)"
    return (
        f"{name} is neither in {looked} nor in the cache {cache}, and downloading {official.url} failed ({error}): "
        f"try again with internet, or put that file into {(cache / name).parent}."
    )


def _keep(files: Mapping[str, bytes], wanted: str) -> Path:
    for name, content in files.items():
        place = cache_folder() / name
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, content)
    return cache_folder() / wanted


@contextmanager
def downloaded(url: str) -> Iterator[Path]:
    """What a URL holds, as a file that is gone afterwards."""
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
    with urlopen(url, timeout=PATIENCE) as answer, Progress(*columns, console=Console(stderr=True)) as bar:
        promised = answer.headers.get("Content-Length")
        task = bar.add_task(url, total=None if promised is None else int(promised))
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            bar.advance(task, len(chunk))
        if promised is not None and file.tell() != int(promised):
            raise ConnectionError(f"the connection broke after {file.tell():,} of {int(promised):,} bytes")


@contextmanager
def blaming(what: Path | str, remedy: str = "delete it and get it again") -> Iterator[None]:
    """Damage that is found in here is the damage of this file."""
    try:
        yield
    except DamagedFileError as error:
        raise DamagedFileError(f"{what} is damaged: {error}; {remedy}.") from None
