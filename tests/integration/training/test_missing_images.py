"""Rows with a missing image take part in training: the image's variable follows its network's average output."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from neuid3 import Examples, NeuID3Classifier
from neuid3.circuits.conjunctions import factorise
from neuid3.logic.formula import And, Literal, NeuralVariable, Or
from neuid3.networks.defaults import Dense
from neuid3.training.config import PAPER_TRAINING, TrainingConfig
from neuid3.training.task import NetworkOutput, Restart, Task
from neuid3.training.trainer import BatchedTrainer, advance
from neuid3.tree.criteria import ClassCriterion, Target

WIDTH = 3


LEFT, RIGHT = (NeuralVariable(0, "net", (name,), (name,), WIDTH) for name in ("left", "right"))


PAIRS = [(u, v) for u, v in product(range(WIDTH), repeat=2) if u < v]


def less() -> Or:
    """The value of the left image is below that of the right one."""
    return Or(tuple(And((Literal(LEFT, frozenset({u})), Literal(RIGHT, frozenset({v})))) for u, v in PAIRS))


def task(recipe: TrainingConfig, n: int = 90, seed: int = 0, network: type[nn.Module] | None = None) -> Task:
    """Two vectors, one network, and a rule over both of its outputs; each vector is missing in some rows, both in a few."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=(n, 4)) for name in ("left", "right")}
    labels = (columns["left"][:, 0] < columns["right"][:, 0]).astype(np.int64)
    missing = {name: rng.random(n) < 0.4 for name in columns}
    for name, gone in missing.items():
        columns[name][gone] = np.nan
    torch.manual_seed(seed)
    make = network or (lambda: Dense(WIDTH, [4]))
    starts = tuple({"net": make().double()} for _ in range(2))
    return Task(
        factorise([less()], [[(0, True)], [(0, False)]]),
        {v: NetworkOutput("net", v.inputs, WIDTH, False) for v in (LEFT, RIGHT)},
        {},
        columns,
        Target(labels, rng.uniform(0.2, 1.0, n), ClassCriterion(2)),
        np.arange(n) % 6 == 0,
        starts,
        recipe,
        seed,
        missing=missing,
    )


def averaged(given: Task, net: nn.Module, name: str, rows: np.ndarray) -> torch.Tensor:
    """The weighted average output on these rows, where the column is there."""
    rows = rows[~given.missing[name][rows]]
    weights = torch.from_numpy(given.target.weights[rows])
    return (weights @ net(torch.from_numpy(given.columns[name][rows]))).detach() / weights.sum()


def enumerated(given: Task, net: nn.Module, rows: np.ndarray, averages: dict[str, torch.Tensor]) -> torch.Tensor:
    """P(τ | e) of every row, as a sum over all pairs of values; an average stands for the output of a missing vector."""
    probabilities = []
    for row in rows:
        output = {
            name: averages[name] if given.missing[name][row] else net(torch.from_numpy(given.columns[name][[row]]))[0]
            for name in given.columns
        }
        probabilities.append(sum(output["left"][u] * output["right"][v] for u, v in PAIRS))
    return torch.stack(probabilities)


@pytest.mark.parametrize("recipe", [TrainingConfig(weight_decay=0.0), PAPER_TRAINING], ids=["leaves", "branches"])
def test_the_gradient_of_a_step_is_that_of_the_sum_over_all_values_with_the_average_in_place(
    recipe: TrainingConfig,
) -> None:
    given = task(recipe)
    rows = given.training_rows[:40]
    trainer = BatchedTrainer([Restart(given, 0)])
    trainer.step(torch.from_numpy(rows)[None])
    slopes = {name: leaf.grad[0] for name, leaf in trainer.network_groups[0].networks.weights.items()}

    net = given.initial_networks[0]["net"]
    yes = enumerated(given, net, rows, {name: averaged(given, net, name, rows) for name in given.columns})
    labels, weights = torch.from_numpy(given.target.values[rows]), torch.from_numpy(given.target.weights[rows])
    if recipe.loss == "branches":
        training = ~given.unseen
        fraction = (
            given.target.weights[training & (given.target.values == 1)].sum() / given.target.weights[training].sum()
        )
        balance = 0.5 / np.where(given.target.values == 1, fraction, 1 - fraction)
        chosen = torch.where(labels == 1, yes, 1 - yes)
        scale = (given.target.weights * balance)[given.training_rows].mean()
        weights = weights * torch.from_numpy(balance[rows])
    else:
        leaves = torch.softmax(BatchedTrainer([Restart(given, 0)]).task_groups[0].leaves.detach()[0], 1)
        chosen = yes * leaves[0, labels] + (1 - yes) * leaves[1, labels]
        scale = given.target.weights[given.training_rows].mean()
    (-(weights * chosen.log()).sum() / (len(rows) * scale)).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(slopes[name], parameter.grad, rtol=1e-9, atol=1e-12)


