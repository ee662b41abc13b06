"""What is one unit of an experiment, which units are there, and in which order are they run?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from experiments import datasets
from experiments.settings import FOLDS, SEEDS, SEEDS_44M
from neuid3.errors import DataError, did_you_mean

# What an experiment calls a unit's problem, its setting and its number.
WORDS: Mapping[str, tuple[str, str | None, str]] = {
    "uci": ("dataset", "variant", "fold"),
    "eleusis": ("concept", None, "seed"),
    "background": ("concept", "pool", "seed"),
    "reuse": ("concept", "trained", "seed"),
}
EXPERIMENTS = tuple(WORDS)

TREE = "tree"
UCI_MODELS = {"onehot": (TREE, "mlp", "sklearn"), "mnist": (TREE, "mlp", "soft")}
ELEUSIS_MODELS = ("lean", "soft", "nn44m")
POOLS = ("union", "opt", "nf", "bad")

# Which concepts' trained tests are handed to hidden_order_simple.
REUSED_IN = "hidden_order_simple"
GIVERS: Mapping[str, tuple[str, ...]] = {
    "suit": ("suit_order",),
    "rank": ("rank_order",),
    "both": ("rank_order", "suit_order"),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One model learned once: from which problem, in which setting, by whom, and which fold or seed.

    Only our tree has a recipe. An experiment that needs a unit of another one shares it.
    """

    experiment: str
    problem: str
    setting: str | None
    model: str
    recipe: str | None
    number: int

    @property
    def words(self) -> dict[str, str | int | None]:
        """The unit in the words of its experiment."""
        problem, setting, number = WORDS[self.experiment]
        named: dict[str, str | int | None] = {"experiment": self.experiment, problem: self.problem}
        if setting is not None:
            named[setting] = self.setting
        return named | {"model": self.model, "recipe": self.recipe, number: self.number}

    @property
    def path(self) -> PurePosixPath:
        """Where its result is kept, below the folder of all results."""
        who = f"{self.model}-paper" if self.recipe == "paper" else self.model
        parts = (self.experiment, self.problem, self.setting, who, f"{WORDS[self.experiment][2]}-{self.number}.json")
        return PurePosixPath(*(part for part in parts if part is not None))

    def __str__(self) -> str:
        return str(self.path.with_suffix(""))


def from_words(words: Mapping[str, str | int | None]) -> Unit:
    """The unit that such words name; the inverse of `Unit.words`."""
    experiment = str(words["experiment"])
    problem, setting, number = WORDS[experiment]
    recipe, chosen = words["recipe"], words[setting] if setting is not None else None
    return Unit(
        experiment,
        str(words[problem]),
        None if chosen is None else str(chosen),
        str(words["model"]),
        None if recipe is None else str(recipe),
        int(words[number] or 0),
    )


def units(experiment: str, recipe: str = "default") -> list[Unit]:
    """Every unit of an experiment: the first fold or seed of all problems before the second of any."""
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
                    *(Unit("reuse", REUSED_IN, trained, TREE, recipe, seed) for trained in GIVERS),
                )
            ]
    raise DataError(f"There is no experiment {experiment!r}.{did_you_mean(experiment, EXPERIMENTS)}")


def chosen(of: Iterable[Unit], **wanted: Collection[str | int]) -> list[Unit]:
    """The units whose `problem`, `setting`, `model` and `number` are among those wanted; an empty choice is all."""
    kept = list(of)
    for field, values in wanted.items():
        known = {getattr(unit, field) for unit in kept} - {None}
        for value in values:
            if value not in known:
                there = (
                    did_you_mean(value, map(str, known))
                    if isinstance(value, str)
                    else f" There are {min(known)} to {max(known)}."
                )
                raise DataError(f"No unit here is of {value!r}.{there}")
        if values:
            kept = [unit for unit in kept if getattr(unit, field) in values]
    return kept
