"""Where does every box of a tree stand? In the row of its depth, above the middle of its children."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

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
        """This spot and all below it."""
        yield self
        for child in self.children:
            yield from child.everything()


# For each row from the top of a subtree, how far it reaches to the left and to the right of the centre of its root.
_Outline = list[tuple[float, float]]


def arrange(root: Box) -> Spot:
    """Every box in its place. The leftmost stands at x = 0, the root at y = 0, and no two boxes touch."""
    offsets: dict[int, tuple[float, ...]] = {}
    left = min(reach for reach, _ in _settle(root, offsets))
    heights: list[float] = []
    _measure(root, 0, heights)
    tops = [sum(heights[:row]) + BELOW * row for row in range(len(heights))]

    def place(box: Box, centre: float, row: int) -> Spot:
        moved = zip(box.children, offsets[id(box)], strict=True)
        below = tuple(place(child, centre + offset, row + 1) for child, offset in moved)
        return Spot(box, centre - box.width / 2, tops[row], tops[row] + heights[row], below)

    return place(root, -left, 0)


def _settle(box: Box, offsets: dict[int, tuple[float, ...]]) -> _Outline:
    """Push the subtrees of a box together until their outlines meet; how far each centre is off is put in `offsets`."""
    own = (-box.width / 2, box.width / 2)
    if not box.children:
        offsets[id(box)] = ()
        return [own]
    yes, no = (_settle(child, offsets) for child in box.children)
    apart = max(ours[1] - theirs[0] for ours, theirs in zip(yes, no, strict=False)) + BESIDE
    offsets[id(box)] = (-apart / 2, apart / 2)
    return [own, *_joined(yes, no, apart / 2)]


def _joined(yes: _Outline, no: _Outline, half: float) -> Iterator[tuple[float, float]]:
    """The outline of two subtrees, one `half` to the left and one `half` to the right."""
    for ours, theirs in zip_longest(yes, no):
        left = (ours or theirs)[0] + (-half if ours else half)
        right = (theirs or ours)[1] + (half if theirs else -half)
        yield left, right


def _measure(box: Box, row: int, heights: list[float]) -> None:
    """How high each row is."""
    if row == len(heights):
        heights.append(0.0)
    heights[row] = max(heights[row], box.height)
    for child in box.children:
        _measure(child, row + 1, heights)
