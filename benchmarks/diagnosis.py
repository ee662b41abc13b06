"""Diagnoses of 120 problems with a known fault and of 100 sound ones.

python -m benchmarks.diagnosis results/diagnosis.jsonl [seed] fits and diagnoses each problem; finished ones are not repeated.
Problems whose fit learns although their networks start on a saddle are drawn again: nothing is wrong with them.
python -m benchmarks.diagnosis --table results/diagnosis.jsonl PAGE draws the table.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.diagnosis_problems import FAULTS, SOUND, Problem
from benchmarks.rows import append_row, insert_table, read_rows
from neuid3 import NeuID3Classifier, NeuID3Regressor

OF_EACH_FAULT, SOUND_PROBLEMS = 20, 100

NAMES = {
    "no_candidate": "no candidate tells the classes apart",
    "few_rows": "too few rows of a class",
    "pictures_alike": "pictures that no network can tell apart",
    "contradicting_labels": "labels that contradict each other",
    "constant_rule": "a rule that is always true, or never",
    "more_restarts": "a saddle that more restarts leave",
    "sound": "sound problems: nothing is wrong",
}


def problems(seed: int) -> Iterator[tuple[str, int, Problem]]:
    """All problems with the name of their fault, `sound` where they have none, and their number."""
    for f, (fault, makers) in enumerate(FAULTS.items()):
        for number in range(OF_EACH_FAULT):
            yield fault, number, makers[number % len(makers)](np.random.default_rng([seed, f, number]))
    for number in range(SOUND_PROBLEMS):
        rng = np.random.default_rng([seed, len(FAULTS), number])
        yield "sound", number, SOUND[number % len(SOUND)](rng)


def fitted(problem: Problem, seed: int) -> Any:
    """The estimator, fitted."""
    kind: Any = NeuID3Regressor if problem.numbers else NeuID3Classifier
    return kind(random_state=seed, n_jobs=1, **problem.parameters).fit(problem.columns, problem.targets)


def main(path: str, seed: str = "1") -> None:
    warnings.simplefilter("ignore")
    known = {(row["fault"], row["number"]) for row in read_rows(path)}
    for fault, number, problem in problems(int(seed)):
        if (fault, number) in known:
            continue
        started, draws = time.monotonic(), 1
        estimator = fitted(problem, number)
        while fault == "more_restarts" and estimator.tree_.tests:
            rng = np.random.default_rng([int(seed), len(FAULTS) + draws, number])
            problem, draws = FAULTS[fault][0](rng), draws + 1
            estimator = fitted(problem, number)
        middle = time.monotonic()
        diagnosis = estimator.diagnose(problem.columns, problem.targets)
        ended = time.monotonic()
        row = {
            "fault": fault,
            "number": number,
            "cause": diagnosis.cause or "sound",
            "causes": [finding.cause for finding in diagnosis.causes],
            "draws": draws,
            "fit_seconds": round(middle - started, 2),
            "seconds": round(ended - middle, 2),
            "text": str(diagnosis),
        }
        append_row(path, row)


def table(path: str, page: str) -> None:
    """Insert the table into a page: for each fault, how often it is named first."""
    rows = read_rows(path)
    lines = ["| problems | number | right cause named first | seconds for a fit, a diagnosis |", "|---|---|---|---|"]
    for fault, name in NAMES.items():
        mine = [row for row in rows if row["fault"] == fault]
        if mine:
            right = sum(row["cause"] == fault for row in mine)
            seconds = [np.median([row[key] for row in mine]) for key in ("fit_seconds", "seconds")]
            share = f"{right} ({right / len(mine):.0%})"
            lines.append(f"| {name} | {len(mine)} | {share} | {seconds[0]:.1f}, {seconds[1]:.1f} |")
    insert_table(page, "diagnosis", lines)


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
