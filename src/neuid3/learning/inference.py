"""What do tests say of every example, exactly? With the networks that are there so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from neuid3.circuits.reach import Reach
from neuid3.data.priors import Priors, network_use
from neuid3.learning.sample import Floats, Instance, Sample
from neuid3.learning.semantics import Semantics, variables_of
from neuid3.logic.formula import CellVariable, ColumnVariable, NeuralVariable, Variable
from neuid3.tree.evidence import Evidence, NetworkCall
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Path

# So many examples go through a circuit at once.
PART = 1 << 18


class ExactInference:
    """Exact answers to tests; the only place where networks come in, and what they see, and see on average."""

    def __init__(
        self, sample: Sample, meaning: Semantics, instances: Mapping[str, Instance], priors: Priors, device: str
    ) -> None:
        self.sample, self.meaning, self.device = sample, meaning, device
        self.instances = dict(instances)
        self.priors = priors
        declarations = meaning.program.declarations
        self.evidence = Evidence(sample.examples, self._modules(), declarations, priors, torch.float64, device)

    def _modules(self) -> dict[str, nn.Module]:
        return {name: instance.module.eval() for name, instance in self.instances.items()}

    def keep(self, instances: Mapping[str, Instance]) -> None:
        """Look through these networks as well from now on."""
        if instances:
            self.instances.update(instances)
            self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def move(self, networks: Mapping[str, nn.Module]) -> None:
        """Networks that were trained further take the place of what they were, and their averages are forgotten."""
        for name, net in networks.items():
            self.instances[name] = replace(self.instances[name], module=net)
        kept = {use: p for use, p in self.priors.networks.items() if use.split("(")[0] not in networks}
        self.priors = Priors(self.priors.columns, kept)
        self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def has_seen(self, path: Path) -> bool:
        """Does a test of this path look through a network at examples that it was trained on?"""
        looks = [look for test, _ in path for look in self.meaning.looks(test)]
        return any(bool(self.instances[look.network].read & frozenset(look.inputs)) for look in looks)

    def conditional(self, path: Path, test: NodeTest, rows: Any = None) -> Floats:
        """P(τ | κ, e), exactly, for the examples of these rows, by default for all; one half where κ is impossible."""
        self.know([test, *(asked for asked, _ in path)])
        factored = self.meaning.sides(path, test)
        reach = Reach(factored, torch.float64, self.device)
        answers = np.full(len(self.evidence) if rows is None else len(rows), 0.5)
        with torch.no_grad():
            for part, evidence in self._in_parts(variables_of(factored), rows):
                sides = reach(evidence).cpu().numpy()
                total = sides.sum(axis=1)
                np.divide(sides[:, 0], total, out=answers[part], where=total > 0)
        return answers

    def reach(self, paths: Sequence[Path], rows: Any = None) -> Floats:
        """P(κ | e) of several paths, exactly, for the examples of these rows, by default for all, `(example, path)`."""
        self.know([test for path in paths for test, _ in path])
        factored = self.meaning.conjunctions(paths)
        reach = Reach(factored, torch.float64, self.device)
        found = np.empty((len(self.evidence) if rows is None else len(rows), len(paths)))
        with torch.no_grad():
            for part, evidence in self._in_parts(variables_of(factored), rows):
                found[part] = reach(evidence).cpu().numpy()
        return found

    def _in_parts(self, variables: Sequence[Variable], rows: Any) -> Iterator[tuple[slice, Evidence]]:
        """What these variables are in some examples, in parts where there are many: a circuit holds many numbers for each."""
        n = len(self.evidence) if rows is None else len(rows)
        if rows is None and n <= PART:
            yield slice(None), self.evidence
            return
        columns = [v.column for v in variables if isinstance(v, (ColumnVariable, CellVariable))]
        looks = [self.meaning.look(v) for v in variables if isinstance(v, NeuralVariable)]
        for start in range(0, n, PART):
            part = slice(start, min(start + PART, n))
            yield part, self.evidence.subset(part if rows is None else rows[part], columns, looks)

    def values(self, variable: Variable, rows: Any) -> Iterator[tuple[slice, Floats]]:
        """How probable the values of a variable are in some examples, `(value, example)`, part by part."""
        for part, evidence in self._in_parts([variable], rows):
            yield part, evidence.weights(variable).cpu().numpy()

    def fixed(self, variables: Iterable[Variable], rows: Any) -> dict[Variable, Floats]:
        """The weights of variables that do not change while networks are trained, `(value, example)`."""
        variables = list(variables)
        for variable in variables:
            if isinstance(variable, NeuralVariable):
                self._know(self.meaning.look(variable))
        with torch.no_grad():
            return {v: self.evidence.weights(v)[:, rows].float().cpu().numpy() for v in variables}

    def know(self, tests: Sequence[NodeTest], always: bool = False) -> None:
        """See to the average output of every network whose input is missing somewhere, or `always`."""
        for test in tests:
            for look in self.meaning.looks(test):
                self._know(look, always)

    def _know(self, look: NetworkCall, always: bool = False) -> None:
        key = network_use(look.network, look.inputs)
        whole = self.sample.examples.complete(look.inputs)
        if key not in self.priors.networks and look.network in self.instances and (always or not whole.all()):
            average = self._average(look, whole)
            self.priors = Priors(self.priors.columns, {**self.priors.networks, key: average})
            self.evidence.priors = self.priors
            self._show(look, np.ones(len(whole), dtype=bool))

    def _average(self, look: NetworkCall, whole: Any) -> tuple[float, ...]:
        """What a network says on average of the examples it may train on; it looks at no example twice."""
        rows = np.flatnonzero(~self.sample.unseen & whole)
        if not len(rows):
            return tuple([1.0 / max(look.width, 2)] * look.width)
        self._show(look, whole)
        outputs = self.evidence.output(*look).cpu().numpy()[rows]
        return tuple(np.average(outputs, axis=0, weights=self.sample.weights[rows]).tolist())

    def _show(self, look: NetworkCall, wanted: Any) -> None:
        with torch.no_grad():
            self.evidence.evaluate(look, wanted)
