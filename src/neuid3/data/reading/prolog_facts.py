"""Ground facts of Prolog files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuid3.errors import DataError, MissingFileError

_TOKEN = re.compile(
    r"""\s+ | %[^\n]* | /\*.*?\*/                                      # layout
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]))
    | (?P<quoted>'(?:[^'\\]|\\.|'')*')
    | (?P<name>[a-z]\w*)
    | (?P<variable>[A-Z_]\w*)
    | (?P<end>\.(?=\s|%|$))
    | (?P<other>:-|[^\w\s'])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A ground fact: a predicate and its arguments, where a list is a tuple and a compound term is a fact."""

    predicate: str
    arguments: tuple[Any, ...] = ()


def read_facts(path: Path) -> Iterator[Fact]:
    """The facts of a file; directives are passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path}; check its name.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text in UTF-8; convert it.") from None
    tokens: list[tuple[str, str, int]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _syntax_error(path, text, position)
        if match.lastgroup is not None:
            tokens.append((match.lastgroup, match.group(), position))
        position = match.end()
    clause: list[tuple[str, str, int]] = []
    for token in tokens:
        if token[0] != "end":
            clause.append(token)
            continue
        if clause and clause[0][1] != ":-":
            term, rest = _term(clause, 0)
            if rest != len(clause) or not isinstance(term, (str, Fact)):
                raise _syntax_error(path, text, clause[min(rest, len(clause) - 1)][2])
            yield Fact(term) if isinstance(term, str) else term
        clause = []
    if clause:
        raise _syntax_error(path, text, clause[0][2])


def _term(tokens: Sequence[tuple[str, str, int]], at: int) -> tuple[Any, int]:
    """The ground term that begins at a token, and the token after it; None where there is no such term."""
    if at >= len(tokens):
        return None, at
    kind, text, _ = tokens[at]
    if kind == "number":
        return (float(text) if any(mark in text for mark in ".eE") else int(text)), at + 1
    if kind == "other" and text == "[":
        items, after = _terms(tokens, at + 1, "]")
        return (None if items is None else tuple(items)), after
    if kind not in ("name", "quoted"):
        return None, at
    name = text if kind == "name" else re.sub(r"\\(.)", r"\1", text[1:-1].replace("''", "'"))
    if at + 1 < len(tokens) and tokens[at + 1][1] == "(":
        items, after = _terms(tokens, at + 2, ")")
        return (None if items is None else Fact(name, tuple(items))), after
    return name, at + 1


def _terms(tokens: Sequence[tuple[str, str, int]], at: int, close: str) -> tuple[list[Any] | None, int]:
    """Terms between commas up to a closing bracket."""
    items: list[Any] = []
    if at < len(tokens) and tokens[at][1] == close:
        return items, at + 1
    while True:
        item, at = _term(tokens, at)
        if item is None or at >= len(tokens):
            return None, at
        items.append(item)
        if tokens[at][1] == close:
            return items, at + 1
        if tokens[at][1] != ",":
            return None, at
        at += 1


def _syntax_error(path: Path, text: str, position: int) -> DataError:
    line = text.count("\n", 0, position) + 1
    found = text[position : position + 30].split("\n")[0]
    return DataError(f"{path}, line {line}: {found!r} is no ground fact; give facts that end with a full stop.")
