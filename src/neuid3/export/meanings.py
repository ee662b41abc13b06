"""Lines about the networks of a tree: several instances of one, and what the values of each are fixed up to."""

from __future__ import annotations

from typing import Any

from neuid3.export.labels import printable
from neuid3.export.unwrap import model_of, tree_of
from neuid3.tree.tree import Tree


def instance_lines(tree: Tree) -> list[str]:
    """A line for each declared network of which a tree has several instances, as those can mean different things.

    Parameters
    ----------
    tree : the tree.

    Returns
    -------
    The lines.

    >>> from neuid3.tree.node_tests import AtomTest
    >>> from neuid3.tree.tree import Branch, Leaf
    >>> one, other = AtomTest("odd(a)", (("net", "net#1"),)), AtomTest("odd(b)", (("net", "net#2"),))
    >>> instance_lines(Tree(Branch(one, Branch(other, Leaf(1.0), Leaf(0.0)), Leaf(0.0))))
    ['net has 2 instances: net#1, net#2']
    """
    return [
        f"{printable(network)} has {len(names)} instances: {', '.join(map(printable, names))}"
        for network, names in tree.network_instances.items()
        if len(names) > 1
    ]


def network_lines(source: Any) -> list[str]:
    """The lines of several instances, and one for each network in rules, such as "rank_net: fixed up to reversal".

    Parameters
    ----------
    source : a `Tree`, a model or a fitted classifier; for a tree alone it is not known what values are fixed up to.

    Returns
    -------
    The lines, of the last audit where there was one.
    """
    several = instance_lines(tree_of(source))
    if isinstance(source, Tree):
        return several
    # The method is that of `NeurosymbolicTree`, so that a tree is exported without PyTorch.
    meanings = getattr(model_of(source, "networks"), "network_meanings", dict)
    return several + [f"{printable(name)}: {words}" for name, words in meanings().items()]
