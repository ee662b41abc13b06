"""Notebook representations of a tree."""

from __future__ import annotations

from html import escape

from neuid3.export.svg import export_svg
from neuid3.tree.tree import Tree

# The depth of the deepest tests that are drawn in a notebook cell.
MAX_DEPTH = 4


def tree_svg(tree: Tree) -> str:
    """A tree as SVG; of a deep tree, its upper part."""
    return export_svg(tree, max_depth=MAX_DEPTH)


def tree_html(tree: Tree, summary: str = "", details: str = "") -> str:
    """A tree as SVG in an element that scrolls sideways.

    Parameters
    ----------
    tree : the tree to be drawn.
    summary : the heading of the collapsed section below the drawing.
    details : the HTML of that section; without it there is none.
    """
    picture = f'<div style="overflow-x:auto">{tree_svg(tree)}</div>'
    return f"{picture}<details><summary>{escape(summary)}</summary>{details}</details>" if details else picture
