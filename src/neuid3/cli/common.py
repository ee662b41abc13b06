"""What do the commands share? Models from files, texts from files, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.errors import ModelFileError
from neuid3.utils.files import check_readable, check_writable, write_atomically
from neuid3.utils.output import works

if TYPE_CHECKING:
    from neuid3.data.examples import Examples
    from neuid3.data.reading import TextTable
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits

Command = Callable[..., Any]

FILE = click.Path(path_type=Path)


class FiniteRange(click.FloatRange):
    """A number in a range; `nan` and `inf`, which Python reads as numbers, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


_LIMITS: dict[str, Any] = {
    "seconds": FiniteRange(0, min_open=True),
    "megabytes": click.IntRange(1),
    "circuit_nodes": click.IntRange(1),
}


def limit_option(command: Command) -> Command:
    """What the background knowledge may take, as `limits`: one `Limits`, or None."""
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        callback=_limits,
        metavar="NAME=NUMBER",
        help="What the rules may take: seconds or megabytes to be grounded, circuit_nodes to be compiled; may be repeated.",
    )(command)


def _limits(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Limits | None:
    if not given:
        return None
    from neuid3.logic.sandbox import Limits

    numbers: dict[str, Any] = {}
    for entry in given:
        name, _, number = entry.partition("=")
        if name not in _LIMITS:
            known = ", ".join(f"{name}=NUMBER" for name in _LIMITS)
            raise click.BadParameter(f"{entry!r} is no limit; write {known}.", ctx, param)
        numbers[name] = _LIMITS[name].convert(number, param, ctx)
    return Limits(**numbers)


def out_option(command: Command) -> Command:
    """Where to write: a file, or the standard output."""
    return click.option("--out", type=FILE, metavar="FILE", help="Write to this file, not to the standard output.")(
        command
    )


def open_both(model: Path, table: Path, limits: Limits | None) -> tuple[NeuID3Classifier, TextTable]:
    """A model and a table; whatever is wrong with their files is told before anything heavy is imported."""
    from neuid3.data.reading import open_text_table

    _check_model(model)
    text_table = open_text_table(table)
    return load_classifier(model, limits), text_table


def load_classifier(path: Path, limits: Limits | None) -> NeuID3Classifier:
    """The classifier in a file that `neuid3 fit` or `save` has written."""
    _check_model(path)
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.estimators.loading import load

    found = load(path, limits=limits)
    if not isinstance(found, NeuID3Classifier):
        raise ModelFileError(f"{path} holds a {type(found).__name__}, not a classifier; load it in Python.")
    return found


def _check_model(path: Path) -> None:
    check_readable(path, "model")
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        raise ModelFileError(f"{path} is a table, not a model; the model comes first, and `neuid3 fit` makes one.")


def known_examples(clf: NeuID3Classifier, text_table: TextTable) -> Examples:
    """The rows of a text_table as a classifier knows them, with all columns that it could be asked about."""
    from neuid3.data.reading import read_with_schema

    return read_with_schema(text_table, clf.schema_, clf.model_.columns, others=True)


def deliver(parts: Iterable[str], out: Path | None, *read: Path) -> None:
    """Text to the standard output as it comes, or to a file that is whole or not there."""
    if out is None:
        for part in parts:
            click.echo(part, nl=False)
            if not works():
                return
    else:
        check_writable(out, *read)
        write_atomically(out, "".join(parts).encode())
