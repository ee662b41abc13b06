"""Which tests were trained before? A folder of them, with a card each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neuid3.data.columns import Schema
from neuid3.errors import BankError, NeuID3Error, did_you_mean
from neuid3.io.container import SavedFile, read
from neuid3.io.networks import NetworkFactories
from neuid3.io.trained_tests import TrainedTest, trained_test
from neuid3.logic.program import Program

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SUFFIX = ".neuid3"


class Bank:
    """A folder of trained tests. What is taken out is a copy: the files change only by `add` and `remove`.

    `networks` gives, by their names in the programs, functions that make networks which neuid3 does not know.
    """

    def __init__(self, folder: Path | str, networks: NetworkFactories | None = None) -> None:
        self.folder = Path(folder)
        self.networks = dict(networks or {})
        if self.folder.exists() and not self.folder.is_dir():
            raise BankError(f"{self.folder} is no folder; a bank is a folder of trained tests.")

    def names(self) -> list[str]:
        """The tests by name, in order."""
        if not self.folder.exists():
            return []
        paths = self.folder.iterdir()  # unlike glob, it raises where the folder may not be read
        return sorted(path.stem for path in paths if path.suffix == _SUFFIX and _NAME.fullmatch(path.stem))

    def __len__(self) -> int:
        return len(self.names())

    def add(self, name: str, test: TrainedTest, **card: Any) -> Path:
        """Put a test into the bank; `card` says what it means, what it was trained on, and how good it is."""
        if not test.networks:
            raise BankError(f"Test '{test}' looks through no network, so there is nothing trained to be kept.")
        path = self._path(name)
        if path.exists():
            raise BankError(f"The bank has a test {name!r}; remove it first, or give this one another name.")
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"added": datetime.now(UTC).isoformat(timespec="seconds"), **test.card, **card}
        return replace(test, card=told).save(path)

    def card(self, name: str) -> dict[str, Any]:
        """What is known of a test, without making its networks."""
        words = _checked(self._known(name)).words
        columns = [f"{column['name']}: {column['kind']}" for column in words.get("columns", [])]
        return {"name": name, "test": words["test"]["atom"], "columns": columns, **words.get("card", {})}

    def test(self, name: str) -> TrainedTest:
        """A copy of a test with its networks."""
        path = self._known(name)
        saved = _checked(path)
        used = {told.get("declared") for told in saved.words.get("networks", {}).values()}
        makers = {network: maker for network, maker in self.networks.items() if network in used}
        return trained_test(path, saved, makers)

    def contents(self) -> dict[str, bytes]:
        """The files of all tests."""
        return {name: self._known(name).read_bytes() for name in self.names()}

    def remove(self, name: str) -> None:
        self._known(name).unlink()

    def fitting(self, program: Program) -> Iterator[tuple[str, TrainedTest]]:
        """The tests that can be asked of a program's columns: their columns are there, and mean the same.

        A test fits if its columns have the kinds it was trained on and the program has the very clauses behind it.
        """
        for name in self.names():
            test = self.test(name)
            if _fits(test, program.schema) and same_meaning(test, program):
                yield name, test

    def clauses(self, program: Program) -> str:
        """Clauses behind tests of the bank whose predicates the program does not know; they can be added to it."""
        known = {entry.rsplit("/", 1)[0] for entry in program.predicates}
        lines: dict[str, None] = {}
        for name in self.names():
            test = self.test(name)
            if _fits(test, program.schema):
                theirs = Program(test.background, test.columns, program.limits)
                (new,) = theirs.clauses_behind([test.test.atom])
                if not {_predicate(clause) for clause in new} & known:
                    lines |= dict.fromkeys(new)
        return "".join(f"{line}\n" for line in lines)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise BankError(f"{name!r} is no name for a test; use letters, digits, '-', '_' and '.'.")
        return self.folder / f"{name}{_SUFFIX}"

    def _known(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise BankError(f"The bank {self.folder} has no test {name!r}.{did_you_mean(name, self.names())}")
        return path


def _checked(path: Path) -> SavedFile:
    saved = read(path)
    if saved.words.get("kind") != "test":
        raise BankError(f"{path} is no trained test; take it out of the bank.")
    return saved


def _fits(test: TrainedTest, schema: Schema) -> bool:
    return all(schema.get(column) == kind for column, kind in test.columns.items())


def same_meaning(test: TrainedTest, program: Program) -> bool:
    """Does a program have the same clauses behind a test as the one it was trained with?"""
    theirs = Program(test.background, test.columns, program.limits)
    try:
        return _behind(test, program) == _behind(test, theirs)
    except NeuID3Error:
        return False


def _behind(test: TrainedTest, program: Program) -> set[str]:
    """The clauses behind a test, however they are spaced."""
    (clauses,) = program.clauses_behind([test.test.atom])
    return {"".join(clause.split()) for clause in clauses}


def _predicate(clause: str) -> str:
    """The name of a clause's head.

    >>> _predicate("0.3::alarm(X) :- smoke(X)."), _predicate("nn(net,[I],R,[1,2])::rank(I,R).")
    ('alarm', 'rank')
    """
    head = clause.split(":-")[0].split("::")[-1].strip()
    return re.split(r"[(.\s]", head, maxsplit=1)[0]


def told(card: Mapping[str, Any]) -> str:
    """A card as text."""
    width = max(map(len, card))
    return "\n".join(f"{key:{width}}  {', '.join(v) if isinstance(v, list) else v}" for key, v in card.items())
