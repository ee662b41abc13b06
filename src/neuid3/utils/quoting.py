"""Names as atoms of Prolog."""

from __future__ import annotations

import re

_ESCAPES = {"\\": "\\0", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MEANINGS = {"0": "\\", "\\": "\\", "'": "'", "n": "\n", "r": "\r", "t": "\t"}

BARE = re.compile(r"[a-z][A-Za-z0-9_]*")


def atom_text(name: str) -> str:
    """A name as an atom, in quotes where it needs them.

    Parameters
    ----------
    name : the name, of a column or of a value.

    Returns
    -------
    The atom, as rules and goals spell it.

    >>> atom_text("alarm"), atom_text("petal length (cm)")
    ('alarm', "'petal length (cm)'")
    """
    return name if BARE.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """A name as an atom in quotes.

    >>> quoted("chest pain"), quoted("fever")
    ("'chest pain'", "'fever'")
    """
    # ProbLog does not resolve escapes, and takes a backslash before the last quote for one: a backslash is written \\0.
    return "'" + "".join(_ESCAPES.get(letter, letter) for letter in name) + "'"


def atom_name(text: str) -> str:
    """The name that an atom stands for: the opposite of `atom_text`; it also reads Prolog's own `\\\\`.

    >>> atom_name("'it\\\\'s'"), atom_name("alarm"), atom_name(atom_text("C:\\\\new"))
    ("it's", 'alarm', 'C:\\\\new')
    """
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        return text
    return re.sub(r"\\(.)", lambda match: _MEANINGS.get(match.group(1), match.group(0)), text[1:-1], flags=re.DOTALL)
