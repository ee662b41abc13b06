"""Names of network instances in text and pictures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.+?)(?:[#@]\d+)+", re.DOTALL)


def plain_name(instance: str) -> str:
    """The name of the network that an instance was made for.

    Parameters
    ----------
    instance : the name of an instance.

    Returns
    -------
    It without its numbers.

    >>> plain_name("rank_net#30"), plain_name("rank_net")
    ('rank_net', 'rank_net')
    """
    match = _NUMBERED.fullmatch(instance)
    return match[1] if match else instance


def display_names(instances: Iterable[str]) -> dict[str, str]:
    """What text calls each network instance of a tree: without its number, unless the tree has several of one network.

    Parameters
    ----------
    instances : the names of all instances of a tree, such as `rank_net#30`.

    Returns
    -------
    The name in text for each of them.

    >>> display_names(["rank_net#30", "suit_net#2", "suit_net#7"])
    {'rank_net#30': 'rank_net', 'suit_net#2': 'suit_net#2', 'suit_net#7': 'suit_net#7'}
    """
    plain = {name: plain_name(name) for name in instances}
    counts = Counter(plain.values())
    return {name: text if counts[text] == 1 else name for name, text in plain.items()}
