"""How does a tree read as text?"""

from __future__ import annotations

from neuid3.tree import Branch, Leaf, Node, Tree


def export_text(tree: Tree, decimals: int = 2) -> str:
    """The tree as indented text; the first line shows the root's test.

    >>> print(export_text(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("quiet", "call"))))
    alarm?
    ├─ yes: call 0.90, quiet 0.10
    └─ no:  quiet 0.80, call 0.20
    """
    return "\n".join(_lines(tree.root, tree, decimals))


def _lines(node: Node, tree: Tree, decimals: int) -> list[str]:
    match node:
        case Leaf(probabilities):
            ranked = sorted(zip(probabilities, tree.classes, strict=True), key=lambda pair: -pair[0])
            return [", ".join(f"{label} {p:.{decimals}f}" for p, label in ranked)]
        case Branch(test, yes, no, gain):
            told = "" if gain is None else f"  (gain {gain:.{decimals}f})"
            first, *rest = _lines(yes, tree, decimals)
            lines = [f"{test}?{told}", f"├─ yes: {first}", *(f"│       {line}" for line in rest)]
            first, *rest = _lines(no, tree, decimals)
            return [*lines, f"└─ no:  {first}", *(f"        {line}" for line in rest)]
