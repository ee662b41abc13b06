"""What is the learner doing? A bar and a line for every node, for whoever asked to be told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from neuid3.learning.grow import OpenNode, Split

# Seconds between two nodes that are told of: a plain table grows hundreds of them in one.
PAUSE = 1.0

# How many of the tests that rules are tried as have their place in one line.
MOST_SHOWN = 20


class SilentProgress:
    """Tells nothing."""

    def __enter__(self) -> SilentProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def expanded(self, tests: Sequence[str]) -> None:
        """The tests that rules, neural facts and modes were expanded to."""

    def training(self, place: OpenNode, test: str, done: int, total: int) -> None:
        """A candidate has been trained for a while: `done` of `total` such pieces of work at this node."""

    def compared(self, place: OpenNode, gains: Sequence[tuple[str, float]]) -> None:
        """What each test with networks gains at this node, in bits; those that were given up early are not among them."""

    def node(self, place: OpenNode, split: Split | None) -> None:
        """A node is finished."""


class ProgressBar(SilentProgress):
    """A bar that shows node, candidate and time left; on a terminal it moves, in a log only nodes are told.

    Nodes are numbered 1, 2, 3, … in the order in which they are finished. The root has a line of its own; nodes that are
    finished within a second share one, `nodes 2 to 37`. With `gains`, those of all tests with networks are told at every
    node.
    """

    def __init__(self, gains: bool = False) -> None:
        self.gains = gains
        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.started = time.monotonic()
        self.told = -PAUSE
        self.nodes = 1
        self.first_untold = 1  # the first finished node that no line has told of
        self.latest = ""  # the node that was finished last, in words

    def __enter__(self) -> ProgressBar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell_nodes()
        self.bar.stop()

    def expanded(self, tests: Sequence[str]) -> None:
        if tests:
            more = f", … ({len(tests) - MOST_SHOWN:,} more)" if len(tests) > MOST_SHOWN else ""
            shown = ", ".join(tests[:MOST_SHOWN]) + more
            self.console.print(f"rules and networks are tried as {shown}", markup=False, soft_wrap=True)

    def training(self, place: OpenNode, test: str, done: int, total: int) -> None:
        self.bar.update(
            self.task,
            description=f"node {self.nodes} ({where(place)}): {test}",
            completed=done,
            total=total,
            refresh=True,
        )

    def compared(self, place: OpenNode, gains: Sequence[tuple[str, float]]) -> None:
        if self.gains and gains:
            told = ", ".join(f"{test} {gain:.3f}" for test, gain in sorted(gains, key=lambda pair: -pair[1]))
            self.console.print(f"node {self.nodes} ({where(place)}): gains of networks: {told}", markup=False)

    def node(self, place: OpenNode, split: Split | None) -> None:
        what = "a leaf" if split is None else f"{split.test}, gain {split.gain:.3f}"
        self.latest = f"({where(place)}): {what}"
        self.nodes += 1
        if time.monotonic() - self.started - self.told >= PAUSE:
            self._tell_nodes()
        self.bar.reset(self.task, total=None)

    def _tell_nodes(self) -> None:
        """Print one line about all nodes that were finished since the line before."""
        first, last = self.first_untold, self.nodes - 1
        if first > last:
            return
        numbers = f"node {last}" if first == last else f"nodes {first} to {last}, the last"
        self.told = time.monotonic() - self.started
        self.console.print(f"{numbers} {self.latest}; {self.told:.1f} s so far", markup=False)
        self.first_untold = self.nodes


def where(place: OpenNode) -> str:
    """The answers that lead to a node: `root`, `yes`, `yes no`."""
    return " ".join("yes" if answer else "no" for _, answer in place.path) or "root"
