"""Reports on programs: what one offers, what it lacks, and where it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neuid3.data.columns import Boolean, Category, Date, Kind, Number, Schema, Tensor, kind_name
from neuid3.data.derived import implied_columns, with_mentioned
from neuid3.logic.program import Program, kind_to_json
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits, send_request

# The shape of images that are inferred from a program without a table.
_SOME_SHAPE = (28, 28)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something that is wrong with a program.

    Attributes
    ----------
    line : the line, from 1; 0 where it is not known.
    column : the column, from 1; 0 where it is not known.
    message : what is wrong, and the next move.
    """

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """What a program offers and lacks.

    Attributes
    ----------
    mistakes : what is wrong.
    needs : the columns that the program would need, with their kinds, where there is no table.
    networks : the networks, each with its predicate, the number of its inputs and its values.
    program : the program, where nothing is wrong.
    """

    mistakes: tuple[Mistake, ...]
    needs: dict[str, Kind]
    networks: tuple[dict[str, Any], ...] = ()
    program: Program | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "mistakes": [asdict(mistake) for mistake in self.mistakes],
            "needs": {name: _needed(kind) for name, kind in self.needs.items()},
            "networks": list(self.networks),
        }


def check_program(text: str, schema: Schema | None = None, limits: Limits = DEFAULT_LIMITS) -> ProgramReport:
    """What a program offers, lacks and where it is wrong.

    Parameters
    ----------
    text : the program.
    schema : the kinds of the columns of a table; None where there is no table, so that unknown names are taken for columns.
    limits : the time and memory that it may take.

    Returns
    -------
    The report.

    >>> [str(mistake) for mistake in check_program("risk : smoker.").mistakes]
    ["line 1, column 1: 'risk:smoker' is no fact; write ':-' for *if*, as in 'risk :- smoker.', and '::' after a probability,
    as in '0.3 :: rain.'"]
    """
    implied = implied_columns(text) if schema is None else {}
    given = with_mentioned(text, implied if schema is None else schema)
    columns = {name: kind_to_json(kind) for name, kind in given.items()}
    request = {"do": "check", "program": text, "columns": columns, "infer": schema is None}
    reply = send_request(request, limits)
    mistakes = tuple(Mistake(p["line"], p["column"], p["message"]) for p in reply["problems"])
    needs = implied | {name: _kind(fields) for name, fields in reply["columns"].items() if name not in columns}
    if mistakes:
        return ProgramReport(tuple(dict.fromkeys(mistakes)), needs)
    program = Program(text, {**(schema or {}), **needs}, limits)
    networks = tuple(
        {"network": d.network, "predicate": d.predicate, "inputs": d.inputs, "values": _values(d.values)}
        for d in program.declarations.values()
    )
    return ProgramReport((), needs, networks, program)


def _needed(kind: Kind) -> dict[str, Any]:
    values = {"values": list(kind.values)} if isinstance(kind, Category) else {}
    return {"kind": kind_name(kind), **values}


def _values(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _kind(fields: dict[str, Any]) -> Kind:
    match fields:
        case {"kind": "category", "values": values}:
            return Category(tuple(values))
        case {"kind": "number", "date": True}:
            return Date()
        case {"kind": "number"}:
            return Number()
        case {"kind": "tensor"}:
            return Tensor(_SOME_SHAPE)
        case _:
            return Boolean()
