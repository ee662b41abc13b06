"""Every row of the benchmarks can be measured."""

from __future__ import annotations

import json

import pytest

from benchmarks import runner

# Rows that take more than a few seconds even when all is small, or bring heavy packages.
LONG = {"addition_with_carry", "tree_vs_problog", "circuit_vs_klay", "gt_rank_vs_deepproblog", "two_workers_vs_one"}


def measured(name: str) -> list[dict[str, object]]:
    return list(runner.measure([name], quick=True))


def check(name: str) -> None:
    found = measured(name)
    assert found
    for row in found:
        assert "skipped" in row or {"ratio", "bar", "date", "versions", "cores"} <= set(row)
        assert row.get("met") is None  # small sizes say nothing about bars
        json.dumps(row)


@pytest.mark.parametrize("name", sorted(set(runner.BENCHMARKS) - LONG))
def test_a_row_can_be_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUID3_DATA", raising=False)
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG))
def test_a_long_row_can_be_measured(name: str) -> None:
    check(name)
