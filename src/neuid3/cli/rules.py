"""The command `rules`: the relations that rules can be written for, and the check of a program."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, limit_option
from neuid3.cli.fit_options import read_relations
from neuid3.utils.files import read_text

if TYPE_CHECKING:
    from neuid3.logic.check import ProgramReport
    from neuid3.logic.program import Program
    from neuid3.logic.sandbox import Limits


@click.group(invoke_without_command=True)
@click.option("--list", "listed", is_flag=True, help="List the relations for which rules are written, and the library.")
@click.pass_context
def rules(context: click.Context, listed: bool) -> None:
    """Check background knowledge, and list the relations for which rules are written.

    \b
    Examples:
      neuid3 rules --list
      neuid3 rules check rules.pl table.csv
    """
    if listed:
        click.echo(_listed())
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


def _listed() -> str:
    from neuid3.logic.relations import RELATIONS

    lines = ["Relations, as in --relations rank=order,equal, or 'rank[1..5]=order' to declare the network too:", ""]
    for relation in RELATIONS.values():
        arguments = ", ".join([*"AB"[: relation.things], *([relation.open_argument] if relation.open_argument else [])])
        goals = ", ".join(
            f"rank({thing}, {value})" for thing, value in zip("AB"[: relation.things], "XY", strict=False)
        )
        lines.append(f"  {relation.name:<11} {relation.meaning}")
        lines.append(f"  {'':<11} rank_{relation.suffix}({arguments}) :- {goals}, {relation.condition}.")
    lines += ["", "Predicates that every program can call, with a list of goals:", ""]
    lines += ["  at_least(K, [a, b, c])   at_most(K, …)   exactly(K, …)   more_than(K, …)   fewer_than(K, …)"]
    lines += ["  any_of([a, b, c])        all_of(…)       none_of(…)"]
    return "\n".join(lines)


@rules.command()
@click.argument("file", type=FILE)
@click.argument("table", type=FILE, required=False)
@click.option("--relations", multiple=True, metavar="NAME=RELATION,…", help="Relations to add, as in neuid3 fit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@limit_option
@click.pass_context
def check(
    context: click.Context,
    file: Path,
    table: Path | None,
    relations: tuple[str, ...],
    as_json: bool,
    limits: Limits | None,
) -> None:
    """Say what a program offers, what it lacks and where it is wrong.

    Without a TABLE, names that the program does not define are taken for columns, and listed. The exit code is 2 where
    something is wrong.

    Example: neuid3 rules check rules.pl cards.csv
    """
    from neuid3.logic.check import check_program
    from neuid3.logic.relations import with_relations
    from neuid3.logic.sandbox import DEFAULT_LIMITS

    text, schema = read_text(file, "file of rules"), None
    if table is not None:
        from neuid3.data.reading import open_text_table
        from neuid3.data.reading.table import text_schema

        schema = text_schema(open_text_table(table), {})
    report = check_program(text, schema, limits or DEFAULT_LIMITS)
    added = read_relations(relations)
    if added and report.program is not None:
        text = with_relations(text, added, report.program.schema, limits)
        report = check_program(text, schema, limits or DEFAULT_LIMITS)
    offers, notes = ({}, []) if report.program is None else _offers(report.program)
    if as_json:
        click.echo(json.dumps({**report.to_json(), "offers": offers, "notes": notes}, indent=1, ensure_ascii=False))
    else:
        click.echo(_report(file.name, report, offers, notes, table))
    if report.mistakes:
        context.exit(2)


def _offers(program: Program) -> tuple[dict[str, Any], list[str]]:
    """The tests, numbers and families of a program, and notes about rules that are never tried."""
    from neuid3.learning.candidates import make_candidates

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        candidates = make_candidates("auto", None, program, program.limits.max_candidates)
    numbers = [family.name.removesuffix(" > …") for family in candidates.families if family.name.endswith(" > …")]
    families = [family.name for family in candidates.families if not family.name.endswith(" > …")]
    offers = {"tests": list(candidates.expanded), "numbers": numbers, "families": families}
    return offers, [str(warning.message) for warning in caught]


def _report(name: str, report: ProgramReport, offers: dict[str, Any], notes: list[str], table: Path | None) -> str:
    from neuid3.data.columns import kind_name

    lines = [f"{name}, {mistake}" for mistake in report.mistakes]
    for network in report.networks:
        values = "true or false" if network["values"] is None else f"values {', '.join(network['values'])}"
        inputs = "1 input" if network["inputs"] == 1 else f"{network['inputs']} inputs"
        lines.append(f"Network {network['network']} reads {inputs} for {network['predicate']}: {values}.")
    for label, title in (
        ("numbers", "Numbers"),
        ("families", "Tests with a constant that is found"),
        ("tests", "Tests"),
    ):
        if offers.get(label):
            lines.append(f"{title}: {', '.join(offers[label])}")
    if report.needs:
        needed = ", ".join(f"{column} ({kind_name(kind)})" for column, kind in report.needs.items())
        lines.append(f"It needs these columns: {needed}")
    lines.extend(notes)
    if not report.mistakes:
        nothing = f"Nothing{' else' if notes else ''} is wrong with {name}"
        lines.append(nothing + ("." if table is None else f" for {table.name}."))
    return "\n".join(lines)
