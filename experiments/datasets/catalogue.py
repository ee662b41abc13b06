"""Catalogue of the datasets: what each is, and where its files are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from experiments.datasets.decks import KNOWN, UNSEEN, deck_files
from experiments.datasets.e9p import PARTS as E9P_PARTS
from experiments.datasets.e9p import row_file as e9p_file
from experiments.datasets.eleusis import CONCEPTS
from experiments.datasets.files import find
from experiments.datasets.hitting_sets import PARTS, SOURCES, row_file
from experiments.datasets.images import EMNIST_URL, FASHION_FILES, LETTER_FILES, MNIST_FILES, MNIST_URL
from experiments.datasets.relational import SETTINGS as RELATIONAL
from experiments.datasets.relational import relational_files
from experiments.datasets.tables import UCI, UCI_URL
from experiments.datasets.uci import BUNDLED


@dataclass(frozen=True, slots=True)
class Entry:
    """A dataset with its description and its location."""

    name: str
    description: str
    location: str
    available: bool


def catalogue() -> tuple[Entry, ...]:
    """Every dataset, in the order of the documentation."""
    digits, letters = (_names(files) for files in (MNIST_FILES, LETTER_FILES))
    images = all(map(find, (*digits, *letters)))
    rows = [row_file(name, part) for name in SOURCES for part in PARTS]
    drawings = [file for deck in (*KNOWN, *UNSEEN) for file in deck_files(deck)]
    cards = ("made of mnist and letters" if images else "needs mnist and letters"), images
    return (
        Entry("mnist", "70,000 digits", *_location(digits, MNIST_URL)),
        Entry("letters", "EMNIST's letters A to D", *_location(letters, EMNIST_URL)),
        Entry("fashion", "70,000 pictures of clothes", *_location(_names(FASHION_FILES))),
        Entry("digits", "1,797 small digits", "with scikit-learn", available=True),
        Entry("cards", "two sets of 20,000 cards", *cards),
        *(Entry(concept.name, f"Eleusis: {concept.description}", *cards) for concept in CONCEPTS.values()),
        Entry("hitting sets", "four images and a template: NSIL's rows", *_location(rows)),
        Entry("e9p", "two digits and a computed class: NSIL's rows", *_location(map(e9p_file, E9P_PARTS))),
        Entry("switched", "sums and products of two digits", *_made_of_digits(digits)),
        Entry("even-odd", "sums of two digits", *_made_of_digits(digits)),
        Entry("decks", "16 decks of 52 drawn cards", *_location(drawings)),
        *(Entry(name, "relational data", *_location(relational_files(name))) for name in RELATIONAL),
        *(
            Entry(
                spec.name,
                f"UCI: {spec.rows} rows, {len(spec.inputs)} columns",
                *_location([spec.file], UCI_URL, spec.name),
            )
            for spec in UCI.values()
        ),
    )


def _names(files: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [name for names in files.values() for name in names]


def _made_of_digits(digits: Iterable[str]) -> tuple[str, bool]:
    available = all(map(find, digits))
    return ("made of mnist" if available else "needs mnist"), available


def _location(names: Iterable[str], url: str = "", bundled: str = "") -> tuple[str, bool]:
    """The location of files as text, and whether they are available; without a URL they are not downloaded."""
    paths = [find(name) for name in names]
    folders = {path.parent for path in paths if path is not None}
    if None not in paths:
        shown = folders if len(folders) < 3 else {Path(os.path.commonpath(folders))}
        return ", ".join(sorted(map(str, shown))), True
    if bundled in BUNDLED:
        return "with scikit-learn", True
    if not url:
        return "not here, and not downloaded; put it into the folder that NEUID3_DATA names", False
    return f"not here; first use downloads it from {urlsplit(url).hostname}", False
