"""The command `python -m experiments`."""

from __future__ import annotations

import click

from experiments.commands import reproduce
from experiments.datasets.cli import datasets
from neuid3.cli.commands import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The paper's experiments: their data, their runs, and our numbers beside the published ones."""


main.add_command(datasets)
main.add_command(reproduce)

if __name__ == "__main__":
    main()
