"""Pictures of trees: a box for each node with its test, its classes and example images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Literal

from neuid3.export.galleries import Gallery, GalleryExample, galleries
from neuid3.export.labels import (
    class_shares,
    distribution_text,
    is_near_chance,
    leaf_name,
    mass_formatter,
    network_summary,
    noise_text,
    number_format,
    printable,
    ranked_classes,
    share_text,
)
from neuid3.export.layout import Box, PlacedBox, arrange
from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle, text_width
from neuid3.export.meanings import network_lines
from neuid3.export.palette import WARNING, class_colours, leaf_colours, number_colour
from neuid3.export.unwrap import model_of, tree_of
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.tree import Branch, LeafNode, Node, Path, Tree, Visit, fold, node_paths, preorder

# Font sizes, in the units of the picture: tests and classes, statistics, and captions of images.
LARGE, SMALL, TINY = 12.0, 10.0, 8.0
GREY, LINE, PAPER = "#666666", "#9a9a9a", "#ffffff"
MARGIN, PADDING = 12.0, 9.0

# The side of a thumbnail, and the distance from one to the next.
THUMBNAIL, THUMBNAIL_STEP = 26.0, 29.0

# The most characters in a line of a test, in the line of its class shares, and in the name of a class.
TEST_CHARACTERS, SHARES_CHARACTERS, CLASS_CHARACTERS = 30, 34, 16

# The most characters in a line of a note above the tree.
NOTE_CHARACTERS = 60

_EDGE_LABELS: tuple[tuple[str, Literal["start", "end"], float], ...] = (("yes", "end", -7.0), ("no", "start", 7.0))


def draw_tree(tree: Any, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> Picture:
    """The picture of a tree.

    Parameters
    ----------
    tree : a `Tree`, a model or a fitted classifier.
    X : examples; with them, tests that read images show some of these.
    max_depth : the depth of the deepest tests that are drawn (the root has depth 0); None for all.
    images : the most examples for each response of a test.
    """
    drawn = tree_of(tree)
    by_path = {} if X is None else galleries(model_of(tree, "networks that read X"), X, images, max_depth)
    # Below the deepest tests that are drawn, a box gives the number of leaves.
    depth = None if max_depth is None else max(max_depth, -1) + 1
    root = arrange(fold(drawn.root, _Drawing(drawn, by_path, depth).box, depth))
    tree_width = max(placed.x + placed.box.width for placed in root.preorder())
    legend, top = _legend(drawn, tree_width, network_lines(tree))
    width = max(tree_width, _right_end(legend))
    marks = [*legend, *_translated(_marks(root), (width - tree_width) / 2, top)]
    height = top + max(placed.row_bottom for placed in root.preorder())
    canvas = Rectangle(0.0, 0.0, width + 2 * MARGIN, height + 2 * MARGIN, PAPER, radius=6.0)
    title = f"A decision tree of depth {drawn.depth}"
    return Picture(canvas.width, canvas.height, (canvas, *_translated(marks, MARGIN, MARGIN)), title)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A row of a box: its least width, its height, and a function from the actual width to its marks."""

    width: float
    height: float
    draw: Callable[[float], list[Mark]]


def _line(text: str, size: float, colour: str = "#222222", bold: bool = False) -> _Row:
    def draw(width: float) -> list[Mark]:
        return [Label(width / 2, size, text, size, bold=bold, colour=colour)]

    return _Row(text_width(text, size), 1.3 * size, draw)


