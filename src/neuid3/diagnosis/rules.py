"""Rules that are true of every row, or of none."""

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
    """One finding for each rule whose instances are all true of every row, or of none.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    Findings in the order of the rules.
    """
    program = case.problem.program
    findings = [_finding(head, value, reason) for head, value, reason in constant_rules(program)]
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
        value = _constant(instances, shares)
        if value is not None:
            columns = sorted({name for test in instances for name in test.columns(program)} & set(case.examples.names))
            evidence = f"in all {len(case.examples):,} rows"
            findings.append(_finding(instances[0].goal, value, "", evidence, columns))
    return findings


def _constant(tests: Sequence[NodeTest], shares: Mapping[NodeTest, np.ndarray]) -> bool | None:
    """The response that all tests have in every row; None where they have both."""
    if all(bool((shares[test] >= 1 - CERTAIN).all()) for test in tests):
        return True
    return False if all(bool((shares[test] <= CERTAIN).all()) for test in tests) else None


def _finding(
    rule: str, value: bool, reason: str, where: str = "whatever the row", columns: Sequence[str] = ()
) -> Finding:
    state = "true" if value else "false"
    mention = f" It reads {', '.join(columns)}: compare its constants with these columns." if columns else ""
    return Finding(
        "constant_rule",
        f"The rule '{rule}' is {state} {where}, so that it divides nothing.{f' {reason}' if reason else ''}",
        f"Change the rule so that it is {'false' if value else 'true'} of some rows.{mention}",
        {"rule": rule, "value": value, "columns": list(columns)},
    )
