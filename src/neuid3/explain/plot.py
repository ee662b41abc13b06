"""Drawing of an explanation: the flow of probability from the root through the tests into the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from neuid3.errors import ExportError
from neuid3.explain.explanation import Explanation, LeafShare, Reading, number_of
from neuid3.explain.text import mentioned, number_writer, ranked_text
from neuid3.export.labels import class_name
from neuid3.export.palette import FLOW_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Leaves with a smaller probability are not drawn.
MIN_PROBABILITY = 0.01

# The most readings that are drawn.
MAX_READINGS = 9

# The most tests that the line below the title names.
MAX_MOVES = 4

# Positions in the drawing, which is a unit square.
READINGS_RIGHT, FLOW_LEFT, FLOW_RIGHT, CLASSES_LEFT, BAR = 0.24, 0.29, 0.74, 0.87, 0.007
BOTTOM, TOP, LINE = 0.15, 0.86, 0.032

# The width of a character of a test, and the most lines of a test.
CHARACTER_WIDTH, MAX_LINES = 0.0066, 3

# With more classes than this, a long name and its probability are on one line.
FEW_CLASSES = 5


@dataclass(slots=True, eq=False)
class _Box:
    """A node of the drawing: its probability, in total and by class, its test, its position, and its children."""

    mass: float
    by_class: list[float]
    label: str = ""
    x: float = 0.0
    middle: float = 0.0
    children: list[tuple[str, _Box]] = field(default_factory=list)


def draw_explanation(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Draw an explanation into these axes, or into a new figure; returns the axes."""
    e = explanation
    if ax is None:
        ax = _own_axes(e)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    is_number = e.deviation is not None
    colours = [FLOW_COLOURS[i % len(FLOW_COLOURS)] for i in range(1 if is_number else len(e.classes))]
    ordered = sorted(e.leaves, key=lambda leaf: -leaf.probability)
    probable = [leaf for i, leaf in enumerate(ordered) if leaf.probability >= MIN_PROBABILITY or i == 0]
    visible = [leaf for leaf in e.leaves if leaf in probable]
    root, leaves = _boxes(visible)
    scale = _lay_out(root, leaves)
    _draw_tree(ax, root, scale, colours)
    if is_number:
        _draw_numbers(ax, e, visible, leaves, scale, colours[0])
    else:
        _draw_classes(ax, e, leaves, scale, colours)
    _draw_readings(ax, e, mentioned(e, visible)[:MAX_READINGS])
    title, subtitle = _titles(e)
    ax.text(0.0, 0.99, f"Predicted: {title}", fontsize=13, fontweight="bold", va="top")
    ax.text(0.0, 0.935, subtitle, fontsize=9, va="top", color="0.35")
    ax.text(0.0, 0.075, _caption(e, len(e.leaves) - len(visible)), fontsize=8, va="top", color="0.25")
    return ax


def _titles(e: Explanation) -> tuple[str, str]:
    """The prediction, and what it is made of."""
    if e.deviation is None:
        return class_name(e.prediction), ranked_text(e.classes, e.probabilities, 2)
    write = number_writer(e)
    moves = [f"{'+' if m.amount > 0 else '−'}{write(abs(m.amount))} {m.test}" for m in e.moves[:MAX_MOVES]]
    start = "" if e.base is None else f"mean {write(e.base)}  "
    return f"{write(e.prediction)} ± {write(e.deviation)}", start + "  ".join(moves)


def _own_axes(e: Explanation) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ExportError("Pictures need matplotlib; install it with: pip install 'neuid3[plots]'.") from None
    visible = [leaf for leaf in e.leaves if leaf.probability >= MIN_PROBABILITY]
    rows = max(len(visible), len(mentioned(e, visible)[:MAX_READINGS]))
    figure = pyplot.figure(figsize=(12, min(3.2 + 0.45 * rows, 9)))
    axes: Axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    return axes


def _boxes(visible: Sequence[LeafShare]) -> tuple[_Box, list[_Box]]:
    """The boxes of the paths to the visible leaves: the root, and the leaves from top to bottom."""
    root = _Box(1.0, [0.0] * len(visible[0].contributions))
    boxes: dict[tuple[int, str, bool], _Box] = {}  # by the parent, the test or the value of a goal, and the response
    leaves = []
    for leaf in visible:
        box = root
        _add(box, leaf)
        for step in leaf.steps:
            box.label = step.test
            child = boxes.get((id(box), step.test, step.response))
            if child is None:
                child = boxes[id(box), step.test, step.response] = _Box(step.reach, [0.0] * len(leaf.contributions))
                box.children.append((f"{'yes' if step.response else 'no'} {step.probability:.2f}", child))
            box = child
            _add(box, leaf)
        leaves.append(box)
    return root, leaves


