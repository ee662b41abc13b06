"""The child process that runs ProbLog, with limits on its time and memory."""

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
from neuid3.utils.fields import FieldRule, IntegerField, NumberField, read_field
from neuid3.utils.processes import this_process

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from neuid3.logic.prolog.worker import main; main()"


# The values that each limit may have.
LIMIT_RULES: dict[str, FieldRule] = {
    "seconds": NumberField(0.0),
    "megabytes": IntegerField(0),
    "circuit_nodes": IntegerField(0),
    "max_candidates": IntegerField(1),
    "max_variables": IntegerField(1),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the time, memory, circuit size and candidate tests of background knowledge, and on the variables of queries.

    Attributes
    ----------
    seconds : the most time to ground one program, and to build one circuit.
    megabytes : the most memory to ground one program; 0 for no limit.
    circuit_nodes : the most nodes of one circuit.
    max_candidates : the most candidate tests that rules or modes may be expanded to in a fit; of queries over parts the most
        with networks that a node may have, and a hundredth of the most without.
    max_variables : the most variables of a query over parts.

    Raises
    ------
    ParameterError : where a limit is negative, or not a number.
    """

    seconds: float = 30.0
    megabytes: int = 2048
    circuit_nodes: int = 200_000
    max_candidates: int = 1000
    max_variables: int = 4

    def __post_init__(self) -> None:
        for name, rule in LIMIT_RULES.items():
            object.__setattr__(self, name, read_field(name, getattr(self, name), rule))


DEFAULT_LIMITS = Limits()


class _Child:
    """One child process, and a lock that gives it to one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.owner = -1
        self.megabytes = -1

    def forked(self) -> None:
        """Replace the lock in a forked process, since another thread may have held it at the fork."""
        self.lock = threading.Lock()

    def send(self, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """The reply to a request; a `NeuID3Error` where the reply is one, or the limits are exceeded."""
        with self.lock:
            process = self._running(limits.megabytes)
            assert process.stdin is not None
            assert process.stdout is not None
            timed_out = threading.Event()

            def stop_child() -> None:
                timed_out.set()
                process.kill()

            timer = threading.Timer(limits.seconds, stop_child)
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
                raise errors.GroundingLimitError(
                    _time_message(limits) if timed_out.is_set() else _memory_message(limits)
                )
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            if reply["error"] == "MemoryError":
                self.stop()
                raise errors.GroundingLimitError(_memory_message(limits))
            kind: type[errors.NeuID3Error] = getattr(errors, reply["error"])
            raise kind(reply["message"])
        return reply

    def _running(self, megabytes: int) -> subprocess.Popen[str]:
        # After a fork the pipe belongs to the parent process, so the forked process starts a child of its own.
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
                # The C library would reserve address space for a second thread, and `megabytes` limits the address space.
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
            )
            self.owner, self.megabytes = os.getpid(), megabytes
        return self.process

    def stop(self, at_once: bool = True) -> None:
        process, self.process = self.process, None
        if process is not None and self.owner == os.getpid():
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            try:
                process.wait(0 if at_once else 2)  # it ends when its input ends
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(megabytes: int) -> list[str]:
    parent = astuple(this_process())
    return [sys.executable, "-I", "-c", _START, json.dumps(sys.path), json.dumps(parent), str(megabytes)]


def start_error(limits: Limits) -> str | None:
    """The last line of output of a child process that does not start and reply; None where it does."""
    request = {"do": "read", "program": "", "columns": {}}
    try:
        finished = subprocess.run(
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
    lines = finished.stderr.strip().splitlines()
    return None if finished.stdout.strip() else lines[-1] if lines else f"it ends with exit code {finished.returncode}"


def _time_message(limits: Limits) -> str:
    return (
        f"Grounding the background knowledge took longer than {limits.seconds:g} s and was stopped; bound its "
        "recursion, or raise the limit with Limits(seconds=…)."
    )


def _memory_message(limits: Limits) -> str:
    return (
        f"Grounding the background knowledge took more than {limits.megabytes} MB and was stopped; bound its "
        "recursion or its answers, or raise the limit with Limits(megabytes=…)."
    )


_CHILD = _Child()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CHILD.forked)


def stop() -> None:
    """Stop the child process, if there is one; the next request starts another."""
    _CHILD.stop(at_once=False)


atexit.register(stop)


def send_request(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """The reply of the child process to a request; errors of the child are raised as `NeuID3Error`."""
    return _CHILD.send(request, limits)
