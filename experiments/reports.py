"""Which tables does an experiment have, and what must their cells reach? Drawn from result files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from experiments import datasets, published, settings
from experiments.baselines import Training
from experiments.published import Published
from experiments.store import Result
from experiments.tables import Cell, Entry, Report, Table
from experiments.units import EXPERIMENTS, GIVERS, POOLS, REUSED_IN, TREE, UCI_MODELS, Unit, units
from neuid3 import NeuID3Classifier

Results = Mapping[Unit, Result]
Score = Callable[[Result], float]
CLASSES = ("violates", "holds")

# What has to be reached beyond the published numbers.
UNION_MEAN = 0.96
REUSE_NEITHER = 0.93
IMAGES_MEAN, IMAGES_GOAL = 0.95, 0.964
IMAGES_BEHIND_SYMBOLS = 0.01

SECONDS_OF_ELEUSIS = (
    "Published: “around 5 minutes” for the network, 1.5 to 2.2 hours for a tree; for which pool is not said."
)


def report(name: str, results: Results) -> Report:
    """All tables of an experiment."""
    draw = {"uci": _uci, "eleusis": _eleusis, "background": _background, "reuse": _reuse}[name]
    wanted = units(name)
    tables, notes = draw(results)
    finished = [unit for unit in wanted if unit in results]
    notes = [*notes, *_mixed(result for unit, result in results.items() if unit.experiment == name)]
    return Report(name, len(finished), len(wanted), tuple(table for table in tables if table.rows), tuple(notes))


def reports(results: Results, names: Iterable[str] = EXPERIMENTS) -> dict[str, Report]:
    return {name: report(name, results) for name in names or EXPERIMENTS}


def _cell(results: Results, score: Score, some: Unit, beside: Published | float | None = None, **more: float) -> Cell:
    """A cell over all folds or seeds of a unit."""
    count = _count(some)
    found = [results[unit] for unit in (replace(some, number=number) for number in range(count)) if unit in results]
    return Cell(tuple(map(score, found)), count, beside, **more)  # type: ignore[arg-type]


def _count(unit: Unit) -> int:
    """In how many folds or with how many seeds a unit is run."""
    if unit.experiment == "uci":
        return settings.FOLDS
    return settings.SEEDS_44M if unit.model == "nn44m" else settings.SEEDS


def _accuracy(result: Result) -> float:
    return result.accuracy


def _seconds(result: Result) -> float:
    return result.seconds


def _f1(label: str) -> Score:
    return lambda result: result.f1(label)


def _times(results: Results, some: Unit, beside: float | None = None, bar: float | None = None) -> Cell:
    return replace(_cell(results, _seconds, some, beside), bar=bar, at_most=True, decimals=None)


def _mean(cells: Sequence[Cell], per_unit: int = 1) -> Cell:
    """The mean over cells that have units, beside the published mean over the same cells; a unit fills so many of them.

    Where the cells have bars, their mean has to reach the published one.
    """
    there = [cell for cell in cells if cell.values]
    beside = [cell.published.mean for cell in there if isinstance(cell.published, Published)]
    known = fmean(beside) if beside and len(beside) == len(there) else None
    bar = known if all(cell.bar is not None for cell in cells) else None
    finished, wanted = (sum(counts) // per_unit for counts in zip(*(cell.units for cell in cells), strict=True))
    means = tuple(fmean(cell.values) for cell in there)
    return Cell(means, len(cells), known, bar, spread=False, rests=(finished, wanted))


# UCI -------------------------------------------------------------------------------------------------


def _uci(results: Results) -> tuple[list[Table], list[str]]:
    models = [(variant, model) for variant, names in UCI_MODELS.items() for model in names]
    names = [*_learnable(), *(name for name in datasets.UCI if name not in _learnable())]
    cells = {(name, *where): _uci_cell(results, name, *where) for name in names for where in models}
    rows: list[tuple[Entry, ...]] = [
        (name, _uci_default(results, name), *(cells[name, *where] for where in models)) for name in names
    ]
    means = {where: _mean([cells[name, *where] for name in _learnable()]) for where in models}
    means["mnist", TREE] = replace(means["mnist", TREE], bar=IMAGES_MEAN)
    rows.append(("mean of the ten learnable", "", *means.values()))
    rows.append(("mean of all", "", *(_mean_of_all([cells[name, *where] for name in names]) for where in models)))
    columns = ("dataset", "default", *(f"{model}, {variant}" for variant, model in models))
    times: list[tuple[Entry, ...]] = [
        (
            name,
            *(
                _times(
                    results,
                    _uci_unit(name, *where),
                    published.SECONDS.get((name, where[1])) if where[0] == "mnist" else None,
                )
                for where in models
            ),
        )
        for name in names
    ]
    tables = [
        Table("Accuracy", columns, tuple(rows)),
        Table("Images against symbols, tree", ("over the ten learnable tables", "difference"), _behind(results)),
        Table("Seconds of learning a fold, one thread", (columns[0], *columns[2:]), tuple(times)),
        _recipes(
            "Accuracy of the tree",
            [
                (f"{name}, {variant}", _accuracy, _uci_unit(name, variant, TREE), published.UCI[name][TREE, variant])
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
    """The mean over all tables, once each of them has units: the mean of some is another row's."""
    return _mean(cells) if all(cell.values for cell in cells) else Cell((), len(cells))


