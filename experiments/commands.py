"""The commands `python -m experiments reproduce`: run units, draw tables and a figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from neuid3.utils.output import set_outcome

Command = Callable[..., None]

# As in `experiments.units`, which the command does not import before it runs.
_EXPERIMENTS = (
    "uci",
    "eleusis",
    "background",
    "reuse",
    "labels",
    "hitting-sets",
    "even-odd",
    "decks",
    "e9p",
    "switched",
    "keel",
    "regression",
    "relational",
    "pictured",
    "kinds",
    "image-ensembles",
)


@click.group()
def reproduce() -> None:
    """Run the experiments, and set our numbers beside the published ones.

    Every unit (one model, one fold or seed) leaves one JSON file; finished units are never repeated, so a run that was
    stopped goes on where it was. Example: python -m experiments reproduce background --concept rank_order --pool union --jobs 2
    """


def _repeatable(*names: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, multiple=True, help="May be repeated; all of them when left out.", **settings)


def _run_options(command: Command) -> Command:
    """Add the options that all commands that run units have."""
    added = (
        click.option("--recipe", type=click.Choice(["default", "paper"]), default="default", show_default=True),
        click.option(
            "--jobs",
            default=1,
            show_default=True,
            help="Units side by side, one thread each; -1: all cores.",
        ),
        click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True),
    )
    for option in reversed(added):
        command = option(command)
    return command


@reproduce.command()
@_repeatable("--dataset")
@_repeatable("--variant", type=click.Choice(["onehot", "mnist"]))
@_repeatable("--model", type=click.Choice(["tree", "mlp", "sklearn", "soft"]))
@_repeatable("--fold", type=int)
@_run_options
def uci(dataset: Any, variant: Any, model: Any, fold: Any, **options: Any) -> None:
    """Tables of zeros and ones, as symbols and as images, in ten folds."""
    _run("uci", {"problem": dataset, "setting": variant, "model": model, "number": fold}, **options)


@reproduce.command()
@_repeatable("--concept")
@_repeatable("--model", type=click.Choice(["tree", "nn44m", "lean", "soft"]))
@_repeatable("--seed", type=int)
@_run_options
def eleusis(concept: Any, model: Any, seed: Any, **options: Any) -> None:
    """Hidden concepts of cards: a tree of neural facts beside networks that read all images."""
    _run("eleusis", {"problem": concept, "model": model, "number": seed}, **options)


@reproduce.command()
@_repeatable("--concept")
@_repeatable("--pool", type=click.Choice(["nf", "bad", "union", "opt"]))
@_repeatable("--seed", type=int)
@_run_options
def background(concept: Any, pool: Any, seed: Any, **options: Any) -> None:
    """Hidden concepts of cards from four pools of tests."""
    _run("background", {"problem": concept, "setting": pool, "number": seed}, **options)


@reproduce.command()
@_repeatable("--trained", type=click.Choice(["neither", "suit", "rank", "both"]))
@_repeatable("--seed", type=int)
@_run_options
def reuse(trained: Any, seed: Any, **options: Any) -> None:
    """hidden_order_simple with the trained tests of rank_order and suit_order handed in."""
    settings = ["opt" if name == "neither" else name for name in trained]
    _run("reuse", {"setting": settings, "number": seed}, **options)


@reproduce.command()
@_repeatable("--concept")
@_repeatable("--seed", type=int)
@_run_options
def labels(concept: Any, seed: Any, **options: Any) -> None:
    """Hidden concepts of cards from all rules, with one labelled image for each value of a network."""
    _run("labels", {"problem": concept, "number": seed}, **options)


@reproduce.command("hitting-sets")
@_repeatable("--images", type=click.Choice(["mnist", "fashion"]))
@_repeatable("--seed", type=int)
@_run_options
def hitting_sets(images: Any, seed: Any, **options: Any) -> None:
    """Hitting sets of four images, in NSIL's rows."""
    _run("hitting-sets", {"problem": images, "number": seed}, **options)


@reproduce.command("even-odd")
@_repeatable("--seed", type=int)
@_run_options
def even_odd(seed: Any, **options: Any) -> None:
    """Sums of two digits, with one labelled image of each digit."""
    _run("even-odd", {"number": seed}, **options)


@reproduce.command()
@_repeatable("--concept", type=click.Choice(["colour_alternates", "higher"]))
@_repeatable("--labels", type=click.Choice(["0", "13"]))
@_repeatable("--seed", type=int)
@_run_options
def decks(concept: Any, labels: Any, seed: Any, **options: Any) -> None:
    """Two concepts of real playing cards, without labels and with 13 labelled cards."""
    _run("decks", {"problem": concept, "setting": labels, "number": seed}, **options)


@reproduce.command()
@_repeatable("--table")
@_repeatable("--model")
@_repeatable("--fold", type=int)
@_run_options
def keel(table: Any, model: Any, fold: Any, **options: Any) -> None:
    """35 plain tables of the KEEL repository: trees, forests and boosting beside those of scikit-learn."""
    _run("keel", {"problem": table, "model": model, "number": fold}, **options)


