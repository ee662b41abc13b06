"""Reports of the experiments: their tables and the bars of their cells, drawn from result files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from experiments import concept_reports, datasets, goal_reports, published, settings
from experiments.baselines import Training
from experiments.cells import (
    ONE_INSTANCE,
    Results,
    Score,
    accuracy_of,
    column_means,
    f1_of,
    mean_cell,
    network_table,
    seconds_of,
    time_cell,
    unit_cell,
    unit_count,
)
from experiments.configuration import recorded_parameters
from experiments.keel_report import image_ensembles_report, keel_report
from experiments.kinds import kinds_report
from experiments.pictured import pictured_report
from experiments.published import Published
from experiments.regression import regression_report
from experiments.relational import relational_report
from experiments.store import Result
from experiments.tables import Cell, Entry, Report, Table
from experiments.units import EXPERIMENTS, POOLS, REUSED_FROM, REUSED_IN, TREE, UCI_MODELS, Unit, units
from neuid3 import NeuID3Classifier

CLASSES = ("violates", "holds")

# Bars beyond the published numbers. The means of union, opt and images are those of the trees with any number of network instances
# (.967, .966 and .965), less .003.
UNION_MEAN, OPT_MEAN = 0.964, 0.963
REUSE_NEITHER = 0.93
IMAGES_MEAN, IMAGES_GOAL = 0.962, 0.964
IMAGES_BEHIND_SYMBOLS = 0.01

SECONDS_OF_ELEUSIS = (
    "Published: “around 5 minutes” for the network, 1.5 to 2.2 hours for a tree; the pool is not stated."
)


def report(name: str, results: Results) -> Report:
    """The report of an experiment."""
    draw = _DRAW[name]
    expected = units(name)
    tables, notes = draw(results)
    finished = [unit for unit in expected if unit in results]
    notes = [*notes, *_inconsistent_settings(result for unit, result in results.items() if unit.experiment == name)]
    return Report(name, len(finished), len(expected), tuple(table for table in tables if table.rows), tuple(notes))


def reports(results: Results, names: Iterable[str] = EXPERIMENTS) -> dict[str, Report]:
    return {name: report(name, results) for name in names or EXPERIMENTS}


# UCI -------------------------------------------------------------------------------------------------


def _uci(results: Results) -> tuple[list[Table], list[str]]:
    models = [(variant, model) for variant, names in UCI_MODELS.items() for model in names]
    names = [*_learnable(), *(name for name in datasets.UCI if name not in _learnable())]
    cells = {(name, *column): _uci_cell(results, name, *column) for name in names for column in models}
    rows: list[tuple[Entry, ...]] = [
        (name, _uci_default(results, name), *(cells[name, *column] for column in models)) for name in names
    ]
    means = {column: mean_cell([cells[name, *column] for name in _learnable()]) for column in models}
    means["mnist", TREE] = replace(means["mnist", TREE], bar=IMAGES_MEAN)
    rows.append(("mean of the ten learnable", "", *means.values()))
    rows.append(("mean of all", "", *(_mean_of_all([cells[name, *column] for name in names]) for column in models)))
    columns = ("dataset", "default", *(f"{model}, {variant}" for variant, model in models))
    times: list[tuple[Entry, ...]] = [
        (
            name,
            *(
                time_cell(
                    results,
                    _uci_unit(name, *column),
                    published.SECONDS.get((name, column[1])) if column[0] == "mnist" else None,
                )
                for column in models
            ),
        )
        for name in names
    ]
    tables = [
        Table("Accuracy", columns, tuple(rows)),
        Table(
            "Images against symbols, tree",
            ("over the ten learnable tables", "difference"),
            _images_behind_symbols(results),
        ),
        Table("Seconds of learning a fold, one thread", (columns[0], *columns[2:]), tuple(times)),
        network_table(results, {"mnist": _trees("uci", "mnist")}),
        _recipes(
            "Accuracy of the tree",
            [
                (f"{name}, {variant}", accuracy_of, _uci_unit(name, variant, TREE), published.UCI[name][TREE, variant])
                for name in names
                for variant in UCI_MODELS
            ],
            results,
        ),
    ]
    held = (
        f"Beyond the published values, the tree on images is to reach a mean of {IMAGES_MEAN} over the ten learnable tables "
        f"and to be at most {IMAGES_BEHIND_SYMBOLS} behind the tree on symbols; {IMAGES_GOAL}, the published network on "
        "symbols, is the goal."
    )
    return tables, [held]


def _mean_of_all(cells: Sequence[Cell]) -> Cell:
    """The mean over all tables once each of them has finished units; empty before."""
    return mean_cell(cells) if all(cell.values for cell in cells) else Cell((), len(cells))


def _learnable() -> list[str]:
    return [name for name, table in datasets.UCI.items() if table.learnable]


def _uci_unit(name: str, variant: str, model: str) -> Unit:
    return Unit("uci", name, variant, model, "default" if model == TREE else None, 0)


def _uci_cell(results: Results, name: str, variant: str, model: str) -> Cell:
    reference = published.UCI[name].get((model, variant))
    cell = unit_cell(results, accuracy_of, _uci_unit(name, variant, model), reference)
    return replace(cell, bar=reference.bar) if model == TREE and reference is not None else cell


def _uci_default(results: Results, name: str) -> Cell:
    first = _uci_unit(name, "onehot", TREE)
    return unit_cell(
        results, lambda result: float(result.record["scores"]["default_accuracy"]), first, published.UCI_DEFAULT[name]
    )


def _images_behind_symbols(results: Results) -> tuple[tuple[Entry, ...], ...]:
    """Accuracy of the tree on symbols minus that of the tree on images, over the tables and folds that have both."""
    ours, references, folds = [], [], 0
    for name in _learnable():
        pairs = _shared(results, accuracy_of, _uci_unit(name, "onehot", TREE), _uci_unit(name, "mnist", TREE))
        if pairs:
            ours.append(fmean(symbols - images for symbols, images in pairs))
            references.append(published.UCI[name][TREE, "onehot"].mean - published.UCI[name][TREE, "mnist"].mean)
            folds += len(pairs)
    reference = fmean(references) if references else None
    expected = len(_learnable()) * settings.FOLDS
    cell = Cell(
        (fmean(ours),) if ours else (), 1, reference, IMAGES_BEHIND_SYMBOLS, at_most=True, unit_counts=(folds, expected)
    )
    return (("one-hot less MNIST, the same folds", cell),)


# Eleusis ---------------------------------------------------------------------------------------------


def _network(concept: str, model: str) -> Unit:
    return Unit("eleusis", concept, None, model, None, 0)


def _tree(concept: str, pool: str) -> Unit:
    return Unit("background", concept, pool, TREE, "default", 0)


def _eleusis(results: Results) -> tuple[list[Table], list[str]]:
    baselines = ("nn44m", "lean", "soft")
    rows: list[tuple[Entry, ...]] = [
        (
            f"{concept}, {label}",
            unit_cell(results, f1_of(label), _tree(concept, "nf"), references[TREE, label]),
            *(
                unit_cell(results, f1_of(label), _network(concept, name), references.get((name, label)))
                for name in baselines
            ),
        )
        for concept, references in published.ELEUSIS.items()
        for label in CLASSES
    ]
    times: list[tuple[Entry, ...]] = [
        (
            concept,
            time_cell(results, _tree(concept, "nf")),
            *(time_cell(results, _network(concept, m)) for m in baselines),
        )
        for concept in published.ELEUSIS
    ]
    columns = ("concept", "tree of neural facts", *baselines)
    return [
        Table("F1", columns, (*rows, ("mean", *column_means(rows, len(CLASSES))))),
        Table("Seconds of learning, one thread", columns, tuple(times)),
    ], [SECONDS_OF_ELEUSIS]


def _background(results: Results) -> tuple[list[Table], list[str]]:
    rows: list[tuple[Entry, ...]] = [
        (f"{concept}, {label}", *(_pool_cell(results, concept, pool, label) for pool in POOLS))
        for concept in published.BACKGROUND
        for label in CLASSES
    ]
    means = column_means(rows, len(CLASSES))
    for pool, bar in (("union", UNION_MEAN), ("opt", OPT_MEAN)):
        means[POOLS.index(pool)] = replace(means[POOLS.index(pool)], bar=bar)
    tables = [
        Table("F1 by pool", ("concept", *POOLS), (*rows, ("mean", *means))),
        _ratios(results),
        *_bad_pool(results),
        network_table(results, {pool: _trees("background", pool) for pool in POOLS}, bars=("union", "opt")),
        Table(
            "Seconds of learning, one thread",
            ("concept", *POOLS, "nn44m", "lean"),
            tuple(_pool_times(results)),
            needs="python -m experiments reproduce eleusis",
        ),
        _recipes(
            "F1 of the tree",
            [
                (f"{concept}, {pool}, {label}", f1_of(label), _tree(concept, pool), references[pool, label])
                for concept, references in published.BACKGROUND.items()
                for pool in POOLS
                for label in CLASSES
            ],
            results,
        ),
    ]
    held = (
        "Union is held to the published *opt* and to the published *union*, whichever is more, its mean to "
        f"{UNION_MEAN}, that of opt to {OPT_MEAN}, and union is to take no longer than nn44m. Of the trees of both pools, "
        f"{ONE_INSTANCE:.0%} are to have one instance of each network."
    )
    return tables, [held, SECONDS_OF_ELEUSIS]


def _pool_cell(results: Results, concept: str, pool: str, label: str) -> Cell:
    references = published.BACKGROUND[concept]
    bar = max(references[compared, label].bar for compared in (("union", "opt") if pool == "union" else (pool,)))
    return replace(unit_cell(results, f1_of(label), _tree(concept, pool), references[pool, label]), bar=bar)


def _ratios(results: Results) -> Table:
    """F1 of the other pools divided by that of opt, seed by seed, without bars."""
    pools = tuple(published.RATIO_POOLS)
    rows: list[tuple[Entry, ...]] = []
    for concept, references in published.RATIOS.items():
        row: list[Entry] = [concept]
        for label in CLASSES:
            for pool in pools:
                pairs = _shared(results, f1_of(label), _tree(concept, pool), _tree(concept, "opt"))
                ratios = tuple(one / best for one, best in pairs if best > 0)
                row.append(Cell(ratios, settings.SEEDS, references[pool, label], decimals=2))
        rows.append(tuple(row))
    columns = ("concept", *(f"{pool}, {label}" for label in CLASSES for pool in pools))
    means = [replace(mean, decimals=2) for mean in column_means(rows)]
    return Table("F1 divided by that of opt, seed by seed", columns, (*rows, ("mean", *means)))


def _pool_times(results: Results) -> list[tuple[Entry, ...]]:
    rows: list[tuple[Entry, ...]] = []
    for concept in published.BACKGROUND:
        large, lean = (time_cell(results, _network(concept, model)) for model in ("nn44m", "lean"))
        pools = (
            time_cell(results, _tree(concept, pool), bar=large.mean if pool == "union" else None) for pool in POOLS
        )
        rows.append((concept, *pools, large, lean))
    return rows


def _bad_pool(results: Results) -> list[Table]:
    """The tests chosen from T^bad: how many are rules, at which depth, and which of them can express the concept."""
    trees = [
        result for unit, result in results.items() if replace(unit, number=0) == _tree(unit.problem, "bad")
    ]  # every seed of the default recipe
    tests = [(tree.unit.problem, test["test"], int(test["depth"])) for tree in trees for test in tree.record["tests"]]
    rules = [(concept, test, depth) for concept, test, depth in tests if test not in datasets.pool(concept, "nf")]
    expressive = [rule for rule in rules if datasets.can_express(rule[1], rule[0])]
    by_depth = [
        (depth, *(sum(test[2] == depth for test in group) for group in (tests, rules, expressive)))
        for depth in sorted({depth for _, _, depth in tests})
    ]
    total = ("all", len(tests), len(rules), len(expressive))
    each = [
        (concept, test, depth, count, "can express it" if (concept, test, depth) in expressive else "")
        for (concept, test, depth), count in sorted(Counter(rules).items())
    ]
    return [
        Table(
            f"Tests chosen from the bad pool, {len(trees)} trees (published: four rules in all, three at depth 2)",
            ("depth", "tests", "of them rules", "of them able to express the concept"),
            (*by_depth, total) if tests else (),
        ),
        Table("Rules chosen from the bad pool", ("concept", "rule", "depth", "times", ""), tuple(each)),
    ]


def _reuse(results: Results) -> tuple[list[Table], list[str]]:
    rows = []
    for trained, reference in published.REUSE.items():
        first = replace(_tree(REUSED_IN, "opt"), experiment="reuse", setting=trained)
        first = first if trained in REUSED_FROM else _tree(REUSED_IN, "opt")
        bar = reference.bar if trained in REUSED_FROM else REUSE_NEITHER
        holds = replace(unit_cell(results, f1_of("holds"), first, reference), bar=bar)
        rows.append((trained, holds, unit_cell(results, f1_of("violates"), first), time_cell(results, first)))
    columns = ("trained tests handed in", "F1 of holds", "F1 of violates", "seconds, with those of the tests handed in")
    held = f"Without trained tests, F1 of holds is to reach {REUSE_NEITHER}."
    return [
        Table(f"{REUSED_IN} with trained tests", columns, tuple(rows)),
        network_table(results, {setting: _trees("reuse", setting) for setting in ("opt", *REUSED_FROM)}),
    ], [held]


# Shared by all reports --------------------------------------------------------------------------------


def _trees(experiment: str, setting: str) -> list[Unit]:
    """The units of trees of a setting."""
    return [unit for unit in units(experiment) if (unit.model, unit.setting) == (TREE, setting)]


def _shared(results: Results, score: Score, one: Unit, other: Unit) -> list[tuple[float, float]]:
    """The scores of two models on the folds or seeds that both have finished."""
    pairs = ((replace(one, number=n), replace(other, number=n)) for n in range(unit_count(one)))
    return [(score(results[a]), score(results[b])) for a, b in pairs if a in results and b in results]


def _recipes(what: str, rows: Sequence[tuple[str, Score, Unit, Published]], results: Results) -> Table:
    """The default recipe beside the paper's and the published value, on the folds or seeds for which both were run."""
    drawn: list[tuple[Entry, ...]] = []
    for name, score, unit, reference in rows:
        paper, count = replace(unit, recipe="paper"), unit_count(unit)
        if scores := _shared(results, score, unit, paper):
            ours, theirs = (Cell(values, count) for values in zip(*scores, strict=True))
            spent = zip(*_shared(results, seconds_of, unit, paper), strict=True)
            times = (Cell(values, count, decimals=None) for values in spent)
            drawn.append((name, ours, replace(theirs, published=reference), *times))
    columns = ("", "default recipe", "paper's recipe", "seconds, default", "seconds, paper's")
    experiment = rows[0][2].experiment
    return Table(
        f"{what}, by recipe",
        columns,
        tuple(drawn),
        needs=f"python -m experiments reproduce {experiment} --recipe paper",
    )


