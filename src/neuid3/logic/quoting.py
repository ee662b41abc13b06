"""Names and numbers in Prolog's syntax."""

from __future__ import annotations

import math
import re

_ESCAPES = {"\\": "\\0", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MEANINGS = {"0": "\\", "\\": "\\", "'": "'", "n": "\n", "r": "\r", "t": "\t"}

# Names with a meaning of their own in ProbLog in any position.
RESERVED = frozenset({"true", "fail", "false", "is", "mod", "rem", "xor", "rdiv", "not", "query", "evidence"})

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
    if BARE.fullmatch(name):
        return name
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


def number_text(number: float) -> str:
    """The shortest text that reads back as the same number; all tests, images and programs use it.

    ProbLog has no name for infinity, and reads 1e999 as infinity.

    Parameters
    ----------
    number : a number.

    Returns
    -------
    The number, as rules and goals spell it.

    >>> number_text(0.1 + 0.2), number_text(2.5), number_text(1e22), number_text(float("-inf"))
    ('0.30000000000000004', '2.5', '1e+22', '-1e999')
    """
    if isinstance(number, float) and math.isinf(number):
        return "1e999" if number > 0 else "-1e999"
    return repr(number) if isinstance(number, int) else repr(float(number))


def entry_text(number: float) -> str:
    """A number of an example: as exact as `number_text`, so that it compares with a cut as the number itself does.

    >>> entry_text(35.0), entry_text(0.14240001), entry_text(1e22)
    ('35', '0.14240001', '1e+22')
    """
    return number_text(number).removesuffix(".0")


def plain_name(name: str) -> str:
    """A name that needs no quotes, derived from any name.

    >>> plain_name("rank_net#2"), plain_name("Ja!")
    ('rank_net_2', 'x_Ja_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if BARE.fullmatch(plain) else f"x_{plain}"
