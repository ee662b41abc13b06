"""The main loop of the child process: one JSON request per line of input, one JSON reply per line of output."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from problog.logic import Constant, Var

from neuid3.errors import NeuID3Error
from neuid3.logic.prolog.checking import check
from neuid3.logic.prolog.clauses import called_by_others, clauses_behind, flaws, numeric_positions, rules
from neuid3.logic.prolog.counts import counted
from neuid3.logic.prolog.evaluator import evaluate
from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.prolog.terms import name_of, signature
from neuid3.logic.prolog.translator import translate
from neuid3.logic.prolog.values import goal_values
from neuid3.utils.processes import Parent, end_with

_LATEST: dict[str, Grounder] = {}


def _grounder(program: str, columns: dict[str, Any]) -> Grounder:
    """The grounder of a program; that of the latest program is kept, since requests repeat programs."""
    key = json.dumps([program, columns])
    if key not in _LATEST:
        _LATEST.clear()
        _LATEST[key] = Grounder(program, columns)
    return _LATEST[key]


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request; a `NeuID3Error` becomes a reply with the fields `error` and `message`."""
    try:
        if request["do"] == "evaluate":
            return {"probabilities": evaluate(request["program"])}
        if request["do"] == "check":
            return check(request["program"], request["columns"], request["infer"])
        grounder = _grounder(request["program"], request["columns"])
        match request["do"]:
            case "read":
                return {
                    "declarations": _declarations(grounder),
                    "heads": sorted(grounder.parsed.defined),
                    "test_heads": _test_heads(grounder),
                    "open_heads": _open_heads(grounder),
                }
            case "ground":
                return _ground(grounder, request)
            case "clauses":
                return {"clauses": clauses_behind(grounder, request["tests"])}
            case "counted":
                return {"counted": counted(grounder, request["tests"])}
            case "rules":
                return {"rules": rules(grounder)}
            case "flaws":
                return {"flaws": flaws(grounder, request["tests"])}
            case "values":
                return {"goals": goal_values(grounder, request["goals"])}
            case "translate":
                return translate(grounder, request)
            case other:
                return {"error": "NeuID3Error", "message": f"Unknown request {other!r}."}
    except NeuID3Error as error:
        _LATEST.clear()  # after an error the state of ProbLog's engine is undefined
        return {"error": type(error).__name__, "message": str(error)}
    except RecursionError:
        _LATEST.clear()
        return {
            "error": "GroundingLimitError",
            "message": "The program nests too deeply to be grounded; make its recursion shallower.",
        }


def _declarations(grounder: Grounder) -> list[dict[str, Any]]:
    return [
        {
            "number": statement.number,
            "network": statement.neural.network,
            "inputs": len(statement.neural.inputs),
            "size": statement.neural.size,
            "values": None if statement.neural.domain is None else [str(value) for value in statement.neural.domain],
            "predicate": str(statement.heads[0].functor),
            "line": statement.line,
        }
        for statement in grounder.parsed.statements
        if statement.neural is not None
    ]


def _test_heads(grounder: Grounder) -> list[list[Any]]:
    """The heads that can be tests, of rules and neural facts: a name, and for each argument its constant or None."""
    heads = {}
    for statement in grounder.parsed.statements:
        if statement.neural is not None and statement.neural.domain is not None:
            continue
        for head in statement.heads:
            arguments = [None if isinstance(argument, Var) else str(argument) for argument in head.args]
            heads[json.dumps([name_of(head), arguments])] = [name_of(head), arguments]
    return list(heads.values())


def _open_heads(grounder: Grounder) -> list[list[Any]]:
    """The heads of rules with one variable that must be a number: name, arguments as in `_test_heads`, and its position.

    Rules that other rules call are marked.
    """
    numeric, called = numeric_positions(grounder.parsed.statements), called_by_others(grounder)
    heads: dict[str, list[Any]] = {}
    for statement in grounder.parsed.statements:
        if statement.body is None or statement.neural is not None:
            continue
        for head in statement.heads:
            positions = [i for i, argument in enumerate(head.args) if isinstance(argument, Var)]
            of_numbers = [i for i in positions if (signature(head), i) in numeric]
            if len(of_numbers) == 1:
                arguments = [None if isinstance(argument, Var) else str(argument) for argument in head.args]
                entry = [name_of(head), arguments, of_numbers[0], signature(head) in called]
                heads[json.dumps(entry)] = entry
    return list(heads.values())


def _ground(grounder: Grounder, request: dict[str, Any]) -> dict[str, Any]:
    """The formulas of the tests; where the request is `tolerant`, those that cannot be grounded are false and not `known`."""
    tests = request["tests"]
    if not request.get("tolerant"):
        return grounder.ground(tests)
    known = []
    for test in tests:
        try:
            _grounder(request["program"], request["columns"]).ground([test])
            known.append(True)
        except NeuID3Error:
            _LATEST.clear()
            known.append(False)
    groundable = [test for test, is_known in zip(tests, known, strict=True) if is_known]
    reply = _grounder(request["program"], request["columns"]).ground(groundable)
    roots = iter(reply["roots"])
    return {**reply, "roots": [next(roots) if is_known else False for is_known in known], "known": known}


def main() -> None:
    """Serve until the parent closes the pipe, or has ended."""
    parent, megabytes = Parent(*json.loads(sys.argv[-2])), int(sys.argv[-1])
    end_with(parent)
    if megabytes:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    sys.setrecursionlimit(20_000)
    # ProbLog rounds floats to 15 decimals, which turns 1e-20 into 0.
    Constant.FLOAT_PRECISION = None
    # Output of ProbLog itself must not be taken for a reply.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        try:
            reply = json.dumps(reply_to(json.loads(line)))
        except (MemoryError, SystemError):  # short of memory, CPython sometimes raises the second
            _LATEST.clear()
            reply = json.dumps({"error": "MemoryError", "message": ""})
        except Exception as error:
            _LATEST.clear()
            # Any other error becomes a reply too, so that the process does not end without a message.
            message = f"ProbLog failed on this program ({type(error).__name__}: {error})."
            reply = json.dumps({"error": "RuleError", "message": message})
        replies.write(reply + "\n")
        replies.flush()