class _Drawing:
    """The boxes of one tree."""

    def __init__(self, tree: Tree, by_path: Mapping[Path, Gallery], depth: int | None) -> None:
        self.tree = tree
        # Galleries by the numbers of nodes: a path is as long as its node is deep, and slow to hash.
        visits = zip(preorder(tree.root, depth), node_paths(tree.root, depth), strict=True) if by_path else ()
        self.galleries = {visit.number: by_path[path] for visit, (path, _) in visits if path in by_path}
        self.names = tree.test_names
        self.colours, self.leaf_colour = class_colours(len(tree.classes)), leaf_colours(tree)
        self.write = number_format(tree.leaves) if tree.predicts_numbers else str
        self.mass = mass_formatter(tree.root)
        self.total_mass = sum(tree.root.masses or ())

    def box(self, visit: Visit, below: tuple[Box, Box] | None) -> Box:
        """The box of a node with all boxes below it; a branch without boxes below it is collapsed."""
        node = visit.node
        match node:
            case GoalLeaf():
                fill, rows = "#eef3ea", self._goal(node)
            case LeafNode():
                fill, rows = self.leaf_colour(node), self._leaf(node)
            case Branch() if below is not None:
                fill, rows = PAPER, self._branch(node, visit.number)
            case Branch():
                leaves = sum(isinstance(inner.node, LeafNode) for inner in preorder(node))
                fill, rows = "#f2f2f2", [_line(f"… {leaves} leaves", SMALL, GREY), *self._statistics(node)]
        return self._stacked(rows, fill, node, below or ())

    def _stacked(self, rows: Sequence[_Row], fill: str, node: Node, children: tuple[Box, ...]) -> Box:
        """A frame with rows below one another."""
        inner = max(row.width for row in rows)
        width, height = inner + 2 * PADDING, sum(row.height for row in rows) + 2 * PADDING
        marks: list[Mark] = [Rectangle(0.0, 0.0, width, height, fill, LINE, 6.0, self._tooltip(node))]
        y = PADDING
        for row in rows:
            marks += _translated(row.draw(inner), PADDING, y)
            y += row.height
        return Box(width, height, tuple(marks), children, self._thickness(node))

    def _thickness(self, node: Node) -> float:
        """The thickness of the edge to a node, linear in the share of the mass that reaches it."""
        if not self.total_mass or node.masses is None:
            return 1.5
        return 1.0 + 5.0 * min(sum(node.masses) / self.total_mass, 1.0)

    def _tooltip(self, node: Node) -> str:
        """The whole test and the shares of all classes, or the mean and deviation."""
        shares = class_shares(node)
        lines = [printable(node.goal)] if isinstance(node, GoalLeaf) else []
        lines += [] if isinstance(node, LeafNode) else [printable(self.names[node.test])]
        lines += self._distribution(node)
        ranked = [] if shares is None else ranked_classes(shares, self.tree.classes)
        return "\n".join([*lines, *(share_text(label, share, 4) for label, share in ranked)])

    def _distribution(self, node: Node) -> list[str]:
        """The mean and the deviation of the numbers at a node; empty for classes."""
        leaf = node.summary if isinstance(node, Branch) else node
        return [distribution_text(leaf, self.write)] if self.tree.predicts_numbers and leaf is not None else []

    def _leaf(self, leaf: LeafNode) -> list[_Row]:
        if self.tree.predicts_numbers:
            deviation = f"± {self.write(leaf.value[1])}"
            rows = [_line(self.write(leaf.value[0]), LARGE, bold=True), _line(deviation, SMALL, GREY)]
            return [*rows, *self._statistics(leaf, with_shares=False)]
        (predicted, share), *others = ranked_classes(leaf.value, self.tree.classes)
        *above, last = _wrapped(predicted, CLASS_CHARACTERS, 2)
        rows = [_line(line, LARGE, bold=True) for line in (*above, share_text(last, share))]
        rows += [_line(share_text(_truncated(label), p), SMALL, GREY) for label, p in others[:2] if p >= 0.005]
        return [*rows, *self._statistics(leaf, with_shares=False)]

    def _goal(self, leaf: GoalLeaf) -> list[_Row]:
        rows = [_line(line, LARGE, bold=True) for line in _wrapped(leaf_name(leaf, self.tree), TEST_CHARACTERS, 4)]
        return [*rows, _line(noise_text(leaf), SMALL, GREY), *self._statistics(leaf, with_shares=False)]

    def _branch(self, branch: Branch, number: int) -> list[_Row]:
        rows = [_line(line, LARGE) for line in _wrapped(printable(self.names[branch.test]), TEST_CHARACTERS, 4)]
        rows += self._statistics(branch)
        return [*rows, _gallery_row(self.galleries[number])] if number in self.galleries else rows

    def _statistics(self, node: Node, with_shares: bool = True) -> list[_Row]:
        """The class shares as a bar, and as text if `with_shares`; the mass, the gain and the network statistics."""
        rows, shares = [], class_shares(node)
        if shares is not None:
            rows.append(_bar(shares, self.colours))
            rows += [_line(_shares_text(shares, self.tree), SMALL, GREY)] if with_shares else []
        rows += [_line(text, SMALL, GREY) for text in self._distribution(node) if with_shares]
        parts = [f"mass {self.mass(node)}"] if self.mass(node) else []
        parts += [f"gain {node.gain:.2f}"] if isinstance(node, Branch) and node.gain is not None else []
        rows += [_line(" · ".join(parts), SMALL, GREY)] if parts else []
        summary, warned = network_summary(node).replace("  ", " · "), is_near_chance(node)
        rows += [_line(summary, SMALL, WARNING if warned else GREY, bold=warned)] if summary else []
        return [*rows, _line("close to chance (!)", SMALL, WARNING, bold=True)] if warned else rows


