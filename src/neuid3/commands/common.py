"""What do the commands share? Models from files, texts from files, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.disk import check_place, neighbours, write_whole
from neuid3.errors import DamagedFileError, MissingFileError, ModelFileError

if TYPE_CHECKING:
    from neuid3.data import Examples
    from neuid3.estimator import NeuID3Classifier
    from neuid3.reading import Sheet

Command = Callable[..., Any]

FILE = click.Path(path_type=Path)


def out_option(command: Command) -> Command:
    """Where to write: a file, or the standard output."""
    return click.option("--out", type=FILE, metavar="FILE", help="Write to this file, not to the standard output.")(
        command
    )


def open_both(model: Path, table: Path) -> tuple[NeuID3Classifier, Sheet]:
    """A model and a table; whatever is wrong with their files is told before anything heavy is imported."""
    from neuid3.reading import open_sheet

    _check_model(model)
    sheet = open_sheet(table)
    return load_classifier(model), sheet


def load_classifier(path: Path) -> NeuID3Classifier:
    """The classifier in a file that `neuid3 fit` or `save` has written."""
    _check_model(path)
    from neuid3.estimator import NeuID3Classifier
    from neuid3.loading import load

    found = load(path)
    if not isinstance(found, NeuID3Classifier):
        raise ModelFileError(f"{path} holds a {type(found).__name__}, not a classifier; load it in Python.")
    return found


def _check_model(path: Path) -> None:
    if not path.exists():
        raise MissingFileError(f"There is no model {path}.{neighbours(path)}")
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        raise ModelFileError(f"{path} is a table, not a model; the model comes first, and `neuid3 fit` makes one.")


def known_examples(clf: NeuID3Classifier, sheet: Sheet) -> Examples:
    """The rows of a sheet as a classifier knows them, with all columns that it could be asked about."""
    from neuid3.reading import read_as

    return read_as(sheet, clf.schema_, clf.model_.columns, others=True)


def read_text(path: Path, what: str) -> str:
    """A file of text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path} with {what}.{neighbours(path)}") from None
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path} is not UTF-8 text; give a file with {what}.") from None


def deliver(parts: Iterable[str], out: Path | None, *read: Path) -> None:
    """Text to the standard output as it comes, or to a file that is whole or not there."""
    if out is None:
        for part in parts:
            click.echo(part, nl=False)
    else:
        check_place(out, *read)
        write_whole(out, "".join(parts).encode())
