"""What is a trained test? An atom with the networks it looks through, which can be asked in the next tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from neuid3.data.columns import Kind
from neuid3.errors import ModelFileError
from neuid3.io.container import SavedFile, reporting_damage, write
from neuid3.io.networks import NetworkFactories, network_to_json, networks_from_json, tensors_of
from neuid3.io.serialize import schema_from_json, schema_to_json, test_from_json, test_to_json
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTest:
    """A test taken out of a tree with its networks, to be asked in the next one.

    Frozen networks stay as they are, bit by bit; with `thawed()` they are trained further when the next tree is
    trained as one (`joint_epochs`). `background` and `columns` say what it was trained over; `card`, in any words, what it
    means and how good it is.
    """

    test: AtomTest
    networks: Mapping[str, nn.Module]
    frozen: bool = True
    background: str = ""
    columns: Mapping[str, Kind] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)

    def thawed(self) -> TrainedTest:
        """The same test with networks that may be trained further."""
        return replace(self, frozen=False)

    def __str__(self) -> str:
        return str(self.test)

    def save(self, path: Path | str) -> Path:
        """Write the test to one file, from which `neuid3.load` makes it again."""
        declared = {instance: name for name, instance in self.test.instances}
        words = {
            "kind": "test",
            "test": test_to_json(self.test),
            "frozen": self.frozen,
            "columns": schema_to_json(self.columns),
            "card": dict(self.card),
            "networks": {name: network_to_json(net, declared.get(name, name)) for name, net in self.networks.items()},
        }
        return write(Path(path), SavedFile(words, self.background, tensors_of(self.networks)))


def trained_test(
    path: Path, saved: SavedFile, networks: NetworkFactories, device: str | torch.device = "cpu"
) -> TrainedTest:
    """The test that a file tells of."""
    words = saved.words
    with reporting_damage(path):
        test = test_from_json(words["test"])
        if not isinstance(test, AtomTest):
            raise ModelFileError(f"{path} holds the test '{test}', which is no atom; save the test again.")
        made = networks_from_json(words["networks"], saved.tensors, networks, device)
        columns = schema_from_json(words["columns"])
        if not isinstance(words["frozen"], bool) or not isinstance(words["card"], dict):
            raise ValueError("it does not say whether it is frozen, or what it means")
        return TrainedTest(test, made, words["frozen"], saved.background, columns, words["card"])


def trained_tests(model: TreeModel) -> list[TrainedTest]:
    """The tests of a tree that are atoms, each with its networks and the knowledge behind it."""
    found = []
    for test in model.tree.tests:
        if isinstance(test, AtomTest):
            names = {s.network for s in sources(test.formula(model.program)) if isinstance(s, NeuralVariable)}
            networks: dict[str, Any] = {name: model.networks[name] for name in sorted(names)}
            columns = {name: model.schema[name] for name in model.columns_of(test)}
            found.append(TrainedTest(test, networks, background=model.program.text, columns=columns))
    return found
