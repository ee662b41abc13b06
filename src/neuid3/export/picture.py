"""What does the picture of a tree show? A box for each node with its test, its classes and what its networks see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Literal

from neuid3.export.galleries import Example, Gallery, galleries
from neuid3.export.labels import is_near_chance, mass_formatter, network_summary, printable, ranked, share_text, shares
from neuid3.export.layout import Box, Spot, arrange
from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle, text_width
from neuid3.export.palette import WARNING, class_colours, paler
from neuid3.export.unwrap import model_of, tree_of
from neuid3.tree.tree import Branch, Leaf, Node, Path, Tree, Visit, fold, node_paths, preorder

# Sizes of words, in the units of the picture: what a node asks or answers, and what is said beside.
LARGE, SMALL, TINY = 12.0, 10.0, 8.0
GREY, LINE, PAPER = "#666666", "#9a9a9a", "#ffffff"
MARGIN, PADDING = 12.0, 9.0

# How large an image is shown, and how far from it the next.
THUMB, STEP = 26.0, 29.0

# How many letters stand in a line of a test, of the classes below it, and of a class.
TEST_LETTERS, SHARE_LETTERS, CLASS_LETTERS = 30, 34, 16

_ANSWERS: tuple[tuple[str, Literal["start", "end"], float], ...] = (("yes", "end", -7.0), ("no", "start", 7.0))


def draw(given: Any, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> Picture:
    """A tree, model or classifier as marks; with examples, tests that look at images show some of them."""
    tree = tree_of(given)
    seen = {} if X is None else galleries(model_of(given, "networks to look at X"), X, images, max_depth)
    # Below the deepest tests that are drawn, a box tells how many leaves there are.
    depth = None if max_depth is None else max(max_depth, -1) + 1
    root = arrange(fold(tree.root, _Drawing(tree, seen, depth).box, depth))
    wide = max(spot.x + spot.box.width for spot in root.everything())
    key, top = _key(tree, wide)
    width = max(wide, _right_end(key))
    marks = [*key, *_moved(_marks(root), (width - wide) / 2, top)]
    height = top + max(spot.floor for spot in root.everything())
    paper = Rectangle(0.0, 0.0, width + 2 * MARGIN, height + 2 * MARGIN, PAPER, radius=6.0)
    title = f"A decision tree of depth {tree.depth}"
    return Picture(paper.width, paper.height, (paper, *_moved(marks, MARGIN, MARGIN)), title)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A row inside a box: how much room it needs, and its marks when it is given so much width."""

    width: float
    height: float
    draw: Callable[[float], list[Mark]]


def _line(text: str, size: float, colour: str = "#222222", bold: bool = False) -> _Row:
    def drawn(width: float) -> list[Mark]:
        return [Label(width / 2, size, text, size, bold=bold, colour=colour)]

    return _Row(text_width(text, size), 1.3 * size, drawn)


