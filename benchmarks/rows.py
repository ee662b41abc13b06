"""Rows of a study: a file of JSON lines, and a table in a page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read_rows(path: str) -> list[Row]:
    """The rows of a file, one JSON line each; empty where there is no file yet."""
    file = Path(path)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append_row(path: str, row: Row) -> None:
    """Append a row to a file as soon as it is measured, so that a stopped run loses nothing."""
    with Path(path).open("a") as out:
        out.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def insert_table(page: str, mark: str, lines: Sequence[str]) -> None:
    """Replace the text between `<!-- MARK -->` and `<!-- /MARK -->` in a page."""
    before, rest = Path(page).read_text().split(f"<!-- {mark} -->")
    after = rest.split(f"<!-- /{mark} -->")[1]
    table = "\n".join(lines)
    Path(page).write_text(f"{before}<!-- {mark} -->\n{table}\n<!-- /{mark} -->{after}")
