"""The demo of the command line."""

from __future__ import annotations

import re

from click.testing import CliRunner

from neuid3.cli.main import main


def test_the_demo_learns_and_agrees_with_problog() -> None:
    done = CliRunner().invoke(main, ["demo"])
    assert done.exit_code == 0, done.output
    accuracy, majority = (float(found) for found in re.findall(r"(?:accuracy|class) (0\.\d+)", done.output))
    assert accuracy > majority + 0.3
    assert "gt_rank(first, second)?" in done.output