def _learnable() -> list[str]:
    return [name for name, table in datasets.UCI.items() if table.learnable]


def _uci_unit(name: str, variant: str, model: str) -> Unit:
    return Unit("uci", name, variant, model, "default" if model == TREE else None, 0)


def _uci_cell(results: Results, name: str, variant: str, model: str) -> Cell:
    beside = published.UCI[name].get((model, variant))
    cell = _cell(results, _accuracy, _uci_unit(name, variant, model), beside)
    return replace(cell, bar=beside.bar) if model == TREE and beside is not None else cell


def _uci_default(results: Results, name: str) -> Cell:
    some = _uci_unit(name, "onehot", TREE)
    return _cell(
        results, lambda result: float(result.record["scores"]["default_accuracy"]), some, published.UCI_DEFAULT[name]
    )


def _behind(results: Results) -> tuple[tuple[Entry, ...], ...]:
    """How far the tree on images is behind the tree on symbols, over the tables and folds for which both are there."""
    ours, known, folds = [], [], 0
    for name in _learnable():
        pairs = _shared(results, _accuracy, _uci_unit(name, "onehot", TREE), _uci_unit(name, "mnist", TREE))
        if pairs:
            ours.append(fmean(symbols - images for symbols, images in pairs))
            known.append(published.UCI[name][TREE, "onehot"].mean - published.UCI[name][TREE, "mnist"].mean)
            folds += len(pairs)
    beside = fmean(known) if known else None
    wanted = len(_learnable()) * settings.FOLDS
    cell = Cell((fmean(ours),) if ours else (), 1, beside, IMAGES_BEHIND_SYMBOLS, at_most=True, rests=(folds, wanted))
    return (("one-hot less MNIST, the same folds", cell),)


# Eleusis ---------------------------------------------------------------------------------------------


def _network(concept: str, model: str) -> Unit:
    return Unit("eleusis", concept, None, model, None, 0)


def _tree(concept: str, pool: str) -> Unit:
    return Unit("background", concept, pool, TREE, "default", 0)


def _eleusis(results: Results) -> tuple[list[Table], list[str]]:
    rivals = ("nn44m", "lean", "soft")
    rows: list[tuple[Entry, ...]] = [
        (
            f"{concept}, {label}",
            _cell(results, _f1(label), _tree(concept, "nf"), beside[TREE, label]),
            *(_cell(results, _f1(label), _network(concept, name), beside.get((name, label))) for name in rivals),
        )
        for concept, beside in published.ELEUSIS.items()
        for label in CLASSES
    ]
    times: list[tuple[Entry, ...]] = [
        (concept, _times(results, _tree(concept, "nf")), *(_times(results, _network(concept, m)) for m in rivals))
        for concept in published.ELEUSIS
    ]
    columns = ("concept", "tree of neural facts", *rivals)
    return [
        Table("F1", columns, (*rows, ("mean", *_column_means(rows, len(CLASSES))))),
        Table("Seconds of learning, one thread", columns, tuple(times)),
    ], [SECONDS_OF_ELEUSIS]


