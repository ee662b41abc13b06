"""How many generated cases: a few in `make test-unit`, some in `make test`, thousands in `make test-all`.

The environment variable `NEUID3_EXAMPLES` is `few`, `some` (the default) or `all`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from neuid3.logic import sandbox

# Helpers have no doctests; collected for these, they would be imported a second time and register their classes again.
collect_ignore = ["helpers"]

AMOUNT = os.environ.get("NEUID3_EXAMPLES", "some")

for name, count in {"few": 10, "some": 40, "all": 1000}.items():
    settings.register_profile(
        name, max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), derandomize=name != "all"
    )
settings.load_profile(AMOUNT)

# Of the cases that a test numbers itself.
FEW_SEEDS = 8


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out generated cases beyond the first few where few are asked for."""
    if AMOUNT != "few":
        return
    parameters = {item: getattr(getattr(item, "callspec", None), "params", {}) for item in items}
    beyond = [item for item in items if isinstance(seed := parameters[item].get("seed"), int) and seed >= FEW_SEEDS]
    left_out = set(beyond)
    config.hook.pytest_deselected(items=beyond)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def child_ends_before_coverage_is_counted() -> Iterator[None]:
    yield
    sandbox.stop()


@pytest.fixture(params=["kernel", "torch"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With the compiled kernel, and with torch's own operations."""
    from neuid3.utils import kernel

    variants, reason = kernel.runnable_variants()
    if request.param == "kernel" and not variants:
        pytest.skip(reason)
    monkeypatch.setenv("NEUID3_KERNEL", "off" if request.param == "torch" else "on")
    kernel.clear_choice()
    yield request.param
    kernel.clear_choice()
