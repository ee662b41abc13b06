"""How does a tree read as a DOT file?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuid3.export.labels import is_near_chance, mass_formatter, network_summary, printable, ranked, share_text, shares
from neuid3.export.palette import WARNING, class_colours, paler
from neuid3.export.unwrap import tree_of
from neuid3.tree.tree import Branch, Leaf, Visit, preorder


def export_graphviz(tree: Any, decimals: int = 2) -> str:
    """A tree, model or fitted classifier in the DOT language, which Graphviz draws.

    >>> from neuid3.tree.tree import Tree
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
    shown = tree_of(tree)
    mass = mass_formatter(shown.root)
    colours = class_colours(len(shown.classes))

    def statements(visit: Visit) -> Iterator[str]:
        node = visit.node
        told, fill = [], ""
        if isinstance(node, Branch):
            told.append(printable(node.test))
            told += [] if node.gain is None else [f"gain {node.gain:.{decimals}f}"]
            told += [words] if (words := network_summary(node, decimals)) else []
            fill = f', color="{WARNING}", penwidth=2' if is_near_chance(node) else ""
        told += [f"mass {mass(node)}"] if mass(node) else []
        found = shares(node)
        if found is not None:
            told += [
                share_text(label, p, decimals) for label, p in ranked(found, shown.classes) if round(p, decimals) > 0
            ]
        if isinstance(node, Leaf):
            best = max(range(len(colours)), key=node.probabilities.__getitem__)
            fill = f', fillcolor="{paler(colours[best])}"'
        yield f'n{visit.number} [label="{_lines(told)}"{fill}];'
        if visit.parent is not None:
            yield f'n{visit.parent} -> n{visit.number} [label="{"yes" if visit.answer else "no"}"];'

    lines = [
        'node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];',
        "edge [fontname=monospace];",
        *(line for visit in preorder(shown.root) for line in statements(visit)),
    ]
    return "\n".join(["digraph tree {", *(f"  {line}" for line in lines), "}"])


def _lines(told: list[str]) -> str:
    """Lines of a label: in DOT a backslash, a quote and an ampersand would mean something else."""
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in told)
    return "\\n".join(escaped)
