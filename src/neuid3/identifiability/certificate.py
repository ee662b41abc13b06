"""The certificate of a tree: what the values of its networks are determined up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from neuid3.identifiability.readings import ReadingCount

# The most labelled values that a short form lists.
MAX_LISTED = 3

_TIME_LIMIT = "The time limit was reached before a smallest set of labels was found"

# So many standard deviations above their expected number, contradicting examples are more than noise.
DEVIATIONS = 2.0


@dataclass(frozen=True, slots=True)
class NetworkCertificate:
    """What is known about the values of one network.

    Attributes
    ----------
    name : the network instance.
    values : its values, as text; those of a neural fact are `no` and `yes`.
    fixed_up_to : what may be changed without any effect on a prediction: "nothing", "reversal", "a shift", "yes and no
        exchanged", "any permutation within {…}", several of these, or "unknown".
    interchangeable : classes of values, any permutation of which has no effect.
    equivalent : networks that could stand in its place, with other tests.
    unused : values that no example has.
    exact : whether symmetries and rewritings were all found within the limits.
    labelled : values that labels have fixed, where more would be open without them.
    display_name : what text calls the network: without the number of its instance, unless the tree has several.
    """

    name: str
    values: tuple[str, ...]
    fixed_up_to: str
    interchangeable: tuple[tuple[str, ...], ...] = ()
    equivalent: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    exact: bool = True
    labelled: tuple[str, ...] = ()
    display_name: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether the tree, with labels of its fit, leaves one meaning of each value."""
        return self.exact and self.fixed_up_to == "nothing" and not self.equivalent

    @property
    def short_form(self) -> str:
        """A few words for text, pictures and pages: "fixed up to reversal"."""
        if self.fixed_up_to == "unknown":
            return "not determined within the limits"
        words = "fixed" if self.fixed_up_to == "nothing" else f"fixed up to {self.fixed_up_to}"
        if self.equivalent:
            words += f"; {' or '.join(self.equivalent)} could stand in its place"
        if self.labelled:
            words += f", given labels of {_listed(self.labelled)}"
        return words if self.exact else f"{words}, as far as the limits allowed to see"