def _add(box: _Box, leaf: LeafShare) -> None:
    shares = (leaf.probability,) if leaf.is_number else leaf.contributions
    box.by_class = [mass + more for mass, more in zip(box.by_class, shares, strict=True)]


def _with_levels(root: _Box) -> list[tuple[_Box, int]]:
    """All boxes and their depths, parents before children."""
    boxes = []
    stack = [(root, 0)]
    while stack:
        box, level = stack.pop()
        boxes.append((box, level))
        stack.extend((child, level + 1) for _, child in reversed(box.children))
    return boxes


def _lay_out(root: _Box, leaves: Sequence[_Box]) -> float:
    """Set the positions of all boxes; returns the height of a probability of 1."""
    gap = min(0.09, 0.45 / len(leaves))
    available = TOP - BOTTOM - gap * len(leaves)
    scale = available / sum(leaf.mass for leaf in leaves)
    y = TOP
    for leaf in leaves:
        height = leaf.mass * scale
        leaf.middle = y - gap / 2 - height / 2
        y -= height + gap
    boxes = _with_levels(root)
    depth = max(level for _, level in boxes)
    for box, level in reversed(boxes):
        box.x = FLOW_LEFT + (FLOW_RIGHT - FLOW_LEFT) * level / max(depth, 1) if box.children else FLOW_RIGHT
        if box.children:
            total = sum(child.mass for _, child in box.children)
            box.middle = sum(child.mass * child.middle for _, child in box.children) / total
    return scale


def _draw_tree(ax: Axes, root: _Box, scale: float, colours: Sequence[str]) -> None:
    """Draw bands before the boxes that they lead to, and the bar and the test of a box on top of all below it."""
    pending: list[Callable[[], Iterable[Callable[[], Any]]]] = [partial(_steps, ax, root, scale, colours)]
    while pending:
        pending.extend(reversed(list(pending.pop()())))


def _steps(ax: Axes, box: _Box, scale: float, colours: Sequence[str]) -> Iterator[Callable[[], Any]]:
    """The drawing steps of a box and all below it, in order; each step returns the steps that it consists of."""
    top = box.middle + box.mass * scale / 2
    label_y = 1.0
    for label, child in box.children:
        height = child.mass * scale
        start = top - height / 2
        label_y = min(start, label_y - LINE)
        yield partial(_draw_edge, ax, box, child, start, height, (label_y, label), colours)
        yield partial(_steps, ax, child, scale, colours)
        top -= height
    if box.children:
        yield partial(_draw_bar, ax, box, scale)


def _draw_edge(
    ax: Axes, box: _Box, child: _Box, start: float, height: float, label: tuple[float, str], colours: Sequence[str]
) -> tuple[()]:
    _flow(ax, (box.x + BAR, child.x), (start, child.middle), height, _mixed(child.by_class, colours))
    ax.text(box.x + BAR + 0.006, *label, fontsize=8, va="center", color="0.15")
    return ()


def _draw_bar(ax: Axes, box: _Box, scale: float) -> tuple[()]:
    from matplotlib.patheffects import withStroke

    ax.add_patch(_rectangle(box.x, box.middle - box.mass * scale / 2, BAR, box.mass * scale, "0.2"))
    width = min(child.x for _, child in box.children) - box.x
    test = _wrapped(f"{box.label}?", int(width / CHARACTER_WIDTH))
    text = ax.text(box.x, box.middle + box.mass * scale / 2 + 0.012, test, fontsize=9, linespacing=1.05)
    text.set_path_effects([withStroke(linewidth=2.5, foreground="white", alpha=0.8)])
    return ()


def _draw_classes(ax: Axes, e: Explanation, leaves: Sequence[_Box], scale: float, colours: Sequence[str]) -> None:
    """Draw each leaf as a bar of its classes, with bands to the bars of the class probabilities."""
    few = len(e.classes) <= FEW_CLASSES
    gap = 0.085 if few and any(len(str(label)) > 8 for label in e.classes) else 0.05
    height = scale + gap * (len(e.classes) - 1)
    middle = (TOP + BOTTOM) / 2
    tops, y = [], middle + height / 2
    for label, probability, colour in zip(e.classes, e.probabilities, colours, strict=True):
        tops.append(y)
        bottom = y - probability * scale
        ax.add_patch(_rectangle(CLASSES_LEFT, bottom, 2 * BAR, probability * scale, colour))
        weight = "bold" if label == e.prediction else "normal"
        position = (CLASSES_LEFT + 0.022, (y + bottom) / 2)
        long = few and len(str(label)) > 8
        text = f"{_truncated(class_name(label), 16)}{chr(10) if long else ' '}{probability:.2f}"
        ax.text(
            *position,
            text,
            fontsize=10 if long or len(str(label)) <= 8 else 7,
            va="center",
            fontweight=weight,
            linespacing=1.1,
        )
        y = bottom - gap
    for leaf in leaves:
        top = leaf.middle + leaf.mass * scale / 2
        ax.text(leaf.x - 0.006, top + 0.006, f"{leaf.mass:.2f}", fontsize=8, va="bottom", ha="left")
        for c, share in enumerate(leaf.by_class):
            width = share * scale
            ax.add_patch(_rectangle(leaf.x, top - width, BAR, width, colours[c]))
            _flow(ax, (leaf.x + BAR, CLASSES_LEFT), (top - width / 2, tops[c] - width / 2), width, colours[c])
            top -= width
            tops[c] -= width


