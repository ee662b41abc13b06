"""Options, input files and output shared by the commands."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.errors import ModelFileError, NeuID3Error
from neuid3.utils.fields import FieldRule, OptionalField, read_field
from neuid3.utils.files import check_readable, check_writable, write_atomically
from neuid3.utils.output import is_output_writable

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from neuid3.data.examples import Examples
    from neuid3.data.reading import TextTable
    from neuid3.estimators.forest_model import NeurosymbolicForest
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.estimators.sum_model import NeurosymbolicSum
    from neuid3.logic.sandbox import Limits

    AnyModel = NeurosymbolicTree | NeurosymbolicSum | NeurosymbolicForest

Command = Callable[..., Any]

# The entries of `--parts` and of `--relation`.
PartFiles = tuple[Sequence[str], Sequence[str]]

FILE = click.Path(path_type=Path)


class FiniteRange(click.FloatRange):
    """A finite number in a range; `nan` and `inf` are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class FieldType(click.ParamType):  # type: ignore[type-arg]
    """A number that a field of a configuration may have, checked as in Python.

    Parameters
    ----------
    rules : the values that the fields may have, by name.
    field : the name of the field.
    """

    name = "number"

    def __init__(self, rules: Mapping[str, FieldRule], field: str) -> None:
        rule = rules[field]
        self.field, self.rule = field, rule.rule if isinstance(rule, OptionalField) else rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = literal_eval(value) if isinstance(value, str) else value
            return read_field(self.field, number, self.rule)
        except (NeuID3Error, ValueError, SyntaxError):
            self.fail(f"{value} is not {self.rule}.", param, ctx)


_LIMITS: dict[str, Any] = {
    "seconds": FiniteRange(0, min_open=True),
    "megabytes": click.IntRange(1),
    "circuit_nodes": click.IntRange(1),
}


def limit_option(command: Command) -> Command:
    """Add the option `--limit`, passed as `limits`: a `Limits`, or None."""
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        callback=_limits,
        metavar="NAME=NUMBER",
        help="Limit of the background knowledge: seconds or megabytes for grounding, circuit_nodes for compilation; may be repeated.",
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
            raise click.BadParameter(f"{entry!r} is not a limit; write {known}.", ctx, param)
        numbers[name] = _LIMITS[name].convert(number, param, ctx)
    return Limits(**numbers)


def out_option(command: Command) -> Command:
    """Add the option `--out`: a file to write to, instead of standard output."""
    return click.option("--out", type=FILE, metavar="FILE", help="Write to this file instead of standard output.")(
        command
    )


def time_limit_option(text: str) -> Callable[[Command], Command]:
    """The option `--time-limit` with this help: seconds, 60 by default."""
    return click.option(
        "--time-limit", type=FiniteRange(0), default=60.0, show_default=True, metavar="SECONDS", help=text
    )


def parts_options(command: Command) -> Command:
    """Add the options `--parts` and `--relation`, passed as `parts` and `part_relations`: files of what rows own."""
    command = click.option(
        "--relation",
        "part_relations",
        multiple=True,
        metavar="NAME=FILE",
        help="Table of a relation between parts, such as contact=contact.csv, whose columns piece_1 and piece_2 hold keys of "
        "parts; may be repeated.",
    )(command)
    return click.option(
        "--parts",
        multiple=True,
        metavar="NAME=FILE:COLUMN",
        help="Table of the parts that rows own, such as car=cars.csv:train, whose column `train` holds the key of the owner; "
        "may be repeated. Parts may own parts: load=loads.csv:car.",
    )(command)


def open_inputs(
    path: Path, table: Path, limits: Limits | None, attached: PartFiles = ((), ())
) -> tuple[NeurosymbolicTree, TextTable]:
    """The tree and the table of two files; errors of both files are reported before the model is restored."""
    text_table = _open_table(path, table, attached)
    return open_model(path, limits), text_table


def open_any_inputs(
    path: Path, table: Path, limits: Limits | None, attached: PartFiles = ((), ())
) -> tuple[AnyModel, TextTable]:
    """The model of one tree or of many and the table of two files; errors of both are reported before it is restored."""
    text_table = _open_table(path, table, attached)
    return open_any_model(path, limits), text_table


def _open_table(path: Path, table: Path, attached: PartFiles) -> TextTable:
    from neuid3.data.reading import open_text_table, with_part_files

    _check_model(path)
    return with_part_files(open_text_table(table), *attached)


def open_model(path: Path, limits: Limits | None) -> NeurosymbolicTree:
    """The model of one tree in a file written by `neuid3 fit` or `save`; other models are errors."""
    from neuid3.estimators.model import NeurosymbolicTree

    model = open_any_model(path, limits)
    if not isinstance(model, NeurosymbolicTree):
        raise ModelFileError(f"{path} holds a {model.noun}, and this command needs one tree; fit with --model tree.")
    return model


def open_any_model(path: Path, limits: Limits | None) -> AnyModel:
    """The model of one tree or of many in a file written by `neuid3 fit` or `save`."""
    _check_model(path)
    from neuid3.estimators.loading import load_model

    return load_model(path, limits=limits)


def has_many_trees(model: AnyModel) -> TypeIs[NeurosymbolicSum | NeurosymbolicForest]:
    """Whether a model is a sum of trees or a forest."""
    return not model.has_leaves


def _check_model(path: Path) -> None:
    check_readable(path, "model")
    if path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        raise ModelFileError(f"{path} is a table, not a model; give the model first, as written by `neuid3 fit`.")


def model_examples(model: AnyModel, text_table: TextTable) -> Examples:
    """The rows of a table, read by the schema of a model, with all columns of the schema."""
    from neuid3.data.reading import read_with_schema

    return read_with_schema(text_table, model.schema, model.columns, others=True)


def row_location(lines: Sequence[int] | None) -> Callable[[int], str]:
    """What messages call a row of a table: its line in the file, where it has lines."""
    return "row {}".format if lines is None else (lambda row: f"line {lines[row]}")


def concepts_option(command: Command) -> Command:
    """Add the option `--concepts`, passed as `concept_file`: a file of labels for images, or None."""
    return click.option(
        "--concepts",
        "concept_file",
        type=FILE,
        metavar="FILE",
        help="Labels for images: a table with columns image (a path as in TABLE), concept and value. Columns of TABLE such "
        "as 'rank(first)' hold labels too.",
    )(command)


def model_concepts(
    model: NeurosymbolicTree, text_table: TextTable, examples: Examples, concept_file: Path | None
) -> dict[str, list[str | None]]:
    """The labels of a table, in its columns and in a file of labels, checked against the networks of a model."""
    from neuid3.data.columns import Tensor
    from neuid3.data.reading.concepts import table_concepts
    from neuid3.tree.labels import label_columns, model_labels

    names = label_columns(text_table.columns, model.program.declarations, model.schema)
    images = [name for name, kind in model.schema.items() if isinstance(kind, Tensor) and name in text_table.columns]
    concepts = table_concepts(text_table, names, concept_file, images)
    model_labels(model, examples, concepts, row_location(text_table.lines))
    return concepts


def write_output(parts: Iterable[str], out: Path | None, *inputs: Path) -> None:
    """Write text to standard output part by part, or to a file atomically.

    Parameters
    ----------
    parts : the text.
    out : the file; None for standard output.
    *inputs : the files that the command reads, which `out` must not overwrite.
    """
    if out is None:
        for part in parts:
            click.echo(part, nl=False)
            if not is_output_writable():
                return
    else:
        check_writable(out, *inputs)
        write_atomically(out, "".join(parts).encode())
