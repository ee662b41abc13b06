"""Queries over parts as fixed candidates, for learners that cannot refine the query of a node."""

from __future__ import annotations

import numpy as np

from neuid3.learning.inference import ExactInference
from neuid3.learning.query_splitter import QuerySplitter
from neuid3.queries.language import Query
from neuid3.queries.refine import Language
from neuid3.tree.query_tests import QueryTest

# The queries of each round that are candidates: refinements of the empty query, then those of the best of the round before.
ROUNDS = (400, 200, 200)
BEAM = 12

# The least mass of the examples for which a query of a forest holds, and of the others.
MIN_CHILD_MASS = 2.0


def query_pool(inference: ExactInference, language: Language, min_child_mass: float) -> tuple[QueryTest, ...]:
    """The queries of highest gain that a search by levels finds; each stands alone, with variables of its own.

    Parameters
    ----------
    inference : exact inference for the examples; those that are unseen take no part.
    language : what queries may be made of.
    min_child_mass : the least mass of each side.

    Returns
    -------
    Tests with different responses, those of few literals first.
    """
    sample = inference.sample
    rows = np.flatnonzero(~sample.unseen)
    target = sample.target[rows]
    splitter = QuerySplitter(inference, language, min_child_mass)
    beam, found, seen = [Query()], [], set()
    for width in ROUNDS:
        refined: list[tuple[float, int, Query]] = []
        for query in beam:
            for literals, gain, responses in splitter.best_refinements(query, rows, target, width):
                pattern = min(responses.tobytes(), (~responses).tobytes())
                if pattern not in seen:
                    seen.add(pattern)
                    refined.append((gain, len(refined), query.extended(literals)))
        refined.sort(key=lambda entry: (-entry[0], entry[1]))
        chosen = [query for _, _, query in refined[:width]]
        found += chosen
        beam = chosen[:BEAM]
    return tuple(QueryTest(query) for query in found)