def _inconsistent_settings(finished: Iterable[Result]) -> list[str]:
    """A note where units of one model were run with different settings, as far as their files record them."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for unit, used in ((result.unit, _settings(result)) for result in finished):
        names = (unit.problem, unit.setting, unit.model, unit.recipe if unit.recipe == "paper" else None)
        by_model.setdefault("/".join(filter(None, names)), []).append(used)
    mixed = [name for name, used in by_model.items() if not _agree(used)]
    return [f"Made with different settings, and better run again: {', '.join(mixed)}."] if mixed else []


def _agree(used: Sequence[Mapping[str, Any]]) -> bool:
    names = {name for settings in used for name in settings}
    return all(len({repr(settings[name]) for settings in used if name in settings}) == 1 for name in names)


def _settings(result: Result) -> dict[str, Any]:
    """The settings of a unit; a parameter that is not in its file was added later and had its default value."""
    used = dict(result.record["configuration"])
    used.pop("random_state", None)
    if result.unit.experiment in ("keel", "image-ensembles"):
        return used
    if result.unit.experiment in ("regression", "relational", "pictured", "kinds"):
        return _flat(used)
    if result.unit.model != TREE:
        return {**Training().to_json(), **used}
    defaults = recorded_parameters(NeuID3Classifier(), "default")
    recorded = {name: value for name, value in used.items() if name in defaults}
    return _flat({**used, "parameters": {**defaults, **recorded, **used.get("parameters", {}), "random_state": None}})


def _flat(settings: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Settings within settings by their whole names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{where}{name}.") if isinstance(value, Mapping) else {f"{where}{name}": value}
    return flat


_DRAW: Mapping[str, Callable[[Results], tuple[list[Table], list[str]]]] = {
    "uci": _uci,
    "eleusis": _eleusis,
    "background": _background,
    "reuse": _reuse,
    "labels": concept_reports.labels_report,
    "hitting-sets": concept_reports.hitting_sets_report,
    "even-odd": concept_reports.even_odd_report,
    "decks": concept_reports.decks_report,
    "keel": keel_report,
    "e9p": goal_reports.e9p_report,
    "switched": goal_reports.switched_report,
    "regression": regression_report,
    "relational": relational_report,
    "pictured": pictured_report,
    "kinds": kinds_report,
    "image-ensembles": image_ensembles_report,
}
