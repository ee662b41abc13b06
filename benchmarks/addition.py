"""Grounding and compilation of the sum of two 4-digit numbers, with a carry and naively."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from benchmarks.timing import Row, interleaved, rounded
from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.diagram import FALSE
from neuid3.data.columns import Tensor
from neuid3.errors import GroundingLimitError
from neuid3.logic.formula import bottom_up
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits

DIGITS = 4
LEFT = [f"a{i}" for i in range(DIGITS)]
RIGHT = [f"b{i}" for i in range(DIGITS)]
SCHEMA = {name: Tensor((28, 28)) for name in LEFT + RIGHT}
NUMBERS = f"[{', '.join(LEFT)}], [{', '.join(RIGHT)}]"

DECLARATION = "nn(digit_net, [X], Y, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])::digit(X, Y).\n"
# The lowest digit comes first.
CARRY = f"""{DECLARATION}
add([], [], C, [C]).
add([A|As], [B|Bs], C, [S|Ss]) :-
    digit(A, X), digit(B, Y), T is X + Y + C, S is T mod 10, D is T // 10, add(As, Bs, D, Ss).
sum(L) :- add({NUMBERS}, 0, L).
"""
NAIVE = f"""{DECLARATION}
number([], 0).
number([D|Ds], N) :- digit(D, X), number(Ds, M), N is X + 10 * M.
sum(N) :- number([{", ".join(LEFT)}], A), number([{", ".join(RIGHT)}], B), N is A + B.
"""
NAIVE_LIMIT = 5.0  # seconds


def total(number: int) -> str:
    """The test that both numbers add up to `number`."""
    return f"sum([{', '.join(reversed(str(number).zfill(DIGITS + 1)))}])"


def edges(circuit: Circuit) -> int:
    """Number of edges to distinct children other than false."""
    return sum(len(set(children) - {FALSE}) for children in circuit.children)


def carry_circuit(totals: Sequence[int]) -> Circuit:
    """One circuit with a root for each total."""
    return compile_formulas(Program(CARRY, SCHEMA).formulas([total(number) for number in totals]))


def with_carry(quick: bool) -> Iterator[Row]:
    """Seconds to ground and to compile, and sizes, for one total and for twenty; then the naive program."""
    Program(DECLARATION, SCHEMA)  # the grounder's process is running now
    several = {"one_total": [11110], "twenty_totals": [] if quick else list(range(0, 19_999, 1000))}
    for name, totals in several.items():
        if totals:
            yield _measured(f"addition_with_carry/{name}", [total(number) for number in totals], 1 if quick else 5)
    yield _naive(1.0 if quick else NAIVE_LIMIT)


def _measured(name: str, tests: list[str], rounds: int) -> Row:
    formulas = Program(CARRY, SCHEMA).formulas(tests)
    circuit = compile_formulas(formulas)
    medians = interleaved(
        {"ground": lambda: Program(CARRY, SCHEMA).formulas(tests), "compile": lambda: compile_formulas(formulas)},
        rounds=rounds,
        warmup=1,
    )
    return {
        "name": name,
        "ours_seconds": rounded(medians["ground"] + medians["compile"]),
        "other_seconds": None,
        "ratio": None,
        "bar": "ours <= 5 s",
        "met": medians["ground"] + medians["compile"] <= 5.0,
        "ground_seconds": rounded(medians["ground"]),
        "compile_seconds": rounded(medians["compile"]),
        "formula_nodes": sum(1 for _ in bottom_up(formulas)),
        "circuit_nodes": len(circuit),
        "circuit_edges": edges(circuit),
        "note": "edges: to distinct children other than false; grounding includes reading the program",
    }


def _naive(limit: float) -> Row:
    """The naive program has 10^8 groundings; it must raise an error in time, and leave a working process."""
    start = time.perf_counter()
    message = ""
    try:
        Program(NAIVE, SCHEMA, Limits(seconds=limit)).formula("sum(11110)")
    except GroundingLimitError as error:
        message = str(error)
    seconds = time.perf_counter() - start
    alive = len(compile_formulas([Program(CARRY, SCHEMA).formula(total(11110))])) > 0
    return {
        "name": "addition_with_carry/naive_is_stopped",
        "ours_seconds": rounded(seconds),
        "other_seconds": None,
        "ratio": None,
        "bar": f"GroundingLimitError within {limit + 2:g} s",
        "met": bool(message) and alive and seconds <= limit + 2,
        "error": message,
        "answers_afterwards": alive,
    }
