"""Folds of UCI tables, as binary attributes or as images of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.encode import Booleans, attributes, encode, fit
from experiments.datasets.images import Images, mnist
from experiments.datasets.uci import spec_of, uci_table
from neuid3.data.examples import Examples
from neuid3.errors import DataError, did_you_mean

Labelled: TypeAlias = tuple[Examples, npt.NDArray[np.str_]]

VARIANTS = ("onehot", "mnist")


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Training and test examples, and the meaning of each attribute."""

    train: Labelled
    test: Labelled
    meanings: Mapping[str, str]


def uci_fold(name: str, variant: str = "onehot", fold: int = 0, folds: int = 10, seed: int = 0) -> Fold:
    """One fold of a table, as Boolean columns ("onehot") or as images of 1 and 0 ("mnist").

    Folds are shuffled and stratified. Numbers are cut at thresholds with high information gain in the training folds;
    categories are grouped at random. Training folds are written with MNIST's training images, the test fold with its test
    images. The same arguments give the same bytes.
    """
    if variant not in VARIANTS:
        raise DataError(f"There is no variant {variant!r}.{did_you_mean(variant, VARIANTS)}")
    if not 0 <= fold < folds:
        raise DataError(f"There is no fold {fold} of {folds}; folds are counted from 0.")
    spec, table = spec_of(name), uci_table(name)
    train, test = split_rows(table.labels, fold, folds, seed)
    encoders = fit(table.columns, table.labels == "positive", train, spec.d, seed)
    parts = []
    for part, rows in (("train", train), ("test", test)):
        columns: dict[str, Any] = {}
        for encoder in encoders:
            columns |= encode(encoder, table.columns[encoder.column][rows])
        if variant == "mnist":
            columns = {
                column: _digit_images(
                    values, part, np.random.default_rng([seed, fold, zlib.crc32(f"{part} {column}".encode())])
                )
                for column, values in columns.items()
            }
        kinds = dict.fromkeys(columns, "boolean") if variant == "onehot" else None
        parts.append((Examples(columns, kinds), table.labels[rows]))
    meanings = {name: meaning for encoder in encoders for name, meaning in attributes(encoder).items()}
    return Fold(parts[0], parts[1], meanings)


def split_rows(labels: npt.NDArray[np.str_], fold: int, folds: int, seed: int) -> tuple[Any, Any]:
    """Rows of the training part and of the test part of a fold, whose classes are as frequent as in all rows."""
    from sklearn.model_selection import StratifiedKFold

    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(labels, labels)
    train, test = list(splits)[fold]
    return train, test


def _digit_images(values: Booleans, part: str, rng: np.random.Generator) -> Images:
    """A random image of a 1 for every true value and of a 0 for every false one."""
    images, labels = mnist(part)
    drawn = np.empty((len(values), *images.shape[1:]), dtype=np.uint8)
    for digit in (0, 1):
        rows, candidates = np.flatnonzero(values == bool(digit)), np.flatnonzero(labels == digit)
        drawn[rows] = images[rng.choice(candidates, len(rows))]
    return drawn
