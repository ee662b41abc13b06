"""Export of a tree to indented text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from textwrap import wrap
from typing import Any

from neuid3.data.derived import scores_in
from neuid3.export.labels import (
    class_name,
    class_shares,
    distribution_text,
    leaf_name,
    mass_formatter,
    network_summary,
    noise_text,
    number_format,
    printable,
    ranked_classes,
    share_text,
    text_cells,
)
from neuid3.export.meanings import network_lines
from neuid3.export.unwrap import is_forest, is_sum, model_of, tree_of
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.node_tests import clauses_behind
from neuid3.tree.tree import Branch, LeafNode, Node, Tree, preorder

# With more classes than this a line shows only the largest shares.
MAX_CLASSES = 4

# The edge to a child, and the indentation of the nodes below it, by response; all have the same width.
EDGES = {True: ("├─ yes: ", "│       "), False: ("└─ no:  ", "        ")}
INDENT = 8

# The width in characters of the lines that list the phrases of a score.
WIDTH_OF_SCORES = 100


def export_text(tree: Any, decimals: int = 2, *, rules: bool = False) -> str:
    """A tree as indented text; the first line shows the root's test.

    Each line gives, as far as they are known, the gain in bits, the mass of the examples that reach the node and the share
    of each class. In a tree that predicts numbers the gain is a fraction of the variance of all numbers, and a line ends with
    their mean and standard deviation at the node. A test with networks also shows how decided these are, from 0 (chance) to 1 (certain), and its gain on
    unseen examples and on those that the networks were trained on; `(!)` marks a test that is close to chance. Below the
    tree of a model stands what the values of each network in its rules are fixed up to: see `NeurosymbolicTree.audit`.
    Where a tree has several instances of a declared network, it says so there, and each test names those that it calls.

    Parameters
    ----------
    tree : a `Tree`, a model or a fitted estimator; of a boosted sum, the terms are listed, of a forest importances and some trees.
    decimals : the number of decimals of gains and class shares; numbers have the digits in which leaves differ.
    rules : whether the clauses of background knowledge behind the tests follow below the tree.

    Returns
    -------
    One line for each node.

    >>> from neuid3.tree.tree import Leaf
    >>> print(export_text(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("quiet", "call"))))
    alarm?
    ├─ yes: call   quiet 0.10  call 0.90
    └─ no:  quiet  quiet 0.80  call 0.20
    """
    if is_forest(tree):
        from neuid3.export.forests import forest_text

        return forest_text(getattr(tree, "model_", tree), decimals)
    if is_sum(tree):
        from neuid3.export.sums import sum_text  # most trees are exported without it

        return sum_text(tree, decimals, rules=rules)
    exported = tree_of(tree)
    rows = list(_rows(exported, decimals))
    # The width of a line follows from its depth: in a deep tree most of it is indentation, which need not be measured.
    row_widths = [(width, *map(text_cells, fields)) for (_, width), *fields in rows]
    widths = [max(column) for column in zip(*row_widths, strict=True)]
    lines = [
        "  ".join(
            text + " " * (width - used) for text, used, width in zip((line, *fields), own, widths, strict=True) if width
        ).rstrip()
        for ((line, _), *fields), own in zip(rows, row_widths, strict=True)
    ]
    notes = [printable(line) for line in network_lines(tree)]
    lines += ["", *notes] if notes else []
    scores = scores_in(map(str, exported.tests))
    lines += ["", "Phrases of the scores:", *chain(*map(_score_lines, scores.items()))] if scores else []
    if rules:
        program = model_of(tree, "background knowledge").program
        of_goals = program.clauses_behind([goal.text for goal in exported.goals])
        clauses = list(dict.fromkeys(chain(*clauses_behind(tuple(exported.tests), program), *of_goals)))
        lines += ["", "Rules behind the tests:", *(f"  {printable(clause)}" for clause in clauses)] if clauses else []
    return "\n".join(lines)


def _score_lines(score: tuple[str, str]) -> list[str]:
    """The phrases of a score below its name, all of them."""
    name, phrases = score
    indent = "    "
    return [f"  {name}", *wrap(phrases, WIDTH_OF_SCORES, initial_indent=indent, subsequent_indent=indent)]


def _rows(tree: Tree, decimals: int) -> Iterator[tuple[tuple[str, int], str, str, str, str]]:
    """For each node its line in the tree and the width of that, its gain, network statistics, mass and class shares."""
    mass = mass_formatter(tree.root)
    widest = max(len(mass(visit.node)) for visit in preorder(tree.root))
    write = number_format(tree.leaves, decimals) if tree.predicts_numbers else str
    for line, node in _lines(tree, write):
        gain = "" if isinstance(node, LeafNode) or node.gain is None else f"gain {node.gain:.{decimals}f}"
        mass_text = f"mass {mass(node):>{widest}}" if mass(node) else ""
        content = _distribution(node, write) if tree.predicts_numbers else _shares(node, tree, decimals)
        yield line, gain, network_summary(node, decimals), mass_text, content


def _lines(tree: Tree, write: Callable[[float], str]) -> Iterator[tuple[tuple[str, int], Node]]:
    """The nodes in preorder, yes before no, each with its edges and name as text, and the width of that."""
    indents = [""]  # of the children of the last node of every depth
    names = tree.test_names
    for visit in preorder(tree.root):
        node, above = visit.node, indents[max(visit.depth - 1, 0)]
        name = leaf_name(node, tree, write) if isinstance(node, LeafNode) else f"{printable(names[node.test])}?"
        edge, below = ("", "") if visit.response is None else EDGES[visit.response]
        yield (f"{above}{edge}{name}", INDENT * visit.depth + text_cells(name)), node
        indents[visit.depth :] = [above + below]


def _distribution(node: Node, write: Callable[[float], str]) -> str:
    if isinstance(node, GoalLeaf):
        return noise_text(node)
    leaf = node.summary if isinstance(node, Branch) else node
    return "" if leaf is None else distribution_text(leaf, write)


def _shares(node: Node, tree: Tree, decimals: int) -> str:
    if isinstance(node, GoalLeaf):
        return noise_text(node, decimals)
    shares = class_shares(node)
    if shares is None:
        return ""
    if len(shares) <= MAX_CLASSES:
        pairs = list(zip(map(class_name, tree.classes), shares, strict=True))
    else:
        pairs = [pair for pair in ranked_classes(shares, tree.classes) if round(pair[1], decimals) > 0][
            : MAX_CLASSES - 1
        ]
    return "  ".join(share_text(label, share, decimals) for label, share in pairs)