def _draw_numbers(
    ax: Axes, e: Explanation, shown: Sequence[LeafShare], leaves: Sequence[_Box], scale: float, colour: str
) -> None:
    """Draw each leaf as a bar with its mean, its deviation and what it adds to the prediction."""
    write = number_writer(e)
    for leaf, box in zip(shown, leaves, strict=True):
        height = box.mass * scale
        ax.add_patch(_rectangle(box.x, box.middle - height / 2, BAR, height, colour))
        ax.text(box.x - 0.006, box.middle + height / 2 + 0.006, f"{box.mass:.2f}", fontsize=8, va="bottom", ha="left")
        text = f"{write(leaf.leaf[0])} ± {write(leaf.leaf[1])}, adds {write(leaf.contributions[0])}"
        ax.text(box.x + 0.02, box.middle, text, fontsize=9, va="center")


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=colour, edgecolor="none")


def _flow(ax: Axes, xs: tuple[float, float], ys: tuple[float, float], width: float, colour: Any) -> None:
    """Draw a curved band of constant width between two points."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (start, end), (first, last), half = xs, ys, width / 2
    bend = (start + end) / 2
    upper = [(start, first + half), (bend, first + half), (bend, last + half), (end, last + half)]
    lower = [(end, last - half), (bend, last - half), (bend, first - half), (start, first - half)]
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    ax.add_patch(PathPatch(Path([*upper, *lower, upper[0]], codes), facecolor=colour, alpha=0.4, linewidth=0))


def _mixed(by_class: Sequence[float], colours: Sequence[str]) -> tuple[float, ...]:
    """The mean of the class colours, weighted by the probabilities of the classes."""
    from matplotlib.colors import to_rgb

    total = sum(by_class) or 1.0
    shares = [(share / total, to_rgb(colour)) for share, colour in zip(by_class, colours, strict=True)]
    return tuple(sum(share * rgb[i] for share, rgb in shares) for i in range(3))


def _draw_readings(ax: Axes, e: Explanation, rows: Sequence[Reading]) -> None:
    """Draw a row for each reading: its images, its name, and its leading values as bars."""
    height = min((TOP - BOTTOM) / max(len(rows), 1), 0.2)
    max_images = max((sum(name in e.images for name in reading.columns) for reading in rows), default=0)
    for number, reading in enumerate(rows):
        top = TOP - number * height
        images = [e.images[name] for name in reading.columns if name in e.images]
        for i, image in enumerate(images):
            inset = ax.inset_axes((0.045 * i, top - 0.9 * height, 0.04, 0.85 * height), transform=ax.transData)
            inset.imshow(image, cmap="gray")
            inset.axis("off")
        x = 0.045 * max_images + 0.005
        missing = " (missing)" if reading.missing else ""
        ax.text(x, top - 0.05 * height, f"{reading.name}{missing}", fontsize=9, va="top")
        if reading.number is not None:
            values = [(number_of(reading), 1.0)]
        else:
            values = [pair for pair in reading.values[:2] if pair[1] >= 0.005]
        for line, (value, probability) in enumerate(values):
            y = top - (0.42 + 0.25 * line) * height
            width = (READINGS_RIGHT - x - 0.07) * probability
            ax.add_patch(_rectangle(x, y - 0.1 * height, width, 0.2 * height, "0.75"))
            text = value if probability == 1.0 else f"{value}  {probability:.2f}"
            ax.text(x + 0.004, y, text, fontsize=8, va="center")


def _caption(e: Explanation, hidden: int) -> str:
    """The counterfactuals, and the number of leaves that are not drawn."""
    write: Callable[[Any], str] = class_name if e.deviation is None else number_writer(e)
    counterfactuals = [c for c in (e.other_responses, e.other_facts) if c.status == "found"]
    lines = [f"If {' and '.join(map(str, c.changes))}, it would be {write(c.prediction)}." for c in counterfactuals]
    if hidden:
        lines.append(f"{hidden} {'leaf' if hidden == 1 else 'leaves'} with less than {MIN_PROBABILITY} not drawn.")
    return "\n".join(_truncated(line, 170) for line in dict.fromkeys(lines))


def _wrapped(text: str, width: int) -> str:
    """A text in lines of this many characters; a long text is truncated."""
    return "\n".join(wrap(text, max(width, 8), max_lines=MAX_LINES, placeholder=" …"))


def _truncated(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
