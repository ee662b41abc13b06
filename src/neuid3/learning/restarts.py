"""Number and variants of the restarts of a test: polarity and grayscale warm-up, the likely variants first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import torch_arrays
from neuid3.learning.candidates import shapes_of
from neuid3.learning.grow import OpenNode
from neuid3.learning.sample import Sample
from neuid3.logic.formula import Literal, NeuralVariable, Variable
from neuid3.training.config import TrainingConfig
from neuid3.training.task import RestartVariant
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics

# At the root all tests together have at least so many restarts; but no test has more than twice the configured number.
MIN_ROOT_RESTARTS = 16

# So many where networks have batch normalisation: these leave the saddles that restarts are for.
MIN_NORMALISED_ROOT_RESTARTS = 4


class RestartVariants:
    """Chooses the variants of the restarts of a test.

    Parameters
    ----------
    sample : labelled examples.
    semantics : formulas of the tests.
    config : how networks are trained.
    tests : the number of tests that are trained at the root.
    device : the torch device.
    """

    def __init__(self, sample: Sample, semantics: Semantics, config: TrainingConfig, tests: int, device: str) -> None:
        self.sample, self.semantics, self.config, self.device = sample, semantics, config, device
        self.tests = max(tests, 1)

    def variants(
        self, node: OpenNode, test: NodeTest, inputs: Sequence[str], normalised: bool = False
    ) -> list[RestartVariant]:
        """The variant of each restart of a test at a node.

        Parameters
        ----------
        node : the node.
        test : the test.
        inputs : the columns that its networks read.
        normalised : whether all of its networks have batch normalisation, so that each polarity needs a quarter of the
            configured restarts.
        """
        variants = self._distinct_variants(node, test, inputs)
        restarts = self.config.restarts
        if restarts == 1:
            return variants[:1]
        if normalised:
            variants = [variant for variant in variants if not variant.grayscale_warmup]
            at_root = 0 if node.path else -(-MIN_NORMALISED_ROOT_RESTARTS // self.tests)
            count = max(len(variants), restarts // 4 * len(variants), min(at_root, restarts))
            return [variants[i % len(variants)] for i in range(count)]
        # Of a rule's restarts only those with the right polarity can learn, and a single draw of these may fail by bad luck.
        half = min(restarts, max(2, len(variants), restarts // 2))
        usual = half if self._is_network(test) else restarts
        if node.path:  # there are networks to start from, and fewer examples to compare restarts on
            count = max(usual // 2, min(len(variants), -(-restarts // 2)))
        else:
            # A single test must not depend on a few draws.
            count = max(usual, min(-(-MIN_ROOT_RESTARTS // self.tests), 2 * restarts))
        return [variants[i % len(variants)] for i in range(count)]

    def _distinct_variants(self, node: OpenNode, test: NodeTest, inputs: Sequence[str]) -> list[RestartVariant]:
        """The variants that can make a difference for a test, the likely ones first."""
        shapes = [shape for shape in shapes_of(inputs, self.semantics.program.schema) if len(shape) == 3]
        grayscale = (False, True) if any(shape[0] == 3 for shape in shapes) else (False,)
        # A Boolean network can learn either polarity; a rule cannot.
        polarities = (
            (False,)
            if self._is_network(test)
            else (False, True)
            if self._is_upright_likelier(node, test)
            else (True, False)
        )
        return [RestartVariant(flipped, grey) for flipped in polarities for grey in grayscale]

    def _is_network(self, test: NodeTest) -> bool:
        """Whether a test is a neural predicate by itself."""
        formula = self.semantics.formula(test)
        return isinstance(formula, Literal) and isinstance(formula.variable, NeuralVariable)

    def _is_upright_likelier(self, node: OpenNode, test: NodeTest) -> bool:
        """Whether a rule, under uniform network outputs, is true about as often as examples at the node are positive."""
        if self.config.loss == "branches":
            return True
        training = self.sample.sums(np.where(self.sample.unseen, 0.0, node.reach))
        frequency = self.sample.criterion.positive_fraction(training)
        if frequency is None:
            return True
        reach = Reach(self.semantics.split_conjunctions((), test), torch_arrays(device=self.device))
        chance = float(reach(_UniformEvidence())[0, 0])
        return abs(chance - frequency) <= abs(chance - (1.0 - frequency))


class _UniformEvidence:
    """Evidence of one example in which the values of every variable are equally probable."""

    def __len__(self) -> int:
        return 1

    def weights(self, variable: Variable) -> torch.Tensor:
        return torch.full((variable.size, 1), 1.0 / variable.size, dtype=torch.float64)
