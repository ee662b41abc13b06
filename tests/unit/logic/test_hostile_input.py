"""Hostile input: whatever programs and tables say, only our errors come out, and nothing outside is touched.

`make fuzz` runs the generated cases here and in tests/integration/io/test_model_files.py 10,000 times each.
"""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_builtins import closed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problog.engine import DefaultEngine
from problog.errors import ProbLogError
from strategies import OPEN_GOALS, TERMS

from neuid3 import Branch, Examples, Leaf, Limits, NeuID3Error, NeurosymbolicTree, Tree, read_table
from neuid3.errors import RuleError
from neuid3.export.deepproblog import DeepProbLogProgram
from neuid3.logic.program import Program
from neuid3.logic.prolog.engine import CLOSED_IN_LIBRARIES, OPEN_BUILTINS
from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.sandbox import send_request

MANY = int(os.environ.get("NEUID3_FUZZ", "60"))
QUICK = Limits(seconds=5.0, megabytes=1024, circuit_nodes=20_000)
X = Examples({"alarm": [True, False], "age": [1.0, 2.0], "card": np.zeros((2, 4, 4))})

relaxed = settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))


# What ProbLog can do and programs may not -----------------------------------------------------------


def test_there_is_something_to_close() -> None:
    assert {"consult/1", "use_module/1", "_use_module/2", "write/1", "subquery/2", "try_call/1", "possible/1"} <= set(
        closed()
    )


def test_the_open_built_ins_are_there_and_documented() -> None:
    assert set(DefaultEngine().get_builtins()) >= OPEN_BUILTINS
    listed = (Path(__file__).parents[3] / "docs" / "background.md").read_text(encoding="utf-8")
    for entry in OPEN_BUILTINS | {"forall/2"}:
        assert f"`{entry.rsplit('/', 1)[0]}`" in listed


def test_closed_built_ins_cannot_be_reached_while_a_program_is_grounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask = "run(L) :- G =.. L, call(G). sneaky(W, L) :- G =.. L, do(W, G)."
    ways = "".join(
        f" do({number}, G) :- {goal}."
        for number, goal in enumerate(
            [
                "G",
                "call(G)",
                "call_nc(G)",
                "once(G)",
                "\\+ G",
                "findall(x, G, L)",
                "all(x, G, L)",
                "forall(true, G)",
                "maplist(G)",
            ]
        )
    )
    grounder = Grounder(ask + ways.replace("maplist(G)", "maplist(call, [G])"), {})
    text: set[str] = set()
    for entry in closed():
        name, arity = entry.rsplit("/", 1)
        atom = "'" + name.replace("'", "\\'") + "'"
        arguments = [f"'{tmp_path}/mark'"] * int(arity)
        written = f"{atom}({', '.join(arguments)})" if arguments else atom
        built = f"[{', '.join([atom, *arguments])}]"
        for test in (written, *(f"sneaky({way}, {built})" for way in range(9))):
            with pytest.raises(NeuID3Error) as caught:
                grounder.ground([test])
            text.add(re.sub(r"'.*'", "…", str(caught.value)))
    assert all("closed" in message or "is not an atom" in message or "uses …" in message for message in text), text
    assert not list(tmp_path.iterdir())


EVIL = "from pathlib import Path\nPath({mark!r}).write_text('run')\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A Python file that leaves a mark when it is run."""
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "mark")))
    return tmp_path / "evil.py"


