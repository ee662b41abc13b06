"""Progress reports of a fit: a progress bar and a line for finished nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TimeRemainingColumn
from rich.progress import Task as BarTask
from rich.text import Text

from neuid3.learning.grow import OpenNode, Split

# Least seconds between two lines about nodes: a symbolic table grows hundreds of nodes in one second.
MIN_SECONDS = 1.0

# A terminal with fewer columns has a shorter form of the time that is left.
NARROW = 60

# The most tests of rules that are listed.
MAX_SHOWN = 20


class SilentProgress:
    """Progress reports that are dropped; the base class of those that are shown."""

    def __enter__(self) -> SilentProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def expanded(self, tests: Sequence[str]) -> None:
        """Report the tests that rules, neural facts and modes were expanded to."""

    def training(self, node: OpenNode, test: str, done: int, total: int) -> None:
        """Report that training at this node, at present of `test`, has finished `done` of `total` units of work."""

    def compared(self, node: OpenNode, gains: Sequence[tuple[str, float]]) -> None:
        """Report the gain of each neural test at this node, in bits, without those that successive halving dropped."""

    def node(self, node: OpenNode, split: Split | None) -> None:
        """Report a finished node and its split, None for a leaf."""

    def stage(self, text: str) -> None:
        """Report a stage that begins after the tree is grown."""

    def tree(self, text: str, leaves: int, bits: float) -> None:
        """Report a whole tree, with its number of leaves and the code length of a validation example, in bits."""


class ProgressBar(SilentProgress):
    """A bar with node, candidate and time left on a terminal, and lines about finished nodes there and in logs.

    Nodes are numbered 1, 2, 3, … in the order in which they are finished. The root has a line of its own; nodes that are
    finished within a second share one, `nodes 2 to 37`.

    Parameters
    ----------
    gains : whether the gains of all neural tests are shown at every node.
    time_limit : the seconds that the fit may take, shown beside those that it has taken; None without a limit.
    """

    def __init__(self, gains: bool = False, time_limit: float | None = None) -> None:
        self.gains, self.time_limit = gains, time_limit
        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            _Description(self.console),
            BarColumn(bar_width=min(40, self.console.width // 4)),
            TimeRemainingColumn(compact=self.console.width < NARROW),
            *([] if time_limit is None else [_TimeBudget(self)]),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.started = time.monotonic()
        self.last_report = -MIN_SECONDS  # seconds from the start
        self.nodes = 1
        self.first_unreported = 1  # the first finished node that no line has reported
        self.latest = ""  # text about the node that was finished last

    def __enter__(self) -> ProgressBar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._report_nodes()
        self.bar.stop()

    def expanded(self, tests: Sequence[str]) -> None:
        if tests:
            more = f", … ({len(tests) - MAX_SHOWN:,} more)" if len(tests) > MAX_SHOWN else ""
            shown = ", ".join(tests[:MAX_SHOWN]) + more
            self._print(f"rules and networks are tried as {shown}", whole=True)

    def training(self, node: OpenNode, test: str, done: int, total: int) -> None:
        self.bar.update(
            self.task,
            description=f"node {self.nodes} ({path_text(node)}): {test}",
            completed=done,
            total=total,
            refresh=True,
        )

    def compared(self, node: OpenNode, gains: Sequence[tuple[str, float]]) -> None:
        if self.gains and gains:
            listed = ", ".join(f"{test} {gain:.3f}" for test, gain in sorted(gains, key=lambda pair: -pair[1]))
            self._print(f"node {self.nodes} ({path_text(node)}): gains of networks: {listed}", whole=True)

    def node(self, node: OpenNode, split: Split | None) -> None:
        outcome = "a leaf" if split is None else f"{split.test}, gain {split.gain:.3f}"
        self.latest = f"({path_text(node)}): {outcome}"
        self.nodes += 1
        if time.monotonic() - self.started - self.last_report >= MIN_SECONDS:
            self._report_nodes()
        self.bar.reset(self.task, total=None)

    def stage(self, text: str) -> None:
        self.bar.reset(self.task, total=None, description=text)
        self.bar.refresh()

    def tree(self, text: str, leaves: int, bits: float) -> None:
        self._report_nodes()
        tree = "a single leaf" if leaves == 1 else f"{leaves} leaves"
        self._print(f"{text}: {tree}, {bits:.3f} bits per unseen example; {self._time_text()}")

    def _time_text(self) -> str:
        """The seconds that the fit has taken, and those that it may take."""
        seconds = time.monotonic() - self.started
        return f"{seconds:.1f} s so far" if self.time_limit is None else f"{seconds:.1f} of {self.time_limit:g} s"

    def _report_nodes(self) -> None:
        """Print one line about all nodes that were finished since the last line."""
        first, last = self.first_unreported, self.nodes - 1
        if first > last:
            return
        numbers = f"node {last}" if first == last else f"nodes {first} to {last}, the last"
        self.last_report = time.monotonic() - self.started
        self._print(f"{numbers} {self.latest}; {self._time_text()}")
        self.first_unreported = self.nodes

    def _print(self, line: str, whole: bool = False) -> None:
        """Print a line; on a terminal it is shortened to one row of the screen, or wrapped where it must be read whole."""
        if self.console.is_terminal and not whole:
            line = shortened(line, self.console.width)
        self.console.print(line, markup=False, soft_wrap=not self.console.is_terminal)


class _Description(ProgressColumn):
    """The part of the bar with the node and the test, shortened in its middle to half of the screen."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def render(self, task: BarTask) -> Text:
        return Text(shortened(task.description, self.console.width // 2), no_wrap=True)


class _TimeBudget(ProgressColumn):
    """The part of the bar with the seconds that a fit has taken and may take."""

    def __init__(self, progress: ProgressBar) -> None:
        super().__init__()
        self.progress = progress

    def render(self, task: BarTask) -> Text:  # noqa: ARG002 - rich's own signature
        seconds = time.monotonic() - self.progress.started
        return Text(f"{seconds:.0f} of {self.progress.time_limit:g} s")


def shortened(text: str, width: int) -> str:
    """A text of at most so many characters, with an ellipsis in place of its middle.

    Parameters
    ----------
    text : the text.
    width : the most characters.

    >>> shortened("node 12 (yes no no yes): higher(second, first); 3.1 s so far", 40)
    'node 12 (yes no no yes):…); 3.1 s so far'
    """
    if len(text) <= width:
        return text
    end = max((width - 1) * 2 // 5, 0)
    return f"{text[: max(width - 1 - end, 0)]}…{text[len(text) - end :]}"[:width]


def path_text(node: OpenNode) -> str:
    """The test responses on the path to a node: `root`, `yes`, `yes no`."""
    return " ".join("yes" if response else "no" for _, response in node.path) or "root"
