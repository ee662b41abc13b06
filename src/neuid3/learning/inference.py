"""Exact inference of test responses and path probabilities with the networks trained so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from neuid3.circuits.reach import Reach
from neuid3.data.priors import Priors, network_call_name
from neuid3.learning.sample import Floats, Instance, Sample
from neuid3.learning.semantics import Semantics, variables_of
from neuid3.logic.formula import CellVariable, ColumnVariable, NeuralVariable, Variable
from neuid3.tree.evidence import Evidence, NetworkCall
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Path

# The most examples that a circuit evaluates at once.
CHUNK_ROWS = 1 << 18


class ExactInference:
    """Exact probabilities of tests and paths; holds the network instances, their outputs and their average outputs.

    Parameters
    ----------
    sample : labelled examples.
    semantics : formulas and network calls of the tests.
    instances : trained networks, by name.
    priors : distributions of missing values; those of networks are added as they are needed.
    device : the torch device.
    """

    def __init__(
        self, sample: Sample, semantics: Semantics, instances: Mapping[str, Instance], priors: Priors, device: str
    ) -> None:
        self.sample, self.semantics, self.device = sample, semantics, device
        self.instances = dict(instances)
        self.priors = priors
        declarations = semantics.program.declarations
        self.evidence = Evidence(sample.examples, self._modules(), declarations, priors, torch.float64, device)

    def _modules(self) -> dict[str, nn.Module]:
        """The modules of all instances, in evaluation mode."""
        return {name: instance.module.eval() for name, instance in self.instances.items()}

    def add_instances(self, instances: Mapping[str, Instance]) -> None:
        """Add network instances, by name."""
        if instances:
            self.instances.update(instances)
            self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def replace_networks(self, networks: Mapping[str, nn.Module]) -> None:
        """Replace the modules of instances that were trained further, and drop their average outputs."""
        for name, net in networks.items():
            self.instances[name] = replace(self.instances[name], module=net)
        unchanged = {use: p for use, p in self.priors.networks.items() if use.split("(")[0] not in networks}
        self.priors = Priors(self.priors.columns, unchanged)
        self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def was_trained_on(self, path: Path) -> bool:
        """Whether a test of this path calls a network on a column that it was trained on."""
        calls = [call for test, _ in path for call in self.semantics.calls(test)]
        return any(bool(self.instances[call.network].trained_on & frozenset(call.inputs)) for call in calls)

    def conditional(self, path: Path, test: NodeTest, rows: Any = None) -> Floats:
        """P(τ | κ, e) of the examples of these rows, by default of all, `(example,)`; one half where κ is impossible."""
        self.ensure_priors([test, *(other for other, _ in path)])
        factored = self.semantics.split_conjunctions(path, test)
        reach = Reach(factored, torch.float64, self.device)
        responses = np.full(len(self.evidence) if rows is None else len(rows), 0.5)
        with torch.no_grad():
            for chunk, evidence in self._chunks(variables_of(factored), rows):
                sides = reach(evidence).cpu().numpy()
                total = sides.sum(axis=1)
                np.divide(sides[:, 0], total, out=responses[chunk], where=total > 0)
        return responses

    def reach(self, paths: Sequence[Path], rows: Any = None) -> Floats:
        """P(κ | e) of several paths for the examples of these rows, by default for all, `(example, path)`."""
        self.ensure_priors([test for path in paths for test, _ in path])
        factored = self.semantics.conjunctions(paths)
        reach = Reach(factored, torch.float64, self.device)
        probabilities = np.empty((len(self.evidence) if rows is None else len(rows), len(paths)))
        with torch.no_grad():
            for chunk, evidence in self._chunks(variables_of(factored), rows):
                probabilities[chunk] = reach(evidence).cpu().numpy()
        return probabilities

    def _chunks(self, variables: Sequence[Variable], rows: Any) -> Iterator[tuple[slice, Evidence]]:
        """The evidence of some examples about these variables, in chunks: a circuit holds many numbers for each example."""
        n = len(self.evidence) if rows is None else len(rows)
        if rows is None and n <= CHUNK_ROWS:
            yield slice(None), self.evidence
            return
        columns = [v.column for v in variables if isinstance(v, (ColumnVariable, CellVariable))]
        calls = [self.semantics.call(v) for v in variables if isinstance(v, NeuralVariable)]
        for start in range(0, n, CHUNK_ROWS):
            chunk = slice(start, min(start + CHUNK_ROWS, n))
            yield chunk, self.evidence.subset(chunk if rows is None else rows[chunk], columns, calls)

    def value_probabilities(self, variable: Variable, rows: Any) -> Iterator[tuple[slice, Floats]]:
        """The probabilities of the values of a variable in these rows, `(value, example)`, chunk by chunk."""
        for chunk, evidence in self._chunks([variable], rows):
            yield chunk, evidence.weights(variable).cpu().numpy()

    def fixed_weights(self, variables: Iterable[Variable], rows: Any) -> dict[Variable, Floats]:
        """The weights of variables that are constant while networks are trained, `(value, example)` each."""
        variables = list(variables)
        for variable in variables:
            if isinstance(variable, NeuralVariable):
                self._ensure_prior(self.semantics.call(variable))
        with torch.no_grad():
            return {v: self.evidence.weights(v)[:, rows].float().cpu().numpy() for v in variables}

    def ensure_priors(self, tests: Sequence[NodeTest], always: bool = False) -> None:
        """Compute the average output of every network whose input is missing somewhere, or of all of them."""
        for test in tests:
            for call in self.semantics.calls(test):
                self._ensure_prior(call, always)

    def _ensure_prior(self, call: NetworkCall, always: bool = False) -> None:
        """Compute the average output of a network call, where some input is missing or `always`, unless it is known."""
        key = network_call_name(call.network, call.inputs)
        complete = self.sample.examples.complete(call.inputs)
        if key not in self.priors.networks and call.network in self.instances and (always or not complete.all()):
            average = self._average_output(call, complete)
            self.priors = Priors(self.priors.columns, {**self.priors.networks, key: average})
            self.evidence.priors = self.priors
            self._call(call, np.ones(len(complete), dtype=bool))

    def _average_output(self, call: NetworkCall, complete: Any) -> tuple[float, ...]:
        """The average output of a network over the training examples; it is called on no example twice."""
        rows = np.flatnonzero(~self.sample.unseen & complete)
        if not len(rows):
            return tuple([1.0 / max(call.width, 2)] * call.width)
        self._call(call, complete)
        outputs = self.evidence.output(*call).cpu().numpy()[rows]
        return tuple(np.average(outputs, axis=0, weights=self.sample.weights[rows]).tolist())

    def _call(self, call: NetworkCall, rows: Any) -> None:
        """Call a network on the examples of a mask, without gradients."""
        with torch.no_grad():
            self.evidence.evaluate(call, rows)
