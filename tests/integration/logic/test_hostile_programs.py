"""Hostile programs in ProbLog itself: closed built-ins stay closed, and what runs for ever is stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from closed_builtins import closed, sneaky
from hypothesis import strategies as st
from strategies import TERMS

from neuid3 import Examples, Limits, NeuID3Error
from neuid3.errors import ExportError
from neuid3.logic.program import Program
from neuid3.logic.prolog.evaluator import evaluate

X = Examples({"alarm": [True, False], "age": [1.0, 2.0], "card": np.zeros((2, 4, 4))})


# What ProbLog can do and programs may not -----------------------------------------------------------


# Ways to a goal: {goal} as it is written, {atom} its name, {list} its name and arguments as a list, {more} its arguments.
WAYS = [
    "call({goal})",
    "call_nc({goal})",
    "once({goal})",
    "\\+ {goal}",
    "G = {goal}, G",
    "G =.. {list}, call(G)",
    "G =.. {list}, try_call(G)",
    "G =.. {list}, \\+ call(G)",
    "G =.. {list}, findall(x, G, L)",
    "G =.. {list}, all(x, G, L)",
    "G =.. {list}, forall(G, true)",
    "G =.. {list}, forall(true, G)",
    "G =.. {list}, subquery(G, P)",
    "G =.. {list}, possible(G)",
    "call({atom}{more})",
    "maplist({atom}{more_lists})",
]


@pytest.mark.parametrize("way", WAYS)
def test_closed_built_ins_cannot_be_reached_when_problog_runs_a_program(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    libraries = ":- use_module(library(lists)). :- use_module(library(apply)). "
    reached = []
    for entry in closed():
        program = f"p :- {sneaky(entry, way, f'{tmp_path}/mark')}. query(p)."
        try:
            evaluate((libraries if "maplist" in way else "") + program)
            reached.append(entry)
        except ExportError:
            pass
    assert not reached
    assert not list(tmp_path.iterdir())


def test_what_runs_for_ever_or_grows_for_ever_is_stopped() -> None:
    small = Limits(seconds=2.0, megabytes=512, circuit_nodes=1000)
    for program in (
        "sneaky :- n(0). n(X) :- Y is X + 1, n(Y).",
        "sneaky :- between(1, 100000000, X), X < 0.",
        "sneaky :- l([]). l(L) :- l([a, b, c | L]).",
    ):
        with pytest.raises(NeuID3Error):
            Program(program, X.schema, small).formula("sneaky")
    assert Program("fine :- alarm.", X.schema, small).formula("fine") is not None


arguments = st.sampled_from(
    [*TERMS, "X", "Y", "_", "age", "card", "alarm", "nan", "'evil.py'", "library(lists)", "[X, Y]"]
)
