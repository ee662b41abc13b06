"""Short forms of a model's certificate: what the values of its networks are fixed up to, in a line each."""

from __future__ import annotations

from typing import Any

from neuid3.export.labels import printable
from neuid3.export.unwrap import model_of
from neuid3.tree.tree import Tree


def meaning_lines(source: Any) -> list[str]:
    """A line for each network that rules of the tree mention, such as "rank_net: fixed up to reversal".

    Parameters
    ----------
    source : a `Tree`, a model or a fitted classifier; a tree alone has no rules and no lines.

    Returns
    -------
    The lines, of the last audit where there was one.
    """
    if isinstance(source, Tree):
        return []
    # The method is that of `NeurosymbolicTree`, so that a tree is exported without PyTorch.
    meanings = getattr(model_of(source, "networks"), "network_meanings", dict)
    return [f"{printable(name)}: {words}" for name, words in meanings().items()]