def _background(results: Results) -> tuple[list[Table], list[str]]:
    rows: list[tuple[Entry, ...]] = [
        (f"{concept}, {label}", *(_pool_cell(results, concept, pool, label) for pool in POOLS))
        for concept in published.BACKGROUND
        for label in CLASSES
    ]
    means = _column_means(rows, len(CLASSES))
    means[POOLS.index("union")] = replace(means[POOLS.index("union")], bar=UNION_MEAN)
    tables = [
        Table("F1 by pool", ("concept", *POOLS), (*rows, ("mean", *means))),
        _ratios(results),
        *_bad_pool(results),
        Table(
            "Seconds of learning, one thread",
            ("concept", *POOLS, "nn44m", "lean"),
            tuple(_pool_times(results)),
            needs="python -m experiments reproduce eleusis",
        ),
        _recipes(
            "F1 of the tree",
            [
                (f"{concept}, {pool}, {label}", _f1(label), _tree(concept, pool), beside[pool, label])
                for concept, beside in published.BACKGROUND.items()
                for pool in POOLS
                for label in CLASSES
            ],
            results,
        ),
    ]
    held = (
        "Union is held to the published *opt* and to the published *union*, whichever is more, its mean to "
        f"{UNION_MEAN}, and it is to take no longer than nn44m."
    )
    return tables, [held, SECONDS_OF_ELEUSIS]


def _pool_cell(results: Results, concept: str, pool: str, label: str) -> Cell:
    beside = published.BACKGROUND[concept]
    bar = max(beside[known, label].bar for known in (("union", "opt") if pool == "union" else (pool,)))
    return replace(_cell(results, _f1(label), _tree(concept, pool), beside[pool, label]), bar=bar)


def _ratios(results: Results) -> Table:
    """F1 of the other pools over that of opt, seed by seed; drawn for the reader, with nothing to reach."""
    pools = tuple(published.RATIO_POOLS)
    rows: list[tuple[Entry, ...]] = []
    for concept, known in published.RATIOS.items():
        row: list[Entry] = [concept]
        for label in CLASSES:
            for pool in pools:
                pairs = _shared(results, _f1(label), _tree(concept, pool), _tree(concept, "opt"))
                ratios = tuple(one / best for one, best in pairs if best > 0)
                row.append(Cell(ratios, settings.SEEDS, known[pool, label], decimals=2))
        rows.append(tuple(row))
    columns = ("concept", *(f"{pool}, {label}" for label in CLASSES for pool in pools))
    means = [replace(mean, decimals=2) for mean in _column_means(rows)]
    return Table("F1 divided by that of opt, seed by seed", columns, (*rows, ("mean", *means)))


def _pool_times(results: Results) -> list[tuple[Entry, ...]]:
    rows: list[tuple[Entry, ...]] = []
    for concept in published.BACKGROUND:
        large, lean = (_times(results, _network(concept, model)) for model in ("nn44m", "lean"))
        pools = (_times(results, _tree(concept, pool), bar=large.mean if pool == "union" else None) for pool in POOLS)
        rows.append((concept, *pools, large, lean))
    return rows


def _bad_pool(results: Results) -> list[Table]:
    """The tests chosen from T^bad: how many are rules, at which depth, and which of them can express the concept."""
    trees = [
        result for unit, result in results.items() if replace(unit, number=0) == _tree(unit.problem, "bad")
    ]  # every seed of the default recipe
    asked = [(tree.unit.problem, test["test"], int(test["depth"])) for tree in trees for test in tree.record["tests"]]
    rules = [(concept, test, depth) for concept, test, depth in asked if test not in datasets.pool(concept, "nf")]
    able = [rule for rule in rules if datasets.can_express(rule[1], rule[0])]
    by_depth = [
        (depth, *(sum(found[2] == depth for found in group) for group in (asked, rules, able)))
        for depth in sorted({depth for _, _, depth in asked})
    ]
    total = ("all", len(asked), len(rules), len(able))
    each = [
        (concept, test, depth, count, "can express it" if (concept, test, depth) in able else "")
        for (concept, test, depth), count in sorted(Counter(rules).items())
    ]
    return [
        Table(
            f"Tests chosen from the bad pool, {len(trees)} trees (published: four rules in all, three at depth 2)",
            ("depth", "tests", "of them rules", "of them able to express the concept"),
            (*by_depth, total) if asked else (),
        ),
        Table("Rules chosen from the bad pool", ("concept", "rule", "depth", "times", ""), tuple(each)),
    ]


