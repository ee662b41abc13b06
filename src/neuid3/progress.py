"""What is the learner doing? A line for every node, for whoever asked to be told."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console

from neuid3.induce import Place, Split


def teller() -> Callable[[Place, Split | None], None]:
    """Tells of every node as it is finished: where it is, what it asks, and how long it took."""
    console = Console(stderr=True)
    started = last = time.monotonic()
    nodes = 0

    def tell(place: Place, split: Split | None) -> None:
        nonlocal last, nodes
        now = time.monotonic()
        nodes += 1
        where = "".join("y" if answer else "n" for _, answer in place.path) or "root"
        what = "a leaf" if split is None else f"{split.test} (gain {split.gain:.3f})"
        console.print(
            f"node {nodes} at {where}: {what}, {now - last:.1f} s, {now - started:.1f} s in all", highlight=False
        )
        last = now

    return tell
