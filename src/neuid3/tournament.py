"""Which of many candidates and restarts deserve to be trained to the end? Successive halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from joblib import Parallel, delayed

from neuid3.train import State, Task, Trained, advance, finish

# Up to which share of the epochs a round goes, and which share of the trials survives it.
# The first judgement comes late, since a restart that starts without colour has little to show before.
ROUNDS = ((1 / 2, 1 / 3), (3 / 4, 1 / 8), (1.0, 0.0))

# Nobody is alone: this many trials survive a round at least.
FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One restart of one task, and how far it has come."""

    task: int
    number: int
    state: State | None = None

    @property
    def score(self) -> float:
        return self.state.score if self.state is not None else float("-inf")


def tournament(
    tasks: Sequence[Task], jobs: int | None = None, told: Callable[[int, int, int], None] | None = None
) -> tuple[list[Trained | None], int]:
    """Train tasks side by side; after each round only the trials with the highest gain on unseen examples go on.

    Returns, for each task, what its best trial gave, or None where none of them was among the last; and the number
    of gradient steps taken. A task with a single start, as in the paper's recipe, is trained to the end.
    `told` hears of every piece of work that is done: whose it was, how many are done, and of how many.
    """
    if not tasks:
        return [], 0
    alive = [Trial(i, number) for i, task in enumerate(tasks) for number in range(len(task.starts))]
    whole = all(task.recipe.restarts == 1 for task in tasks)
    rounds = [(1.0, 0.0)] if whole else ROUNDS
    steps = done = 0
    total = sum(_survive(share, tasks) for _, share in ((0, 1.0), *rounds[:-1]))
    with Parallel(n_jobs=jobs, return_as="generator") as parallel:
        for share, surviving in rounds:
            calls = (delayed(advance)(tasks[t.task], t.number, t.state, share) for t in alive)
            moved = []
            for trial, state in zip(alive, parallel(calls), strict=True):
                before = trial.state.steps if trial.state is not None else 0
                steps += state.steps - before if state.failed is None else 0
                moved.append(replace(trial, state=state))
                done += 1
                if told is not None:
                    told(trial.task, done, max(total, done))
            alive = moved if share == 1.0 else _survivors(moved, _survive(surviving, tasks))
    return [_winner(tasks[i], [t for t in alive if t.task == i]) for i in range(len(tasks))], steps


def _survive(share: float, tasks: Sequence[Task]) -> int:
    return max(ceil(share * sum(len(task.starts) for task in tasks)), FEWEST)


def _survivors(trials: Sequence[Trial], count: int) -> list[Trial]:
    """The best trials, at most two of each task unless there are few tasks, in their old order."""
    ranked = sorted(trials, key=lambda trial: -trial.score)
    crowd: dict[int, int] = {}
    first: list[Trial] = []
    spare: list[Trial] = []
    for trial in ranked:
        crowd[trial.task] = crowd.get(trial.task, 0) + 1
        (first if crowd[trial.task] <= 2 else spare).append(trial)
    chosen = {id(trial) for trial in (first + spare)[:count]}
    return [trial for trial in trials if id(trial) in chosen]


def _winner(task: Task, trials: Sequence[Trial]) -> Trained | None:
    best = max(trials, key=lambda trial: trial.score, default=None)
    if best is None or best.state is None:
        return None
    return finish(task, best.number, best.state, best.state.steps)
