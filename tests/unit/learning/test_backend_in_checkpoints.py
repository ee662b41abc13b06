"""The backend in the digests of a checkpoint: its name counts, not the object."""

from __future__ import annotations

from neuid3.learning.checkpoint import fit_digests
from neuid3.networks import Backend, TorchBackend
from neuid3.training import TrainingConfig


class Named(TorchBackend):
    """A user's backend, whose `repr` differs from object to object."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._name  # type: ignore[attr-defined,no-any-return]

    def __repr__(self) -> str:
        return f"<Named at {id(self)}>"


def digest(backend: str | Backend, **settings: int) -> str:
    (value,) = fit_digests({"training": TrainingConfig(backend=backend, **settings)}, {}).values()
    return value


def test_the_name_of_a_backend_stands_for_it() -> None:
    assert digest(Named("mine")) == digest(Named("mine")) == digest("mine")
    assert fit_digests({"it": Named("mine")}, {}) == fit_digests({"it": "mine"}, {})
    assert len({digest(Named("mine")), digest("torch"), digest("auto"), digest("auto", epochs=3)}) == 4
