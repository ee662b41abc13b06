"""How is an explanation told in a terminal?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from neuid3.explain.explanation import Counterfactual, Explanation, LeafShare, Proof, Reading, Step
from neuid3.export.labels import class_name, share_text
from neuid3.logic.quoting import entry_text

# The leading paths are told until they carry this much, and at most so many of them.
MOST_OF_IT, MOST_PATHS = 0.95, 5

# How many values of an uncertain reading are told.
MOST_VALUES = 3


def tell(explanation: Explanation, decimals: int = 2) -> str:
    """The explanation as text: the class, where the probability goes, why, what was seen, what would change it."""
    e = explanation
    leading = leading_leaves(e.leaves)
    sections = [
        ("Where the probability goes", list(_paths(e, leading, decimals))),
        ("Why", list(_reasons(leading, e.readings, decimals))),
        ("What the tree sees", [f"  {_seen(reading, decimals)}" for reading in mentioned(e, e.leaves)]),
        ("What would change it", list(_changes(e, decimals))),
    ]
    told = [f"{title}\n" + "\n".join(lines) for title, lines in sections if lines]
    return "\n\n".join([_headline(e, decimals), *told])


def leading_leaves(leaves: Sequence[LeafShare]) -> list[LeafShare]:
    """The most probable leaves that together carry most of the probability."""
    chosen: list[LeafShare] = []
    for leaf in sorted(leaves, key=lambda leaf: -leaf.probability):
        if sum(done.probability for done in chosen) >= MOST_OF_IT or len(chosen) == MOST_PATHS:
            break
        chosen.append(leaf)
    return chosen


def mentioned(e: Explanation, leaves: Iterable[LeafShare]) -> list[Reading]:
    """The readings that the proofs on the way to these leaves speak of, and those that would have to change."""
    proofs = (proof for leaf in leaves for step in leaf.steps for proof in step.proofs or ())
    names = {assignment.variable for proof in proofs for assignment in proof.assignments}
    names.update(change.name for change in e.other_facts.changes)
    return [reading for reading in e.readings if reading.name in names]


def _headline(e: Explanation, decimals: int) -> str:
    return f"Predicted: {class_name(e.prediction)}   ({ranked(e.classes, e.probabilities, decimals)})"


def ranked(classes: Iterable[Any], probabilities: Iterable[float], decimals: int) -> str:
    """Classes and their probabilities, most probable first."""
    pairs = sorted(zip(classes, probabilities, strict=True), key=lambda pair: -pair[1])
    return ", ".join(share_text(class_name(label), p, decimals) for label, p in pairs)


def _paths(e: Explanation, leading: Sequence[LeafShare], decimals: int) -> Iterator[str]:
    for leaf in leading:
        way = ", ".join(_answered(step, decimals) for step in leaf.steps) or "the only leaf"
        gifts = ", ".join(
            f"{p:.{decimals}f} to {class_name(label)}" for label, p in zip(e.classes, leaf.contributions, strict=True)
        )
        yield f"  {leaf.probability:.{decimals}f}  {way}"
        yield f"  {'':{decimals + 2}}  → {ranked(e.classes, leaf.leaf, decimals)}; adds {gifts}"
    rest = len(e.leaves) - len(leading)
    if rest:
        mass = max(0.0, 1.0 - sum(leaf.probability for leaf in leading))
        yield f"  {mass:.{decimals}f}  in {rest} other {'leaf' if rest == 1 else 'leaves'}"


def _answered(step: Step, decimals: int) -> str:
    chance = "" if step.probability is None else f" {step.probability:.{decimals}f}"
    return f"{step.test}: {'yes' if step.answer else 'no'}{chance}"


def _reasons(leading: Sequence[LeafShare], readings: Sequence[Reading], decimals: int) -> Iterator[str]:
    """The proofs of the answers on the leading paths, each step once."""
    seen = {reading.name for reading in readings}
    certain = {reading.name for reading in readings if reading.certain}
    steps = dict.fromkeys(step for leaf in leading for step in leaf.steps)
    for step in steps:
        if not step.proofs or step.test in seen or all(_is_plain(step.test, proof, certain) for proof in step.proofs):
            continue
        given = f", given {', '.join(step.given)}," if step.given else ""
        yield f"  {step.test} is {str(step.answer).lower()}{given} with {step.probability:.{decimals}f}, because"
        told = [proof for proof in step.proofs if _shows(proof.probability, decimals)]
        yield from (f"    {proof.probability:.{decimals}f}  {proof}" for proof in told)
        rest = (step.probability or 0.0) - sum(proof.probability for proof in told)
        if _shows(rest, decimals):
            yield f"    {rest:.{decimals}f}  in less probable ways"


def _shows(probability: float, decimals: int) -> bool:
    """Is there anything but zeros to be printed?"""
    return probability >= 0.5 * 0.1**decimals


def _is_plain(test: str, proof: Proof, certain: set[str]) -> bool:
    """A certain fact that the test itself names, such as `suit` in `suit(hearts)`, is told where facts are."""
    names = [assignment.variable for assignment in proof.assignments]
    return len(names) == 1 and names[0] in certain and names[0] in test


def _seen(reading: Reading, decimals: int) -> str:
    told = [f"{value} {p:.{decimals}f}" for value, p in reading.values[:MOST_VALUES] if _shows(p, decimals)]
    values = ", ".join(told) + (", …" if len(told) == MOST_VALUES < len(reading.values) else "")
    if reading.missing:
        gone = " and ".join(reading.columns) if reading.kind == "network" else "it"
        verb = "are" if reading.kind == "network" and len(reading.columns) > 1 else "is"
        return f"{reading.name}: {gone} {verb} missing, so its prior: {values}"
    if reading.number is not None:
        return f"{reading.name}: {entry_text(reading.number)}"
    if reading.kind == "network":
        return f"{reading.name}: {values} (seen by {reading.network})"
    if reading.kind == "chance":
        return f"{reading.name}: {values} (a chance of the program)"
    return f"{reading.name}: {reading.values[0][0] if reading.certain else values}"


def _changes(e: Explanation, decimals: int) -> Iterator[str]:
    yield f"  Other answers: {_told(e, e.other_answers, 'answers', decimals)}"
    yield f"  Other facts: {_told(e, e.other_facts, 'facts', decimals)}"


def _told(e: Explanation, found: Counterfactual, things: str, decimals: int) -> str:
    match found.status:
        case "found":
            wishes = " and ".join(map(str, found.changes))
            return f"if {wishes}, it would be {class_name(found.prediction)} ({ranked(e.classes, found.probabilities, decimals)})."
        case "impossible":
            return f"no {things} would change the class."
        case "none":
            return f"none with up to {_counted(found.searched)}."
        case "too many":
            return f"none with up to {_counted(found.searched)}; there are too many larger sets to try them all."


def _counted(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes} changes"
