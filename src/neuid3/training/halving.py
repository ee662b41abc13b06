"""Which of many candidates and restarts deserve to be trained to the end? Successive halving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import ceil
from typing import Any

from joblib import delayed

from neuid3.networks.groups import architecture
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.task import Restart, Task, TrainingResult
from neuid3.training.train import advance, trained
from neuid3.training.trainer import COLOUR_FROM

# Up to which share of the steps a round goes, and which share of the trials survives it.
ROUNDS = ((1 / 4, 1 / 4), (3 / 8, 1 / 6), (1 / 2, 1 / 8), (3 / 4, 1 / 12), (1.0, 0.0))

# Where some restarts see no colour at first, more go on: those need longer until there is something to see.
GRAYSCALE_ROUNDS = ((1 / 4, 1 / 2), (3 / 8, 1 / 4), (5 / 8, 1 / 12), (1.0, 0.0))

# Nobody is alone: this many trials survive a round at least.
FEWEST_SURVIVORS = 3

# Where the best gain of a round is below this many bits, nobody has shown anything yet, and all go on; but only so often.
SHOWN, PATIENCE = 0.02, 2

# How many restarts are trained as one at most. More would gain little and leave other workers idle.
GROUP_SIZE = 8


def successive_halving(
    tasks: Sequence[Task], crew: WorkerPool | None = None, told: Callable[[int, int, int], None] | None = None
) -> tuple[list[TrainingResult | None], int]:
    """Train tasks side by side; after each round only the trials with the highest gain on unseen examples go on.

    Returns, for each task, what its best trial gave, or None where none of them was among the last; and the number
    of gradient steps taken. A task with a single start, as in the paper's recipe, is trained to the end.
    Without a `crew`, joblib's default workers train them. `told` hears of every piece of work that is done: whose it was, how many are done, and of how many.
    """
    if not tasks:
        return [], 0
    order = {id(task): i for i, task in enumerate(tasks)}
    alive = [Restart(task, number) for task in tasks for number in range(len(task.starts))]
    whole = all(task.recipe.restarts == 1 for task in tasks)
    late = any(manner.grey for task in tasks for manner in task.manners)
    rounds = ((1.0, 0.0),) if whole else GRAYSCALE_ROUNDS if late else ROUNDS
    steps = done = 0
    everyone = len(alive)
    total = sum(min(survivor_count(share, everyone), everyone) for _, share in ((0, 1.0), *rounds[:-1]))
    with WorkerPool() if crew is None else nullcontext(crew) as workers:
        for number, (share, surviving) in enumerate(rounds):
            if not alive:
                break
            groups = list(restart_groups(alive))
            moved = []
            for group, states in zip(groups, workers(delayed(advance)(g, share) for g in groups), strict=True):
                for trial, state in zip(group, states, strict=True):
                    before = trial.state.steps if trial.state is not None else 0
                    steps += state.steps - before if state.failed is None else 0
                    moved.append(replace(trial, state=state))
                    done += 1
                if told is not None:
                    told(order[id(group[-1].task)], done, max(total, done))
            alive = (
                moved
                if share == 1.0
                else _survivors(moved, survivor_count(surviving, everyone), number < PATIENCE, share < COLOUR_FROM)
            )
    return [_winner([trial for trial in alive if trial.task is task]) for task in tasks], steps


def restart_groups(trials: Sequence[Restart]) -> Iterator[list[Restart]]:
    """Trials that are trained as one: alike in their networks and in how many examples they see.

    How they are grouped depends on nothing but the trials, and so do the bits.
    """
    alike: dict[Any, list[Restart]] = {}
    for trial in trials:
        alike.setdefault(_kind(trial), []).append(trial)
    for group in alike.values():
        count = max(ceil(len(group) / GROUP_SIZE), min(2, len(group)))
        ends = [round(len(group) * (i + 1) / count) for i in range(count)]
        yield from (group[start:end] for start, end in zip([0, *ends], ends, strict=False))


def _kind(trial: Restart) -> tuple[Any, ...]:
    task = trial.task
    nets = tuple(architecture(net) for _, net in sorted(trial.networks.items()))
    return (nets, len(task.training_rows), len(task.validation_rows), len(task.labels), task.recipe)


def survivor_count(share: float, restarts: int) -> int:
    """How many of so many restarts survive a round of which this share goes on."""
    return max(ceil(share * restarts), FEWEST_SURVIVORS)


def _survivors(trials: Sequence[Restart], count: int, patient: bool, apart: bool) -> list[Restart]:
    """The best trials in their old order, or all that are worth it, where nobody has shown anything and we are `patient`.

    What colour tells is soon learned, and what shapes tell is not: as long as some see no colour, those that do and those
    that do not are judged `apart`, and half of the places are for either.
    """
    well = [trial for trial in trials if trial.state is None or trial.state.failed is None]
    worthy = [trial for trial in well if trial.score >= trial.task.least]
    ranked = sorted(worthy, key=lambda trial: -trial.score)
    if patient and ranked and ranked[0].score < SHOWN:
        chosen = worthy
    else:
        seeing = [[trial for trial in ranked if _is_grey(trial) == grey] for grey in (True, False)]
        sides = [side for side in seeing if side] if apart else [ranked]
        chosen = [trial for side in sides for trial in _spread(side)[: ceil(count / len(sides))]]
    # Those that failed take no places; where nothing else is left of a task, one of them goes on to tell why.
    going = {id(trial.task) for trial in well}
    lost = {id(trial.task): trial for trial in trials if id(trial.task) not in going}
    kept = {id(trial) for trial in (*chosen, *lost.values())}
    return [trial for trial in trials if id(trial) in kept]


def _is_grey(trial: Restart) -> bool:
    manners = trial.task.manners
    return bool(manners) and manners[trial.number].grey


def _spread(ranked: Sequence[Restart]) -> list[Restart]:
    """The same trials, the best two of every task before all others."""
    crowd: Counter[int] = Counter()
    first: list[Restart] = []
    spare: list[Restart] = []
    for trial in ranked:
        crowd[id(trial.task)] += 1
        (first if crowd[id(trial.task)] <= 2 else spare).append(trial)
    return first + spare


def _winner(trials: Sequence[Restart]) -> TrainingResult | None:
    best = max(trials, key=lambda trial: trial.score, default=None)
    if best is None or best.state is None:
        return None
    return trained(best.state)