class _Drawing:
    """One tree on its way to a picture."""

    def __init__(self, tree: Tree, seen: Mapping[Path, Gallery], depth: int | None) -> None:
        self.tree = tree
        # Nodes by their numbers: a path is as long as its node is deep.
        walked = zip(preorder(tree.root, depth), node_paths(tree.root, depth), strict=True) if seen else ()
        self.seen = {visit.number: seen[path] for visit, (path, _) in walked if path in seen}
        self.colours = class_colours(len(tree.classes))
        self.mass = mass_formatter(tree.root)
        self.whole = sum(tree.root.masses or ())

    def box(self, visit: Visit, below: tuple[Box, Box] | None) -> Box:
        """The box of a node with all boxes below it; a branch that has none below it is not looked into."""
        node = visit.node
        match node:
            case Leaf(probabilities):
                best = max(range(len(probabilities)), key=probabilities.__getitem__)
                fill, rows = paler(self.colours[best]), self._leaf(node)
            case Branch() if below is not None:
                fill, rows = PAPER, self._branch(node, visit.number)
            case Branch():
                leaves = sum(isinstance(inner.node, Leaf) for inner in preorder(node))
                fill, rows = "#f2f2f2", [_line(f"… {leaves} leaves", SMALL, GREY), *self._told(node)]
        return self._stacked(rows, fill, node, below or ())

    def _stacked(self, rows: Sequence[_Row], fill: str, node: Node, children: tuple[Box, ...]) -> Box:
        """Rows below one another in a frame."""
        inner = max(row.width for row in rows)
        width, height = inner + 2 * PADDING, sum(row.height for row in rows) + 2 * PADDING
        marks: list[Mark] = [Rectangle(0.0, 0.0, width, height, fill, LINE, 6.0, self._hint(node))]
        y = PADDING
        for row in rows:
            marks += _moved(row.draw(inner), PADDING, y)
            y += row.height
        return Box(width, height, tuple(marks), children, self._thickness(node))

    def _thickness(self, node: Node) -> float:
        """The edge to a node is the thicker, the more of the examples went along it."""
        if not self.whole or node.masses is None:
            return 1.5
        return 1.0 + 5.0 * min(sum(node.masses) / self.whole, 1.0)

    def _hint(self, node: Node) -> str:
        """Everything there is to say, for those who point at a box."""
        found = shares(node)
        told = [] if isinstance(node, Leaf) else [printable(node.test)]
        told += (
            [] if found is None else [share_text(label, share, 4) for label, share in ranked(found, self.tree.classes)]
        )
        return "\n".join(told)

    def _leaf(self, leaf: Leaf) -> list[_Row]:
        (best, share), *others = ranked(leaf.probabilities, self.tree.classes)
        *above, last = _wrapped(best, CLASS_LETTERS, 2)
        rows = [_line(line, LARGE, bold=True) for line in (*above, share_text(last, share))]
        rows += [_line(share_text(_short(label), p), SMALL, GREY) for label, p in others[:2] if p >= 0.005]
        return [*rows, *self._told(leaf, in_words=False)]

    def _branch(self, branch: Branch, number: int) -> list[_Row]:
        rows = [_line(line, LARGE) for line in _wrapped(printable(branch.test), TEST_LETTERS, 4)]
        rows += self._told(branch)
        return [*rows, _gallery_row(self.seen[number])] if number in self.seen else rows

    def _told(self, node: Node, in_words: bool = True) -> list[_Row]:
        """The shares of the classes as a bar, and in words where they are not told yet; the mass and the gain."""
        rows, found = [], shares(node)
        if found is not None:
            rows.append(_bar(found, self.colours))
            rows += [_line(_share_line(found, self.tree), SMALL, GREY)] if in_words else []
        told = [f"mass {self.mass(node)}"] if self.mass(node) else []
        told += [f"gain {node.gain:.2f}"] if isinstance(node, Branch) and node.gain is not None else []
        rows += [_line(" · ".join(told), SMALL, GREY)] if told else []
        words, warned = network_summary(node).replace("  ", " · "), is_near_chance(node)
        rows += [_line(words, SMALL, WARNING if warned else GREY, bold=warned)] if words else []
        return [*rows, _line("close to chance (!)", SMALL, WARNING, bold=True)] if warned else rows


def _bar(found: Sequence[float], colours: Sequence[str]) -> _Row:
    """The share of each class as a coloured piece of a bar."""

    def drawn(width: float) -> list[Mark]:
        marks: list[Mark] = []
        x = 0.0
        for share, colour in zip(found, colours, strict=True):
            if share > 0:
                marks.append(Rectangle(x, 3.0, share * width, 7.0, colour))
            x += share * width
        return marks

    return _Row(60.0, 13.0, drawn)


def _share_line(found: Sequence[float], tree: Tree) -> str:
    """As many classes as fit into a line, three at most, the largest share first."""
    told = [share_text(_short(label), share) for label, share in ranked(found, tree.classes) if share >= 0.005]
    lengths = [len(" · ".join(told[:i])) for i in (2, 3)]
    fitting = told[: 1 + sum(length <= SHARE_LETTERS for length in lengths)]
    return " · ".join(fitting) + (" · …" if len(fitting) < len(told) else "")


