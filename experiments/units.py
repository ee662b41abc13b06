"""Units of the experiments: one model, learned once from one problem, with one fold or seed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from experiments import datasets
from experiments.datasets.decks import CONCEPTS as DECK_CONCEPTS
from experiments.datasets.decks import LABELLED_CARDS
from experiments.datasets.e9p import FRACTIONS as E9P_FRACTIONS
from experiments.datasets.hitting_sets import SOURCES as HITTING_SETS
from experiments.datasets.keel import FOLDS as KEEL_FOLDS
from experiments.datasets.keel import TABLES as KEEL_TABLES
from experiments.datasets.kinds import FOLDS as KIND_FOLDS
from experiments.datasets.kinds import TABLES as KIND_TABLES
from experiments.datasets.numbers import FOLDS as NUMBER_FOLDS
from experiments.datasets.numbers import TABLES as NUMBER_TABLES
from experiments.datasets.relational import SETTINGS as RELATIONAL
from experiments.settings import FOLDS, SEEDS, SEEDS_44M, SEEDS_OF
from neuid3.errors import DataError, did_you_mean

# Names of the fields `problem`, `setting` and `number` of a unit in the files of an experiment.
FIELD_NAMES: Mapping[str, tuple[str, str | None, str]] = {
    "uci": ("dataset", "variant", "fold"),
    "eleusis": ("concept", None, "seed"),
    "background": ("concept", "pool", "seed"),
    "reuse": ("concept", "trained", "seed"),
    "labels": ("concept", None, "seed"),
    "hitting-sets": ("images", None, "seed"),
    "even-odd": ("images", "labels", "seed"),
    "decks": ("concept", "labels", "seed"),
    "keel": ("table", None, "fold"),
    "e9p": ("images", "rows", "seed"),
    "switched": ("images", None, "seed"),
    "regression": ("table", None, "fold"),
    "relational": ("problem", "rows", "fold"),
    "pictured": ("problem", None, "seed"),
    "kinds": ("table", None, "fold"),
    "image-ensembles": ("dataset", None, "fold"),
}
EXPERIMENTS = tuple(FIELD_NAMES)

TREE = "tree"
UCI_MODELS = {"onehot": (TREE, "mlp", "sklearn"), "mnist": (TREE, "mlp", "soft")}
ELEUSIS_MODELS = ("lean", "soft", "nn44m")
# Ours, and for each the model of scikit-learn that it is set beside.
KEEL_BESIDE = {TREE: "cart", "forest": "sklearn-forest", "boosting": "sklearn-boosting"}
KEEL_MODELS = (*KEEL_BESIDE, *KEEL_BESIDE.values())
RELATIONAL_MODELS = (TREE, "forest", "boosting")
SWITCHED_MODELS = (TREE, "cnn")
# Ours learn from images, scikit-learn's forest from the symbols that these show.
IMAGE_ENSEMBLES = ("forest", "boosting", "sklearn-forest")
REGRESSION_MODELS = (TREE, "forest", "boosting", "cart", "sklearn-forest", "sklearn-boosting")
# The model that a tree over pictures of parts is set beside: a tree of symbols, deep sets, or a recurrent network.
PICTURED_PEERS = {
    "trains": "symbols",
    "pair": "deep-sets",
    "red-courts": "deep-sets",
    "one-suit": "deep-sets",
    "odd-runs": "recurrent",
    "other-suit": "recurrent",
}
KIND_MODELS = (TREE, "forest", "boosting", "logistic")
POOLS = ("union", "opt", "nf", "bad")

# The number of labelled images in even-odd: one of each digit.
LABELLED_DIGITS = "10"

# The concepts whose trained tests are reused in the tree of hidden_order_simple, by setting.
REUSED_IN = "hidden_order_simple"
REUSED_FROM: Mapping[str, tuple[str, ...]] = {
    "suit": ("suit_order",),
    "rank": ("rank_order",),
    "both": ("rank_order", "suit_order"),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One model, learned once.

    An experiment that needs a unit of another experiment shares it.

    Attributes
    ----------
    experiment : one of `EXPERIMENTS`.
    problem : name of the table, of the concept, or of the images.
    setting : variant of the table, pool of tests, reused tests, number of labelled images, or percentage of rows; None where an experiment has
        no settings.
    model : name of the model.
    recipe : "default" or "paper" for our tree, None for baselines.
    number : fold of a table, or seed.
    """

    experiment: str
    problem: str
    setting: str | None
    model: str
    recipe: str | None
    number: int

    def to_json(self) -> dict[str, str | int | None]:
        """The fields of the unit under the names that its experiment gives them."""
        problem, setting, number = FIELD_NAMES[self.experiment]
        fields: dict[str, str | int | None] = {"experiment": self.experiment, problem: self.problem}
        if setting is not None:
            fields[setting] = self.setting
        return fields | {"model": self.model, "recipe": self.recipe, number: self.number}

    @property
    def path(self) -> PurePosixPath:
        """The path of its result file, relative to the folder of all results."""
        model = f"{self.model}-paper" if self.recipe == "paper" else self.model
        parts = (
            self.experiment,
            self.problem,
            self.setting,
            model,
            f"{FIELD_NAMES[self.experiment][2]}-{self.number}.json",
        )
        return PurePosixPath(*(part for part in parts if part is not None))

    def __str__(self) -> str:
        return str(self.path.with_suffix(""))


