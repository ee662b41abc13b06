"""Locks on files, held by one open file and released by the system when its process ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from contextlib import suppress
from pathlib import Path

# What a file system that knows no locks says.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}

# What is said of a lock that somebody else has.
_LOCKED = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}

# Windows lets nobody else read what is locked, so a byte far behind the content is.
_FAR_BEHIND = 1 << 30

_held: set[int] = set()


class FileLock:
    """An exclusive lock among processes of one machine, and among threads of one process.

    The system releases it when the process ends, however it ends. On a network file system it holds among machines only
    where that file system carries locks over (NFS since version 4 does, if it is so mounted).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._owner = -1

    def acquire(self) -> bool:
        """Take the lock, unless somebody has it."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        while True:
            descriptor = os.open(self.path, flags, 0o666)
            try:
                is_taken = _take(descriptor)
                is_in_place = is_taken and self._is_in_place(descriptor)
                if is_in_place:
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{_this_process()}\n".encode())
            except BaseException:
                os.close(descriptor)
                raise
            if is_in_place:
                self._descriptor, self._owner = descriptor, os.getpid()
                _held.add(descriptor)
                return True
            os.close(descriptor)
            if not is_taken:
                return False
            # Otherwise whoever held it before has just removed the file, and the next one is tried.

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back and remove its file. A fork of the process that took it has nothing to give back."""
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
        """Who has the lock: a process and its machine, as far as is known."""
        with suppress(OSError, UnicodeDecodeError):
            told = self.path.read_text(encoding="utf-8").strip()
            if told == _this_process():
                return f"{told} (another thread of this one)"
            if told:
                return told[:200]
        return "another process"


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _take(descriptor: int) -> bool:
    """Take the lock of an open file; false if somebody else has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR_BEHIND, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            # Unlike `lockf`, it belongs to the open file: threads exclude each other, and closing another file is harmless.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            warnings.warn(
                "The file system has no locks: see to it that no other process uses the folder.",
                UserWarning,
                stacklevel=2,
            )
        elif error.errno in _LOCKED:
            return False
        else:
            raise
    return True


def _forget() -> None:
    """In a fork: close the locks, which would otherwise outlive the process that took them."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