def _gallery_row(gallery: Gallery) -> _Row:
    """The surest examples of both answers: yes to the left, above its edge, and no to the right."""
    names = [_short(printable(name)) for name in gallery.columns] if len(gallery.columns) > 1 else []
    margin = max((text_width(name, TINY) + 6.0 for name in names), default=0.0)
    pane = max(3, len(gallery.yes), len(gallery.no)) * STEP
    high = len(gallery.columns) * STEP

    def drawn(width: float) -> list[Mark]:
        between = width - margin - 2 * pane
        marks: list[Mark] = [
            Label(margin - 6.0, 22.0 + i * STEP + THUMB / 2, name, TINY, "end", colour=GREY)
            for i, name in enumerate(names)
        ]
        for x, examples, answer in ((margin, gallery.yes, "yes"), (margin + pane + between, gallery.no, "no")):
            marks.append(
                Label(x + pane / 2, 13.0, f"surest {answer}" if examples else f"none says {answer}", TINY, colour=GREY)
            )
            start = x + (pane - len(examples) * STEP) / 2
            for i, example in enumerate(examples):
                marks += _moved(_thumbs(example, gallery.columns, answer), start + i * STEP, 18.0)
        return marks

    return _Row(margin + 2 * pane + 14.0, 18.0 + high + TINY, drawn)


def _thumbs(example: Example, columns: Sequence[str], answer: str) -> Iterator[Mark]:
    """The images of one example below one another, and how sure its answer is."""
    for i, (name, pixels) in enumerate(zip(columns, example.images, strict=True)):
        zoom = THUMB / max(pixels.shape[:2])
        height, width = pixels.shape[0] * zoom, pixels.shape[1] * zoom
        x, y = 1.5 + (THUMB - width) / 2, i * STEP + (THUMB - height) / 2
        hint = f"{printable(name)} of example {example.row}: {answer} with probability {example.sure:.4f}"
        yield Image(x, y, width, height, pixels, hint)
    yield Label(1.5 + THUMB / 2, len(columns) * STEP + TINY - 2.0, f"{example.sure:.2f}", TINY, colour=GREY)


def _marks(root: Spot) -> Iterator[Mark]:
    """Edges first, so that boxes and words lie upon them."""
    for spot in root.everything():
        for child, side in zip(spot.children, (-0.25, 0.25), strict=False):
            start = spot.centre + side * spot.box.width
            yield Curve(start, spot.y + spot.box.height, spot.floor, child.centre, child.y, child.box.edge)
    for spot in root.everything():
        yield from _moved(spot.box.marks, spot.x, spot.y)
        # An edge comes to a box from the side of its parent; its answer stands on the other side.
        for child, (answer, anchor, aside) in zip(spot.children, _ANSWERS, strict=False):
            yield Label(child.centre + aside, child.y - 7.0, answer, SMALL, anchor)


def _key(tree: Tree, width: float) -> tuple[list[Mark], float]:
    """Which colour stands for which class, in lines above the tree, and how much room that takes."""
    marks: list[Mark] = []
    x, y = 0.0, 0.0
    for label, colour in zip(tree.classes, class_colours(len(tree.classes)), strict=True):
        name = _short(printable(label))
        need = 14.0 + text_width(name, SMALL)
        if x and x + need > max(width, 300.0):
            x, y = 0.0, y + 16.0
        marks += [Rectangle(x, y, 10.0, 10.0, colour, radius=2.0), Label(x + 14.0, y + 9.0, name, SMALL, "start")]
        x += need + 14.0
    return marks, y + 26.0


def _right_end(marks: Sequence[Mark]) -> float:
    return max(mark.x + text_width(mark.text, mark.size) for mark in marks if isinstance(mark, Label))


def _moved(marks: Sequence[Mark] | Iterator[Mark], right: float, down: float) -> Iterator[Mark]:
    for mark in marks:
        moved = replace(mark, x=mark.x + right, y=mark.y + down)
        if isinstance(moved, Curve):
            moved = replace(moved, bend=moved.bend + down, end_x=moved.end_x + right, end_y=moved.end_y + down)
        yield moved


def _wrapped(text: str, letters: int, lines: int) -> list[str]:
    return wrap(text, letters, max_lines=lines, placeholder="…") or [text]


def _short(text: str) -> str:
    return text if len(text) <= CLASS_LETTERS else text[: CLASS_LETTERS - 1] + "…"
