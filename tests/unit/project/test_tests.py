"""The tests themselves: folders mirror the packages, and unit tests train no network."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from neuid3.networks.adam import Adam

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = {path.name for path in (ROOT / "src" / "neuid3").iterdir() if (path / "__init__.py").exists()}
FOLDERS |= {"experiments", "benchmarks", "project"}


def test_folders_of_tests_are_named_after_packages() -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        kind, folder, _ = path.relative_to(ROOT / "tests").parts
        assert kind in ("unit", "integration"), path
        assert folder in FOLDERS, path


def test_a_step_of_an_optimizer_of_pytorch_fails_a_unit_test() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.sum().backward()
    with pytest.raises(pytest.fail.Exception, match="trains a network"):
        torch.optim.SGD([parameter], 0.1).step()
    assert parameter.tolist() == [1.0, 1.0]


def test_a_step_of_a_group_of_networks_fails_a_unit_test() -> None:
    parameter = torch.ones(2, 3, requires_grad=True)
    parameter.sum().backward()
    with pytest.raises(pytest.fail.Exception, match="trains a network"):
        Adam([parameter]).step(1, [0.1, 0.1])