def test_the_gain_on_unseen_rows_takes_the_average_over_all_training_rows() -> None:
    given = task(TrainingConfig(epochs=3, batch_size=16))
    (state,) = advance([Restart(given, 0)], 1.0)
    net = state.networks["net"].eval()
    rows = np.flatnonzero(given.unseen)
    averages = {name: averaged(given, net, name, given.training_rows) for name in given.columns}
    yes = enumerated(given, net, rows, averages).detach().numpy()
    assert state.score == pytest.approx(given.target[rows].gain(yes), abs=1e-9)


def test_only_rows_in_which_no_network_can_be_called_are_left_out() -> None:
    given = task(TrainingConfig())
    neither = given.missing["left"] & given.missing["right"]
    assert set(given.training_rows) == set(np.flatnonzero(~given.unseen & ~neither))
    assert set(given.validation_rows) == set(np.flatnonzero(given.unseen))


def test_restarts_side_by_side_keep_averages_of_their_own() -> None:
    given = [task(TrainingConfig(epochs=4, batch_size=16), seed=seed, n=90) for seed in (0, 1)]
    trials = [Restart(each, number) for each in given for number in range(2)]
    for trial in trials:  # each goes on from a half on its own, with the average it had
        (half,) = advance([trial], 0.5)
        assert {inputs for _, inputs in half.averages} == {("left",), ("right",)}
    same = [trial for trial in trials if len(trial.task.training_rows) == len(given[0].training_rows)]
    for trial, state in zip(same, advance(same, 1.0), strict=True):
        (alone,) = advance([trial], 1.0)
        assert state.score == pytest.approx(alone.score, abs=1e-12)
        for a, b in zip(state.networks["net"].parameters(), alone.networks["net"].parameters(), strict=True):
            assert torch.allclose(a, b, rtol=0, atol=1e-12)


