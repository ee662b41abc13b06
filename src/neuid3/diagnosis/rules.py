"""Rules that are true of every row, or of none, or as probable in one row as in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neuid3.diagnosis.case import Case
from neuid3.diagnosis.findings import Finding
from neuid3.diagnosis.separation import symbolic_inference
from neuid3.learning.candidates import constant_rules
from neuid3.tree.node_tests import NodeTest

CERTAIN = 1e-9


def rules_without_effect(case: Case) -> list[Finding]:
    """One finding for each rule whose instances are all true of every row, or of none, or equally probable in all rows.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    Findings in the order of the rules.
    """
    program = case.problem.program
    findings = [_finding(head, float(value), reason) for head, value, reason in constant_rules(program)]
    expanded = set(case.problem.candidates.expanded)
    tests = [test for test in case.symbolic_tests if test.goal in expanded or test.goal not in program.schema]
    tests = [test for test in tests if test.atoms]
    if not tests:
        return findings
    inference = symbolic_inference(case)
    shares = {test: np.asarray(inference.conditional((), test), dtype=np.float64) for test in tests}
    by_rule: dict[str, list[NodeTest]] = {}
    for test in tests:
        by_rule.setdefault(test.goal.split("(")[0], []).append(test)
    for instances in by_rule.values():
        probability = _constant(instances, shares)
        if probability is not None:
            columns = sorted({name for test in instances for name in test.columns(program)} & set(case.examples.names))
            evidence = f"in all {len(case.examples):,} rows"
            findings.append(_finding(instances[0].goal, probability, "", evidence, columns))
    return findings


def _constant(tests: Sequence[NodeTest], shares: Mapping[NodeTest, np.ndarray]) -> float | None:
    """The probability that all tests have in every row; None where it differs."""
    first = float(shares[tests[0]][0])
    return first if all(bool((np.abs(shares[test] - first) <= CERTAIN).all()) for test in tests) else None


def _finding(
    rule: str, probability: float, reason: str, where: str = "whatever the row", columns: Sequence[str] = ()
) -> Finding:
    value = None if CERTAIN < probability < 1 - CERTAIN else probability > 0.5
    if value is None:  # undefined, as a quotient by 0; missing; or a fact of the program with a probability
        state, wanted = f"unknown, with the probability {probability:.2f},", "known"
        mention = f" It reads {', '.join(columns)}: see whether it has a value for them." if columns else ""
    else:
        state, wanted = ("true", "false") if value else ("false", "true")
        mention = f" It reads {', '.join(columns)}: compare its constants with these columns." if columns else ""
    return Finding(
        "constant_rule",
        f"The rule '{rule}' is {state} {where}, so that it divides nothing.{f' {reason}' if reason else ''}",
        f"Change the rule so that it is {wanted} of some rows.{mention}",
        {"rule": rule, "value": value, "columns": list(columns)},
    )
