"""Export of a tree to Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from neuid3.export.palette import WARNING, leaf_colours
from neuid3.export.unwrap import tree_of
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.tree import Branch, LeafNode, Visit, preorder


def export_graphviz(tree: Any, decimals: int = 2) -> str:
    """The text of a DOT file, which Graphviz draws.

    Parameters
    ----------
    tree : a `Tree`, a model or a fitted estimator.
    decimals : the number of decimals of gains and class probabilities.

    Returns
    -------
    The text of the file.

    >>> from neuid3.tree.tree import Leaf, Tree
    >>> print(export_graphviz(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)))))
    digraph tree {
      node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];
      edge [fontname=monospace];
      n0 [label="alarm"];
      n1 [label="pos 0.90\\nneg 0.10", fillcolor="#fbf1d9"];
      n0 -> n1 [label="yes"];
      n2 [label="neg 0.80\\npos 0.20", fillcolor="#d9eaf3"];
      n0 -> n2 [label="no"];
    }
    """
    exported = tree_of(tree)
    mass = mass_formatter(exported.root)
    names, colour = exported.test_names, leaf_colours(exported)
    write = number_format(exported.leaves, decimals) if exported.predicts_numbers else str

    def statements(visit: Visit) -> Iterator[str]:
        node = visit.node
        lines, style = [], ""
        if isinstance(node, Branch):
            lines.append(printable(names[node.test]))
            lines += [] if node.gain is None else [f"gain {node.gain:.{decimals}f}"]
            lines += [summary] if (summary := network_summary(node, decimals)) else []
            style = f', color="{WARNING}", penwidth=2' if is_near_chance(node) else ""
        elif isinstance(node, GoalLeaf):
            lines, style = [leaf_name(node, exported), noise_text(node, decimals)], ', fillcolor="#eef3ea"'
        lines += [f"mass {mass(node)}"] if mass(node) else []
        shares = class_shares(node)
        if shares is not None:
            lines += [
                share_text(label, p, decimals)
                for label, p in ranked_classes(shares, exported.classes)
                if round(p, decimals) > 0
            ]
        if exported.predicts_numbers and (leaf := node.summary if isinstance(node, Branch) else node) is not None:
            lines.append(distribution_text(leaf, write))
        if isinstance(node, LeafNode):
            style = f', fillcolor="{colour(node)}"'
        yield f'n{visit.number} [label="{_label(lines)}"{style}];'
        if visit.parent is not None:
            yield f'n{visit.parent} -> n{visit.number} [label="{"yes" if visit.response else "no"}"];'

    body = [
        'node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];',
        "edge [fontname=monospace];",
        *(line for visit in preorder(exported.root) for line in statements(visit)),
    ]
    return "\n".join(["digraph tree {", *(f"  {line}" for line in body), "}"])


def _label(lines: list[str]) -> str:
    """The lines of a label, with backslashes, quotes and ampersands escaped, which are special in DOT."""
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return "\\n".join(escaped)