def _bar(shares: Sequence[float], colours: Sequence[str]) -> _Row:
    """A bar with a coloured segment for the share of each class."""

    def draw(width: float) -> list[Mark]:
        marks: list[Mark] = []
        x = 0.0
        for share, colour in zip(shares, colours, strict=True):
            if share > 0:
                marks.append(Rectangle(x, 3.0, share * width, 7.0, colour))
            x += share * width
        return marks

    return _Row(60.0, 13.0, draw)


def _shares_text(shares: Sequence[float], tree: Tree) -> str:
    """The classes that fit into a line, at most three, largest share first."""
    parts = [share_text(_truncated(label), p) for label, p in ranked_classes(shares, tree.classes) if p >= 0.005]
    lengths = [len(" · ".join(parts[:i])) for i in (2, 3)]
    fitting = parts[: 1 + sum(length <= SHARES_CHARACTERS for length in lengths)]
    return " · ".join(fitting) + (" · …" if len(fitting) < len(parts) else "")


def _gallery_row(gallery: Gallery) -> _Row:
    """The examples of a gallery: yes to the left, above its edge, and no to the right."""
    names = [_truncated(printable(name)) for name in gallery.columns] if len(gallery.columns) > 1 else []
    margin = max((text_width(name, TINY) + 6.0 for name in names), default=0.0)
    pane = max(3, len(gallery.yes), len(gallery.no)) * THUMBNAIL_STEP
    images_height = len(gallery.columns) * THUMBNAIL_STEP

    def draw(width: float) -> list[Mark]:
        between = width - margin - 2 * pane
        marks: list[Mark] = [
            Label(margin - 6.0, 22.0 + i * THUMBNAIL_STEP + THUMBNAIL / 2, name, TINY, "end", colour=GREY)
            for i, name in enumerate(names)
        ]
        for x, examples, response in ((margin, gallery.yes, "yes"), (margin + pane + between, gallery.no, "no")):
            marks.append(
                Label(
                    x + pane / 2, 13.0, f"surest {response}" if examples else f"none says {response}", TINY, colour=GREY
                )
            )
            start = x + (pane - len(examples) * THUMBNAIL_STEP) / 2
            for i, example in enumerate(examples):
                marks += _translated(_thumbnails(example, gallery.columns, response), start + i * THUMBNAIL_STEP, 18.0)
        return marks

    return _Row(margin + 2 * pane + 14.0, 18.0 + images_height + TINY, draw)


