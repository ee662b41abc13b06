"""Reading of regular files, and atomic writing: a file is complete or does not exist."""

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
except ImportError:  # a platform without such locks
    fcntl = None  # type: ignore[assignment]

# The name of a file until it is complete. It is independent of the final name, which may have the maximum length.
_PREFIX, _SUFFIX = ".neuid3-", ".tmp"

# A younger unfinished file may belong to another machine, whose locks are not always visible.
STALE_SECONDS = 60.0

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


# Reading --------------------------------------------------------------------------------------------


def read_file(path: Path, noun: str = "file") -> bytes:
    """The content of a regular file.

    Pipes and devices are refused before they are opened, since reading them may never end.

    Parameters
    ----------
    path : the file.
    noun : its expected content, for error messages: "There is no model …".
    """
    check_readable(path, noun)
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_text(path: Path, noun: str = "file") -> str:
    """The text of a regular UTF-8 file, with line ends \\n; see `read_file`."""
    try:
        text = read_file(path, noun).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DamagedFileError(f"{_shorten(path)} is not UTF-8 text; give a {noun} that is.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_readable(path: Path, noun: str = "file") -> None:
    """Refuse anything but a regular file, without opening it."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"There is no {noun} {_shorten(path)}.{similar_file_hint(path)}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise UnreadableFileError(f"{path} is a folder; give the {noun}'s file in it.")
    if not stat.S_ISREG(mode):
        raise UnreadableFileError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'no file')}; give a regular file.")


def _unreadable(path: Path, error: OSError | ValueError) -> UnreadableFileError:
    return UnreadableFileError(
        f"{_shorten(path)} cannot be read ({reason(error)}); check the path and its permissions."
    )


def reason(error: OSError | ValueError | RuntimeError) -> str:
    """The reason of an error of the operating system, without the path."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)  # a NUL in the path, or a cycle of symbolic links


def _shorten(path: Path) -> str:
    """A path in a message; the middle of a very long one is left out."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:100]}…{text[-100:]}"


def similar_file_hint(path: Path) -> str:
    """A sentence that suggests a file with a similar name, or to check the path."""
    near: list[str] = []
    with suppress(OSError, ValueError):
        near = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    hint = did_you_mean(path.name, near)
    return hint if hint.startswith(" Did") else " Check the path."


# Paths to write to ----------------------------------------------------------------------------------


def model_path(path: Path | str) -> Path:
    """The path of a new model file; refused where its folder is missing or it is a folder itself."""
    target = Path(path)
    try:
        if not target.parent.is_dir():
            raise ModelFileError(f"The folder {target.parent} does not exist; create it, or save somewhere else.")
        if target.is_dir():
            raise ModelFileError(f"{target} is a folder; give the name of a file.")
    except OSError as error:
        raise _unwritable(target, error) from None
    return target


def check_writable(path: Path, *read: Path) -> None:
    """Refuse a path to which no file can be written, before any work is done.

    Parameters
    ----------
    path : the file to be written.
    *read : the input files of the command, which must not be overwritten.
    """
    target = _resolved(path)
    if any(target == _resolved(other) for other in read):
        raise MissingFileError(f"{path} is an input of this command; write to another file.")
    try:
        if target.is_dir():
            raise MissingFileError(f"{path} is a folder; name a file in it.")
        if not target.parent.is_dir():
            raise MissingFileError(f"There is no folder {path.parent}; create it first, or write somewhere else.")
        if target.exists() and not target.is_file():
            return  # devices and pipes are written to directly
        if not _may_write(target.parent):
            raise MissingFileError(f"The folder {path.parent} is not writable; write somewhere else.")
    except MissingFileError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _resolved(path: Path) -> Path:
    try:
        target = path.resolve()
        target.exists()  # raises for a name that is too long
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritable(path, error) from None
    return target


def _unwritable(path: Path, error: OSError | ValueError | RuntimeError) -> UnwritableFileError:
    refusal = UnwritableFileError(f"{_shorten(path)} cannot be written ({reason(error)}); write somewhere else.")
    refusal.errno, refusal.strerror = getattr(error, "errno", None), reason(error)
    return refusal


# Writing --------------------------------------------------------------------------------------------


def write_atomically(path: Path, content: bytes) -> Path:
    """Write a file atomically: at any moment, and after a crash, the path holds either the old or the new content.

    A symbolic link stays a link; its file is replaced. Devices and pipes are written to directly. Where the system supports
    unnamed files (`O_TMPFILE`), a killed process leaves nothing behind; elsewhere it leaves a file `.neuid3-….tmp`, which a
    later write into that folder removes once it is a minute old.

    Returns
    -------
    The path.

    Raises
    ------
    UnwritableFileError
        Where the operating system refuses.
    """
    target = _resolved(path)
    try:
        if target.exists() and not target.is_file():
            _write_through(target, content)
        else:
            _remove_leftovers(target.parent)
            _replace(target, content)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _write_through(target: Path, content: bytes) -> None:
    """Write to a pipe or a device; a pipe without a reader is an error instead of a wait."""
    fd = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(fd, "wb") as file:
        os.set_blocking(fd, True)
        file.write(content)


def _replace(target: Path, content: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else None
    fd, name = _open_unfinished(target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                os.chmod(fd if name is None else name, mode)
            os.fsync(fd)
            if name is None:
                name = _link_name(fd, target)
            if name is not None:
                name.replace(target)
    except BaseException:
        if name is not None:
            name.unlink(missing_ok=True)
        raise


def _open_unfinished(folder: Path) -> tuple[int, Path | None]:
    """A new file, locked until it is closed, and its name; None for an unnamed file."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # not every file system supports unnamed files
            fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
            _lock(fd)
            return fd, None
    while True:
        name = _unfinished_name(folder)
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        # Before the lock is acquired, another process may take the file for a leftover and remove it.
        if _lock(fd) and os.fstat(fd).st_nlink:
            return fd, name
        os.close(fd)


def _link_name(fd: int, target: Path) -> Path | None:
    """Link an unnamed file to its target; where that exists, to a temporary name beside it, which is returned."""
    for candidate in (target, _unfinished_name(target.parent)):
        with suppress(FileExistsError):
            # Only with src_dir_fd, which an absolute path does not need, does Python follow the link.
            os.link(f"/proc/self/fd/{fd}", candidate, src_dir_fd=fd, follow_symlinks=True)
            return None if candidate is target else candidate
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _unfinished_name(folder: Path) -> Path:
    return folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"


def _lock(fd: int) -> bool:
    """Lock a file until it is closed or its process ends; False where another process holds the lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, where leftovers are not removed either
        return True
    return True


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of killed processes: old files whose locks are not held."""
    if fcntl is None:
        return
    with suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError), _open_existing(path) as fd:
                if time.time() - os.fstat(fd).st_mtime > STALE_SECONDS:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()


@contextmanager
def _open_existing(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)
