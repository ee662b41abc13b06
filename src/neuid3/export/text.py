"""How does a tree read as text?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from neuid3.export.labels import (
    class_name,
    mass_formatter,
    network_summary,
    printable,
    ranked,
    share_text,
    shares,
    text_cells,
)
from neuid3.export.unwrap import model_of, tree_of
from neuid3.tree.tree import Leaf, Node, Tree, preorder

# With more classes than this a line tells only its largest shares.
MOST_CLASSES = 4

# How an answer is drawn beside its node, and below it beside the nodes that follow; all are of one width.
EDGES = {True: ("├─ yes: ", "│       "), False: ("└─ no:  ", "        ")}
STEP = 8


def export_text(tree: Any, decimals: int = 2, *, rules: bool = False) -> str:
    """A tree, model or fitted classifier as indented text; the first line shows the root's test.

    Beside each node stand, as far as they are known, its gain in bits, the mass of the examples that reached it and
    the share of each class. A test with networks says how decided these are, from 0 (chance) to 1 (certain), and how many bits
    it tells about unseen examples and about those that they were trained on; `(!)` marks one that is close to chance. With `rules`, the clauses of background knowledge behind the tests follow below.

    >>> from neuid3.tree.tree import Branch
    >>> print(export_text(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("quiet", "call"))))
    alarm?
    ├─ yes: call   quiet 0.10  call 0.90
    └─ no:  quiet  quiet 0.80  call 0.20
    """
    shown = tree_of(tree)
    rows = list(_rows(shown, decimals))
    # A line's own width is known from its depth: in a deep tree most of it is indentation, which need not be measured.
    taken = [(width, *map(text_cells, told)) for (_, width), *told in rows]
    widths = [max(column) for column in zip(*taken, strict=True)]
    lines = [
        "  ".join(
            text + " " * (width - used) for text, used, width in zip((line, *told), own, widths, strict=True) if width
        ).rstrip()
        for ((line, _), *told), own in zip(rows, taken, strict=True)
    ]
    if rules:
        program = model_of(tree, "background knowledge").program
        clauses = list(dict.fromkeys(chain(*program.clauses_behind([str(test) for test in shown.tests]))))
        lines += ["", "Rules behind the tests:", *(f"  {printable(clause)}" for clause in clauses)] if clauses else []
    return "\n".join(lines)


def _rows(tree: Tree, decimals: int) -> Iterator[tuple[tuple[str, int], str, str, str, str]]:
    """For each node its line in the tree with its width, its gain, how its networks do, its mass and its shares."""
    mass = mass_formatter(tree.root)
    widest = max(len(mass(visit.node)) for visit in preorder(tree.root))
    for line, node in _lines(tree):
        gain = "" if isinstance(node, Leaf) or node.gain is None else f"gain {node.gain:.{decimals}f}"
        massed = f"mass {mass(node):>{widest}}" if mass(node) else ""
        yield line, gain, network_summary(node, decimals), massed, _shares(node, tree, decimals)


def _lines(tree: Tree) -> Iterator[tuple[tuple[str, int], Node]]:
    """The nodes from the root, yes before no, each with its place drawn and its name, and how wide that is."""
    indents = [""]  # of the children of the last node of every depth
    for visit in preorder(tree.root):
        node, above = visit.node, indents[max(visit.depth - 1, 0)]
        name = ranked(node.probabilities, tree.classes)[0][0] if isinstance(node, Leaf) else f"{printable(node.test)}?"
        edge, below = ("", "") if visit.answer is None else EDGES[visit.answer]
        yield (f"{above}{edge}{name}", STEP * visit.depth + text_cells(name)), node
        indents[visit.depth :] = [above + below]


def _shares(node: Node, tree: Tree, decimals: int) -> str:
    found = shares(node)
    if found is None:
        return ""
    if len(found) <= MOST_CLASSES:
        told = list(zip(map(class_name, tree.classes), found, strict=True))
    else:
        told = [pair for pair in ranked(found, tree.classes) if round(pair[1], decimals) > 0][: MOST_CLASSES - 1]
    return "  ".join(share_text(label, share, decimals) for label, share in told)
