"""Where does every box of a tree stand? In the row of its depth, above the middle of its children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from neuid3.export.marks import Mark

# The least room between boxes of a row, and the room between rows, where the edges run.
BESIDE, BELOW = 14.0, 46.0


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """What is drawn for a node, its corner at (0, 0), the boxes below it, and how thick the edge to it is."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    children: tuple[Box, ...] = ()
    edge: float = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A box in its place; `floor` is where its row ends."""

    box: Box
    x: float
    y: float
    floor: float
    children: tuple[Spot, ...]

    @property
    def centre(self) -> float:
        return self.x + self.box.width / 2

    def everything(self) -> Iterator[Spot]:
        """This spot and all below it, from left to right."""
        stack = [self]
        while stack:
            spot = stack.pop()
            yield spot
            stack.extend(reversed(spot.children))


@dataclass(slots=True, eq=False)
class _Outline:
    """How far a subtree reaches to the left and to the right in each row, the lowest row first.

    The numbers are relative to `-shift`, so that a subtree is moved without touching its rows.
    """

    rows: list[tuple[float, float]]
    shift: float = 0.0

    def from_top(self) -> Iterator[tuple[float, float]]:
        """The reaches relative to the centre of the root, from its row down."""
        return ((left + self.shift, right + self.shift) for left, right in reversed(self.rows))


def arrange(root: Box) -> Spot:
    """Every box in its place. The leftmost stands at x = 0, the root at y = 0, and no two boxes touch.

    Deep trees are laid out on explicit stacks: a box before its children (`down`), and children before it (reversed).
    """
    down: list[tuple[Box, int, int]] = []  # a box, its row, and the place of its parent
    stack: list[tuple[Box, int, int]] = [(root, 0, -1)]
    while stack:
        box, row, parent = stack.pop()
        stack.extend((child, row + 1, len(down)) for child in reversed(box.children))
        down.append((box, row, parent))
    heights = [0.0] * (1 + max(row for _, row, _ in down))
    for box, row, _ in down:
        heights[row] = max(heights[row], box.height)
    tops = [above + BELOW * row for row, above in enumerate(accumulate(heights[:-1], initial=0.0))]
    offsets, outline = _settle([box for box, _, _ in down])
    centres: list[float] = []
    for (_, _, parent), offset in zip(down, offsets, strict=True):
        left_end = min(left for left, _ in outline.from_top()) if parent < 0 else 0.0
        centres.append(-left_end if parent < 0 else centres[parent] + offset)
    below: list[list[Spot]] = [[] for _ in down]
    spot: Spot | None = None
    for (box, row, parent), centre, children in reversed(list(zip(down, centres, below, strict=True))):
        spot = Spot(box, centre - box.width / 2, tops[row], tops[row] + heights[row], tuple(reversed(children)))
        if parent >= 0:
            below[parent].append(spot)
    assert spot is not None, "a tree has a root"
    return spot


def _settle(down: Sequence[Box]) -> tuple[list[float], _Outline]:
    """Push the subtrees of every box together until their outlines meet: how far each centre is off its parent's."""
    offsets = [0.0] * len(down)
    settled: list[tuple[int, _Outline]] = []
    for place in range(len(down) - 1, -1, -1):
        box = down[place]
        own = (-box.width / 2, box.width / 2)
        if not box.children:
            settled.append((place, _Outline([own])))
            continue
        (yes, ours), (no, theirs) = settled.pop(), settled.pop()
        pairs = zip(ours.from_top(), theirs.from_top(), strict=False)
        apart = max(left[1] - right[0] for left, right in pairs) + BESIDE
        offsets[yes], offsets[no] = -apart / 2, apart / 2
        joined = _joined(ours, theirs, apart / 2)
        joined.rows.append((own[0] - joined.shift, own[1] - joined.shift))
        settled.append((place, joined))
    return offsets, settled[0][1]


def _joined(yes: _Outline, no: _Outline, half: float) -> _Outline:
    """The outline of two subtrees, one `half` to the left and one `half` to the right; only their common rows are touched."""
    yes.shift, no.shift = yes.shift - half, no.shift + half
    kept, other = (yes, no) if len(yes.rows) >= len(no.rows) else (no, yes)
    common = len(other.rows)
    merged = zip(yes.rows[-common:], no.rows[-common:], strict=True)
    kept.rows[-common:] = [
        (ours[0] + yes.shift - kept.shift, theirs[1] + no.shift - kept.shift) for ours, theirs in merged
    ]
    return kept
