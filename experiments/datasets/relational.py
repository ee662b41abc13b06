"""Relational data: Bongard drawings, molecules, trains and zendo structures, with the folds that they are tested in."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.datasets.files import find
from experiments.datasets.problem import Problem
from neuid3.data.reading.interpretations import Interpretations, read_interpretations
from neuid3.errors import MissingFileError

# The settings of each problem, and the folds of each setting; "all" learns from all examples and counts those that are right.
SETTINGS: dict[str, dict[str, int]] = {
    "bongard": {"all": 1},
    "mutagenesis": {"atoms": 10, "full": 10},
    "trains1": {"folds": 5, "all": 1},
    "trains2": {"all": 1, "folds": 5},
    "zendo1": {"all": 1, "folds": 5},
    "zendo2": {"all": 1, "folds": 5},
}

# What says the class, or how the molecules were divided, is never a column.
HIDDEN = ("logmutag", "testnr", "molecule")
NUMBERS_OF_MOLECULES = ("lumo", "logp")


def relational_files(problem: str) -> list[str]:
    """The names of the files of a problem in the data folder."""
    match problem:
        case "bongard":
            return ["relational/bongard/bongard.kb"]
        case "mutagenesis":
            folds = [f"relational/mutagenesis/folds/test{fold}.txt" for fold in range(10)]
            return ["relational/mutagenesis/muta.kb", *folds]
        case _:
            return [f"relational/{problem}/bk.pl", f"relational/{problem}/exs.pl"]


def _path(name: str) -> Any:
    path = find(name)
    if path is None:
        raise MissingFileError(f"{name} is not in the data folder; set NEUID3_DATA to a folder that has it.")
    return path


@cache
def _read(problem: str, setting: str) -> Interpretations:
    first, *others = map(_path, relational_files(problem))
    match problem:
        case "bongard":
            return read_interpretations(first)
        case "mutagenesis":
            return read_interpretations(
                first,
                ignore=(*HIDDEN, *(() if setting == "full" else NUMBERS_OF_MOLECULES)),
                names={
                    "atom": ("key", "atom", "element", "type", "charge"),
                    "bond": ("key", "atom_1", "atom_2", "bondtype"),
                },
                kinds={"atom": {"type": "category"}, "bond": {"bondtype": "category"}},
                symmetric=["bond"],
            )
        case _:
            return read_interpretations(first, others[0])


def relational(problem: str, setting: str, fold: int) -> Problem:
    """The examples of a problem: all of them twice, or the training and test examples of a fold.

    Parameters
    ----------
    problem : one of `SETTINGS`.
    setting : one of its settings.
    fold : the number of the fold.
    """
    data = _read(problem, setting)
    X, y = data.examples, data.labels
    if setting == "all":
        return Problem((X, y), None, (X, y))
    if problem == "mutagenesis":
        lines = _path(f"relational/mutagenesis/folds/test{fold}.txt").read_text().splitlines()
        keys = {line.split(":")[0].strip() for line in lines if line.strip()}
        test = np.array([str(key) in keys for key in data.keys])
    else:
        folds = StratifiedKFold(SETTINGS[problem][setting], shuffle=True, random_state=0)
        test = np.zeros(len(y), dtype=bool)
        test[list(folds.split(np.zeros(len(y)), y))[fold][1]] = True
    return Problem((X[~test], y[~test]), None, (X[test], y[test]))
