"""Built-ins of ProbLog that programs must not call, and ways to call them."""

from __future__ import annotations

from problog.engine import DefaultEngine

from neuid3.logic.prolog.engine import CLOSED_IN_LIBRARIES, OPEN_BUILTINS


def closed() -> list[str]:
    """Every built-in of the installed ProbLog, and every predicate of its libraries, that programs must not call."""
    return sorted({*DefaultEngine().get_builtins(), *CLOSED_IN_LIBRARIES} - OPEN_BUILTINS)


def sneaky(entry: str, way: str, mark: str) -> str:
    """A body that calls a built-in in this way, each of its arguments the name of a file."""
    name, arity = entry.rsplit("/", 1)
    atom = "'" + name.replace("'", "\\'") + "'"
    arguments = [f"'{mark}'"] * int(arity)
    return way.format(
        goal=f"{atom}({', '.join(arguments)})" if arguments else atom,
        atom=atom,
        list=f"[{', '.join([atom, *arguments])}]",
        more="".join(f", {argument}" for argument in arguments),
        more_lists="".join(f", [{argument}]" for argument in arguments or ["x"]),
    )