@reproduce.command()
@_repeatable("--table")
@_repeatable("--model", type=click.Choice(["tree", "forest", "boosting", "cart", "sklearn-forest", "sklearn-boosting"]))
@_repeatable("--fold", type=int)
@_run_options
def regression(table: Any, model: Any, fold: Any, **options: Any) -> None:
    """Tables with a number to predict, which come inside packages, in five folds."""
    _run("regression", {"problem": table, "model": model, "number": fold}, **options)


@reproduce.command("image-ensembles")
@_repeatable("--dataset")
@_repeatable("--model", type=click.Choice(["forest", "boosting", "sklearn-forest"]))
@_repeatable("--fold", type=int)
@_run_options
def image_ensembles(dataset: Any, model: Any, fold: Any, **options: Any) -> None:
    """Ten UCI tables as images: forests and boosted sums beside scikit-learn's forest on the symbols."""
    _run("image-ensembles", {"problem": dataset, "model": model, "number": fold}, **options)


@reproduce.command()
@_repeatable("--problem")
@_repeatable("--model")
@_repeatable("--seed", type=int)
@_run_options
def pictured(problem: Any, model: Any, seed: Any, **options: Any) -> None:
    """Parts that are pictures: trains, hands of real cards and Eleusis histories, beside deep sets and recurrent networks."""
    _run("pictured", {"problem": problem, "model": model, "number": seed}, **options)


@reproduce.command()
@_repeatable("--problem")
@_repeatable("--rows", type=click.Choice(["all", "folds", "atoms", "full"]))
@_repeatable("--model", type=click.Choice(["tree", "forest", "boosting"]))
@_repeatable("--fold", type=int)
@_run_options
def relational(problem: Any, rows: Any, model: Any, fold: Any, **options: Any) -> None:
    """First-order trees and their ensembles from symbols: Bongard drawings, molecules, trains and zendo structures."""
    _run("relational", {"problem": problem, "setting": rows, "model": model, "number": fold}, **options)


@reproduce.command()
@_repeatable("--table")
@_repeatable("--model", type=click.Choice(["tree", "forest", "boosting", "logistic"]))
@_repeatable("--fold", type=int)
@_run_options
def kinds(table: Any, model: Any, fold: Any, **options: Any) -> None:
    """Texts and series, which come inside packages: our models beside logistic regression on the same columns."""
    _run("kinds", {"problem": table, "model": model, "number": fold}, **options)


@reproduce.command()
@_repeatable("--rows", type=click.Choice(["100", "10", "5"]))
@_repeatable("--seed", type=int)
@_run_options
def e9p(rows: Any, seed: Any, **options: Any) -> None:
    """The second of two digits, or 9 more where the first is odd, from 100, 10 and 5 per cent of NSIL's rows."""
    _run("e9p", {"setting": rows, "number": seed}, **options)


@reproduce.command()
@_repeatable("--model", type=click.Choice(["tree", "cnn"]))
@_repeatable("--seed", type=int)
@_run_options
def switched(model: Any, seed: Any, **options: Any) -> None:
    """The sum or the product of two digits, as a Boolean column says: regression with images."""
    _run("switched", {"model": model, "number": seed}, **options)


@reproduce.command()
@click.argument("experiments", nargs=-1, type=click.Choice(_EXPERIMENTS))
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
@click.option("--format", "style", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@click.option(
    "--into",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Replace the parts between <!-- table:NAME --> and <!-- /table:NAME --> of a Markdown page.",
)
def table(experiments: tuple[str, ...], results: Path, style: str, into: Path | None) -> None:
    """Our numbers beside the published ones, drawn from the result files alone."""
    from experiments.reports import reports
    from experiments.store import read
    from experiments.tables import insert

    if into is not None and style == "json":
        raise click.UsageError("--into takes Markdown tables; leave out --format json.")
    drawn = reports(read(results), experiments)
    if into is not None:
        insert(into, {name: report.markdown() for name, report in drawn.items()})
        set_outcome(f"the tables are in {into}")
        click.echo(f"{', '.join(drawn)} in {into}")
    elif style == "json":
        click.echo(json.dumps([report.as_json() for report in drawn.values()], indent=1))
    else:
        for name, report in drawn.items():
            click.echo(f"## {name}\n\n{report.markdown()}\n")


@reproduce.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def figure(file: Path, results: Path) -> None:
    """A picture of our means against the published ones. Example: python -m experiments reproduce figure results.svg"""
    from experiments.figure import draw
    from experiments.reports import reports
    from experiments.store import read
    from neuid3.utils.files import check_writable

    check_writable(file)
    draw(reports(read(results)).values(), file)
    set_outcome(f"the picture is written to {file}")
    click.echo(f"drawn: {file}")


def _run(experiment: str, allowed: dict[str, Any], recipe: str, jobs: int, results: Path) -> None:
    from experiments.runner import run_units
    from experiments.units import select_units, units

    if experiment == "regression":
        from experiments.regression import run
    elif experiment == "relational":
        from experiments.relational import run
    elif experiment == "pictured":
        from experiments.pictured import run
    elif experiment == "kinds":
        from experiments.kinds import run
    else:
        from experiments.learners import run
    outcomes = run_units(select_units(units(experiment, recipe), **allowed), results, run, jobs, click.echo)
    if any(outcome.error is not None for outcome in outcomes):
        raise SystemExit(1)