@pytest.mark.parametrize(
    "door",
    [
        "0.5::'_directive'; 0.5::b :- G =.. [use_module, '{evil}'], try_call(G).",
        "0.5::b; 0.5::'_directive' :- G =.. [use_module, '{evil}'], call(G).",
        "0.5::'_directive' :- use_module('{evil}').",
        "'_directive' :- use_module('{evil}').",
        ":- use_module('{evil}').",
        ":- G =.. [use_module, '{evil}'], call(G).",
        ":- initialization(use_module('{evil}')).",
        ":- use_module(library('../../../../../../../../../../../../../..{evil}')).",
        "b :- use_module('{evil}'). a :- b.",
        "b :- '_use_module'(x, '{evil}'). a :- b.",
        "b :- G =.. ['_use_module', x, '{evil}'], call(G). a :- b.",
        "b :- G =.. ['_consult', x, '{evil}'], call(G). a :- b.",
        "b :- ['{evil}']. a :- b.",
        "b :- G =.. [use_module, '{evil}'], subquery(G, _). a :- b.",
    ],
)
def test_no_directive_and_no_detour_runs_python(door: str, evil: Path) -> None:
    program = door.replace("{evil}", str(evil)) + " 0.5::a. p :- a. p :- '_directive'. p :- b. query(p). query(a)."
    with pytest.raises(NeuID3Error):
        Program(program.replace(" query(p). query(a).", ""), X.schema, QUICK).formula("p")
    for text in (program, program.replace(" p :- '_directive'.", ""), program.replace(" query(p).", "")):
        with contextlib.suppress(NeuID3Error):
            send_request({"do": "evaluate", "program": text}, QUICK)
        with contextlib.suppress(NeuID3Error, ProbLogError, ValueError):
            DeepProbLogProgram(
                text.split(" query(p).")[0].removesuffix(" query(a)."), ("p", "a"), {}, {}
            ).class_probabilities()
    assert not (evil.parent / "mark").exists()


def test_a_saved_model_with_a_hidden_directive_is_refused(evil: Path) -> None:
    background = f"0.5::'_directive'; 0.5::b :- G =.. [use_module, '{evil}'], call(G). p :- alarm. p :- '_directive'."
    tree = Tree(Branch("p", Leaf(0.9), Leaf(0.1)))
    with pytest.raises(RuleError, match=r"Line 1: '_directive/0' begins with '_', which is reserved for ProbLog"):
        NeurosymbolicTree(tree, X.schema, background=background)
    assert not (evil.parent / "mark").exists()


@pytest.mark.parametrize("name", ["_directive", "_lists_is_set"])
def test_columns_cannot_take_the_names_of_problogs_own_clauses(name: str) -> None:
    table = Examples({name: ["a", "b"] if "is_set" in name else [True, False]})
    with pytest.raises(RuleError, match=f"Column '{name}' has the name of a built-in predicate"):
        Program("p :- true.", table.schema, QUICK)


@pytest.mark.parametrize(
    "head", ["'_directive'", "'_directive'(a)", "0.5::'_directive'; 0.5::b", "'_lists_member'(a, b)"]
)
def test_clauses_cannot_take_the_names_of_problogs_own_clauses(head: str) -> None:
    with pytest.raises(RuleError, match="is reserved for ProbLog; rename it"):
        Program(f"{head}.", X.schema, QUICK)
    with pytest.raises(RuleError, match="is reserved for ProbLog; rename it"):
        Program(f"{head} :- true.", X.schema, QUICK)


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


snippets = st.sampled_from(
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
        "'_directive'",
        "'_use_module'",
        "'$test'",
        "'$body_1'",
        "->",
        "!",
        "nan",
        "inf",
        "\r",
        "\r\n",
    ]
)

