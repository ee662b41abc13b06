"""Layout of a tree drawing: a row for each depth, every box centred above its children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from neuid3.export.marks import Mark

# The least distance between boxes of a row, and the distance between rows, where the edges run.
BOX_GAP, ROW_GAP = 14.0, 46.0


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The drawing of a node.

    Attributes
    ----------
    width, height : its size.
    marks : what is drawn, relative to the upper left corner.
    children : the boxes of the node's children.
    edge : the thickness of the edge from the parent.
    """

    width: float
    height: float
    marks: tuple[Mark, ...]
    children: tuple[Box, ...] = ()
    edge: float = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class PlacedBox:
    """A box and its position; `row_bottom` is the lower end of its row."""

    box: Box
    x: float
    y: float
    row_bottom: float
    children: tuple[PlacedBox, ...]

    @property
    def centre(self) -> float:
        return self.x + self.box.width / 2

    def preorder(self) -> Iterator[PlacedBox]:
        """This box and all below it, parents first, from left to right."""
        stack = [self]
        while stack:
            placed = stack.pop()
            yield placed
            stack.extend(reversed(placed.children))


@dataclass(slots=True, eq=False)
class _Outline:
    """The left and right end of a subtree in each row, lowest row first.

    The positions are relative to `-shift`, so that a subtree is moved without changing its rows.
    """

    rows: list[tuple[float, float]]
    shift: float = 0.0

    def from_top(self) -> Iterator[tuple[float, float]]:
        """The left and right ends relative to the centre of the root, from its row down."""
        return ((left + self.shift, right + self.shift) for left, right in reversed(self.rows))


def arrange(root: Box) -> PlacedBox:
    """Positions of all boxes. The leftmost is at x = 0, the root at y = 0, and no two boxes touch.

    Explicit stacks handle deep trees: `down` lists a box before its children, and reversed, children before their parent.
    """
    down: list[tuple[Box, int, int]] = []  # a box, its row, and the index of its parent
    stack: list[tuple[Box, int, int]] = [(root, 0, -1)]
    while stack:
        box, row, parent = stack.pop()
        stack.extend((child, row + 1, len(down)) for child in reversed(box.children))
        down.append((box, row, parent))
    heights = [0.0] * (1 + max(row for _, row, _ in down))
    for box, row, _ in down:
        heights[row] = max(heights[row], box.height)
    tops = [above + ROW_GAP * row for row, above in enumerate(accumulate(heights[:-1], initial=0.0))]
    offsets, outline = _pack_subtrees([box for box, _, _ in down])
    centres: list[float] = []
    for (_, _, parent), offset in zip(down, offsets, strict=True):
        left_end = min(left for left, _ in outline.from_top()) if parent < 0 else 0.0
        centres.append(-left_end if parent < 0 else centres[parent] + offset)
    placed_children: list[list[PlacedBox]] = [[] for _ in down]
    placed: PlacedBox | None = None
    for (box, row, parent), centre, children in reversed(list(zip(down, centres, placed_children, strict=True))):
        left = centre - box.width / 2
        placed = PlacedBox(box, left, tops[row], tops[row] + heights[row], tuple(reversed(children)))
        if parent >= 0:
            placed_children[parent].append(placed)
    assert placed is not None, "a tree has a root"
    return placed


def _pack_subtrees(down: Sequence[Box]) -> tuple[list[float], _Outline]:
    """The subtrees of every box, moved together until their outlines meet.

    Parameters
    ----------
    down : the boxes, parents before children.

    Returns
    -------
    The horizontal offset of each box's centre from its parent's, and the outline of the whole tree.
    """
    offsets = [0.0] * len(down)
    packed: list[tuple[int, _Outline]] = []
    for index in range(len(down) - 1, -1, -1):
        box = down[index]
        own = (-box.width / 2, box.width / 2)
        if not box.children:
            packed.append((index, _Outline([own])))
            continue
        (yes, yes_outline), (no, no_outline) = packed.pop(), packed.pop()
        pairs = zip(yes_outline.from_top(), no_outline.from_top(), strict=False)
        distance = max(left[1] - right[0] for left, right in pairs) + BOX_GAP
        offsets[yes], offsets[no] = -distance / 2, distance / 2
        merged = _merge_outlines(yes_outline, no_outline, distance / 2)
        merged.rows.append((own[0] - merged.shift, own[1] - merged.shift))
        packed.append((index, merged))
    return offsets, packed[0][1]


def _merge_outlines(yes: _Outline, no: _Outline, half: float) -> _Outline:
    """The outline of two subtrees, moved by `half` to the left and to the right; only their common rows are changed."""
    yes.shift, no.shift = yes.shift - half, no.shift + half
    deeper, other = (yes, no) if len(yes.rows) >= len(no.rows) else (no, yes)
    common = len(other.rows)
    merged = zip(yes.rows[-common:], no.rows[-common:], strict=True)
    deeper.rows[-common:] = [
        (left[0] + yes.shift - deeper.shift, right[1] + no.shift - deeper.shift) for left, right in merged
    ]
    return deeper
