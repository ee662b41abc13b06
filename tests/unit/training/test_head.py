"""A head over the probabilities of many rules, and how clear a difference of likelihoods is."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuid3.circuits.conjunctions import factorise
from neuid3.logic.formula import And, Literal, NeuralVariable, Not
from neuid3.networks.defaults import Dense
from neuid3.training.config import TrainingConfig
from neuid3.training.head import Head, output_entropy
from neuid3.training.task import NetworkOutput, Restart, Task
from neuid3.training.train import is_clearly_worse, standard_errors
from neuid3.training.trainer import BatchedTrainer
from neuid3.tree.criteria import ClassCriterion, Target


def plain_outputs(head: Head, parameters: np.ndarray, inputs: list[float]) -> list[float]:
    """The outputs of a head for one row, unit by unit: each layer has its weights, input by input, then its biases."""
    numbers = iter(parameters.tolist())
    values = inputs
    for layer, (width, units) in enumerate(head.shapes):
        weights = [[next(numbers) for _ in range(units)] for _ in range(width)]
        biases = [next(numbers) for _ in range(units)]
        values = values if layer == 0 else [max(value, 0.0) for value in values]
        values = [biases[u] + math.fsum(values[i] * weights[i][u] for i in range(width)) for u in range(units)]
    assert next(numbers, None) is None, "all parameters are used"
    return values


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 3), st.integers(1, 3), st.integers(1, 4))
def test_the_outputs_are_those_of_a_network_computed_unit_by_unit(
    seed: int, rules: int, features: int, parameters: int, restarts: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = 3
    head = Head(rng.normal(size=(rows, features)), rules, parameters, hidden=5)
    vectors = torch.stack([head.initial(torch.Generator().manual_seed(seed + i)) for i in range(restarts)])
    responses = torch.from_numpy(rng.random((rules, restarts, rows)))
    shown = torch.from_numpy(head.features).expand(restarts, rows, features)
    outputs = head.outputs(vectors, responses, shown)
    assert outputs.shape == (restarts, rows, parameters)
    for i in range(restarts):
        for row in range(rows):
            inputs = [*responses[:, i, row].tolist(), *head.features[row].tolist()]
            assert outputs[i, row].tolist() == pytest.approx(plain_outputs(head, vectors[i, 0].numpy(), inputs))


def test_the_first_parameters_are_drawn_from_the_given_generator_within_the_bound_of_their_layer() -> None:
    head = Head(np.zeros((4, 7)), 9, 2, hidden=20)
    drawn = head.initial(torch.Generator().manual_seed(3))
    assert torch.equal(drawn, head.initial(torch.Generator().manual_seed(3)))
    assert not torch.equal(drawn, head.initial(torch.Generator().manual_seed(4)))
    assert drawn.shape == (1, 17 * 20 + 21 * 20 + 21 * 2)
    for layer, inputs in zip(drawn[0].split([17 * 20, 21 * 20, 21 * 2]), (16, 20, 20), strict=True):
        assert 0.5 / math.sqrt(inputs) < float(layer.abs().max()) <= 1.0 / math.sqrt(inputs)


def test_the_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    head = Head(rng.normal(size=(4, 2)), 3, 2, hidden=4)
    parameters = head.initial(torch.Generator().manual_seed(1)).unsqueeze(0).requires_grad_()
    responses = torch.from_numpy(rng.random((3, 1, 4))).requires_grad_()
    features = torch.from_numpy(head.features).unsqueeze(0).requires_grad_()
    assert torch.autograd.gradcheck(head.outputs, (parameters, responses, features))
    values = torch.from_numpy(rng.random((5, 3))).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: output_entropy([v[:2], v[2:]]), (values,))


def test_the_entropy_is_that_of_the_average_output_over_all_calls() -> None:
    calls = [torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]])]
    averages = [1.5 / 3, 0.25 / 3, 1.25 / 3]
    assert float(output_entropy(calls)) == pytest.approx(-sum(p * math.log(p) for p in averages))
    assert float(output_entropy([torch.tensor([[1.0, 0.0]])])) == pytest.approx(0.0)
    yes = (0.9 + 0.5) / 2
    expected = -(yes * math.log(yes) + (1 - yes) * math.log(1 - yes))
    assert float(output_entropy([torch.tensor([[0.9]]), torch.tensor([[0.5]])])) == pytest.approx(expected)


def test_the_bonus_falls_to_a_tenth() -> None:
    head = Head(np.zeros((1, 0)), 1, 2, bonus=0.5)
    assert [head.weight_of_bonus(done) for done in (0.0, 0.5, 0.9, 1.0)] == pytest.approx([0.5, 0.25, 0.05, 0.05])


# A task with a head ---------------------------------------------------------------------------------
FIRST, SECOND = (NeuralVariable(0, "net", (name,), (name,), 3) for name in ("a", "b"))


def task(restarts: int = 2, n: int = 60) -> Task:
    """Two rules about the values that one network finds in two columns, and a feature; a third of the rows is unseen."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=(n, 4)).astype(np.float32) for name in ("a", "b")}
    rules = [
        And((Literal(FIRST, frozenset({0, 1})), Literal(SECOND, frozenset({1})))),
        Not(Literal(FIRST, frozenset({0}))),
    ]
    torch.manual_seed(0)
    return Task(
        factorise(rules, [[(0, True)], [(1, True)]]),
        {variable: NetworkOutput("net", variable.inputs, 3, False) for variable in (FIRST, SECOND)},
        {},
        columns,
        Target(rng.integers(0, 3, n), rng.uniform(0.2, 1.0, n), ClassCriterion(3)),
        np.arange(n) % 3 == 0,
        tuple({"net": Dense(3, [4])} for _ in range(restarts)),
        TrainingConfig(restarts=restarts),
        0,
        head=Head(rng.normal(size=(n, 1)), 2, 3),
    )