def _thumbnails(example: GalleryExample, columns: Sequence[str], response: str) -> Iterator[Mark]:
    """The images of one example below one another, and the probability of its response."""
    for i, (name, pixels) in enumerate(zip(columns, example.images, strict=True)):
        zoom = THUMBNAIL / max(pixels.shape[:2])
        height, width = pixels.shape[0] * zoom, pixels.shape[1] * zoom
        x, y = 1.5 + (THUMBNAIL - width) / 2, i * THUMBNAIL_STEP + (THUMBNAIL - height) / 2
        hint = f"{printable(name)} of example {example.row}: {response} with probability {example.probability:.4f}"
        yield Image(x, y, width, height, pixels, hint)
    yield Label(
        1.5 + THUMBNAIL / 2, len(columns) * THUMBNAIL_STEP + TINY - 2.0, f"{example.probability:.2f}", TINY, colour=GREY
    )


def _marks(root: PlacedBox) -> Iterator[Mark]:
    """The marks of all boxes; edges come first, so that boxes and labels cover them."""
    for placed in root.preorder():
        for child, side in zip(placed.children, (-0.25, 0.25), strict=False):
            start, bottom = placed.centre + side * placed.box.width, placed.y + placed.box.height
            yield Curve(start, bottom, placed.row_bottom, child.centre, child.y, child.box.edge)
    for placed in root.preorder():
        yield from _translated(placed.box.marks, placed.x, placed.y)
        # An edge reaches a box from the side of its parent; its label is on the other side.
        for child, (label, anchor, offset) in zip(placed.children, _EDGE_LABELS, strict=False):
            yield Label(child.centre + offset, child.y - 7.0, label, SMALL, anchor)


def _legend(tree: Tree, width: float, notes: Sequence[str]) -> tuple[list[Mark], float]:
    """The colours of the classes and notes, in lines above the tree, and the height of the legend."""
    marks: list[Mark] = []
    x, y = 0.0, 0.0
    for label, colour in _legend_entries(tree):
        name = _truncated(printable(label))
        entry_width = 14.0 + text_width(name, SMALL)
        if x and x + entry_width > max(width, 300.0):
            x, y = 0.0, y + 16.0
        marks += [Rectangle(x, y, 10.0, 10.0, colour, radius=2.0), Label(x + 14.0, y + 9.0, name, SMALL, "start")]
        x += entry_width + 14.0
    for note in notes:
        for line in _wrapped(note, NOTE_CHARACTERS, 3):
            y += 16.0
            marks.append(Label(0.0, y + 9.0, line, SMALL, "start", colour=GREY))
    return marks, y + 26.0


def _legend_entries(tree: Tree) -> list[tuple[object, str]]:
    """The classes with their colours; of a tree that predicts numbers, the smallest and the largest mean of a leaf."""
    if not tree.predicts_numbers:
        return list(zip(tree.classes, class_colours(len(tree.classes)), strict=True))
    means, write = sorted({leaf.value[0] for leaf in tree.leaves}), number_format(tree.leaves)
    return [(write(mean), number_colour(mean, tree)) for mean in dict.fromkeys((means[0], means[-1]))]


def _right_end(marks: Sequence[Mark]) -> float:
    return max(mark.x + text_width(mark.text, mark.size) for mark in marks if isinstance(mark, Label))


def _translated(marks: Sequence[Mark] | Iterator[Mark], dx: float, dy: float) -> Iterator[Mark]:
    for mark in marks:
        translated = replace(mark, x=mark.x + dx, y=mark.y + dy)
        if isinstance(translated, Curve):
            curve = translated
            translated = replace(curve, bend=curve.bend + dy, end_x=curve.end_x + dx, end_y=curve.end_y + dy)
        yield translated


def _wrapped(text: str, characters: int, lines: int) -> list[str]:
    return wrap(text, characters, max_lines=lines, placeholder="…") or [text]


def _truncated(text: str) -> str:
    return text if len(text) <= CLASS_CHARACTERS else text[: CLASS_CHARACTERS - 1] + "…"