def unit_from_json(fields: Mapping[str, str | int | None]) -> Unit:
    """The unit with these fields; the inverse of `Unit.to_json`."""
    experiment = str(fields["experiment"])
    problem, setting, number = FIELD_NAMES[experiment]
    recipe, value = fields["recipe"], fields[setting] if setting is not None else None
    return Unit(
        experiment,
        str(fields[problem]),
        None if value is None else str(value),
        str(fields["model"]),
        None if recipe is None else str(recipe),
        int(fields[number] or 0),
    )


def units(experiment: str, recipe: str = "default") -> list[Unit]:
    """All units of an experiment in the order in which they are run: the first fold or seed of all problems, then the second."""
    match experiment:
        case "uci":
            return [
                Unit("uci", name, variant, model, recipe if model == TREE else None, fold)
                for fold in range(FOLDS)
                for name in sorted(datasets.UCI, key=lambda name: not datasets.UCI[name].learnable)
                for variant, models in UCI_MODELS.items()
                for model in models
            ]
        case "eleusis":
            return [
                unit
                for seed in range(SEEDS)
                for concept in datasets.CONCEPTS
                for unit in (
                    Unit("background", concept, "nf", TREE, recipe, seed),
                    *(Unit("eleusis", concept, None, model, None, seed) for model in ELEUSIS_MODELS),
                )
                if unit.model != "nn44m" or seed < SEEDS_44M
            ]
        case "background":
            return [
                Unit("background", concept, pool, TREE, recipe, seed)
                for seed in range(SEEDS)
                for pool in POOLS
                for concept in datasets.CONCEPTS
            ]
        case "reuse":
            return [
                unit
                for seed in range(SEEDS)
                for unit in (
                    Unit("background", REUSED_IN, "opt", TREE, recipe, seed),
                    *(Unit("reuse", REUSED_IN, trained, TREE, recipe, seed) for trained in REUSED_FROM),
                )
            ]
        case "labels":
            return [
                Unit("labels", concept, None, TREE, recipe, seed)
                for seed in range(SEEDS_OF["labels"])
                for concept in datasets.CONCEPTS
            ]
        case "hitting-sets":
            return [
                Unit("hitting-sets", images, None, TREE, recipe, seed)
                for seed in range(SEEDS_OF["hitting-sets"])
                for images in HITTING_SETS
            ]
        case "even-odd":
            return [
                Unit("even-odd", "mnist", LABELLED_DIGITS, TREE, recipe, seed) for seed in range(SEEDS_OF["even-odd"])
            ]
        case "decks":
            return [
                Unit("decks", concept, str(labels), TREE, recipe, seed)
                for seed in range(SEEDS_OF["decks"])
                for concept in DECK_CONCEPTS
                for labels in LABELLED_CARDS
            ]
        case "keel":
            return [
                Unit("keel", table, None, model, recipe if model == TREE else None, fold)
                for fold in range(KEEL_FOLDS)
                for table in KEEL_TABLES
                for model in KEEL_MODELS
            ]
        case "e9p":
            return [
                Unit("e9p", "mnist", percentage, TREE, recipe, seed)
                for seed in range(SEEDS_OF["e9p"])
                for percentage in E9P_FRACTIONS
            ]
        case "switched":
            return [
                Unit("switched", "mnist", None, model, recipe if model == TREE else None, seed)
                for seed in range(SEEDS_OF["switched"])
                for model in SWITCHED_MODELS
            ]
        case "regression":
            return [
                Unit("regression", name, None, model, recipe if model == TREE else None, fold)
                for fold in range(NUMBER_FOLDS)
                for name in NUMBER_TABLES
                for model in REGRESSION_MODELS
            ]
        case "kinds":
            return [
                Unit("kinds", name, None, model, recipe if model == TREE else None, fold)
                for fold in range(KIND_FOLDS)
                for name in KIND_TABLES
                for model in KIND_MODELS
            ]
        case "image-ensembles":
            return [
                Unit("image-ensembles", name, None, model, None, fold)
                for fold in range(FOLDS)
                for name in datasets.UCI
                if datasets.UCI[name].learnable
                for model in IMAGE_ENSEMBLES
            ]
        case "pictured":
            return [
                Unit("pictured", problem, None, model, recipe if model == TREE else None, seed)
                for seed in range(SEEDS_OF["pictured"])
                for problem, peer in PICTURED_PEERS.items()
                for model in (TREE, peer)
            ]
        case "relational":
            return [
                Unit("relational", problem, setting, model, recipe if model == TREE else None, fold)
                for fold in range(FOLDS)
                for problem, settings in RELATIONAL.items()
                for setting, folds in settings.items()
                for model in (RELATIONAL_MODELS if folds > 1 else (TREE,))
                if fold < folds
            ]
    raise DataError(f"There is no experiment {experiment!r}.{did_you_mean(experiment, EXPERIMENTS)}")


def select_units(candidates: Iterable[Unit], **allowed: Collection[str | int]) -> list[Unit]:
    """The units with allowed values.

    Parameters
    ----------
    candidates : units to select from.
    allowed : allowed values of `problem`, `setting`, `model` or `number`; an empty collection allows all.

    Raises
    ------
    DataError : where no unit has one of these values.
    """
    selected = list(candidates)
    for field, values in allowed.items():
        known = {getattr(unit, field) for unit in selected} - {None}
        for value in values:
            if value not in known:
                hint = (
                    did_you_mean(value, map(str, known))
                    if isinstance(value, str)
                    else f" There are {min(known)} to {max(known)}."
                )
                raise DataError(f"No unit here is of {value!r}.{hint}")
        if values:
            selected = [unit for unit in selected if getattr(unit, field) in values]
    return selected
