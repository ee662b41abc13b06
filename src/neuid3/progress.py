"""What is the learner doing? A bar and a line for every node, for whoever asked to be told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from neuid3.induce import Place, Split

# Seconds between two nodes that are told of: a plain table grows hundreds of them in one.
PAUSE = 1.0


class Silent:
    """Tells nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def training(self, place: Place, test: str, done: int, total: int) -> None:
        """A candidate has been trained for a while: `done` of `total` such pieces of work at this node."""

    def compared(self, place: Place, gains: Sequence[tuple[str, float]]) -> None:
        """What each test with networks gains at this node, in bits; those that were given up early are not among them."""

    def node(self, place: Place, split: Split | None) -> None:
        """A node is finished."""


class Bar(Silent):
    """A bar that shows node, candidate and time left; on a terminal it moves, in a log only nodes are told.

    The root is always told of, and later nodes when there was nothing to read for a while. With `gains`, those of all tests
    with networks are told at every node.
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

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def training(self, place: Place, test: str, done: int, total: int) -> None:
        self.bar.update(
            self.task,
            description=f"node {self.nodes} ({where(place)}): {test}",
            completed=done,
            total=total,
            refresh=True,
        )

    def compared(self, place: Place, gains: Sequence[tuple[str, float]]) -> None:
        if self.gains and gains:
            told = ", ".join(f"{test} {gain:.3f}" for test, gain in sorted(gains, key=lambda pair: -pair[1]))
            self.console.print(f"node {self.nodes} ({where(place)}): gains of networks: {told}", markup=False)

    def node(self, place: Place, split: Split | None) -> None:
        passed = time.monotonic() - self.started
        if passed - self.told >= PAUSE:
            what = "a leaf" if split is None else f"{split.test}, gain {split.gain:.3f}"
            self.console.print(f"node {self.nodes} ({where(place)}): {what}; {passed:.1f} s so far", markup=False)
            self.told = passed
        self.bar.reset(self.task, total=None)
        self.nodes += 1


def where(place: Place) -> str:
    """The answers that lead to a node: `root`, `yes`, `yes no`."""
    return " ".join("yes" if answer else "no" for _, answer in place.path) or "root"
