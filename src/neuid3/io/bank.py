"""Banks of trained tests: folders with one file and one card for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neuid3.data.columns import Schema
from neuid3.errors import BankError, NeuID3Error, did_you_mean
from neuid3.io.container import SavedFile, read_container, reporting_damage
from neuid3.io.networks import NetworkFactories
from neuid3.io.trained_tests import TrainedTest, restore_test
from neuid3.logic.program import Program
from neuid3.tree.node_tests import test_from_json

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SUFFIX = ".neuid3"


class Bank:
    """A folder of trained tests; only `add` and `remove` change its files.

    Parameters
    ----------
    folder : the folder; it need not exist before the first `add`.
    networks : factories of networks of unregistered classes, by their names in the background knowledge.

    Raises
    ------
    BankError
        Where the folder is a file.
    """

    def __init__(self, folder: Path | str, networks: NetworkFactories | None = None) -> None:
        self.folder = Path(folder)
        self.networks = dict(networks or {})
        if self.folder.exists() and not self.folder.is_dir():
            raise BankError(f"{self.folder} is not a folder; a bank is a folder of trained tests.")

    def names(self) -> list[str]:
        """The names of the tests, sorted."""
        if not self.folder.exists():
            return []
        paths = self.folder.iterdir()  # unlike glob, it raises where the folder is not readable
        return sorted(path.stem for path in paths if path.suffix == _SUFFIX and _NAME.fullmatch(path.stem))

    def __len__(self) -> int:
        return len(self.names())

    def add(self, name: str, test: TrainedTest, **card: Any) -> Path:
        """Add a test to the bank.

        Parameters
        ----------
        name : its name in the bank: letters, digits, '-', '_' and '.'.
        test : the test, with at least one network.
        **card : its documentation, as JSON: meaning, training data, scores.

        Returns
        -------
        The path of its file.

        Raises
        ------
        BankError
            Where the test has no network, or the name is invalid or taken.
        """
        if not test.networks:
            raise BankError(f"Test '{test}' uses no network, so there are no trained parameters to keep.")
        path = self._path(name)
        if path.exists():
            raise BankError(f"The bank has a test {name!r}; remove it first, or give this one another name.")
        self.folder.mkdir(parents=True, exist_ok=True)
        full_card = {"added": datetime.now(UTC).isoformat(timespec="seconds"), **test.card, **card}
        return replace(test, card=full_card).save(path)

    def card(self, name: str) -> dict[str, Any]:
        """The card of a test with its name, text and columns; its networks are not built.

        Parameters
        ----------
        name : the name of the test.

        Returns
        -------
        The documentation of the test as JSON values.
        """
        path = self._existing_path(name)
        fields = _checked(path).fields
        with reporting_damage(path):
            test = test_from_json(fields["test"])
            columns = [f"{column['name']}: {column['kind']}" for column in fields.get("columns", [])]
            return {"name": name, "test": str(test), "columns": columns, **fields.get("card", {})}

    def test(self, name: str) -> TrainedTest:
        """A test with its networks, built anew from its file.

        Parameters
        ----------
        name : the name of the test.

        Returns
        -------
        The test.
        """
        path = self._existing_path(name)
        saved = _checked(path)
        declared = {network.get("declared") for network in saved.fields.get("networks", {}).values()}
        factories = {network: factory for network, factory in self.networks.items() if network in declared}
        return restore_test(path, saved, factories)

    def contents(self) -> dict[str, bytes]:
        """The bytes of the files of all tests, by name."""
        return {name: self._existing_path(name).read_bytes() for name in self.names()}

    def remove(self, name: str) -> None:
        """Delete the file of a test.

        Parameters
        ----------
        name : the name of the test.
        """
        self._existing_path(name).unlink()

    def fitting(self, program: Program) -> Iterator[tuple[str, TrainedTest]]:
        """The tests that apply to a program, with their names.

        A test applies if the program's columns have the kinds it was trained on, and the program has the same clauses
        behind its predicate.

        Parameters
        ----------
        program : the background knowledge and the columns of a new table.

        Yields
        ------
        The name of a test and the test.
        """
        for name in self.names():
            test = self.test(name)
            if _fits(test, program.schema) and has_same_clauses(test, program):
                yield name, test

    def clauses(self, program: Program) -> str:
        """The clauses behind tests of the bank whose predicates the program does not define, to be added to it.

        Parameters
        ----------
        program : the background knowledge and the columns of a new table.

        Returns
        -------
        The clauses as text, one in each line.
        """
        known = {entry.rsplit("/", 1)[0] for entry in program.predicates}
        lines: dict[str, None] = {}
        for name in self.names():
            test = self.test(name)
            if _fits(test, program.schema):
                trained_with = Program(test.background, test.columns, program.limits)
                (new,) = trained_with.clauses_behind([test.test.goal])
                if not {_predicate(clause) for clause in new} & known:
                    lines |= dict.fromkeys(new)
        return "".join(f"{line}\n" for line in lines)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise BankError(f"{name!r} is not a valid name of a test; use letters, digits, '-', '_' and '.'.")
        return self.folder / f"{name}{_SUFFIX}"

    def _existing_path(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise BankError(f"The bank {self.folder} has no test {name!r}.{did_you_mean(name, self.names())}")
        return path


def _checked(path: Path) -> SavedFile:
    saved = read_container(path)
    if saved.fields.get("kind") != "test":
        raise BankError(f"{path} is not a trained test; remove it from the bank.")
    return saved


def _fits(test: TrainedTest, schema: Schema) -> bool:
    return all(schema.get(column) == kind for column, kind in test.columns.items())


def has_same_clauses(test: TrainedTest, program: Program) -> bool:
    """Whether a program has the same clauses behind a test as the program that it was trained with."""
    trained_with = Program(test.background, test.columns, program.limits)
    try:
        return _clauses_behind(test, program) == _clauses_behind(test, trained_with)
    except NeuID3Error:
        return False


def _clauses_behind(test: TrainedTest, program: Program) -> set[str]:
    """The clauses behind a test, without white space."""
    (clauses,) = program.clauses_behind([test.test.goal])
    return {"".join(clause.split()) for clause in clauses}


def _predicate(clause: str) -> str:
    """The predicate name of a clause's head.

    >>> _predicate("0.3::alarm(X) :- smoke(X)."), _predicate("nn(net,[I],R,[1,2])::rank(I,R).")
    ('alarm', 'rank')
    """
    head = clause.split(":-")[0].split("::")[-1].strip()
    return re.split(r"[(.\s]", head, maxsplit=1)[0]


def card_text(card: Mapping[str, Any]) -> str:
    """A card as text, one line for each entry."""
    width = max(map(len, card))
    return "\n".join(f"{key:{width}}  {', '.join(v) if isinstance(v, list) else v}" for key, v in card.items())
