"""Trained tests: tests with their networks, for reuse in other trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.data.columns import Kind
from neuid3.errors import ModelFileError
from neuid3.io.container import SavedFile, reporting_damage, write_container
from neuid3.io.networks import NetworkFactories, networks_from_json, networks_to_json, tensors_of
from neuid3.io.serialize import schema_from_json, schema_to_json
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import NodeTest, clauses_behind, test_from_json, test_to_json

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTest:
    """A test of a learned tree with its networks, for reuse as a candidate in other trees.

    Attributes
    ----------
    test : the test.
    networks : its networks, by instance.
    frozen : whether the networks stay unchanged, bit by bit; otherwise joint training (`joint_epochs`) trains them further.
    background : the background knowledge that it was trained with.
    columns : the kinds of the columns that it reads.
    card : documentation as JSON, such as its meaning and scores.
    """

    test: NodeTest
    networks: Mapping[str, nn.Module]
    frozen: bool = True
    background: str = ""
    columns: Mapping[str, Kind] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)

    def thawed(self) -> TrainedTest:
        """The same test with networks that joint training may change."""
        return replace(self, frozen=False)

    def __str__(self) -> str:
        return str(self.test)

    def save(self, path: Path | str) -> Path:
        """Write the test to one file, to be read by `neuid3.load`.

        Parameters
        ----------
        path : the file; an ending is added where there is none.

        Returns
        -------
        The path of the file.
        """
        declared = {instance: name for name, instance in self.test.instances}
        fields = {
            "kind": "test",
            "test": test_to_json(self.test),
            "frozen": self.frozen,
            "columns": schema_to_json(self.columns),
            "card": dict(self.card),
            "networks": networks_to_json(self.networks, declared),
        }
        return write_container(Path(path), SavedFile(fields, self.background, tensors_of(self.networks)))


def restore_test(
    path: Path, saved: SavedFile, networks: NetworkFactories, device: str | torch.device = "cpu"
) -> TrainedTest:
    """The test of a saved file.

    Parameters
    ----------
    path : the file, for error messages.
    saved : its content.
    networks : factories of networks of unregistered classes, by declared name.
    device : the device of its networks.
    """
    fields = saved.fields
    with reporting_damage(path):
        test = test_from_json(fields["test"])
        if not test.atoms:
            raise ModelFileError(
                f"{path} holds the test '{test}' of a column, which cannot be reused by itself; save the test again."
            )
        restored = networks_from_json(fields["networks"], saved.tensors, networks, device)
        columns = schema_from_json(fields["columns"])
        if not isinstance(fields["frozen"], bool) or not isinstance(fields["card"], dict):
            raise ValueError("its field frozen or card is invalid")
        return TrainedTest(test, restored, fields["frozen"], saved.background, columns, fields["card"])


def trained_tests(model: TreeModel) -> list[TrainedTest]:
    """The tests of a tree that are made of atoms of its program, each with its networks and the clauses that it depends on.

    Other clauses may mention columns that the test does not need, and that a later table does not have.
    """
    reusable = [test for test in model.tree.tests if test.atoms]
    tests = []
    for test, clauses in zip(reusable, clauses_behind(reusable, model.program), strict=True):
        names = {s.network for s in sources(test.formula(model.program)) if isinstance(s, NeuralVariable)}
        networks: dict[str, Any] = {name: model.networks[name] for name in sorted(names)}
        columns = {name: model.schema[name] for name in model.columns_of(test) if name in model.schema}
        tests.append(TrainedTest(test, networks, background="".join(f"{c}\n" for c in clauses), columns=columns))
    return tests
