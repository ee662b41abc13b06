"""Reports of plain tables and of tables as images: accuracies and times of our models beside those of scikit-learn."""

from __future__ import annotations

from dataclasses import replace

from experiments.cells import Results, accuracy_of, mean_cell, time_cell, unit_cell
from experiments.datasets.keel import TABLES
from experiments.datasets.tables import UCI
from experiments.tables import Cell, Entry, Table
from experiments.units import IMAGE_ENSEMBLES, KEEL_BESIDE, KEEL_MODELS, TREE, Unit

# A boosted sum may be so far behind, and models of images so far behind those of symbols; a forest may take so many times
# as long.
BOOSTING_MARGIN, IMAGE_MARGIN, MOST_TIMES = 0.003, 0.003, 3.0


def keel_report(results: Results) -> tuple[list[Table], list[str]]:
    """The tables of accuracies and times, and a note about the bars."""
    cells = {
        (name, model): unit_cell(results, accuracy_of, _unit(name, model)) for name in TABLES for model in KEEL_MODELS
    }
    rows: list[tuple[Entry, ...]] = [(name, *(cells[name, model] for model in KEEL_MODELS)) for name in TABLES]
    means = {model: mean_cell([cells[name, model] for name in TABLES]) for model in KEEL_MODELS}
    rows.append(("mean", *(_with_bar(means, model) for model in KEEL_MODELS)))
    times = {(name, model): time_cell(results, _unit(name, model)) for name in TABLES for model in KEEL_MODELS}
    time_rows: list[tuple[Entry, ...]] = [(name, *(times[name, model] for model in KEEL_MODELS)) for name in TABLES]
    totals = {
        model: replace(mean_cell([times[name, model] for name in TABLES]), at_most=True, decimals=None)
        for model in KEEL_MODELS
    }
    forest, reference = totals["forest"], totals[KEEL_BESIDE["forest"]].mean
    if reference is not None:
        totals["forest"] = replace(forest, bar=MOST_TIMES * reference)
    time_rows.append(("mean", *(totals[model] for model in KEEL_MODELS)))
    columns = ("table", *KEEL_MODELS)
    note = (
        "cart is scikit-learn's tree with pruning chosen by cross-validation, sklearn-forest its forest of 200 trees, and "
        f"sklearn-boosting its HistGradientBoostingClassifier, all on the same folds. Bars: tree ≥ cart, forest ≥ "
        f"sklearn-forest in at most {MOST_TIMES:g} times its time, boosting ≥ sklearn-boosting − {BOOSTING_MARGIN}."
    )
    return [
        Table("Accuracy, three folds", columns, tuple(rows)),
        Table("Seconds of learning a fold, one thread", columns, tuple(time_rows)),
    ], [note]


def _with_bar(means: dict[str, Cell], model: str) -> Cell:
    """The mean of a model, with the mean of the one beside it as its bar."""
    if model not in KEEL_BESIDE or means[KEEL_BESIDE[model]].mean is None:
        return means[model]
    reference = means[KEEL_BESIDE[model]].mean or 0.0
    return replace(means[model], bar=reference - (BOOSTING_MARGIN if model == "boosting" else 0.0))


def _unit(name: str, model: str) -> Unit:
    return Unit("keel", name, None, model, "default" if model == TREE else None, 0)


def image_ensembles_report(results: Results) -> tuple[list[Table], list[str]]:
    """Accuracies and times of forests and boosted sums on images, beside scikit-learn's forest on the symbols."""
    names = [name for name in UCI if UCI[name].learnable]
    units = {
        (name, model): Unit("image-ensembles", name, None, model, None, 0)
        for name in names
        for model in IMAGE_ENSEMBLES
    }
    cells = {key: unit_cell(results, accuracy_of, unit) for key, unit in units.items()}
    means = {model: mean_cell([cells[name, model] for name in names]) for model in IMAGE_ENSEMBLES}
    reference = means["sklearn-forest"].mean
    if reference is not None:
        means |= {m: replace(means[m], bar=reference - IMAGE_MARGIN) for m in ("forest", "boosting")}
    rows: list[tuple[Entry, ...]] = [(name, *(cells[name, model] for model in IMAGE_ENSEMBLES)) for name in names]
    rows.append(("mean", *means.values()))
    times: list[tuple[Entry, ...]] = [
        (name, *(time_cell(results, units[name, model]) for model in IMAGE_ENSEMBLES)) for name in names
    ]
    note = (
        "sklearn-forest is scikit-learn's forest of 200 trees on the symbols that the images show, on the same folds. Bars: "
        f"forest and boosting ≥ its mean − {IMAGE_MARGIN}."
    )
    columns = ("table", *IMAGE_ENSEMBLES)
    return [
        Table("Accuracy, ten folds", columns, tuple(rows)),
        Table("Seconds of learning a fold, one thread", columns, tuple(times)),
    ], [note]
