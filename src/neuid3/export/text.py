"""How does a tree read as text?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from neuid3.export.subject import model_of, tree_of
from neuid3.export.words import (
    cells,
    class_name,
    mass_writer,
    network_words,
    printable,
    ranked,
    share_text,
    shares,
)
from neuid3.tree import Branch, Leaf, Node, Tree

# With more classes than this a line tells only its largest shares.
MOST_CLASSES = 4


def export_text(tree: Any, decimals: int = 2, *, rules: bool = False) -> str:
    """A tree, model or fitted classifier as indented text; the first line shows the root's test.

    Beside each node stand, as far as they are known, its gain in bits, the mass of the examples that reached it and
    the share of each class. A test with networks says how decided these are, from 0 (chance) to 1 (certain), and how many bits
    it tells about unseen examples and about those that they were trained on; `(!)` marks one that is close to chance. With `rules`, the clauses of background knowledge behind the tests follow below.

    >>> print(export_text(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("quiet", "call"))))
    alarm?
    ├─ yes: call   quiet 0.10  call 0.90
    └─ no:  quiet  quiet 0.80  call 0.20
    """
    shown = tree_of(tree)
    rows = list(_rows(shown, decimals))
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_padded(cell, w) for cell, w in zip(row, widths, strict=True) if w).rstrip() for row in rows]
    if rules:
        program = model_of(tree, "background knowledge").program
        clauses = list(dict.fromkeys(chain(*program.clauses_behind([str(test) for test in shown.tests]))))
        lines += ["", "Rules behind the tests:", *(f"  {printable(clause)}" for clause in clauses)] if clauses else []
    return "\n".join(lines)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _rows(tree: Tree, decimals: int) -> Iterator[tuple[str, str, str, str, str]]:
    """For each node its line in the tree, its gain, how its networks do, its mass and its shares."""
    mass = mass_writer(tree.root)
    widest = max(len(mass(node)) for _, node in _lines(tree.root, tree))
    for line, node in _lines(tree.root, tree):
        gain = "" if isinstance(node, Leaf) or node.gain is None else f"gain {node.gain:.{decimals}f}"
        massed = f"mass {mass(node):>{widest}}" if mass(node) else ""
        yield line, gain, network_words(node, decimals), massed, _shares(node, tree, decimals)


def _lines(node: Node, tree: Tree, first: str = "", rest: str = "") -> Iterator[tuple[str, Node]]:
    """The nodes from the root, yes before no, each with its place drawn and its name."""
    match node:
        case Leaf(probabilities):
            yield first + ranked(probabilities, tree.classes)[0][0], node
        case Branch(test, yes, no):
            yield f"{first}{printable(test)}?", node
            yield from _lines(yes, tree, f"{rest}├─ yes: ", f"{rest}│       ")
            yield from _lines(no, tree, f"{rest}└─ no:  ", f"{rest}        ")


def _shares(node: Node, tree: Tree, decimals: int) -> str:
    found = shares(node)
    if found is None:
        return ""
    if len(found) <= MOST_CLASSES:
        told = list(zip(map(class_name, tree.classes), found, strict=True))
    else:
        told = [pair for pair in ranked(found, tree.classes) if round(pair[1], decimals) > 0][: MOST_CLASSES - 1]
    return "  ".join(share_text(label, share, decimals) for label, share in told)
