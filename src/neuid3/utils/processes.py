"""Child processes that end with the process that started them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# The interval at which a child checks whether its parent is running.
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Parent:
    """A process whose children end with it, identified by its pid and a pipe whose other end only it holds."""

    pid: int
    descriptor: int
    inode: int


_this: Parent | None = None
_this_lock = threading.Lock()


def this_process() -> Parent:
    """The calling process as a `Parent`, to be passed to its children."""
    global _this
    with _this_lock:
        if _this is None or _this.pid != os.getpid():
            # Nothing is ever written to the pipe. Its end is held until the process ends, and no `exec` inherits it.
            descriptor, _ = os.pipe()
            _this = Parent(os.getpid(), descriptor, os.fstat(descriptor).st_ino)
        return _this


def end_with(parent: Parent) -> None:
    """End the calling process when its parent ends, however that happens and whatever is being computed.

    A thread polls twice a second. It cannot run while a C extension holds the interpreter's lock; where the system can
    signal the end of a pipe (Linux), the kernel therefore ends the process as well.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            _request_kill_at_end_of(parent)
    threading.Thread(target=_watch, args=(parent.pid,), name="neuid3-parent", daemon=True).start()


def initialize(parent: Parent, initializer: Callable[..., Any] | None = None, arguments: tuple[Any, ...] = ()) -> None:
    """Initialize a worker of a process pool: `end_with`, then the previous initializer of the pool."""
    end_with(parent)
    if initializer is not None:
        initializer(*arguments)


def _watch(parent: int) -> None:
    if sys.platform == "win32":  # where the parent's pid does not change after its end
        from multiprocessing import parent_process

        process = parent_process()
        if process is not None:
            process.join()
            os._exit(1)
        return
    # A fork server may stand between the two processes; it ends with the process that it serves.
    direct = os.getppid()
    while os.getppid() == direct and _runs(parent):
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        pass
    return True


def _request_kill_at_end_of(parent: Parent) -> None:
    import fcntl

    # PR_SET_PDEATHSIG would also fire when only the *thread* ends that started this process.
    pipe = os.open(f"/proc/{parent.pid}/fd/{parent.descriptor}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if os.fstat(pipe).st_ino != parent.inode:
        os.close(pipe)
        return
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
