"""The experiment with numbers as targets: trees and scikit-learn's models on the same folds of tables from packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from experiments.cells import Results, finished
from experiments.datasets.numbers import FOLDS, TABLES, NumberFold, number_fold
from experiments.environment import machine, versions
from experiments.store import Result
from experiments.tables import Cell, Entry, Table
from experiments.units import REGRESSION_MODELS, TREE, Unit
from neuid3 import NeuID3BoostingRegressor, NeuID3ForestRegressor, NeuID3Regressor

# The most values of the cost-complexity parameter that CART is tuned over, by cross-validation in so many folds.
ALPHAS, TUNING_FOLDS = 30, 5

TREES_OF_FOREST = 200


def run(unit: Unit) -> dict[str, Any]:
    """Learn and test the model of a unit on one thread; the record that is written as JSON."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fold = number_fold(unit.problem, unit.number)
        times = [(perf_counter(), process_time())]
        learner = LEARNERS[unit.model](fold, unit.number)
        learner.fit(*fold.train)
        times.append((perf_counter(), process_time()))
        predictions = learner.predict(fold.test[0])
        times.append((perf_counter(), process_time()))
    seconds, processor = (
        dict(zip(("fit", "predict"), np.diff(column).round(3).tolist(), strict=True))
        for column in zip(*times, strict=True)
    )
    return {
        "configuration": _configuration(learner, unit),
        "examples": {"train": len(fold.train[1]), "test": len(fold.test[1]), "columns": fold.train[0].shape[1]},
        "scores": {
            "r2": float(r2_score(fold.test[1], predictions)),
            "mean_absolute_error": float(mean_absolute_error(fold.test[1], predictions)),
        },
        "seconds": seconds,
        "processor_seconds": processor,
        **_description(learner),
        "versions": versions(),
        "machine": machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# Models ----------------------------------------------------------------------------------------------


def _encoded(X: pd.DataFrame, model: Any) -> Any:
    """A model of scikit-learn behind the encoding of categories that it needs; missing numbers become medians."""
    text = [name for name in X.columns if X[name].dtype.kind not in "biuf"]
    numbers = [name for name in X.columns if name not in text]
    encoding = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), (SimpleImputer(strategy="median"), numbers)
    )
    return make_pipeline(encoding, model)


def _cart(fold: NumberFold, seed: int) -> Any:
    """CART with its pruning tuned by cross-validation on the training rows."""
    X, y = fold.train
    encoded = _encoded(X, DecisionTreeRegressor(random_state=seed))
    columns = encoded[:-1].fit_transform(X)
    path = DecisionTreeRegressor(random_state=seed).cost_complexity_pruning_path(columns, y).ccp_alphas
    alphas = np.unique(np.clip(path, 0.0, None))[:-1]  # the last one leaves the root alone
    chosen = np.unique(
        alphas[np.unique(np.linspace(0, len(alphas) - 1, ALPHAS).astype(int))].tolist() + alphas[-10:].tolist()
    )
    grid = {"decisiontreeregressor__ccp_alpha": chosen}
    folds = KFold(TUNING_FOLDS, shuffle=True, random_state=seed)  # the rows of some tables are in an order
    return GridSearchCV(encoded, grid, cv=folds, scoring="neg_mean_squared_error")


LEARNERS: Mapping[str, Callable[[NumberFold, int], Any]] = {
    TREE: lambda _, seed: NeuID3Regressor(random_state=seed),
    "forest": lambda _, seed: NeuID3ForestRegressor(n_estimators=TREES_OF_FOREST, random_state=seed, n_jobs=1),
    "boosting": lambda _, seed: NeuID3BoostingRegressor(random_state=seed),
    "cart": _cart,
    "sklearn-forest": lambda fold, seed: _encoded(
        fold.train[0], RandomForestRegressor(TREES_OF_FOREST, random_state=seed, n_jobs=1)
    ),
    "sklearn-boosting": lambda fold, seed: _encoded(fold.train[0], HistGradientBoostingRegressor(random_state=seed)),
}


