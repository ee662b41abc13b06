"""Explanations as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from neuid3.data.derived import abridged
from neuid3.explain.explanation import (
    Counterfactual,
    CriterionCount,
    Explanation,
    LeafShare,
    Proof,
    Reading,
    Step,
    number_of,
)
from neuid3.export.labels import class_name, number_format, printable, share_text
from neuid3.tree.leaves import NumberLeaf

# The leading paths are listed until they have this much of the probability, and at most this many of them.
COVERAGE, MAX_PATHS = 0.95, 5

# Of more classes than these, only those are listed whose probability is not 0 when it is rounded.
FEW_CLASSES = 5

# The most values of an uncertain reading.
MAX_VALUES = 3

# That an example has a part: a type, and a slot of this type.
_PRESENCE = re.compile(r"(\w+)\(\1_\d+\)")


def explanation_text(explanation: Explanation, decimals: int = 2) -> str:
    """An explanation as text: the class, the leading paths, their proofs, the readings and the counterfactuals."""
    e = explanation
    leading = leading_leaves(e.leaves)
    sections = [
        ("Filled in, as is most probable", list(_filled_in(e, decimals))),
        ("What moves it", list(_moves(e, decimals))),
        ("Where the probability goes", list(_paths(e, leading, decimals))),
        ("Why", list(_reasons(leading, e.readings, decimals))),
        ("What the tree reads", [f"  {_reading(reading, decimals)}" for reading in mentioned(e, e.leaves)]),
        (_change_title(e, decimals), list(_changes(e, decimals))),
    ]
    paragraphs = [f"{title}\n" + "\n".join(lines) for title, lines in sections if lines]
    return "\n\n".join([_headline(e, decimals), *paragraphs])


def leading_leaves(leaves: Sequence[LeafShare]) -> list[LeafShare]:
    """The most probable leaves, until they have most of the probability together."""
    leading: list[LeafShare] = []
    for leaf in sorted(leaves, key=lambda leaf: -leaf.probability):
        if sum(other.probability for other in leading) >= COVERAGE or len(leading) == MAX_PATHS:
            break
        leading.append(leaf)
    return leading


def mentioned(e: Explanation, leaves: Iterable[LeafShare]) -> list[Reading]:
    """The readings that occur in the proofs on the paths to these leaves or in the changes of `other_facts`."""
    proofs = (proof for leaf in leaves for step in leaf.steps for proof in step.proofs or ())
    names = {assignment.variable for proof in proofs for assignment in proof.assignments}
    names.update(change.name for change in e.other_facts.changes)
    return [reading for reading in e.readings if reading.name in names]


def number_writer(e: Explanation, decimals: int = 2) -> Callable[[float], str]:
    """A function that writes numbers of an explanation with the digits in which the leaves differ."""
    return number_format([NumberLeaf(*leaf.leaf) for leaf in e.leaves], decimals)


def _headline(e: Explanation, decimals: int) -> str:
    if e.deviation is not None:
        write = number_writer(e, decimals)
        return f"Predicted: {write(e.prediction)} ± {write(e.deviation)}"
    return f"Predicted: {class_name(e.prediction)}   ({ranked_text(e.classes, e.probabilities, decimals)})"


def _filled_in(e: Explanation, decimals: int) -> Iterator[str]:
    """The entries that were filled in, and what is predicted, which is summed over all their values."""
    if not e.filled_in:
        return
    yield from (f"  {entry}" for entry in e.filled_in)
    if e.deviation is not None:
        write, (mean, deviation) = number_writer(e, decimals), e.summed
        yield f"  Over all their values the prediction is {write(mean)} ± {write(deviation)}."
    else:
        yield f"  Over all their values the prediction is {ranked_text(e.classes, e.summed, decimals)}."


def ranked_text(classes: Iterable[Any], probabilities: Iterable[float], decimals: int) -> str:
    """Classes and their probabilities as text, most probable first; of many classes, those that are not 0 when rounded."""
    pairs = sorted(_listed(classes, probabilities, decimals), key=lambda pair: -pair[1])
    return ", ".join(share_text(class_name(label), p, decimals) for label, p in pairs)


def _listed(classes: Iterable[Any], probabilities: Iterable[float], decimals: int) -> list[tuple[Any, float]]:
    """The classes that are listed, with their probabilities."""
    pairs = list(zip(classes, probabilities, strict=True))
    return pairs if len(pairs) <= FEW_CLASSES else [pair for pair in pairs if _is_visible(pair[1], decimals)]


def _moves(e: Explanation, decimals: int) -> Iterator[str]:
    """The mean of the training examples, and what each test adds to it; empty where a class is predicted."""
    if e.base is None or e.deviation is None:
        return
    write = number_writer(e, decimals)
    visible = [move for move in e.moves if float(write(move.amount)) != 0.0]
    rows = [(write(e.base), "the mean of the training examples")]
    for move in visible:
        sign = "+" if move.amount > 0 else "−"
        rows.append((f"{sign}{write(abs(move.amount))}", f"{move.test}: {'yes' if move.response else 'no'}"))
    width = max(len(amount) for amount, _ in rows)
    yield from (f"  {amount:>{width}}  {text}" for amount, text in rows)


def _paths(e: Explanation, leading: Sequence[LeafShare], decimals: int) -> Iterator[str]:
    for leaf in leading:
        path = ", ".join(_step(step, decimals) for step in leaf.steps) or "the only leaf"
        yield f"  {leaf.probability:.{decimals}f}  {path}"
        yield f"  {'':{decimals + 2}}  → {_leaf_text(e, leaf, decimals)}"
    rest = len(e.leaves) - len(leading)
    if rest:
        mass = max(0.0, 1.0 - sum(leaf.probability for leaf in leading))
        yield f"  {mass:.{decimals}f}  in {rest} other {'leaf' if rest == 1 else 'leaves'}"


def _leaf_text(e: Explanation, leaf: LeafShare, decimals: int) -> str:
    """What a leaf says and adds to the prediction."""
    if leaf.is_number:
        write = number_writer(e, decimals)
        mean, deviation = leaf.leaf
        return f"{write(mean)} ± {write(deviation)}; adds {write(leaf.contributions[0])}"
    listed = _listed(e.classes, leaf.contributions, decimals)
    contributions = ", ".join(f"{p:.{decimals}f} to {class_name(label)}" for label, p in listed) or "nothing"
    return f"{ranked_text(e.classes, leaf.leaf, decimals)}; adds {contributions}"


def _step(step: Step, decimals: int) -> str:
    probability = "" if step.probability is None else f" {step.probability:.{decimals}f}"
    return f"{step.test}: {'yes' if step.response else 'no'}{probability}"


def _reasons(leading: Sequence[LeafShare], readings: Sequence[Reading], decimals: int) -> Iterator[str]:
    """The proofs of the steps of the leading paths, each step once."""
    variables = {reading.name for reading in readings}
    certain = {reading.name for reading in readings if reading.certain}
    steps = dict.fromkeys(step for leaf in leading for step in leaf.steps)
    for step in steps:
        if not step.proofs or step.test in variables or all(_is_trivial(step.test, p, certain) for p in step.proofs):
            continue
        given = f", given {', '.join(step.given)}," if step.given else ""
        yield f"  {step.test} is {str(step.response).lower()}{given} with {step.probability:.{decimals}f}, because"
        listed = [proof for proof in step.proofs if _is_visible(proof.probability, decimals)]
        yield from (f"    {proof.probability:.{decimals}f}  {_proof_text(proof, certain)}" for proof in listed)
        rest = (step.probability or 0.0) - sum(proof.probability for proof in listed)
        if _is_visible(rest, decimals):
            yield f"    {rest:.{decimals}f}  in less probable ways"
        for count in step.counts:
            yield from _criteria(count, decimals)


def _proof_text(proof: Proof, certain: set[str]) -> str:
    """A proof without what goes without saying: that an example has the parts whose values it names, as in `card(card_1)`."""
    assignments = [a for a in proof.assignments if a.variable not in certain or not _PRESENCE.fullmatch(a.text)]
    return ", ".join(map(str, assignments)) if assignments else str(proof)


def _criteria(count: CriterionCount, decimals: int) -> Iterator[str]:
    """The criteria of a count: those that hold, those that do not, and uncertain ones with their probabilities."""
    known = [criterion for criterion in count.criteria if criterion.probability is not None]
    held = [c for c in known if c.probability == 1.0]
    failed = [c for c in known if c.probability == 0.0]
    yield f"    {count.goal} counts {len(count.criteria)} criteria, of which {len(held)} {'holds' if len(held) == 1 else 'hold'}"
    yield from (f"      yes  {criterion}" for criterion in held)
    yield from (f"      {c.probability:.{decimals}f}  {c}" for c in known if c not in held and c not in failed)
    yield from (f"      no   {criterion}" for criterion in failed)


def _is_visible(probability: float, decimals: int) -> bool:
    """Whether a probability has a digit other than zero when it is rounded."""
    return probability >= 0.5 * 0.1**decimals


def _is_trivial(test: str, proof: Proof, certain: set[str]) -> bool:
    """Whether a proof is one certain fact that the test itself names, such as `suit` in `suit(hearts)`, and names no parts."""
    names = [assignment.variable for assignment in proof.assignments]
    return len(names) == 1 and names[0] in certain and names[0] in test and names[0] in str(proof)


def _reading(reading: Reading, decimals: int) -> str:
    listed = [f"{value} {p:.{decimals}f}" for value, p in reading.values[:MAX_VALUES] if _is_visible(p, decimals)]
    values = ", ".join(listed) + (", …" if len(listed) == MAX_VALUES < len(reading.values) else "")
    if reading.undefined:
        return f"{reading.name}: it is undefined, so its prior: {values}"
    if reading.missing and reading.kind in ("number", "date") and reading.columns != (reading.name,):
        return f"{reading.name}: {' or '.join(reading.columns)} is missing, so its prior: {values}"
    if reading.missing:
        missing = " and ".join(reading.columns) if reading.kind == "network" else "it"
        verb = "are" if reading.kind == "network" and len(reading.columns) > 1 else "is"
        return f"{reading.name}: {missing} {verb} missing, so its prior: {values}"
    if reading.number is not None:
        counted = f" = {printable(reading.quotation)}" if reading.quotation else ""
        return f"{abridged(reading.name)}: {number_of(reading)}{counted}"
    if reading.kind == "network":
        return f"{reading.name}: {values} (from network {reading.network})"
    if reading.kind == "chance":
        return f"{reading.name}: {values} (a probabilistic fact of the program)"
    quotation = f', "{printable(reading.quotation)}"' if reading.quotation else ""
    return f"{reading.name}: {reading.values[0][0] if reading.certain else values}{quotation}"


def _change_title(e: Explanation, decimals: int) -> str:
    if e.threshold is None:
        return "What would change it"
    direction = "above" if e.prediction <= e.threshold else "below"
    return f"What would move it {direction} {number_writer(e, decimals)(e.threshold)}"


def _changes(e: Explanation, decimals: int) -> Iterator[str]:
    yield f"  Other responses: {_counterfactual(e, e.other_responses, 'test responses', decimals)}"
    yield f"  Other facts: {_counterfactual(e, e.other_facts, 'facts', decimals)}"


def _counterfactual(e: Explanation, counterfactual: Counterfactual, changed: str, decimals: int) -> str:
    match counterfactual.status:
        case "found":
            conditions = " and ".join(map(str, counterfactual.changes))
            if e.deviation is not None:
                return f"if {conditions}, it would be {number_writer(e, decimals)(counterfactual.prediction)}."
            probabilities = ranked_text(e.classes, counterfactual.probabilities, decimals)
            return f"if {conditions}, it would be {class_name(counterfactual.prediction)} ({probabilities})."
        case "impossible":
            return f"no {changed} would {'change the class' if e.threshold is None else 'do that'}."
        case "none":
            return f"none with up to {_counted(counterfactual.searched)}."
        case "too many":
            searched = _counted(counterfactual.searched)
            return f"none with up to {searched}; there are too many larger sets to try them all."


def _counted(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes} changes"
