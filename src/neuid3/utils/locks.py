"""Locks on files, held by one open file and released by the system when its process ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from contextlib import suppress
from pathlib import Path

# Error numbers of a file system without locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}

# Error numbers of a lock that is held by another process.
_LOCKED = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}

# Windows makes locked bytes unreadable for others, so a byte far beyond the content is locked.
_FAR_BEHIND = 1 << 30

_held: set[int] = set()


class FileLock:
    """An exclusive lock between processes of one machine, and between threads of one process.

    The system releases it when the process ends, however it ends. On a network file system it excludes other machines only
    where that file system supports locks (NFS does since version 4, if it is mounted so).

    Parameters
    ----------
    path : the lock file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._owner = -1

    def acquire(self) -> bool:
        """Acquire the lock without waiting; False where it is held already."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        while True:
            descriptor = os.open(self.path, flags, 0o666)
            try:
                is_locked = _lock(descriptor)
                is_current = is_locked and self._is_current(descriptor)
                if is_current:
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{_this_process()}\n".encode())
            except BaseException:
                os.close(descriptor)
                raise
            if is_current:
                self._descriptor, self._owner = descriptor, os.getpid()
                _held.add(descriptor)
                return True
            os.close(descriptor)
            if not is_locked:
                return False
            # Otherwise the previous holder has just removed the file; try again with a new one.

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock and remove its file; in a fork of the process that acquired it, do nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None and self._owner == os.getpid():
            if sys.platform != "win32":
                with suppress(OSError):
                    self.path.unlink()
            _held.discard(descriptor)
            os.close(descriptor)
            if sys.platform == "win32":
                with suppress(OSError):
                    self.path.unlink()

    def holder(self) -> str:
        """The process that holds the lock, and its machine, for messages."""
        with suppress(OSError, UnicodeDecodeError):
            owner = self.path.read_text(encoding="utf-8").strip()
            if owner == _this_process():
                return f"{owner} (another thread of this one)"
            if owner:
                return owner[:200]
        return "another process"


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _lock(descriptor: int) -> bool:
    """Lock an open file; False where another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR_BEHIND, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            # Unlike `lockf`, it belongs to the open file: it excludes threads, and closing another descriptor keeps it.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            warnings.warn(
                "The file system has no locks; make sure that no other process uses the folder.",
                UserWarning,
                stacklevel=2,
            )
        elif error.errno in _LOCKED:
            return False
        else:
            raise
    return True


def _close_inherited() -> None:
    """Close inherited locks in a fork, which would otherwise outlive the process that acquired them."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