def _listed(values: Sequence[str]) -> str:
    """Values as words: `1`, `1 and 5`, or their number."""
    if len(values) > MAX_LISTED:
        return f"{len(values)} values"
    return " and ".join(filter(None, (", ".join(values[:-1]), values[-1])))


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Examples whose labels, class and tree do not agree.

    Attributes
    ----------
    rows : the examples for which no value of the images without labels makes the tree predict their class.
    smallest : a smallest set of labels of one example that contradicts its class, as text.
    labelled : the number of examples whose labels exclude a class.
    expected : how many of these contradict their class by the noise of the leaves, where labels and tree are right.
    """

    rows: tuple[int, ...]
    smallest: str
    labelled: int = 0
    expected: float = 0.0

    @property
    def is_more_than_noise(self) -> bool:
        """Whether clearly more examples contradict their class than are expected."""
        return len(self.rows) > self.expected + DEVIATIONS * sqrt(max(self.expected, 1.0))

    def __str__(self) -> str:
        n, labelled = len(self.rows), f" of {self.labelled:,}" if self.labelled else ""
        verb = "row contradicts" if n == 1 and not labelled else "rows contradict"
        return f"{n:,}{labelled} {verb} the tree by labels and class, such as {self.smallest}."


@dataclass(frozen=True, slots=True)
class GivenLabels:
    """What labels that are known already leave open.

    Attributes
    ----------
    readings : the number of maps of values that change no prediction of the examples and no labelled value.
    missing : a smallest set of further values to label, as pairs of a network and a value.
    missing_are_smallest : whether these settle everything and no smaller set does.
    wrong : the number of labels that are not what the networks say.
    compared : the number of labels that were compared with what the networks say.
    """

    readings: ReadingCount
    missing: tuple[tuple[str, str], ...] = ()
    missing_are_smallest: bool = True
    wrong: int = 0
    compared: int = 0

    @property
    def disagreement(self) -> str:
        """A sentence about labels that are not what the networks say; such a network must learn them first."""
        return disagreement_text(self.wrong, self.compared)


def disagreement_text(wrong: int, compared: int) -> str:
    """A sentence about labels that are not what the networks say; empty where there are none."""
    if not wrong:
        return ""
    return (
        f"Labels that are not what the networks say: {wrong:,} of {compared:,}; reread the tree or fit again with them."
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a tree's networks are determined up to, by its structure and by examples.

    `print` shows it as text, `to_json` returns it as plain values.

    Attributes
    ----------
    networks : a certificate for each network of the tree.
    symmetries : the number of value permutations that never change a prediction; None where it was not found in time.
    rewritings : sentences about trees of other candidates that say the same.
    candidates_known : whether all candidates of the fit are known, or only the tests of the tree.
    readings : the number of maps of values that change no prediction of the examples; None without examples.
    examples : some of these maps, as text.
    source : where the values of the examples come from: "labels", "predictions" or "labels and predictions".
    rows : the number of examples that were used.
    incomplete_rows : the number of examples that were left out because an entry is missing.
    labels : a smallest set of values to label, as pairs of a network and a value; labels of images with these values
        leave one reading.
    labels_are_smallest : whether the labels settle everything and no smaller set does.
    given : what labels that are known already leave; None where there are none.
    contradictions : examples whose labels contradict their class; None where there are none, or no classes are given.
    """

    networks: tuple[NetworkCertificate, ...]
    symmetries: int | None = 1
    rewritings: tuple[str, ...] = ()
    candidates_known: bool = True
    readings: ReadingCount | None = None
    examples: tuple[str, ...] = ()
    source: str = "predictions"
    rows: int = 0
    incomplete_rows: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    labels_are_smallest: bool = True
    given: GivenLabels | None = None
    contradictions: Contradictions | None = None

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The certificate as text.

        Returns
        -------
        Lines of text.
        """
        if not self.networks:
            return ["The tree calls no network, so there is nothing to certify."]
        return [*self._structural_lines(), *self._empirical_lines()]

    def _structural_lines(self) -> list[str]:
        lines = []
        for network in self.networks:
            lines.append(f"{self._name(network.name)} ({', '.join(network.values)}): {network.short_form}.")
            if network.unused:
                verb = "has" if self.source == "labels" else "is read as"  # a card may show what no network says
                lines.append(f"  No example {verb} {', '.join(network.unused)}.")
        lines.extend(self.rewritings)
        if not self.candidates_known:
            lines.append(
                "The candidates of the fit are not known; other tests than those of the tree could say the same."
            )
        return lines

    def _empirical_lines(self) -> list[str]:
        lines = []
        if self.incomplete_rows:
            rows = (
                "row has a missing entry and is" if self.incomplete_rows == 1 else "rows have missing entries and are"
            )
            lines.append(f"{self.incomplete_rows:,} {rows} left out.")
        if self.readings is not None:
            values = {"labels": "labels", "predictions": "most probable values"}.get(
                self.source, "labels and, without one, most probable values"
            )
            count = f"Re-readings of {self.rows:,} examples with these tests (by {values}): {self.readings}"
            if self.readings.number > 1 or not self.readings.exact:
                count += ", the intended one among them"
            lines.append(f"{count}.")
            lines.extend(f"  {example}" for example in self.examples)
            lines.append(self._label_line())
        if self.given is not None and self.given.disagreement:
            lines.append(self.given.disagreement)
        if self.contradictions is not None:
            lines.append(str(self.contradictions))
        return lines

    def _label_line(self) -> str:
        if self.given is not None:
            return self._given_line(self.given)
        values = self._label_text(self.labels)
        if self.labels_are_smallest:
            return f"A smallest set of labels that leaves one reading: {values}." if values else "No label is needed."
        return f"{_TIME_LIMIT}; to begin with: {values}." if values else f"{_TIME_LIMIT}."

    def _given_line(self, given: GivenLabels) -> str:
        """A sentence about what the labels that are known already leave."""
        values = self._label_text(given.missing)
        if not given.missing_are_smallest:
            return f"{_TIME_LIMIT}; to begin with: {values}." if values else f"{_TIME_LIMIT}."
        if not values:
            return "The given labels leave one reading; no further label is needed."
        several = "s" if given.readings != ReadingCount(1, True) else ""
        return f"The given labels leave {given.readings} reading{several}; a smallest set of further labels: {values}."

    def _label_text(self, labels: Iterable[tuple[str, str]]) -> str:
        return ", ".join(f"{self._name(name)} = {value}" for name, value in labels)

    def _name(self, instance: str) -> str:
        """What text calls a network."""
        return next((n.display_name for n in self.networks if n.name == instance and n.display_name), instance)

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values.

        Returns
        -------
        A dictionary that `json.dumps` takes.
        """
        return {
            "networks": [
                {
                    "name": network.name,
                    "values": list(network.values),
                    "fixed_up_to": network.fixed_up_to,
                    "interchangeable": [list(values) for values in network.interchangeable],
                    "equivalent": list(network.equivalent),
                    "unused": list(network.unused),
                    "exact": network.exact,
                    "labelled": list(network.labelled),
                }
                for network in self.networks
            ],
            "symmetries": self.symmetries,
            "rewritings": list(self.rewritings),
            "candidates_known": self.candidates_known,
            "readings": None
            if self.readings is None
            else {
                "number": self.readings.number,
                "exact": self.readings.exact,
                "source": self.source,
                "rows": self.rows,
                "incomplete_rows": self.incomplete_rows,
            },
            "examples": list(self.examples),
            "labels": [{"network": name, "value": value} for name, value in self.labels],
            "labels_are_smallest": self.labels_are_smallest,
            "given_labels": None
            if self.given is None
            else {
                "readings": {"number": self.given.readings.number, "exact": self.given.readings.exact},
                "missing": [{"network": name, "value": value} for name, value in self.given.missing],
                "missing_are_smallest": self.given.missing_are_smallest,
                "wrong": self.given.wrong,
                "compared": self.given.compared,
            },
            "contradictions": None
            if self.contradictions is None
            else {
                "rows": list(self.contradictions.rows),
                "smallest": self.contradictions.smallest,
                "labelled": self.contradictions.labelled,
                "expected": self.contradictions.expected,
            },
        }
