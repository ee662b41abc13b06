"""A plugin for an environment without PyTorch, `pytest -p without_torch`: what needs it is skipped, and all else runs."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

REASON = "PyTorch is not installed"
OURS = {"neuid3", "experiments", "benchmarks", "tests"}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    before = set(sys.modules)
    report = yield
    if report.failed and "No module named 'torch'" in str(report.longrepr):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, REASON)
        # pytest leaves a module that it could not import, and its package, among those that are imported.
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in OURS:
                del sys.modules[name]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo is not None and "No module named 'torch'" in str(report.longrepr):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, REASON)
    return report