def _configuration(learner: Any, unit: Unit) -> dict[str, Any]:
    if isinstance(learner, NeuID3Regressor):
        names = ("max_depth", "min_mass", "min_gain", "pruning", "criterion")
        return {name: getattr(learner, name) for name in names}
    if isinstance(learner, NeuID3BoostingRegressor):
        of_sum = ("learning_rate", "max_splits", "max_depth", "min_mass", "l2", "max_features", "cv")
        return {name: getattr(learner, name) for name in of_sum}
    if isinstance(learner, NeuID3ForestRegressor):
        return {name: getattr(learner, name) for name in ("n_estimators", "max_features", "min_mass", "max_depth")}
    return {"model": unit.model}


def _description(learner: Any) -> dict[str, Any]:
    match learner:
        case NeuID3Regressor():
            return {"tree": learner.export_text().splitlines(), "leaves": learner.get_n_leaves()}
        case NeuID3BoostingRegressor():
            return {"trees": len(learner.sum_.trees), "splits": learner.sum_.splits}
        case NeuID3ForestRegressor():
            return {"trees": len(learner.forest_), "chosen": [learner.max_features_, learner.min_mass_]}
        case GridSearchCV():
            return {"leaves": int(learner.best_estimator_[-1].get_n_leaves()), "chosen": learner.best_params_}
    return {}


# Report ----------------------------------------------------------------------------------------------


def regression_report(results: Results) -> tuple[list[Table], list[str]]:
    """R² of all models on all tables, and the leaves of the trees; CART's mean is the bar of our tree."""
    rows: list[tuple[Entry, ...]] = []
    by_model: dict[str, list[Cell]] = {model: [] for model in REGRESSION_MODELS}
    for name in TABLES:
        cells = {model: _cell(results, name, model, r2_of) for model in REGRESSION_MODELS}
        for model, cell in cells.items():
            by_model[model].append(cell)
        rows.append((f"{name} ({TABLES[name].package})", *cells.values()))
    means = {model: _mean(cells) for model, cells in by_model.items()}
    bar = means["cart"].mean
    means[TREE] = Cell(means[TREE].values, len(TABLES), bar=bar, show_std=False)
    for model in ("forest", "boosting"):
        of_theirs = means[f"sklearn-{model}"]
        if of_theirs.mean is not None:
            error = _standard_error(by_model[model], by_model[f"sklearn-{model}"])
            means[model] = Cell(means[model].values, len(TABLES), bar=of_theirs.mean - error, show_std=False)
    rows.append(("mean", *means.values()))
    leaves: list[tuple[Entry, ...]] = [
        (name, *(_cell(results, name, model, leaves_of, decimals=1) for model in (TREE, "cart"))) for name in TABLES
    ]
    seconds: list[tuple[Entry, ...]] = [
        (name, *(_cell(results, name, model, lambda r: r.seconds, decimals=None) for model in REGRESSION_MODELS))
        for name in TABLES
    ]
    tables = [
        Table("R² on unseen rows, five folds", ("table (package)", *REGRESSION_MODELS), tuple(rows)),
        Table("Leaves", ("table", TREE, "cart"), tuple(leaves)),
        Table("Seconds of learning a fold, one thread", ("table", *REGRESSION_MODELS), tuple(seconds)),
    ]
    note = (
        "`cart` is scikit-learn's regression tree with cost-complexity pruning, tuned by cross-validation on the training "
        "rows; our models are as their classes make them, forests with 200 trees. Bars: tree ≥ cart; forest and boosting ≥ "
        "scikit-learn's, within a standard error of their differences over the tables."
    )
    return tables, [note]


def _cell(results: Results, name: str, model: str, score: Callable[[Result], float], decimals: int | None = 3) -> Cell:
    first = Unit("regression", name, None, model, "default" if model == TREE else None, 0)
    return Cell(tuple(map(score, finished(results, first))), FOLDS, decimals=decimals)


def _standard_error(ours: list[Cell], theirs: list[Cell]) -> float:
    """The standard error of the mean difference of two models over the tables."""
    pairs = [(one.mean, other.mean) for one, other in zip(ours, theirs, strict=True)]
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    return float(np.std(differences, ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0


def _mean(cells: list[Cell]) -> Cell:
    values = tuple(cell.mean for cell in cells if cell.mean is not None)
    units = sum(len(cell.values) for cell in cells), sum(cell.expected for cell in cells)
    return Cell(values, len(cells), show_std=False, unit_counts=units)


def r2_of(result: Result) -> float:
    return float(result.record["scores"]["r2"])


def leaves_of(result: Result) -> float:
    return float(result.record["leaves"])
