"""The experiment with texts and series: our models beside logistic regression on the same derived columns."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments.cells import Results, accuracy_of, mean_cell, time_cell, unit_cell
from experiments.datasets.kinds import TABLES, kind_fold
from experiments.environment import machine, versions
from experiments.learners import scores
from experiments.tables import Cell, Entry, Table
from experiments.units import KIND_MODELS, TREE, Unit
from neuid3 import Category, Examples, NeuID3BoostingClassifier, NeuID3Classifier, NeuID3ForestClassifier
from neuid3.data.columns import Boolean, Number, Schema

# Our models may be so far behind logistic regression.
MARGIN = 0.01

TREES_OF_FOREST = 200

# The regularisation that logistic regression is tuned over, by cross-validation in so many folds.
STRENGTHS, TUNING_FOLDS = (0.001, 0.01, 0.1, 1.0, 10.0), 5


class Logistic:
    """Logistic regression on the columns that a tree of ours may test: derived ones, and numbers as they are.

    Scores of texts are left out, which are sums of columns that are among them.

    Parameters
    ----------
    random_state : the seed of the tuning folds.
    """

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: Examples, y: npt.NDArray[Any]) -> Self:
        """Find the columns of these rows and fit; the strength of regularisation is chosen by cross-validation."""
        forest = NeuID3ForestClassifier(n_estimators=1, max_depth=1, random_state=self.random_state)
        self.schema: Schema = forest.fit(X, y).schema_  # with all derived columns
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
        folds = StratifiedKFold(TUNING_FOLDS, shuffle=True, random_state=self.random_state)
        self.search = GridSearchCV(model, {"logisticregression__C": list(STRENGTHS)}, cv=folds)
        self.search.fit(self._array(X), y)
        return self

    def predict(self, X: Examples) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        predictions: npt.NDArray[Any] = self.search.predict(self._array(X))
        return predictions

    def _array(self, X: Examples) -> npt.NDArray[np.float64]:
        columns = []
        read = Examples.read(X, self.schema)
        for column in (read.column(name) for name in read.names if not name.startswith("score(")):
            if isinstance(column.kind, Category):
                columns.append(column.values[:, None] == np.arange(len(column.kind.values)))
            elif isinstance(column.kind, (Boolean, Number)):
                columns.append(np.nan_to_num(column.values.astype(np.float64))[:, None])
        return np.concatenate(columns, axis=1).astype(np.float64)


def make_model(model: str, fold: int) -> Any:
    """The unfitted model of a unit."""
    match model:
        case "tree":
            return NeuID3Classifier(random_state=fold)
        case "forest":
            return NeuID3ForestClassifier(n_estimators=TREES_OF_FOREST, random_state=fold)
        case "boosting":
            return NeuID3BoostingClassifier(random_state=fold)
        case _:
            return Logistic(fold)


def run(unit: Unit) -> dict[str, Any]:
    """Learn and test the model of a unit on one thread; the record that is written as JSON."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train, test = kind_fold(unit.problem, unit.number)
        times = [(perf_counter(), process_time())]
        model = make_model(unit.model, unit.number).fit(*train)
        times.append((perf_counter(), process_time()))
        predictions = model.predict(test[0])
        times.append((perf_counter(), process_time()))
    seconds, processor = (
        dict(zip(("fit", "predict"), np.diff(column).round(3).tolist(), strict=True))
        for column in zip(*times, strict=True)
    )
    described = {"tree": model.export_text().splitlines()} if unit.model == TREE else {}
    return {
        "configuration": {"model": unit.model},
        "examples": {"train": len(train[1]), "test": len(test[1])},
        "scores": scores(test[1], predictions),
        "seconds": seconds,
        "processor_seconds": processor,
        **described,
        "versions": versions(),
        "machine": machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def kinds_report(results: Results) -> tuple[list[Table], list[str]]:
    """The accuracy of all models on all tables, the bar of ours being that of logistic regression, less a margin."""
    rows: list[tuple[Entry, ...]] = []
    by_model: dict[str, list[Cell]] = {model: [] for model in KIND_MODELS}
    for name, table in TABLES.items():
        cells = {model: unit_cell(results, accuracy_of, _unit(name, model)) for model in KIND_MODELS}
        for model, cell in cells.items():
            by_model[model].append(cell)
        reference = cells["logistic"].mean
        entries = {model: _with_bar(cell, reference, model) for model, cell in cells.items()}
        rows.append((f"{name} ({table.package})", *entries.values()))
    rows.append(("mean", *(mean_cell(cells) for cells in by_model.values())))
    times: list[tuple[Entry, ...]] = [
        (name, *(time_cell(results, _unit(name, model)) for model in KIND_MODELS)) for name in TABLES
    ]
    note = (
        "`logistic` is scikit-learn's logistic regression on the columns that our models may test, phrases and descriptions of "
        f"series, with its regularisation tuned on the training rows. Bars: tree and boosting ≥ logistic − {MARGIN}."
    )
    return [
        Table("Accuracy, five folds", ("table (package)", *KIND_MODELS), tuple(rows)),
        Table("Seconds of learning a fold, one thread", ("table", *KIND_MODELS), tuple(times)),
    ], [note]


def _with_bar(cell: Cell, reference: float | None, model: str) -> Cell:
    return cell if reference is None or model not in (TREE, "boosting") else replace(cell, bar=reference - MARGIN)


def _unit(name: str, model: str) -> Unit:
    return Unit("kinds", name, None, model, "default" if model == TREE else None, 0)
