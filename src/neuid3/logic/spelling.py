"""How is a name written in Prolog?"""

from __future__ import annotations

import re

BARE = re.compile(r"[a-z][A-Za-z0-9_]*")


def atom_text(name: str) -> str:
    """A name as an atom, in quotes where it needs them.

    >>> atom_text("alarm"), atom_text("petal length (cm)")
    ('alarm', "'petal length (cm)'")
    """
    if BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"


def plain_name(name: str) -> str:
    """A name that needs no quotes, made from any other.

    >>> plain_name("rank_net#2"), plain_name("Ja!")
    ('rank_net_2', 'x_Ja_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if BARE.fullmatch(plain) else f"x_{plain}"
