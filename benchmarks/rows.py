"""Where are the rows of a measurement kept, and how does a page show them?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def kept(path: str) -> list[Row]:
    """The rows of a file, one JSON line each; none where there is no file yet."""
    file = Path(path)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def keep(path: str, row: Row) -> None:
    """Add a row as soon as it is known, so that a run that is stopped loses nothing."""
    with Path(path).open("a") as out:
        out.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def draw(page: str, mark: str, lines: Sequence[str]) -> None:
    """Put a table between its two marks in a page."""
    before, rest = Path(page).read_text().split(f"<!-- {mark} -->")
    after = rest.split(f"<!-- /{mark} -->")[1]
    table = "\n".join(lines)
    Path(page).write_text(f"{before}<!-- {mark} -->\n{table}\n<!-- /{mark} -->{after}")
