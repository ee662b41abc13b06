"""The version, its date and its name stand in several files of a release, which agree."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def cited(field: str) -> list[str]:
    """The values of a field of CITATION.cff, at any depth."""
    return [value.strip().strip('"') for value in re.findall(rf"^[\s-]*{field}:\s*(.+)$", CITATION, re.MULTILINE)]


def test_the_changelog_begins_with_a_dated_entry_of_this_version() -> None:
    heading = re.search(r"^## (\S+) \((\S+)\)$", CHANGELOG, re.MULTILINE)
    assert heading is not None
    assert heading[1] == PROJECT["version"]
    assert date.fromisoformat(heading[2])


def test_the_citation_names_this_version_its_date_and_its_licence() -> None:
    assert cited("version") == [PROJECT["version"]]
    assert f"## {PROJECT['version']} ({cited('date-released')[0]})" in CHANGELOG
    assert cited("license") == [PROJECT["license"]]
    assert cited("cff-version") == ["1.2.0"]
    assert {author["name"] for author in PROJECT["authors"]} == {*cited("name")}


def test_the_citation_names_the_paper_that_the_project_links_to() -> None:
    assert cited("title")[1] == "Neurosymbolic Decision Trees"
    assert cited("family-names") == ["Möller", "Norlander", "Zuidberg Dos Martires", "De Raedt"]
    assert cited("url") == [PROJECT["urls"]["Paper"]]


def test_the_classifiers_name_the_supported_versions_of_python() -> None:
    named = {text.rsplit(" ", 1)[1] for text in PROJECT["classifiers"] if re.search(r":: Python :: 3\.\d+$", text)}
    assert f">={min(named, key=lambda version: tuple(map(int, version.split('.'))))}" == PROJECT["requires-python"]
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (ROOT / "src" / "neuid3" / "py.typed").exists()