class Normalised(nn.Module):
    """A network with batch normalisation, whose buffers depend on all inputs of training."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(4, momentum=None), nn.Linear(4, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.last(self.norm(x)), 1)


def test_networks_read_present_entries_in_place_of_missing_ones() -> None:
    given = task(TrainingConfig(epochs=10, batch_size=16), network=Normalised)
    for name, gone in given.missing.items():
        given.columns[name][~gone] += 100.0  # zeros in place of missing entries would move the mean by tens
    (state,) = advance([Restart(given, 0)], 1.0)
    mean = state.networks["net"].get_submodule("norm").running_mean
    np.testing.assert_allclose(mean, 100.0, atol=0.5)


def test_a_column_without_a_single_entry_leaves_the_rest_of_the_rule_to_be_learned() -> None:
    given = task(TrainingConfig(epochs=3, batch_size=16))
    given.missing["right"][:] = True
    given.columns["right"][:] = np.nan
    (state,) = advance([Restart(given, 0)], 1.0)
    assert state.failed is None
    assert all(bool(torch.isfinite(p).all()) for p in state.networks["net"].parameters())


# Whole fits --------------------------------------------------------------------------------------
RULE = """
nn(net, [I], R, [0, 1, 2, 3, 4]) :: digit(I, R).
low(I) :- digit(I, R), R < 3.
all_low(A, B, C) :- low(A), low(B), low(C).
"""


def three_digits(n: int, seed: int, part: slice) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Three images a row, whether all of them are below 3, and which one each row is to lose."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    shown = rng.choice(np.flatnonzero(digits.target < 5)[part], (3, n))
    images = (digits.images / 16).astype(np.float32)
    return {f"i{k}": images[shown[k]] for k in range(3)}, (digits.target[shown] < 3).all(0), rng.integers(0, 3, n)


def with_holes(columns: dict[str, np.ndarray], lost: np.ndarray) -> Examples:
    return Examples(
        {name: np.where((lost == k)[:, None, None], np.nan, c) for k, (name, c) in enumerate(columns.items())}
    )


SETTINGS = {
    "background": RULE,
    "tests": ["all_low(i0, i1, i2)"],
    "max_depth": 1,
    "random_state": 0,
    "training": TrainingConfig(epochs=20, joint_epochs=5),
}


def test_a_rule_is_learned_where_every_row_lacks_one_of_its_images() -> None:
    columns, y, lost = three_digits(600, 0, slice(0, 600))
    clf = NeuID3Classifier(**SETTINGS).fit(with_holes(columns, lost), y)
    unseen, labels, _ = three_digits(500, 1, slice(600, None))
    assert clf.score(Examples(unseen), labels) > 0.95


def test_a_fit_with_missing_images_is_the_same_with_two_workers_and_when_it_goes_on(tmp_path: Path) -> None:
    columns, y, lost = three_digits(200, 0, slice(None))
    X = with_holes(columns, lost)
    settings = SETTINGS | {"pruning": 0.0, "training": TrainingConfig(epochs=8, joint_epochs=2)}
    one = NeuID3Classifier(**settings).fit(X, y)
    two = NeuID3Classifier(**settings, n_jobs=2).fit(X, y, checkpoint=tmp_path)
    (tmp_path / "tree-00.neuid3").unlink()
    on = NeuID3Classifier(**settings).fit(X, y, checkpoint=tmp_path)
    assert one.networks_
    for other in (two, on):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_network_of_two_images_learns_from_the_rows_that_have_both_and_of_several_classes() -> None:
    digits, rng = load_digits(), np.random.default_rng(0)
    images = (digits.images / 16).astype(np.float32)
    rows = rng.choice(np.flatnonzero(digits.target < 3), 500)
    gone = rng.random(500) < 0.3
    X = Examples({"one": images[rows], "other": np.where(gone[:, None, None], np.nan, images[rng.permutation(rows)])})
    clf = NeuID3Classifier(
        background="nn(net, [A, B]) :: tells(A, B).",
        tests=["tells(one, other)"],
        max_depth=2,
        random_state=0,
        training=TrainingConfig(epochs=15, joint_epochs=3),
    ).fit(X, digits.target[rows])
    assert clf.networks_
    right = clf.predict(X) == digits.target[rows]
    assert right[~gone].mean() > 0.6  # two of three classes are told apart from the other by one test
    values = clf.predict_proba(X)[gone]
    np.testing.assert_allclose(values, values[:1].repeat(len(values), 0))


def test_a_ready_network_whose_image_is_missing_stands_beside_one_that_is_trained() -> None:
    columns, _, lost = three_digits(300, 0, slice(None))
    X = with_holes(columns, lost)
    bright = nn.Sequential(nn.Flatten(), nn.Linear(64, 1), nn.Sigmoid())
    y = np.nan_to_num(X.column("i0").values).mean((1, 2)) > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        clf = NeuID3Classifier(
            background="nn(own, [I]) :: own(I). nn(given, [I]) :: given(I). both(A, B) :- own(A), \\+ given(B).",
            tests=["both(i0, i1)"],
            networks={"given": bright},
            max_depth=1,
            pruning=0.0,
            random_state=0,
            training=TrainingConfig(epochs=5, joint_epochs=0),
        ).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(1), 1.0)


def test_networks_are_not_called_for_parts_that_an_example_does_not_have() -> None:
    plain = task(TrainingConfig(weight_decay=0.0))
    given = replace(plain, absent=plain.missing)
    rows = torch.from_numpy(given.training_rows[:40]).expand(2, -1)
    restarts = [Restart(given, number) for number in range(2)]
    trainer = BatchedTrainer(restarts)
    (present,) = (trainer._present(group, rows) for group in trainer.network_groups)
    assert present.shape[1] == sum(int((~given.missing[name][rows[0]]).sum()) for name in given.columns)
    outputs = trainer.outputs(rows)
    assert not trainer.missing[0].masks, "no average stands for a part that is not there"
    for (restart, name, (column,)), values in outputs.items():
        net, gone = given.initial_networks[restart][name], given.missing[column][rows[0]]
        expected = net(torch.from_numpy(given.columns[column][rows[0]]))
        torch.testing.assert_close(values[~gone], expected[~gone])
        torch.testing.assert_close(values[gone], torch.full_like(values[gone], 1 / WIDTH))
    trainer.advance(0.2)
    assert all(run.failed is None for run in trainer.runs)
