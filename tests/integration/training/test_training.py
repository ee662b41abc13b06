"""Training: the paper's loss in plain arithmetic, successive halving of restarts, and joint training of a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from one_network import task

from neuid3.training.config import PAPER_TRAINING, TrainingConfig
from neuid3.training.halving import successive_halving, survivors
from neuid3.training.task import Restart, RestartState, RestartVariant, Task
from neuid3.training.threads import exclusive_training
from neuid3.training.train import train_jointly
from neuid3.training.trainer import BatchedTrainer, advance
from neuid3.tree.criteria import Target


def relabelled(given: Task, rows: np.ndarray) -> Target:
    """The targets of a task with the other class in these rows."""
    return replace(given.target, values=np.where(rows, 1 - given.target.values, given.target.values))


def test_unseen_examples_are_never_trained_on() -> None:
    given = task(replace(TrainingConfig(), restarts=1, epochs=3, batch_size=8))
    changed = replace(given, target=relabelled(given, given.unseen))
    one, two = (advance([Restart(t, 0)], 1.0)[0] for t in (given, changed))
    for a, b in zip(one.networks["net"].parameters(), two.networks["net"].parameters(), strict=True):
        assert torch.equal(a, b)


def test_training_with_pauses_equals_training_without() -> None:
    given = task(replace(TrainingConfig(), restarts=2, epochs=6, batch_size=16), restarts=2)
    state: RestartState | None = None
    for fraction in (1 / 3, 2 / 3, 1.0):  # at ends of epochs
        (state,) = advance([Restart(given, 0, state)], fraction)
    (whole,) = advance([Restart(given, 0)], 1.0)
    assert state is not None
    assert state.steps == whole.steps
    for a, b in zip(state.networks["net"].parameters(), whole.networks["net"].parameters(), strict=True):
        assert torch.equal(a, b)


def test_successive_halving_keeps_the_best_restarts() -> None:
    given = task(replace(TrainingConfig(), epochs=12, batch_size=16), restarts=4)
    progress = []
    (best,), steps = successive_halving([given], None, lambda *counts: progress.append(counts))
    assert best is not None
    assert best.score > 0.3
    assert steps < 4 * 12 * 7
    assert [done for _, done, _ in progress] == sorted(done for _, done, _ in progress)
    assert progress[-1][1] == progress[-1][2], "the announced total is reached"


def test_of_networks_with_batch_normalisation_one_restart_is_trained_to_the_end() -> None:
    given = task(replace(TrainingConfig(), epochs=16, batch_size=16), restarts=4)
    normalised = replace(given, initial_networks=tuple({"net": normalised_network()} for _ in range(4)))
    (best,), steps = successive_halving([normalised])
    whole = normalised.config.steps(len(normalised.training_rows))
    assert best is not None
    assert best.steps == whole
    assert best.score > 0.1
    assert steps == 4 * 3 * whole // 8 + whole * 5 // 8, "after 1/8 none shows a gain, and all continue"


def normalised_network() -> torch.nn.Module:
    """A network of two layers with batch normalisation."""
    layers = (
        torch.nn.Linear(3, 32),
        torch.nn.BatchNorm1d(32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
        torch.nn.Sigmoid(),
    )
    return torch.nn.Sequential(*layers)


def test_a_single_restart_counts_as_one_unit_of_progress() -> None:
    progress: list[tuple[int, int]] = []
    successive_halving(
        [task(replace(PAPER_TRAINING, epochs=1))], on_progress=lambda _, done, total: progress.append((done, total))
    )
    assert progress == [(1, 1)]


@pytest.mark.parametrize("size", [1, 7, 99])
def test_any_batch_size_takes_the_announced_number_of_steps(size: int) -> None:
    """100 examples are trained on: batches of one, a last one of two, and a last one of one, which is left out."""
    given = replace(PAPER_TRAINING, epochs=2, batch_size=size)
    (state,) = advance([Restart(task(given), 0)], 1.0)
    assert state.steps == given.steps(100)


def surviving_numbers(given: Task, *scores: float, patient: bool = True, split_by_warmup: bool = False) -> list[int]:
    """The numbers of the restarts of a task with these gains that survive a round of two."""
    restarts = [Restart(given, number) for number in range(len(scores))]
    states = [replace(advance([t], 0.01)[0], score=score) for t, score in zip(restarts, scores, strict=True)]
    advanced = [replace(t, state=state) for t, state in zip(restarts, states, strict=True)]
    return [restart.number for restart in survivors(advanced, 2, patient, split_by_warmup)]


def test_all_restarts_survive_early_rounds_without_gain() -> None:
    given = task(replace(TrainingConfig(), epochs=12, batch_size=16), restarts=6)
    assert surviving_numbers(given, 0.0, 0.01, 0.0, 0.015, 0.0, 0.0) == [0, 1, 2, 3, 4, 5]
    assert surviving_numbers(given, 0.0, 0.01, 0.0, 0.015, 0.0, 0.0, patient=False) == [1, 3]
    assert surviving_numbers(given, 0.0, 0.3, 0.0, 0.4, 0.1, 0.0) == [1, 3]


def test_restarts_with_grayscale_warmup_are_ranked_separately_until_it_ends() -> None:
    given = task(replace(TrainingConfig(), epochs=12, batch_size=16), restarts=4)
    coloured = replace(
        given,
        variants=(
            RestartVariant(),
            RestartVariant(grayscale_warmup=True),
            RestartVariant(),
            RestartVariant(grayscale_warmup=True),
        ),
    )
    assert surviving_numbers(coloured, 0.3, 0.0, 0.4, 0.1, split_by_warmup=True) == [2, 3]
    assert surviving_numbers(coloured, 0.3, 0.0, 0.4, 0.1) == [0, 2]
    assert surviving_numbers(given, 0.3, 0.0, 0.4, 0.1, split_by_warmup=True) == [0, 2], (
        "without any warm-up there is a single ranking"
    )


def test_failed_restarts_survive_only_to_report_why_all_of_a_task_failed() -> None:
    one, other = (task(replace(TrainingConfig(), epochs=12, batch_size=16), restarts=3) for _ in range(2))
    (begun,) = advance([Restart(one, 0)], 0.01)
    failed = replace(begun, score=float("-inf"), failed="NaN")
    well = [Restart(one, number, replace(begun, score=score)) for number, score in enumerate((0.5, 0.4, 0.3))]
    broken = [Restart(other, number, failed) for number in range(3)]
    assert survivors([*well, *broken], 3, False, False) == [*well, broken[2]]
    assert survivors([*well, replace(broken[0], task=one)], 3, False, False) == well
    shown = [replace(restart, state=replace(begun, score=0.0)) for restart in well]
    assert survivors([*shown, *broken], 2, True, False) == [*shown, broken[2]]


def test_restarts_below_the_minimum_gain_are_given_up() -> None:
    given = replace(task(replace(TrainingConfig(), epochs=12, batch_size=16), restarts=4), min_gain=2.0)
    (best,), steps = successive_halving([given])
    assert best is None
    assert steps == 4 * 12 * 7 // 4


def tree(against: bool = False) -> Task:
    """A tree of one test; with `against`, the labels of its unseen examples contradict those of the others."""
    start = task(replace(TrainingConfig(), restarts=1, epochs=8, batch_size=16))
    leaves = np.log([[0.3, 0.7], [0.7, 0.3]])
    return replace(start, target=relabelled(start, start.unseen & against), leaves=leaves)


def test_joint_training_goes_to_the_end() -> None:
    given = tree()
    trained, steps = train_jointly(given)
    assert trained is not None
    whole = BatchedTrainer([Restart(given, 0)])
    with exclusive_training():
        whole.advance(1.0)
    assert steps == trained.steps == whole.steps == given.config.steps(int((~given.unseen).sum()))
    wanted = whole.state(0, 0.0).networks["net"].state_dict()
    assert all(torch.equal(w, wanted[name]) for name, w in trained.networks["net"].state_dict().items())
    assert trained.leaves.sum(1) == pytest.approx([1.0, 1.0])
    assert trained.score > BatchedTrainer([Restart(given, 0)]).log_likelihoods()[0].mean()


def test_joint_training_that_lowers_the_likelihood_of_unseen_examples_is_undone() -> None:
    given = tree(against=True)
    trained, steps = train_jointly(given)
    assert trained is None
    assert steps == given.config.steps(int((~given.unseen).sum())), "the steps were taken all the same"
