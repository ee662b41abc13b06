"""Symmetries and rewritings of a tree: what its structure alone leaves open."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.rewriting_search import Rewriting, rewritings
from neuid3.identifiability.symmetries import (
    Deadline,
    Images,
    PairOfFunctions,
    SymmetryGroup,
    interchangeable_values,
    moves,
    symmetry_group,
)
from neuid3.logic.formula import Formula
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Symmetries and rewritings of a tree, as far as they were found within the limits.

    Attributes
    ----------
    group : the value permutations that never change a prediction; None where it was not found in time.
    classes : for each network its values in classes, any permutation of which has no effect.
    rewritings : trees of other candidates that say the same.
    companions : for a network and a permutation of its values, the networks whose values must be permuted with them.
    complete : whether all of this was found within the limits.
    """

    group: SymmetryGroup | None = None
    classes: Mapping[str, tuple[frozenset[int], ...]] = field(default_factory=dict)
    rewritings: tuple[Rewriting, ...] = ()
    companions: Mapping[tuple[str, Images], tuple[str, ...]] = field(default_factory=dict)
    complete: bool = False


def find_structure(
    root: Node,
    formulas: Sequence[Formula],
    candidates: Iterable[NodeTest],
    program: Program,
    kinds: Mapping[str, Hashable] | None,
    deadline: Deadline,
    fixed: Mapping[str, Iterable[int]] | None = None,
) -> Structure:
    """The symmetries and rewritings of a tree.

    Parameters
    ----------
    root : the root of the tree.
    formulas : the formula of each of its results.
    candidates : the tests that the tree could have been made of.
    program : the background knowledge.
    kinds : what must be the same of two networks that are exchanged; see `equivalence`.
    deadline : what takes longer is left out.
    fixed : values of networks that labels have fixed; only what leaves them in their places is found.

    Returns
    -------
    The symmetries and rewritings.
    """
    try:
        group = symmetry_group(formulas, program.limits, deadline, fixed=fixed)
        pair = PairOfFunctions(formulas, formulas, program.limits, deadline)
        classes = interchangeable_values(pair, group)
        companions = {
            (name, images): tuple(other for other in generator if other != name and moves(generator[other]))
            for generator in group.generators
            for name, images in generator.items()
            if moves(images) and not pair.agree({name: images})
        }
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        return Structure()
    try:
        rewritten, complete = rewritings(
            root, candidates, program, kinds=kinds, fixed=fixed, apart=True, deadline=deadline
        )
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        rewritten, complete = [], False
    return Structure(group, classes, tuple(rewritten), companions, complete)
