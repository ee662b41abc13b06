"""Successive halving of restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import ceil
from typing import Any

from joblib import delayed

from neuid3.networks.groups import architecture
from neuid3.networks.residual import is_normalised
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.restart_run import GRAYSCALE_UNTIL
from neuid3.training.task import Restart, Task, TrainingResult
from neuid3.training.train import training_result
from neuid3.training.trainer import advance

# (fraction of the steps at which a round ends, fraction of all restarts that survive it).
ROUNDS = ((1 / 4, 1 / 4), (3 / 8, 1 / 6), (1 / 2, 1 / 8), (3 / 4, 1 / 12), (1.0, 0.0))

# The rounds where some restarts have a grayscale warm-up. More survive: these restarts take longer to gain anything.
GRAYSCALE_ROUNDS = ((1 / 4, 1 / 2), (3 / 8, 1 / 4), (5 / 8, 1 / 12), (1.0, 0.0))

# The rounds of networks with batch normalisation. What they can learn they begin to learn at once, and a restart costs more.
NORMALISED_ROUNDS = ((1 / 8, 1 / 4), (3 / 8, 1 / 8), (1.0, 0.0))

# The minimum number of restarts that survive a round; the second is that of networks with batch normalisation.
MIN_SURVIVORS, MIN_NORMALISED_SURVIVORS = 3, 1

# Where the best gain of a round is below MIN_SHOWN_GAIN bits, no restart has learned anything yet and all of them survive;
# but only in the first PATIENT_ROUNDS rounds.
MIN_SHOWN_GAIN, PATIENT_ROUNDS = 0.02, 2

# The maximum number of restarts that are trained as one group. More would gain little and leave other workers idle.
GROUP_SIZE = 8


def successive_halving(
    tasks: Sequence[Task], pool: WorkerPool | None = None, on_progress: Callable[[int, int, int], None] | None = None
) -> tuple[list[TrainingResult | None], int]:
    """The best trained restart of each task, by successive halving of the restarts of all tasks together.

    After each round only the restarts with the highest information gain on unseen examples survive. Tasks with a single
    restart, as in the paper's training, are trained to the end.

    Parameters
    ----------
    tasks : the tasks that compete.
    pool : the workers; joblib's default workers where it is None.
    on_progress : called after each group of restarts with the number of a task in it, the number of restarts trained so
        far, over all rounds, and the expected total.

    Returns
    -------
    For each task the result of its best restart, or None where none survived the last round; and the number of gradient
    steps taken.
    """
    if not tasks:
        return [], 0
    order = {id(task): i for i, task in enumerate(tasks)}
    alive = [Restart(task, number) for task in tasks for number in range(len(task.initial_networks))]
    single_round = all(task.config.restarts == 1 for task in tasks)
    has_warmup = any(variant.grayscale_warmup for task in tasks for variant in task.variants)
    normalised = all(is_normalised(net) for task in tasks for net in task.initial_networks[0].values())
    rounds = (
        ((1.0, 0.0),)
        if single_round
        else NORMALISED_ROUNDS
        if normalised
        else GRAYSCALE_ROUNDS
        if has_warmup
        else ROUNDS
    )
    least = MIN_NORMALISED_SURVIVORS if normalised else MIN_SURVIVORS
    steps = done = 0
    restart_count = len(alive)
    total = sum(min(survivor_count(part, restart_count, least), restart_count) for _, part in ((0, 1.0), *rounds[:-1]))
    with WorkerPool() if pool is None else nullcontext(pool) as workers:
        for number, (fraction, surviving) in enumerate(rounds):
            if not alive:
                break
            groups = list(restart_groups(alive))
            advanced = []
            for group, states in zip(groups, workers(delayed(advance)(g, fraction) for g in groups), strict=True):
                for restart, state in zip(group, states, strict=True):
                    steps_before = restart.state.steps if restart.state is not None else 0
                    steps += state.steps - steps_before if state.failed is None else 0
                    advanced.append(replace(restart, state=state))
                    done += 1
                if on_progress is not None:
                    on_progress(order[id(group[-1].task)], done, max(total, done))
            alive = (
                advanced
                if fraction == 1.0
                else survivors(
                    advanced,
                    survivor_count(surviving, restart_count, least),
                    patient=number < PATIENT_ROUNDS,
                    split_by_warmup=fraction < GRAYSCALE_UNTIL,
                )
            )
    return [_best_result([restart for restart in alive if restart.task is task]) for task in tasks], steps


def restart_groups(restarts: Sequence[Restart]) -> Iterator[list[Restart]]:
    """Groups of restarts that are trained together: equal architectures, numbers of rows and hyperparameters.

    The groups depend on nothing but the restarts, so that results are the same bit by bit for any number of workers.
    """
    by_kind: dict[Any, list[Restart]] = {}
    for restart in restarts:
        by_kind.setdefault(_kind(restart), []).append(restart)
    for group in by_kind.values():
        count = max(ceil(len(group) / GROUP_SIZE), min(2, len(group)))
        ends = [round(len(group) * (i + 1) / count) for i in range(count)]
        yield from (group[start:end] for start, end in zip([0, *ends], ends, strict=False))


def _kind(restart: Restart) -> tuple[Any, ...]:
    task = restart.task
    architectures = tuple(architecture(net) for _, net in sorted(restart.networks.items()))
    return (architectures, len(task.training_rows), len(task.validation_rows), len(task.target), task.config)


def survivor_count(fraction: float, restarts: int, least: int = MIN_SURVIVORS) -> int:
    """Number of survivors of a round, where a fraction of so many restarts is to survive, and at least a few.

    >>> survivor_count(1 / 4, 40), survivor_count(1 / 4, 8)
    (10, 3)
    """
    return max(ceil(fraction * restarts), least)


def survivors(restarts: Sequence[Restart], count: int, patient: bool, split_by_warmup: bool) -> list[Restart]:
    """The best restarts in their old order; all with the minimum gain where none has learned anything and `patient`.

    What depends on colour is learned soon, and what depends on shapes is not. With `split_by_warmup`, restarts with and
    without grayscale warm-up are therefore ranked separately, and each kind has half of the survivors.
    """
    healthy = [restart for restart in restarts if restart.state is None or restart.state.failed is None]
    eligible = [restart for restart in healthy if restart.score >= restart.task.min_gain]
    ranked = sorted(eligible, key=lambda restart: -restart.score)
    if patient and ranked and ranked[0].score < MIN_SHOWN_GAIN:
        chosen = eligible
    else:
        by_warmup = [[restart for restart in ranked if _has_warmup(restart) == warmup] for warmup in (True, False)]
        rankings = [ranking for ranking in by_warmup if ranking] if split_by_warmup else [ranked]
        chosen = [
            restart for ranking in rankings for restart in _spread_over_tasks(ranking)[: ceil(count / len(rankings))]
        ]
    # Failed restarts do not count as survivors; where all restarts of a task failed, one is kept to report the reason.
    healthy_tasks = {id(restart.task) for restart in healthy}
    failed = {id(restart.task): restart for restart in restarts if id(restart.task) not in healthy_tasks}
    kept = {id(restart) for restart in (*chosen, *failed.values())}
    return [restart for restart in restarts if id(restart) in kept]


def _has_warmup(restart: Restart) -> bool:
    variants = restart.task.variants
    return bool(variants) and variants[restart.number].grayscale_warmup


def _spread_over_tasks(ranked: Sequence[Restart]) -> list[Restart]:
    """The same restarts, the best two of every task before all others."""
    counts: Counter[int] = Counter()
    first: list[Restart] = []
    rest: list[Restart] = []
    for restart in ranked:
        counts[id(restart.task)] += 1
        (first if counts[id(restart.task)] <= 2 else rest).append(restart)
    return first + rest


def _best_result(restarts: Sequence[Restart]) -> TrainingResult | None:
    best = max(restarts, key=lambda restart: restart.score, default=None)
    if best is None or best.state is None:
        return None
    return training_result(best.state, best.task.target.criterion)
