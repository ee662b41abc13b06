"""Exact inference for the training examples of a fit, with the networks trained so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neuid3.circuits.arrays import Arrays
from neuid3.circuits.conjunctions import Conjunctions
from neuid3.circuits.shapes import ShapedCircuit
from neuid3.data.columns import Distribution, Probability
from neuid3.data.priors import Priors, network_call_name
from neuid3.learning.candidates import shapes_of
from neuid3.learning.sample import Floats, Instance, Sample
from neuid3.logic.expressions import Expression
from neuid3.logic.formula import ColumnVariable, NeuralVariable, QueryVariable, Source, Variable
from neuid3.tree.calculations import expression_prior, expression_values
from neuid3.tree.inference import Inference, average_output
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall, Semantics
from neuid3.tree.tree import Path

if TYPE_CHECKING:
    from torch import nn

# Queries over parts whose circuit for some example has more nodes are no candidates: each takes a second to compile and to
# evaluate, and there are hundreds. Of seven cards, that two have one of 13 ranks takes 4,000.
MAX_NODES = 20_000


class ExactInference:
    """Exact probabilities of tests and paths; holds the network instances, their outputs and their average outputs.

    Parameters
    ----------
    sample : labelled examples.
    semantics : formulas and network calls of the tests.
    instances : trained networks, by name.
    priors : distributions of missing values; those of networks are added as they are needed.
    device : the torch device.
    arrays : the array library that evaluates circuits; torch where a candidate calls a network.
    """

    def __init__(
        self,
        sample: Sample,
        semantics: Semantics,
        instances: Mapping[str, Instance],
        priors: Priors,
        device: str,
        arrays: Arrays,
    ) -> None:
        self.sample, self.semantics, self.device = sample, semantics, device
        self.core = Inference(semantics, arrays)
        self.instances = dict(instances)
        self.priors = priors
        self.evidence = self.core.evidence(sample.examples, self._modules(), priors)
        self.bindings: dict[str, str] = {}  # the one instance of each declared network that the tree calls
        self._uncertain: dict[NodeTest, frozenset[Source]] = {}
        self._last_split: tuple[Path, NodeTest, Conjunctions] | None = None

    def bound(self, test: NodeTest) -> NodeTest:
        """A test with the instances of its networks that the tree calls already; other networks stay as declared."""
        calls = self.semantics.calls(test)
        bindings = {
            name: self.bindings[name]
            for name in {call.network for call in calls}
            if name in self.bindings
            and all(self.can_read(self.bindings[name], call.inputs) for call in calls if call.network == name)
        }
        return test.bind({**dict(test.instances), **bindings}) if bindings else test

    def can_read(self, instance: str, columns: Iterable[str]) -> bool:
        """Whether an instance was trained on columns of the shapes of these, or came trained."""
        schema, trained_on = self.sample.examples.schema, self.instances[instance].trained_on
        return not trained_on or set(shapes_of(columns, schema)) <= set(shapes_of(trained_on, schema))

    def _modules(self) -> dict[str, nn.Module]:
        """The modules of all instances, in evaluation mode."""
        return {name: instance.module.eval() for name, instance in self.instances.items()}

    def add_instances(self, instances: Mapping[str, Instance]) -> None:
        """Add network instances, by name."""
        if instances:
            self.instances.update(instances)
            self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def set_instances(self, instances: Mapping[str, Instance]) -> None:
        """Go back to the instances of another time; the average outputs of modules that differ are dropped."""
        changed = {n for n, i in self.instances.items() if n not in instances or instances[n].module is not i.module}
        self.instances = dict(instances)
        unchanged = {use: p for use, p in self.priors.networks.items() if use.split("(")[0] not in changed}
        self.priors = replace(self.priors, networks=unchanged)
        self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def replace_networks(self, networks: Mapping[str, nn.Module]) -> None:
        """Replace the modules of instances that were trained further, and drop their average outputs."""
        self.replace_instances({name: replace(self.instances[name], module=net) for name, net in networks.items()})

    def replace_instances(self, instances: Mapping[str, Instance]) -> None:
        """Replace or add instances, and drop the average outputs of those that there were."""
        self.instances.update(instances)
        unchanged = {use: p for use, p in self.priors.networks.items() if use.split("(")[0] not in instances}
        self.priors = replace(self.priors, networks=unchanged)
        self.evidence = self.evidence.with_networks(self._modules(), self.priors)

    def was_trained_on(self, path: Path) -> bool:
        """Whether a test of this path calls a network on a column that it was trained on."""
        calls = [call for test, _ in path for call in self.semantics.calls(test)]
        return any(bool(self.instances[call.network].trained_on & frozenset(call.inputs)) for call in calls)

    def uncertain(self, test: NodeTest) -> frozenset[Source]:
        """The variables of a test that are not certain for every example."""
        if test not in self._uncertain:
            self._uncertain[test] = frozenset(
                source for source in self.semantics.sources(test) if not self._is_certain(source)
            )
        return self._uncertain[test]

    def _is_certain(self, source: Source) -> bool:
        match source:
            case str(name) | ColumnVariable(name):
                column = self.sample.examples.column(name)
                return column.missing is None and not isinstance(column.kind, (Probability, Distribution))
            case Expression() as expression:
                complete = self.sample.examples.complete(expression.columns)
                return bool((expression_values(expression, self.sample.examples)[1] | ~complete).all())
            case _:
                return isinstance(source, QueryVariable)

    def is_small(self, path: Path, test: NodeTest) -> bool:
        """Whether a test on a path can be scored in little time: the circuits of all examples are small."""
        circuits = self._split(path, test).circuits
        shaped = (circuit for circuit in circuits if isinstance(circuit, ShapedCircuit))
        return all(circuit.is_small(self.evidence, self.core.arrays, MAX_NODES) for circuit in shaped)

    def conditional(self, path: Path, test: NodeTest, rows: Any = None) -> Floats:
        """P(τ | κ, e) of the examples of these rows, by default of all, `(example,)`; one half where κ is impossible."""
        self.ensure_priors([test, *(other for other, _ in path)])
        return self.core.conditional(self.evidence, path, test, rows, self._split(path, test))

    def _split(self, path: Path, test: NodeTest) -> Conjunctions:
        """κ∧τ and κ∧¬τ; the last ones are kept, since their size is asked for before their probabilities."""
        if self._last_split is None or self._last_split[:2] != (path, test):
            self._last_split = path, test, self.semantics.split_conjunctions(path, test)
        return self._last_split[2]

    def reach(self, paths: Sequence[Path], rows: Any = None) -> Floats:
        """P(κ | e) of several paths for the examples of these rows, by default for all, `(example, path)`."""
        self.ensure_priors([test for path in paths for test, _ in path])
        return self.core.reach(self.evidence, paths, rows)

    def value_probabilities(self, variable: Variable, rows: Any) -> Iterator[tuple[slice, Floats]]:
        """The probabilities of the values of a variable in these rows, `(value, example)`, chunk by chunk."""
        return self.core.value_probabilities(self.evidence, variable, rows)

    def fixed_weights(self, variables: Iterable[Variable], rows: Any) -> dict[Variable, Floats]:
        """The weights of variables that are constant while networks are trained, `(value, example)` each."""
        variables, arrays = list(variables), self.core.arrays
        for variable in variables:
            if isinstance(variable, NeuralVariable):
                self._ensure_prior(self.semantics.call(variable))
        with arrays.without_gradients():
            return {v: arrays.to_numpy(self.evidence.weights(v)[:, rows]).astype(np.float32) for v in variables}

    def ensure_priors(self, tests: Sequence[NodeTest], always: bool = False) -> None:
        """Compute the average output of every network whose input is missing somewhere, or of all of them."""
        for test in tests:
            for call in self.semantics.calls(test):
                self._ensure_prior(call, always)
            for source in self.semantics.sources(test):
                if isinstance(source, Expression):
                    self._ensure_expression_prior(source, always)

    def _ensure_expression_prior(self, expression: Expression, always: bool) -> None:
        """Compute the distribution of an expression that may be undefined, unless it is known."""
        if str(expression) in self.priors.expressions:
            return
        if always or not self._is_certain(expression) or any(map(self.evidence.is_missing, expression.columns)):
            prior = expression_prior(expression, self.sample.examples, self.sample.weights)
            self.priors = replace(self.priors, expressions={**self.priors.expressions, str(expression): prior})
            self.evidence.priors = self.priors

    def _ensure_prior(self, call: NetworkCall, always: bool = False) -> None:
        """Compute the average output of a network call, where some input is missing or `always`, unless it is known."""
        key = network_call_name(call.network, call.inputs)
        complete = self.sample.examples.complete(call.inputs)
        if key not in self.priors.networks and call.network in self.instances and (always or not complete.all()):
            average = self._average_output(call, complete)
            self.priors = replace(self.priors, networks={**self.priors.networks, key: average})
            self.evidence.priors = self.priors
            with self.core.arrays.without_gradients():
                self.evidence.evaluate(call, np.ones(len(complete), dtype=bool))

    def _average_output(self, call: NetworkCall, complete: Any) -> tuple[float, ...]:
        """The average output of a network over the training examples; it is called on no example twice."""
        if not (~self.sample.unseen & complete).any():
            return average_output(np.empty((0, call.width)))
        rows, outputs = self.core.outputs(self.evidence, call)
        training = ~self.sample.unseen[rows]
        return average_output(outputs[training], self.sample.weights[rows[training]])