def _reuse(results: Results) -> tuple[list[Table], list[str]]:
    rows = []
    for trained, beside in published.REUSE.items():
        some = replace(_tree(REUSED_IN, "opt"), experiment="reuse", setting=trained)
        some = some if trained in GIVERS else _tree(REUSED_IN, "opt")
        bar = beside.bar if trained in GIVERS else REUSE_NEITHER
        holds = replace(_cell(results, _f1("holds"), some, beside), bar=bar)
        rows.append((trained, holds, _cell(results, _f1("violates"), some), _times(results, some)))
    columns = ("trained tests handed in", "F1 of holds", "F1 of violates", "seconds, with those of the tests handed in")
    held = f"Without trained tests, F1 of holds is to reach {REUSE_NEITHER}."
    return [Table(f"{REUSED_IN} with trained tests", columns, tuple(rows))], [held]


# What all of them share ------------------------------------------------------------------------------


def _column_means(rows: Sequence[tuple[Entry, ...]], per_unit: int = 1) -> list[Cell]:
    columns = list(zip(*rows, strict=True))[1:]
    return [_mean([cell for cell in column if isinstance(cell, Cell)], per_unit) for column in columns]


def _shared(results: Results, score: Score, one: Unit, other: Unit) -> list[tuple[float, float]]:
    """The scores of two models on the folds or seeds that both have finished."""
    pairs = ((replace(one, number=n), replace(other, number=n)) for n in range(_count(one)))
    return [(score(results[a]), score(results[b])) for a, b in pairs if a in results and b in results]


def _recipes(what: str, rows: Sequence[tuple[str, Score, Unit, Published]], results: Results) -> Table:
    """The default recipe beside the paper's and the published value, on the folds or seeds for which both were run."""
    drawn: list[tuple[Entry, ...]] = []
    for name, score, unit, beside in rows:
        paper, of = replace(unit, recipe="paper"), _count(unit)
        if scores := _shared(results, score, unit, paper):
            ours, theirs = (Cell(values, of) for values in zip(*scores, strict=True))
            spent = zip(*_shared(results, _seconds, unit, paper), strict=True)
            times = (Cell(values, of, decimals=None) for values in spent)
            drawn.append((name, ours, replace(theirs, published=beside), *times))
    columns = ("", "default recipe", "paper's recipe", "seconds, default", "seconds, paper's")
    experiment = rows[0][2].experiment
    return Table(
        f"{what}, by recipe",
        columns,
        tuple(drawn),
        needs=f"python -m experiments reproduce {experiment} --recipe paper",
    )


def _mixed(finished: Iterable[Result]) -> list[str]:
    """A warning where units of one model were made with different settings, as far as their files tell."""
    made: dict[str, list[dict[str, Any]]] = {}
    for unit, used in ((result.unit, _settings(result)) for result in finished):
        told = (unit.problem, unit.setting, unit.model, unit.recipe if unit.recipe == "paper" else None)
        made.setdefault("/".join(filter(None, told)), []).append(used)
    mixed = [name for name, used in made.items() if not _agree(used)]
    return [f"Made with different settings, and better run again: {', '.join(mixed)}."] if mixed else []


def _agree(used: Sequence[Mapping[str, Any]]) -> bool:
    every = {name for settings in used for name in settings}
    return all(len({repr(settings[name]) for settings in used if name in settings}) == 1 for name in every)


def _settings(result: Result) -> dict[str, Any]:
    """The settings of a unit; a parameter that its file does not name came later, and was as it is by default."""
    used = dict(result.record["configuration"])
    used.pop("random_state", None)
    if result.unit.model != TREE:
        return {**asdict(Training()), **used}
    defaults = NeuID3Classifier().get_params()
    told = {name: value for name, value in used.items() if name in defaults}
    return _flat({**used, "parameters": {**defaults, **told, **used.get("parameters", {}), "random_state": None}})


def _flat(settings: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Settings within settings by their whole names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{where}{name}.") if isinstance(value, Mapping) else {f"{where}{name}": value}
    return flat
