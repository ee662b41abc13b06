"""Unit tests train no network: a step of an optimizer, in a test or in a fixture that it needs, fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

try:
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    from neuid3.networks.adam import Adam
except ModuleNotFoundError:  # without PyTorch nothing can be trained
    Adam = None


FOLDER = Path(__file__).parent


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Fail the running test; the outcome is no `Exception`, so that nothing that reports failed restarts catches it."""
    pytest.fail("This test trains a network; move it to the integration tests of its package.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    # This hook runs for the tests of all folders.
    if Adam is None or not item.path.is_relative_to(FOLDER):
        return (yield)
    # Fixtures of a module are set up within the protocol of the first test that needs them.
    hook = register_optimizer_step_pre_hook(refuse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Adam, "step", refuse)
        try:
            return (yield)
        finally:
            hook.remove()
