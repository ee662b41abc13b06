"""The command line: a thin shell around the library."""

from __future__ import annotations

import click

from neuid3 import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neuid3")
def main() -> None:
    """Neurosymbolic decision trees: tests may be facts, networks, or rules over what networks see."""


@main.command()
def demo() -> None:
    """Build a small tree over images, facts and a rule, and check its answers in ProbLog.

    Needs no download. Example: neuid3 demo
    """
    from neuid3.demo import run

    run()
