"""The making of a certificate, from the structure of a tree and from examples."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.certificate import Certificate, NetworkCertificate
from neuid3.identifiability.descriptions import description, reading_text, rewriting_text
from neuid3.identifiability.forms import Rewriting, results
from neuid3.identifiability.label_sets import smallest_labels
from neuid3.identifiability.observations import value_texts
from neuid3.identifiability.readings import ReadingCount, ReadingProblem, ValueOf, moved
from neuid3.identifiability.structure import Structure, find_structure
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import Formula, Literal, NeuralVariable, Variable, bottom_up
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node

# So many re-readings are shown.
EXAMPLES = 3


def certify(
    root: Node,
    program: Program,
    *,
    codes: Mapping[Variable, npt.NDArray[Any]] | None = None,
    source: str = "predictions",
    candidates: Iterable[NodeTest] | None = None,
    kinds: Mapping[str, Hashable] | None = None,
    settled: Iterable[ValueOf] = (),
    seconds: float = 60.0,
) -> Certificate:
    """The certificate of a tree.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    codes : the index of the value of each variable of `tree_variables` but choices, `(example,)`; None leaves empirical
        re-readings out.
    source : where the values of networks in `codes` come from: "labels", "predictions" or "labels and predictions".
    candidates : the tests that the tree could have been made of; None where only those of the tree are known.
    kinds : what must be the same of two networks that are exchanged, such as their architecture; a network that it does
        not name may be exchanged with any other.
    settled : values that labels have settled.
    seconds : the time limit; what takes longer is a bound and says so.

    Returns
    -------
    The certificate.
    """
    deadline = Deadline.after(seconds)
    _, formulas = results(root, program)
    neural = [v for v in _variables(formulas) if isinstance(v, NeuralVariable)]
    if not neural:
        return Certificate(())
    texts = {v.network: value_texts(v, program) for v in neural}
    structure = find_structure(root, formulas, candidates or (), program, kinds, deadline)
    empirical: dict[str, Any] = {}
    if codes is not None:
        empirical = _empirical(formulas, codes, structure, settled, texts, program, deadline)
        empirical |= {"source": source, "rows": len(codes[neural[0]])}
    networks = tuple(
        NetworkCertificate(
            name,
            texts[name],
            description(name, structure, texts[name]),
            tuple(
                tuple(texts[name][v] for v in sorted(members))
                for members in structure.classes.get(name, ())
                if len(members) > 1
            ),
            _equivalent_networks(name, structure.rewritings),
            () if codes is None else _unused(name, neural, codes, texts[name]),
            structure.complete,
        )
        for name in texts
    )
    return Certificate(
        networks,
        None if structure.group is None else structure.group.order,
        tuple(rewriting_text(rewriting, texts) for rewriting in structure.rewritings),
        candidates is not None,
        **empirical,
    )


def _empirical(
    formulas: Sequence[Formula],
    codes: Mapping[Variable, npt.NDArray[Any]],
    structure: Structure,
    settled: Iterable[ValueOf],
    texts: Mapping[str, tuple[str, ...]],
    program: Program,
    deadline: Deadline,
) -> dict[str, Any]:
    """The fields of a certificate that follow from examples."""
    try:
        problem = ReadingProblem(formulas, codes, structure.classes, program.limits, deadline)
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        return {"readings": ReadingCount(1, False), "labels_are_smallest": False}
    known = [value for value in settled if value in problem.values]
    # A network with a label keeps its name, so any of its values tells it from an equivalent one.
    to_settle = [
        [value for value in problem.values if value[0] in renamed]
        if (renamed := {old for old, new in rewriting.equivalence.networks.items() if old != new})
        else moved(rewriting.equivalence.reading)
        for rewriting in structure.rewritings
    ]
    readings = problem.count(known, deadline)
    is_unique = readings == ReadingCount(1, True)
    labels, smallest = smallest_labels(problem, to_settle, known, deadline, search=not is_unique)
    return {
        "readings": readings,
        "examples": ()
        if is_unique
        else tuple(reading_text(reading, texts) for reading in problem.examples(EXAMPLES, deadline)),
        "labels": tuple((name, texts[name][value]) for name, value in labels),
        "labels_are_smallest": smallest,
    }


def _unused(
    name: str, neural: Iterable[NeuralVariable], codes: Mapping[Variable, npt.NDArray[Any]], texts: Sequence[str]
) -> tuple[str, ...]:
    occurring = {int(value) for v in neural if v.network == name for value in np.unique(codes[v])}
    return tuple(text for value, text in enumerate(texts) if value not in occurring)


def _equivalent_networks(name: str, rewritten: Iterable[Rewriting]) -> tuple[str, ...]:
    others = (rewriting.equivalence.networks.get(name, name) for rewriting in rewritten)
    return tuple(dict.fromkeys(other for other in others if other != name))


def tree_variables(root: Node, program: Program) -> list[Variable]:
    """The variables of a tree: network values, columns, cells of numbers and choices.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.

    Returns
    -------
    The variables in the order in which they occur.
    """
    return _variables(results(root, program)[1])


def _variables(formulas: Iterable[Formula]) -> list[Variable]:
    return list(dict.fromkeys(node.variable for node in bottom_up(formulas) if isinstance(node, Literal)))
