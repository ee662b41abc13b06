"""Model files of JSON, ProbLog text and safetensors, which are loaded without running code, and the bank of trained tests."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.io.bank import Bank
    from neuid3.io.models import restore_model, save_model
    from neuid3.io.network_modules import register
    from neuid3.io.trained_tests import TrainedTest

__all__ = ["Bank", "TrainedTest", "register", "restore_model", "save_model"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.io.bank": ["Bank"],
        "neuid3.io.models": ["restore_model", "save_model"],
        "neuid3.io.network_modules": ["register"],
        "neuid3.io.trained_tests": ["TrainedTest"],
    },
)
