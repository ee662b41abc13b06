"""Reading of ordinary files, and atomic writing: a file is there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neuid3.errors import (
    DamagedFileError,
    MissingFileError,
    ModelFileError,
    UnreadableFileError,
    UnwritableFileError,
    did_you_mean,
)

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

# What a file is called until it is whole. It is short, so that every legal name has room for it beside.
_PREFIX, _SUFFIX = ".neuid3-", ".tmp"

# An unfinished file that was written to since may be another machine's, whose locks are not always seen here.
STALE_SECONDS = 60.0

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


# Reading --------------------------------------------------------------------------------------------


def read_file(path: Path, noun: str = "file") -> bytes:
    """The content of an ordinary file.

    Pipes and devices are refused before they are opened: one may never answer, the other never end.

    Parameters
    ----------
    path : the file.
    noun : what is expected to be in it, for error messages: "There is no model …".
    """
    check_readable(path, noun)
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_text(path: Path, noun: str = "file") -> str:
    """The text of an ordinary file in UTF-8, its lines ended by \\n; see `read_file`."""
    try:
        text = read_file(path, noun).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DamagedFileError(f"{_shown(path)} is not UTF-8 text; give a {noun} that is.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_readable(path: Path, noun: str = "file") -> None:
    """Refuse what is no ordinary file, without opening it."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"There is no {noun} {_shown(path)}.{neighbours(path)}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise UnreadableFileError(f"{path} is a folder; give the {noun}'s file in it.")
    if not stat.S_ISREG(mode):
        raise UnreadableFileError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'no file')}; give an ordinary file.")


def _unreadable(path: Path, error: OSError | ValueError) -> UnreadableFileError:
    return UnreadableFileError(f"{_shown(path)} cannot be read ({reason(error)}); check the path and its permissions.")


def reason(error: OSError | ValueError | RuntimeError) -> str:
    """Why the operating system refuses a path, in a few words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)  # a NUL in the path, or links that lead to each other


def _shown(path: Path) -> str:
    """A path in a message; one that no folder has room for is cut short."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:100]}…{text[-100:]}"


def neighbours(path: Path) -> str:
    """A hint that ends a sentence about a file that is not there: perhaps one of another name is."""
    near: list[str] = []
    with suppress(OSError, ValueError):
        near = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    hint = did_you_mean(path.name, near)
    return hint if hint.startswith(" Did") else " Check the path."


# Places to write to ---------------------------------------------------------------------------------


def model_path(path: Path | str) -> Path:
    """Where a model is to be written, if a file can be there."""
    place = Path(path)
    try:
        if not place.parent.is_dir():
            raise ModelFileError(f"The folder {place.parent} is not there; make it, or save somewhere else.")
        if place.is_dir():
            raise ModelFileError(f"{place} is a folder; give the name of a file.")
    except OSError as error:
        raise _unwritable(place, error) from None
    return place


def check_writable(path: Path, *read: Path) -> None:
    """Refuse a path where no file can be written, before the work and not after it; also one that is read."""
    place = _resolved(path)
    if any(place == _resolved(other) for other in read):
        raise MissingFileError(f"{path} is read by this very command; write to another file.")
    try:
        if place.is_dir():
            raise MissingFileError(f"{path} is a folder; name a file in it.")
        if not place.parent.is_dir():
            raise MissingFileError(f"There is no folder {path.parent}; make it first, or write somewhere else.")
        if place.exists() and not place.is_file():
            return  # a device or a pipe is written to
        if not _may_write(place.parent):
            raise MissingFileError(f"Nothing can be written to the folder {path.parent}; write somewhere else.")
    except MissingFileError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _resolved(path: Path) -> Path:
    try:
        place = path.resolve()
        place.exists()  # a name that is too long is told of here
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritable(path, error) from None
    return place


def _unwritable(path: Path, error: OSError | ValueError | RuntimeError) -> UnwritableFileError:
    refusal = UnwritableFileError(f"{_shown(path)} cannot be written ({reason(error)}); write somewhere else.")
    refusal.errno, refusal.strerror = getattr(error, "errno", None), reason(error)
    return refusal


# Writing --------------------------------------------------------------------------------------------


def write_atomically(path: Path, content: bytes) -> Path:
    """Put a file in its place; whoever reads meanwhile, or stops us at any moment, finds the old one or the new one.

    A link keeps leading to its file. A device or a pipe cannot be replaced and is written to. Where the system has files
    without a name (`O_TMPFILE`), a process that is killed leaves nothing; where it has none, it leaves a file
    `.neuid3-….tmp`, which a write into that folder removes when it is a minute old.
    """
    place = _resolved(path)
    try:
        if place.exists() and not place.is_file():
            _write_through(place, content)
        else:
            _remove_leftovers(place.parent)
            _replace(place, content)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _write_through(place: Path, content: bytes) -> None:
    """Write to a pipe or a device; a pipe that nobody reads is an error, and no reason to wait."""
    fd = os.open(place, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(fd, "wb") as file:
        os.set_blocking(fd, True)
        file.write(content)


def _replace(place: Path, content: bytes) -> None:
    mode = stat.S_IMODE(place.stat().st_mode) & 0o777 if place.exists() else None
    fd, name = _open_unfinished(place.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                os.chmod(fd if name is None else name, mode)
            os.fsync(fd)
            if name is None:
                name = _named(fd, place)
            if name is not None:
                name.replace(place)
    except BaseException:
        if name is not None:
            name.unlink(missing_ok=True)
        raise


def _open_unfinished(folder: Path) -> tuple[int, Path | None]:
    """A new file, locked while it is ours, and its name: None where it has none yet."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # not every file system has files without a name
            fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
            _lock(fd)
            return fd, None
    while True:
        name = _unfinished_name(folder)
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        # Between these two lines another process may take the file for a leftover and remove it.
        if _lock(fd) and os.fstat(fd).st_nlink:
            return fd, name
        os.close(fd)


def _named(fd: int, place: Path) -> Path | None:
    """Give a file without a name its place; where something is there already, a name beside it, which is returned."""
    for target in (place, _unfinished_name(place.parent)):
        with suppress(FileExistsError):
            # A folder for the source, which an absolute path does not need, makes Python follow the link.
            os.link(f"/proc/self/fd/{fd}", target, src_dir_fd=fd, follow_symlinks=True)
            return None if target is place else target
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))


def _unfinished_name(folder: Path) -> Path:
    return folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"


def _lock(fd: int) -> bool:
    """Lock a file until it is closed, also by the end of its process; False where another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, where nobody can remove anything either
        return True
    return True


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of processes that were killed: they are old, and nobody holds their locks."""
    if fcntl is None:
        return
    with suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError), _opened(path) as fd:
                if time.time() - os.fstat(fd).st_mtime > STALE_SECONDS:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)
