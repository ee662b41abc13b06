"""Extension of mkdocstrings: the sections of our docstrings in the form that its numpydoc parser expects.

Docstrings describe a parameter in one line, `decimals : the number of decimals.`, and a result in a sentence. The parser would take
both for types. Types come from annotations, so the text is moved to the line below.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Examples)\n-+\n", flags=re.MULTILINE)
_ENTRY = re.compile(r"^(\S.*?) : (.*)((?:\n +.*)*)", flags=re.MULTILINE)
_RUN = re.compile(r"^>>> ", flags=re.MULTILINE)


class Docstrings(Extension):
    """Rewrites the docstring of every object that a page shows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """A docstring whose examples are a section, and whose sections have descriptions on lines of their own."""
    run = _RUN.search(text)
    if run is not None and "\nExamples\n---" not in text:
        text = f"{text[: run.start()].rstrip()}\n\nExamples\n--------\n{text[run.start() :]}"
    head, *sections = _SECTION.split(text)
    parts = [head]
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"{name}\n{'-' * len(name)}\n{_rewritten_section(name, body)}")
    return "".join(parts)


def _rewritten_section(name: str, body: str) -> str:
    if name in ("Returns", "Yields"):
        return ":\n" + "".join(f"    {line}\n" for line in body.strip().splitlines()) + "\n"
    if name == "Examples":
        return body
    return _ENTRY.sub(_entry, body)


def _entry(found: re.Match[str]) -> str:
    names, first, rest = found.groups()
    # `max_depth : int, optional`, with a sentence in the next line, is a type already.
    if re.match(r"\n +[A-Z]", rest) and not first.endswith("."):
        return found.group(0)
    return f"{names}\n    {first}{rest}"
