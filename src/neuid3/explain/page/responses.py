"""What does the tree say of every example, and what do its networks see in it?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.reach import Reach
from neuid3.data.examples import Examples
from neuid3.tree.descent import Descent, conjunctions
from neuid3.tree.evidence import Evidence, NetworkCall
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import Branch, Leaf, Node, Path, node_paths

Floats = npt.NDArray[np.float64]

# A branch that an example reaches with less is not shown to that branch's networks. The page rounds to 1 in 10,000, and
# the networks of fifteen branches need not look at everything.
SPARE = 1e-4
BATCH = 4096


@dataclass(frozen=True, slots=True)
class PageNode:
    """A node of the tree and the way there."""

    number: int
    path: Path
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Which value a network calls each example that it was shown, by its index, and how sure it is."""

    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    sureness: Floats

    def by_row(self) -> dict[int, int]:
        """The value of each row."""
        return dict(zip(self.rows.tolist(), self.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PageResponses:
    """P(node | e) for every node, `(example, node)`, and what the networks called what they saw."""

    places: tuple[PageNode, ...]
    reach: Floats
    calls: dict[NetworkCall, Calls]

    @property
    def leaves(self) -> list[int]:
        return [place.number for place in self.places if isinstance(place.node, Leaf)]

    def classes(self) -> Floats:
        """P(class | e), `(example, class)`."""
        known = np.array([place.node.probabilities for place in self.places if isinstance(place.node, Leaf)])
        return np.asarray(self.reach[:, self.leaves] @ known)

    def sides(self, place: PageNode) -> tuple[int, int]:
        """The numbers of a branch's two children, yes before no."""
        assert isinstance(place.node, Branch)
        yes = place.number + 1
        return yes, yes + self._sizes[yes]

    @cached_property
    def _sizes(self) -> list[int]:
        """How many nodes each subtree has, by the number of its root."""
        sizes = [1] * len(self.places)
        for place in reversed(self.places):
            if isinstance(place.node, Branch):
                yes = place.number + 1
                sizes[place.number] += sizes[yes] + sizes[yes + sizes[yes]]
        return sizes

    def answers(self, place: PageNode) -> Floats:
        """P(yes | the branch is reached, e) for every example; NaN where it is not reached."""
        yes, no = (self.reach[:, side] for side in self.sides(place))
        reached = yes + no
        found: Floats = np.divide(yes, reached, out=np.full(len(yes), np.nan), where=reached > 0)
        return found


def page_responses(model: TreeModel, examples: Examples) -> PageResponses:
    """Run the tree over all examples; every network looks once at each example that gets to it."""
    places = tuple(PageNode(number, path, node) for number, (path, node) in enumerate(node_paths(model.tree.root)))
    reach = Reach(conjunctions([place.path for place in places], model.program), model.dtype, model.device)
    descent = Descent(model.tree.root, model.program, model.dtype, model.device)
    reached: list[Floats] = []
    called: dict[NetworkCall, list[Calls]] = {look: [] for look in sorted(model.uses)}
    with model.evaluating(), torch.no_grad():
        for start in range(0, len(examples), BATCH):
            evidence = model.evidence(examples[start : start + BATCH])
            descent(evidence, SPARE)
            reached.append(reach(evidence).cpu().numpy().astype(np.float64))
            for look, found in called.items():
                found.append(_calls(evidence, look, start))
    return PageResponses(places, np.concatenate(reached), {look: _joined(found) for look, found in called.items()})


def _calls(evidence: Evidence, look: NetworkCall, start: int) -> Calls:
    """What a network calls the examples of a batch that it was shown and that are there."""
    network, inputs, width = look
    rows = np.flatnonzero(evidence.looked(look) & evidence.examples.complete(inputs))
    said = evidence.output(network, inputs, width).cpu().numpy()[rows]
    weights = np.hstack((1.0 - said, said)) if width == 1 else said
    return Calls(rows + start, weights.argmax(axis=1), weights.max(axis=1).astype(np.float64))


def _joined(parts: list[Calls]) -> Calls:
    return Calls(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.sureness for part in parts]),
    )
