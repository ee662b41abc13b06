"""How many generated cases: few in `make test`, thousands in `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from neuid3.logic import sandbox

EVERYTHING = os.environ.get("NEUID3_EXAMPLES") == "all"

_common = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": not EVERYTHING}
settings.register_profile("quick", max_examples=60, **_common)
settings.register_profile("all", max_examples=1000, **_common)
settings.load_profile("all" if EVERYTHING else "quick")


@pytest.fixture(scope="session", autouse=True)
def child_ends_before_coverage_is_counted() -> Iterator[None]:
    yield
    sandbox.stop()
