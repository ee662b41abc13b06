"""The making of a certificate, from the structure of a tree and from examples."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.certificate import Certificate, GivenLabels, NetworkCertificate
from neuid3.identifiability.descriptions import description, reading_text, rewriting_text
from neuid3.identifiability.forms import results
from neuid3.identifiability.label_sets import smallest_labels
from neuid3.identifiability.observations import value_texts
from neuid3.identifiability.readings import ReadingCount, ReadingProblem, ValueOf, moved
from neuid3.identifiability.rewriting_search import Rewriting
from neuid3.identifiability.structure import Structure, find_structure
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import Formula, NeuralVariable, Variable, variables_in
from neuid3.logic.program import Program
from neuid3.tree.instance_names import display_names
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node, test_names

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
    given: Iterable[ValueOf] = (),
    fixed: Mapping[str, Collection[int]] | None = None,
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
    settled : values that are not counted and that no label is needed for.
    given : values that labels have settled; the certificate says what they leave, besides what is open without them.
    fixed : for network instances, the values that they have learned from labels; what their values are fixed up to leaves
        these as they are. A declared network that the tree does not call takes no place in it if it is named here.
    seconds : the time limit; what takes longer is a bound and says so.

    Returns
    -------
    The certificate.
    """
    deadline = Deadline.after(seconds)
    _, formulas = results(root, program)
    neural = [v for v in variables_in(formulas) if isinstance(v, NeuralVariable)]
    if not neural:
        return Certificate(())
    texts = {v.network: value_texts(v, program) for v in neural}
    names = display_names(texts)
    tests = None if candidates is None else tuple(candidates)
    structure = find_structure(root, formulas, tests or (), program, kinds, deadline)
    labelled = structure if not fixed else find_structure(root, formulas, tests or (), program, kinds, deadline, fixed)
    empirical: dict[str, Any] = {}
    if codes is not None:
        empirical = _empirical(formulas, codes, structure, settled, given, texts, program, deadline)
        empirical |= {"source": source, "rows": len(codes[neural[0]])}
    networks = tuple(
        _network_certificate(
            name,
            texts[name],
            structure,
            labelled,
            () if codes is None else _unused(name, neural, codes, texts[name]),
            (fixed or {}).get(name, ()),
            names,
        )
        for name in texts
    )
    names_of_tests = test_names(root)
    return Certificate(
        networks,
        None if structure.group is None else structure.group.order,
        tuple(rewriting_text(rewriting, texts, names, names_of_tests) for rewriting in labelled.rewritings),
        candidates is not None,
        **empirical,
    )


def _network_certificate(
    name: str,
    texts: tuple[str, ...],
    structure: Structure,
    labelled: Structure,
    unused: tuple[str, ...],
    fixed: Collection[int],
    names: Mapping[str, str],
) -> NetworkCertificate:
    """The certificate of one network, with labels where they make a difference."""
    with_labels, without = (_what_is_open(name, texts, of, names) for of in (labelled, structure))
    return NetworkCertificate(
        name,
        texts,
        with_labels[0],
        with_labels[1],
        with_labels[2],
        unused,
        labelled.complete,
        tuple(texts[value] for value in sorted(fixed)) if with_labels != without else (),
        names[name],
    )


def _what_is_open(
    name: str, texts: tuple[str, ...], structure: Structure, names: Mapping[str, str]
) -> tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """What the values of a network are fixed up to, its interchangeable values, and networks that could replace it."""
    interchangeable = tuple(
        tuple(texts[v] for v in sorted(members)) for members in structure.classes.get(name, ()) if len(members) > 1
    )
    others = _equivalent_networks(name, structure.rewritings)
    return (
        description(name, structure, texts, names),
        interchangeable,
        tuple(names.get(other, other) for other in others),
    )


def _empirical(
    formulas: Sequence[Formula],
    codes: Mapping[Variable, npt.NDArray[Any]],
    structure: Structure,
    settled: Iterable[ValueOf],
    given: Iterable[ValueOf],
    texts: Mapping[str, tuple[str, ...]],
    program: Program,
    deadline: Deadline,
) -> dict[str, Any]:
    """The fields of a certificate that follow from examples."""
    try:
        problem = ReadingProblem(formulas, codes, structure.classes, program.limits, deadline)
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        return {"readings": ReadingCount(1, False), "labels_are_smallest": False}
    # A network with a label keeps its name, so any of its values tells it from an equivalent one.
    to_settle = [
        [value for value in problem.values if value[0] in renamed]
        if (renamed := {old for old, new in rewriting.equivalence.networks.items() if old != new})
        else moved(rewriting.equivalence.reading)
        for rewriting in structure.rewritings
    ]

    def left(known: Iterable[ValueOf]) -> tuple[ReadingCount, tuple[tuple[str, str], ...], bool]:
        """The number of readings that keep these values, and a smallest set of further labels."""
        known = [value for value in known if value in problem.values]
        readings = problem.count(known, deadline)
        is_unique = readings == ReadingCount(1, True)
        labels, smallest = smallest_labels(problem, to_settle, known, deadline, search=not is_unique)
        return readings, tuple((name, texts[name][value]) for name, value in labels), smallest

    readings, labels, smallest = left(settled)
    names, labelled = display_names(texts), tuple(given)
    examples = () if readings == ReadingCount(1, True) else problem.examples(EXAMPLES, deadline)
    return {
        "readings": readings,
        "examples": tuple(reading_text(reading, texts, names) for reading in examples),
        "labels": labels,
        "labels_are_smallest": smallest,
        "given": GivenLabels(*left(labelled)) if labelled else None,
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
    return variables_in(results(root, program)[1])
