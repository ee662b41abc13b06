"""Where does ProbLog run? In a child process that can be stopped when it takes too long or too much."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import astuple, dataclass
from typing import Any

from neuid3 import errors
from neuid3.utils.processes import this_process

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from neuid3.logic.prolog.worker import main; main()"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much time, memory and space the logic may take.

    `seconds` and `megabytes` bound the grounding of one program; `circuit_nodes` bounds the size of one circuit, and
    `seconds` also the time to build it.
    """

    seconds: float = 30.0
    megabytes: int = 2048
    circuit_nodes: int = 200_000


DEFAULT_LIMITS = Limits()


class _Child:
    """One running child and the lock of the thread that speaks with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.owner = -1
        self.megabytes = -1

    def forked(self) -> None:
        """Forget the parent's conversation, of which a fork may happen in the middle."""
        self.lock = threading.Lock()

    def ask(self, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
        with self.lock:
            process = self._running(limits.megabytes)
            assert process.stdin is not None
            assert process.stdout is not None
            late = threading.Event()

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(limits.seconds, end)
            timer.daemon = True
            timer.start()
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except (BrokenPipeError, OSError):
                line = ""
            except BaseException:
                self.stop()
                raise
            finally:
                timer.cancel()
            if not line:
                self.stop()
                raise errors.GroundingLimitError(_too_long(limits) if late.is_set() else _too_much(limits))
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            if reply["error"] == "MemoryError":
                self.stop()
                raise errors.GroundingLimitError(_too_much(limits))
            kind: type[errors.NeuID3Error] = getattr(errors, reply["error"])
            raise kind(reply["message"])
        return reply

    def _running(self, megabytes: int) -> subprocess.Popen[str]:
        # After a fork the pipe belongs to the parent, so the fork starts a child of its own.
        if self.process is not None and (self.owner != os.getpid() or self.megabytes != megabytes):
            self.stop()
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                _command(megabytes),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                # The C library would reserve address space for a second thread, of which `megabytes` is a bound.
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
            )
            self.owner, self.megabytes = os.getpid(), megabytes
        return self.process

    def stop(self, hurry: bool = True) -> None:
        process, self.process = self.process, None
        if process is not None and self.owner == os.getpid():
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            try:
                process.wait(0 if hurry else 2)  # it ends by itself when its input ends
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(megabytes: int) -> list[str]:
    parent = astuple(this_process())
    return [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(parent), str(megabytes)]


def start_error(limits: Limits) -> str | None:
    """The reason why the child process does not start and reply, as its last line of output; None where it does."""
    request = {"do": "read", "program": "", "columns": {}}
    try:
        done = subprocess.run(
            _command(limits.megabytes),
            input=json.dumps(request) + "\n",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=limits.seconds,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return None if done.stdout.strip() else lines[-1] if lines else f"it ends with exit code {done.returncode}"


def _too_long(limits: Limits) -> str:
    return (
        f"Grounding the background knowledge took longer than {limits.seconds:g} s and was stopped; bound its "
        "recursion, or raise the limit with Limits(seconds=…)."
    )


def _too_much(limits: Limits) -> str:
    return (
        f"Grounding the background knowledge took more than {limits.megabytes} MB and was stopped; bound its "
        "recursion or its answers, or raise the limit with Limits(megabytes=…)."
    )


_CHILD = _Child()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CHILD.forked)


def stop() -> None:
    """End the child process, if there is one; the next request starts another."""
    _CHILD.stop(hurry=False)


atexit.register(stop)


def ask(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """What ProbLog answers to a request; its errors are raised here as ours."""
    return _CHILD.ask(request, limits)
