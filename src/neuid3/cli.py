"""The command line: a thin shell around the library."""

from __future__ import annotations

import click

from neuid3 import __version__
from neuid3.datasets.cli import datasets
from neuid3.reproduce.cli import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neuid3")
def main() -> None:
    """Neurosymbolic decision trees: tests may be facts, networks, or rules over what networks see."""


@main.command()
@click.option("--jobs", default=2, show_default=True, help="How many networks are trained side by side.")
def demo(jobs: int) -> None:
    """Learn a hidden concept from pictures of cards, facts and rules, and print the tree.

    Needs no download and takes a minute or two. Example: neuid3 demo
    """
    from neuid3.demo import run

    run(jobs)


main.add_command(datasets)
main.add_command(reproduce)
