"""The commands `python -m experiments datasets list` and `python -m experiments datasets show`."""

from __future__ import annotations

from pathlib import Path

import click

from neuid3.errors import DataError
from neuid3.utils.files import check_writable
from neuid3.utils.output import set_outcome


@click.group()
def datasets() -> None:
    """The data of the experiments: where they are, and how they look."""


@datasets.command("list")
def list_() -> None:
    """List the datasets and where they are.

    They are looked for in the folder that NEUID3_DATA names, then in the cache (NEUID3_CACHE), and else downloaded when
    they are first used. Example: python -m experiments datasets list
    """
    from rich.console import Console
    from rich.table import Table

    from experiments.datasets.catalogue import catalogue

    table = Table("dataset", "what it is", "where it is")
    for entry in catalogue():
        table.add_row(entry.name, entry.description, entry.location)
    Console().print(table, markup=False)


@datasets.command()
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file to write.  [default: NAME.png]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which examples are drawn.")
def show(name: str, out: Path | None, seed: int) -> None:
    """Draw a contact sheet of a dataset.

    NAME is mnist, letters, fashion, digits, cards, decks, a concept of Eleusis (its windows), or a UCI table (as images).
    Example: python -m experiments datasets show rank_order --out rank_order.png
    """
    from experiments.datasets.sheets import sheet
    from neuid3.utils.files import write_atomically
    from neuid3.utils.png import png

    target = out or Path(f"{name}.png")
    if target.suffix.lower() != ".png":
        raise DataError(f"{target} is no name for a PNG image; end it in .png.")
    check_writable(target)
    drawn = sheet(name, seed)
    write_atomically(target, png(drawn.picture))
    set_outcome(f"the picture is written to {target}")
    click.echo("\n".join((*drawn.legend, f"Written to {target}.")))
