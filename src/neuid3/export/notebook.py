"""How does a tree show itself in a notebook?"""

from __future__ import annotations

from html import escape

from neuid3.export.svg import export_svg
from neuid3.tree.tree import Tree

# Tests deeper than this are left out where nobody asked for a picture.
DEPTH = 4


def tree_svg(tree: Tree) -> str:
    """The picture that stands for a tree; of a deep tree, its upper part."""
    return export_svg(tree, max_depth=DEPTH)


def tree_html(tree: Tree, more: str = "", html: str = "") -> str:
    """The same picture, which can be moved sideways where it is wide; below it `html`, folded behind the word `more`."""
    picture = f'<div style="overflow-x:auto">{tree_svg(tree)}</div>'
    return f"{picture}<details><summary>{escape(more)}</summary>{html}</details>" if html else picture
