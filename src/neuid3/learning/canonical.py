"""Canonical candidates: of tests that are one test up to the names of networks and values, the first form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.forms import equivalence_classes
from neuid3.identifiability.symmetries import Deadline
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.sample import architecture_of
from neuid3.tree.node_tests import NodeTest

# The search for equivalent forms among the candidates of a node ends after so many seconds; those that were not compared
# count as different, which costs training time only.
SECONDS = 10.0


class CanonicalCandidates:
    """Finds the first form of each candidate, as long as networks have no meaning yet.

    Two tests on the same columns whose networks are free can learn the same splits where a renaming of networks of one
    architecture, and of their values, turns one into the other. Only the first one is trained. Once the tree calls a
    network, its values have a meaning, and so have those that somebody labelled.

    Parameters
    ----------
    inference : knows which networks are trained.
    initializer : creates networks, to compare architectures.
    """

    def __init__(self, inference: ExactInference, initializer: NetworkInitializer) -> None:
        self.inference, self.initializer = inference, initializer
        self._kinds: dict[str, Hashable] = {}
        self._classes: dict[tuple[tuple[NodeTest, ...], frozenset[str]], list[list[NodeTest]]] = {}

    def first_forms(self, tests: Sequence[NodeTest]) -> list[NodeTest]:
        """The first test of each class of equivalent ones, in their order.

        Parameters
        ----------
        tests : tests with networks.

        Returns
        -------
        Some of the tests.
        """
        return [members[0] for members in self.classes(tests)]

    def classes(self, tests: Sequence[NodeTest]) -> list[list[NodeTest]]:
        """The tests in classes of equivalent ones, each class and the classes in their order.

        Parameters
        ----------
        tests : tests with networks.

        Returns
        -------
        The classes.
        """
        calls = {call.network: call for test in tests for call in self.inference.semantics.calls(test)}
        known = {*self.inference.instances, *self.inference.bindings}
        key = tuple(tests), frozenset(known.intersection(calls))
        if key not in self._classes:
            fixed: dict[str, Iterable[int]] = {
                name: {int(value) for value in labels.values}
                for name, labels in self.inference.sample.anchors.items()
                if name in calls
            }
            fixed |= {name: range(max(call.width, 2)) for name, call in calls.items() if name in known}
            for name, call in calls.items():
                if name not in known and name not in self._kinds:
                    self._kinds[name] = architecture_of(self.initializer.template(call))
            self._classes[key] = self._compared(tests, fixed)
        return self._classes[key]

    def _compared(self, tests: Sequence[NodeTest], fixed: Mapping[str, Iterable[int]]) -> list[list[NodeTest]]:
        program = self.inference.semantics.program
        try:
            return equivalence_classes(tests, program, fixed=fixed, kinds=self._kinds, deadline=Deadline.after(SECONDS))
        except (SearchLimitError, CircuitLimitError, GroundingLimitError):
            return [[test] for test in tests]
