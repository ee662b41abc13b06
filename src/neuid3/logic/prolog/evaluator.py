"""What does ProbLog itself say? The oracle that exported programs are held against."""

from __future__ import annotations

from problog import get_evaluatable
from problog.engine import DefaultEngine
from problog.errors import ProbLogError
from problog.program import PrologString

from neuid3.errors import ExportError
from neuid3.logic.prolog.reader import OPEN_BUILTINS


def evaluate(program: str) -> dict[str, float]:
    """The probabilities of a program's queries, computed by ProbLog with its own grounder and compiler."""
    try:
        engine = DefaultEngine()
        # Directives and static calls are ours or were checked when the program was read; what a rule may
        # still put together while it runs finds the same built-ins closed as ever.
        database = engine.prepare(PrologString(program))
        index = engine.get_builtins()
        for entry in list(index):
            if entry not in OPEN_BUILTINS:
                del index[entry]
        answers = get_evaluatable().create_from(engine.ground_all(database)).evaluate()
    except ProbLogError as error:
        raise ExportError(f"ProbLog cannot run the exported program: {error}") from None
    return {str(query): float(probability) for query, probability in answers.items()}
