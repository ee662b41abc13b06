"""Catalogue of the datasets: what each is, and where its files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from experiments.datasets.eleusis import CONCEPTS
from experiments.datasets.files import find
from experiments.datasets.images import EMNIST_URL, LETTER_FILES, MNIST_FILES, MNIST_URL
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
    cards = ("made of mnist and letters" if images else "needs mnist and letters"), images
    return (
        Entry("mnist", "70,000 digits", *_location(digits, MNIST_URL)),
        Entry("letters", "EMNIST's letters A to D", *_location(letters, EMNIST_URL)),
        Entry("digits", "1,797 small digits", "with scikit-learn", available=True),
        Entry("cards", "two sets of 20,000 cards", *cards),
        *(Entry(concept.name, f"Eleusis: {concept.description}", *cards) for concept in CONCEPTS.values()),
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


def _location(names: Iterable[str], url: str, bundled: str = "") -> tuple[str, bool]:
    """The location of files as text, and whether they are available."""
    paths = [find(name) for name in names]
    folders = {path.parent for path in paths if path is not None}
    if None not in paths:
        return ", ".join(sorted(map(str, folders))), True
    if bundled in BUNDLED:
        return "with scikit-learn", True
    return f"not here; first use downloads it from {urlsplit(url).hostname}", False
