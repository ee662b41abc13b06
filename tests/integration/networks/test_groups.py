"""Network groups: many networks run as one equal each network by itself, in outputs, gradients and training."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from neuid3.circuits.conjunctions import factorise
from neuid3.logic.formula import Literal, NeuralVariable
from neuid3.networks.adam import Adam, one_cycle
from neuid3.networks.defaults import LeNet
from neuid3.training.config import TrainingConfig
from neuid3.training.halving import restart_groups, successive_halving
from neuid3.training.task import NetworkOutput, Restart, Task
from neuid3.training.trainer import advance
from neuid3.tree.criteria import ClassCriterion, Target


def test_no_compiler_runs_when_networks_do(tmp_path: Path) -> None:
    called = tmp_path / "called"
    for name in ("cc", "gcc", "clang"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch '{called}'\nexit 1\n")
        (tmp_path / name).chmod(0o700)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "NEUID3_CACHE": str(tmp_path / "kept"),
    }
    environment.pop("CC", None)
    code = """
import torch
from neuid3.networks.defaults import LeNet
from neuid3.networks.adam import Adam
from neuid3.networks.groups import network_group
nets = network_group([LeNet(2), LeNet(2)], [])
nets(torch.rand(2, 3, 1, 28, 28)).sum().backward()
Adam(list(nets.weights.values()), 0.0).step(1, [0.1, 0.1], 0.9)
"""
    assert shutil.which("cc", path=environment["PATH"]) == str(tmp_path / "cc")
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not called.exists()
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("way")
def test_adam_is_torchs() -> None:
    torch.manual_seed(1)
    total, decay, rates = 40, 0.02, [0.03, 0.01]
    start, gradients = torch.randn(2, 9, dtype=torch.float64), torch.randn(total, 2, 9, dtype=torch.float64)
    leaf = start.clone().requires_grad_()
    ours = Adam([leaf], decay)
    theirs = [nn.Parameter(row.clone()) for row in start]
    optimizers = [torch.optim.AdamW([p], rate, weight_decay=decay) for p, rate in zip(theirs, rates, strict=True)]
    cycles = [
        torch.optim.lr_scheduler.OneCycleLR(o, rate, total_steps=total + 1)
        for o, rate in zip(optimizers, rates, strict=True)
    ]
    for step, gradient in enumerate(gradients):
        share, beta1 = one_cycle(step, total)
        leaf.grad = gradient
        ours.step(step + 1, [share * rate for rate in rates], beta1)
        for p, g, optimizer, cycle in zip(theirs, gradient, optimizers, cycles, strict=True):
            p.grad = g
            optimizer.step()
            cycle.step()
    assert torch.allclose(leaf.detach(), torch.stack([p.detach() for p in theirs]), rtol=1e-10, atol=1e-12)


VARIABLE = NeuralVariable(0, "net", ("x",), ("x",), 2)


def tasks(make: Sequence[nn.Module], dtype: torch.dtype, count: int) -> list[Task]:
    """Tasks whose restarts begin with these networks: is an image brighter on the left?"""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        images = rng.random((40, 20, 20)).astype(np.float32)
        labels = (images[:, :, :10].mean((1, 2)) > images[:, :, 10:].mean((1, 2))).astype(np.int64)
        paths = factorise([Literal(VARIABLE, frozenset({1}))], [[(0, True)], [(0, False)]])
        initial_networks = tuple({"net": copy.deepcopy(net).to(dtype)} for net in make)
        config = TrainingConfig(epochs=3, batch_size=16, restarts=2)
        found.append(
            Task(
                paths,
                {VARIABLE: NetworkOutput("net", ("x",), 1, True)},
                {},
                {"x": images},
                Target(labels, rng.uniform(0.5, 1.0, 40), ClassCriterion(2)),
                np.arange(40) % 5 == 0,
                initial_networks,
                config,
                seed,
            )
        )
    return found


@pytest.mark.usefixtures("way")
def test_batched_training_equals_training_one_by_one() -> None:
    torch.manual_seed(0)
    given_ = tasks([LeNet(1, size=20) for _ in range(2)], torch.float64, 3)
    restarts = [Restart(task, number) for task in given_ for number in range(2)]
    together = advance(restarts, 1.0)
    for restart, state in zip(restarts, together, strict=True):
        (alone,) = advance([restart], 1.0)
        assert state.score == pytest.approx(alone.score, abs=1e-12)
        for a, b in zip(state.networks["net"].parameters(), alone.networks["net"].parameters(), strict=True):
            assert torch.allclose(a, b, rtol=0, atol=1e-12)


def test_groups_do_not_depend_on_the_order_of_other_kinds() -> None:
    torch.manual_seed(0)
    small, large = (
        tasks([LeNet(1, size=20)], torch.float32, 20),
        tasks([LeNet(1, size=20, dropout=0.1)], torch.float32, 3),
    )
    mixed = [Restart(task, 0) for task in (*small[:7], *large, *small[7:])]
    groups = list(restart_groups(mixed))
    assert sorted(len(group) for group in groups) == [1, 2, 6, 7, 7]
    assert [t for group in groups[:3] for t in group] == [t for t in mixed if t.task in small]


def test_a_failed_restart_does_not_change_the_others() -> None:
    torch.manual_seed(0)
    (task,) = tasks([LeNet(1, size=20) for _ in range(2)], torch.float32, 1)
    broken = copy.deepcopy(task.initial_networks[0])
    with torch.no_grad():
        broken["net"].choose.weight[:] = float("nan")
    mixed = replace(task, initial_networks=(task.initial_networks[0], broken))
    well, failed = advance([Restart(mixed, 0), Restart(mixed, 1)], 1.0)
    (alone,) = advance([Restart(task, 0)], 1.0)
    assert failed.failed is not None
    assert "NaN" in failed.failed
    assert well.score == alone.score
    (best,), _ = successive_halving([mixed])
    assert best is not None
    assert best.failed is None