def plain_likelihoods(given: Task, restart: int, rows: np.ndarray) -> list[float]:
    """The likelihood of the class of each row under the head of a restart, from the outputs of its network."""
    assert given.head is not None
    net = given.initial_networks[restart]["net"].eval()
    trainer = BatchedTrainer([Restart(given, i) for i in range(len(given.initial_networks))])
    parameters = trainer.runs[restart].leaves[0].double().numpy()
    likelihoods = []
    for row in rows:
        with torch.no_grad():
            a, b = (net(torch.from_numpy(given.columns[name][[row]]))[0].tolist() for name in ("a", "b"))
        inputs = [(a[0] + a[1]) * b[1], 1.0 - a[0], *given.head.features[row].tolist()]
        powers = np.exp(plain_outputs(given.head, parameters, inputs))
        likelihoods.append(float(powers[given.target.values[row]] / powers.sum()))
    return likelihoods


def test_the_score_is_the_entropy_of_the_classes_minus_the_cross_entropy_of_the_head() -> None:
    given = task()
    unseen = np.flatnonzero(given.unseen)
    weights = given.target.weights[unseen]
    shares = [weights[given.target.values[unseen] == label].sum() / weights.sum() for label in range(3)]
    entropy = -sum(share * math.log2(share) for share in shares)
    scores = BatchedTrainer([Restart(given, 0), Restart(given, 1)]).scores()
    for restart, (score, gain) in enumerate(scores):
        bits = -np.log2(plain_likelihoods(given, restart, unseen))
        assert score == pytest.approx(entropy - np.average(bits, weights=weights), abs=1e-5)
        assert math.isnan(gain), "a head is no split"
    assert scores[0] != scores[1]


def test_the_loss_is_the_cross_entropy_and_rules_are_not_normalised_as_paths_are() -> None:
    given = task()
    rows = np.arange(20)
    trainer = BatchedTrainer([Restart(given, 0), Restart(given, 1)])
    group = trainer.task_groups[0]
    shown = torch.from_numpy(rows).expand(2, 20)
    likelihoods = group.likelihoods(group.path_probabilities(trainer.outputs(shown), shown), shown).detach()
    mean = given.target.weights[~given.unseen].mean()
    losses = group.losses(group.path_probabilities(trainer.outputs(shown), shown), shown)
    for restart in range(2):
        plain = plain_likelihoods(given, restart, rows)
        assert likelihoods[restart].tolist() == pytest.approx(plain, rel=1e-4)
        loss = -(given.target.weights[rows] * np.log(plain)).sum() / (20 * mean)
        assert float(losses[restart].detach()) == pytest.approx(loss, rel=1e-4)


# How clear a difference is --------------------------------------------------------------------------
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_standard_errors_are_those_of_a_weighted_mean(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    before, after, weights = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.1, 2.0, n)
    differences = [after[i] - before[i] for i in range(n)]
    mean = sum(weights[i] * differences[i] for i in range(n)) / sum(weights)
    variance = sum((weights[i] * (differences[i] - mean)) ** 2 for i in range(n)) / sum(weights) ** 2
    found = standard_errors(before, after, weights)
    assert found == pytest.approx(mean / math.sqrt(variance), rel=1e-9)
    assert found == pytest.approx(-standard_errors(after, before, weights))
    assert is_clearly_worse(before, after, weights) == (found < -2.0)


def test_equal_differences_are_certain_and_none_is_none() -> None:
    zeros, ones = np.zeros(3), np.ones(3)
    assert standard_errors(zeros, zeros, ones) == 0.0
    assert standard_errors(zeros, ones, ones) == np.inf
    assert standard_errors(ones, zeros, ones) == -np.inf