# Programs whose clauses are well formed, so that they get past the parser: disjunctions in heads, names that mean something to
# ProbLog, terms that print alike, and every built-in, called in every way.
SPECIAL = [
    "'_directive'",
    "'_use_module'",
    "'_lists_member'",
    "'$test'",
    "'$choice'",
    "query",
    "evidence",
    "body_1",
    "choice",
    "nn",
]
EVERYTHING = sorted({*DefaultEngine().get_builtins(), *OPEN_GOALS, *CLOSED_IN_LIBRARIES})
arguments = st.sampled_from(
    [*TERMS, "X", "Y", "_", "age", "card", "alarm", "nan", "'evil.py'", "library(lists)", "[X, Y]"]
)
atoms = st.builds(
    lambda name, given: f"{name}({', '.join(given)})" if given else name,
    st.sampled_from(["a", "b", "alarm", *SPECIAL]),
    st.lists(arguments, max_size=2),
)
calls = st.sampled_from(EVERYTHING).flatmap(
    lambda entry: st.lists(arguments, min_size=int(entry.rsplit("/", 1)[1]), max_size=int(entry.rsplit("/", 1)[1])).map(
        lambda given: f"'{entry.rsplit('/', 1)[0]}'({', '.join(given)})" if given else f"'{entry.rsplit('/', 1)[0]}'"
    )
)
goals = (
    atoms
    | calls
    | st.builds(
        str.format,
        st.sampled_from(
            [
                "{} =< {}",
                "{} is {}",
                "{} = {}",
                "age < {1}",
                "age + {} > {}",
                "X is age / {}, X ** 2 < {}",
                "at_least({}, [{}])",
            ]
        ),
        arguments,
        arguments,
    )
)
wrapped = goals | st.builds(
    lambda way, goal: way.replace("G", goal),
    st.sampled_from(
        [
            "call(G)",
            "\\+ (G)",
            "findall(X, (G), L)",
            "(G ; a)",
            "(G -> a ; b)",
            "X = (G), X",
            "forall((G), b)",
            "once((G))",
        ]
    ),
    goals,
)
heads = st.lists(atoms, min_size=1, max_size=3).map(lambda found: "; ".join(f"0.3::{head}" for head in found)) | atoms
clauses = st.builds(
    lambda head, body: f"{head} :- {', '.join(body)}." if body else f"{head}.",
    heads | st.sampled_from(["", "nn(n, [X], Y, [1, (a, b)]) :: v(X, Y)", "nn(n, [X]) :: w(X)"]),
    st.lists(wrapped, max_size=3),
)
structured = st.builds(
    lambda found, end: end.join([*found, "a :- alarm.", "b."]),
    st.lists(clauses, max_size=4),
    st.sampled_from(["\n", "\r", " "]),
)
programs = st.lists(snippets | st.text(max_size=3), max_size=25).map(" ".join) | st.text(max_size=60) | structured


@relaxed
@given(programs, st.sampled_from(["alarm", "a", "b(card)", "X", "a, b", "call(a)", "age > 1", "'", ""]))
def test_whatever_a_program_says_only_our_errors_come_out(text: str, test: str) -> None:
    with contextlib.suppress(NeuID3Error):
        Program(text, X.schema, QUICK).formula(test)


@relaxed
@given(structured, st.sampled_from(["", "query(a).", "query(a). evidence(b)."]))
def test_whatever_problog_is_given_only_our_errors_are_raised(
    tmp_path_factory: pytest.TempPathFactory, text: str, query: str
) -> None:
    mark = tmp_path_factory.getbasetemp() / "mark"
    evil = tmp_path_factory.getbasetemp() / "evil.py"
    evil.write_text(EVIL.format(mark=str(mark)))
    with contextlib.suppress(NeuID3Error):
        send_request({"do": "evaluate", "program": f"{text} {query}".replace("'evil.py'", f"'{evil}'")}, QUICK)
    assert not mark.exists()


@relaxed
@given(st.lists(wrapped, min_size=1, max_size=2))
def test_whatever_is_exported_is_what_problog_computes(goals: list[str]) -> None:
    background = f"0.4::b(X). 0.5::b; 0.2::a(1) :- alarm. p :- {', '.join(goals)}."
    tree = Tree(Branch("p", Leaf(0.9), Leaf(0.1)))
    with contextlib.suppress(NeuID3Error), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert NeurosymbolicTree(tree, X.schema, background=background, limits=QUICK).verify(X) < 1e-9


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
