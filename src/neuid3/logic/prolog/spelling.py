"""Terms of a program in the spelling of the grounder: derived columns as atoms, dates as numbers of days, own built-ins renamed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from problog.logic import Constant, Term, Var

from neuid3.data.dates import parse_dates
from neuid3.data.derived import column_text
from neuid3.logic.prolog.terms import COMPARISONS, PrologTerm, canonical, name_of, normalised, rewrite, signature
from neuid3.logic.quoting import atom_text

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How terms of a program are rewritten before anything else is done with them.

    Attributes
    ----------
    redefined : built-in predicates that the program defines itself: `plus(A, B, Y)` becomes `plus_(A, B, Y)`.
    derived : derived columns by their terms: `mean(pulse)` becomes the atom `'mean(pulse)'`, and `weekday(ordered, monday)`
        becomes `'weekday(ordered)'(monday)`.
    categories : the derived columns that are categories.
    dates : the names of the date columns; with any, `2024-03-01` is a number of days, and so is `'2024-03-01'` in a comparison.
    """

    redefined: frozenset[str] = frozenset()
    derived: Mapping[str, str] = field(default_factory=dict)
    categories: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()

    def __call__(self, term: PrologTerm) -> PrologTerm:
        """The term in this spelling; a `ValueError` where it has a date that no calendar has."""
        return rewrite(term, self._change) if self.redefined or self.derived or self.dates else term

    def _change(self, term: PrologTerm) -> PrologTerm | None:
        if not isinstance(term, Term) or isinstance(term, (Var, Constant)) or not term.arity:
            return None
        if self.dates:
            if name_of(term) == "-" and (days := _days(term)) is not None:
                return Constant(days)
            if name_of(term) in COMPARISONS and term.arity == 2:
                return term.with_args(*(self(_quoted_date(side)) for side in term.args))
        if self.derived and (column := self._column(term)) is not None:
            return column
        if signature(term) not in self.redefined:
            return None
        own = Term(f"{name_of(term)}_", *map(self, term.args), location=term.location)
        return own if term.probability is None else own.with_probability(term.probability)

    def written(self, atom: Term) -> Term:
        """An atom of an own built-in by the name that the program gives it; it has this spelling when it is read again."""
        name = name_of(atom)[:-1]
        return Term(name, *atom.args) if f"{name}/{atom.arity}" in self.redefined else atom

    def _column(self, term: PrologTerm) -> PrologTerm | None:
        """The atom of a derived column, with its value where the column is a category; None where the term is none."""
        term = normalised(term, itertools.count())  # contains(note, 'fever') is contains(note, fever)
        name = self.derived.get(canonical(term))
        if name is not None:
            return Term(atom_text(name), location=term.location)
        if term.arity < 2:
            return None
        name = self.derived.get(canonical(Term(term.functor, *term.args[:-1])))
        return None if name not in self.categories else Term(atom_text(name), term.args[-1], location=term.location)

    def of_test(self, term: PrologTerm) -> PrologTerm:
        """A test in this spelling, in which also an argument may be a date in quotes: `after('2024-03-01 14:30')`."""
        term = self(term)
        if not self.dates or not isinstance(term, Term) or isinstance(term, (Var, Constant)) or not term.arity:
            return term
        return term.with_args(*map(_quoted_date, term.args))


# Terms as they are written.
PLAIN = Spelling()


def spelling_of(columns: Mapping[str, Mapping[str, Any]], redefined: frozenset[str]) -> Spelling:
    """The spelling of a program with these columns."""
    derived = {
        canonical(normalised(Term.from_string(name), itertools.count())): name
        for name in columns
        if column_text(name) == name and name.endswith(")")
    }
    dates = frozenset(name for name, column in columns.items() if column.get("date"))
    categories = frozenset(name for name in derived.values() if columns[name]["kind"] == "category")
    return Spelling(redefined, derived, categories, dates)


def _days(term: PrologTerm) -> float | None:
    """The days since 1970-01-01 of `2024-03-01`, which Prolog reads as a difference of differences."""
    if term.arity != 2 or not isinstance(term.args[0], Term) or name_of(term.args[0]) != "-" or term.args[0].arity != 2:
        return None
    parts = (*term.args[0].args, term.args[1])
    if not all(isinstance(part, Constant) and isinstance(part.functor, int) for part in parts):
        return None
    year, month, day = (int(part.functor) for part in parts)
    if not 1000 <= year <= 9999:
        return None
    try:
        return float((date(year, month, day) - _EPOCH).days)
    except ValueError:
        raise ValueError(f"'{year}-{month:02}-{day:02}' is no date of the calendar") from None


def is_date(term: PrologTerm) -> bool:
    """Whether a term reads as a date: `2024-03-01`, or `'2024-03-01 14:30'`."""
    try:
        return isinstance(_quoted_date(term), Constant) or (
            isinstance(term, Term) and name_of(term) == "-" and _days(term) is not None
        )
    except ValueError:
        return True


def _quoted_date(term: PrologTerm) -> PrologTerm:
    """The days of a date in quotes, `'2024-03-01 14:30'`; any other term unchanged."""
    if isinstance(term, Term) and not isinstance(term, (Var, Constant)) and term.arity == 0:
        days = parse_dates([name_of(term)])
        return term if days is None else Constant(float(days[0]))
    return term
