"""Hostile input: whatever programs and tables say, only our errors come out, and nothing outside is touched.

`make fuzz` runs the generated cases here and in test_saved.py 10,000 times each.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problog.engine import DefaultEngine

from neuid3 import Examples, Limits, NeuID3Error, read_table
from neuid3.logic.program import Program
from neuid3.logic.prolog.engine import OPEN_BUILTINS

MANY = int(os.environ.get("NEUID3_FUZZ", "60"))
QUICK = Limits(seconds=5.0, megabytes=1024, circuit_nodes=20_000)
X = Examples({"alarm": [True, False], "age": [1.0, 2.0], "card": np.zeros((2, 4, 4))})

relaxed = settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))


# What ProbLog can do and programs may not -----------------------------------------------------------


def closed() -> list[str]:
    """Every built-in of ProbLog that programs must not call."""
    engine = DefaultEngine()
    engine.load_builtins()
    names = {f"{name}/{arity}" for name, arity in (str(key).rsplit("/", 1) for key in engine.get_builtins())}
    control = {",/2", ";/2", "\\+/1", "not/1", "call/1"} | {f"call/{n}" for n in range(2, 10)}
    return sorted(names - OPEN_BUILTINS - control)


def test_there_is_something_to_close() -> None:
    assert {"consult/1", "use_module/1", "write/1"} <= set(closed())


@pytest.mark.parametrize("way", ["{goal}", "call({goal})", "G =.. [{atom}{parts}], call(G)", "call({atom}{parts})"])
def test_closed_built_ins_cannot_be_reached(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reached = []
    for entry in closed():
        name, arity = entry.rsplit("/", 1)
        atom = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
        arguments = [f"'{tmp_path}/mark'"] * int(arity)
        goal = f"{atom}({', '.join(arguments)})" if arguments else atom
        body = way.format(goal=goal, atom=atom, parts="".join(f", {argument}" for argument in arguments))
        try:
            Program(f"sneaky :- {body}.", X.schema, QUICK).formula("sneaky")
            reached.append(entry)
        except NeuID3Error:
            pass
    assert not reached
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "program",
    [
        ":- consult('/etc/passwd').",
        ":- use_module(library(lists)).",
        ":- use_module('evil.py').",
        "sneaky :- findall(X, consult(X), L), L = [].",
        "sneaky :- once(write(hello)).",
        "sneaky :- \\+ print(hello).",
        "sneaky :- G = consult('x'), G.",
        "run(G) :- call(G). sneaky :- run(consult('x')).",
        "run(N, A) :- G =.. [N, A], once(G). sneaky :- run(consult, 'x').",
        "sneaky :- all(X, load_external(X), L), L = [].",
        "0.5 :: sneaky :- subquery(true, P), P > 0.",
        "sneaky :- assertz(alarm).",
    ],
)
def test_roundabout_ways_are_closed_too(program: str) -> None:
    with pytest.raises(NeuID3Error):
        Program(program, X.schema, QUICK).formula("sneaky")


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


words = st.sampled_from(
    [
        "alarm",
        "age",
        "card",
        "a",
        "b(X)",
        "X",
        "Y",
        "_",
        "nn(n,[X])",
        "nn(n,[I],R,[1,2])",
        "::",
        ":-",
        ",",
        ";",
        ".",
        "\\+",
        "(",
        ")",
        "[",
        "]",
        "|",
        "0.5",
        "1e999",
        "-1",
        "=..",
        "is",
        ">",
        "=:=",
        "mod",
        "findall",
        "call",
        "'",
        '"',
        "%",
        "/*",
        "consult",
        "\n",
        " ",
        "\u2028",
        "é",
        "\x00",
        "query",
        "evidence",
        "'$x'",
        "0'a",
        "\\",
        "{",
        "}",
    ]
)
programs = st.lists(words | st.text(max_size=3), max_size=25).map(" ".join) | st.text(max_size=60)


@relaxed
@given(programs, st.sampled_from(["alarm", "a", "b(card)", "X", "a, b", "call(a)", "age > 1", "'", ""]))
def test_whatever_a_program_says_only_our_errors_come_out(text: str, test: str) -> None:
    with contextlib.suppress(NeuID3Error):
        Program(text, X.schema, QUICK).formula(test)


# Tables ---------------------------------------------------------------------------------------------

cells = st.sampled_from(
    [
        "",
        "1",
        "0",
        "yes",
        "no",
        "3.5",
        "1e999",
        "nan",
        "-inf",
        "true",
        "x",
        '"',
        '""',
        "a,b",
        "a;b",
        "\n",
        "\r\n",
        "\x00",
        "é",
        "=cmd()",
        "../x.png",
        "/etc/passwd",
        "x.png",
        "\ufeff",
        "1,5",
        "1.000,5",
        "'",
    ]
)
lines = st.lists(cells | st.text(max_size=5), min_size=1, max_size=5)
tables = st.tuples(st.lists(lines, max_size=8), st.sampled_from([",", ";", "\t", "|"])).map(
    lambda made: "\n".join(made[1].join(line) for line in made[0]).encode()
) | st.binary(max_size=200)


@relaxed
@given(
    content=tables,
    target=st.none() | st.sampled_from(["x", "1", "yes"]),
    kind=st.sampled_from([None, "image", "number"]),
)
def test_whatever_a_table_says_only_our_errors_come_out(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, target: str | None, kind: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes(content)
    types: dict[str, Any] | None = None if kind is None else {"x": kind}
    with contextlib.suppress(NeuID3Error):
        read_table(path, types, target=target)


def test_images_outside_the_folder_of_the_table_are_not_read(tmp_path: Path) -> None:
    from PIL import Image

    inside = tmp_path / "inside"
    inside.mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "secret.png")
    for cell in ("../secret.png", "a/../../secret.png", "..\\secret.png", str(tmp_path / "secret.png")):
        (inside / "t.csv").write_text(f"x,y\n{cell},1\n{cell},0\n")
        with pytest.raises(NeuID3Error, match="outside of the table's folder"):
            read_table(inside / "t.csv", {"x": "image"}, target="y")
