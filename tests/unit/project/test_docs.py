"""The documentation: its code, links, lists of pages, names and parameters, and the map of packages."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from dataclasses import fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import neuid3
from neuid3.cli.main import main
from neuid3.logic.program import Program
from neuid3.training.config import PAPER_TRAINING, TrainingConfig

ROOT = Path(__file__).resolve().parents[3]


DOCS = ROOT / "docs"


PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


_RULES = re.compile(r"```prolog\n(.*?)```(?:\n+```text\n(.*?)```)?", flags=re.DOTALL)


def page_text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_the_rules_of_the_page_about_rules_are_read_or_refused_as_it_says() -> None:
    columns = {
        "first": np.zeros((3, 8, 8)),
        "second": np.zeros((3, 8, 8)),
        "alarm": [True, False, True],
        "suit": ["clubs", "hearts", "spades"],
        "age": [31.5, 42.0, 57.0],
    }
    numbers = ["weight", "height", "waist", "systolic", "diastolic", "glucose", "cholesterol", "hdl", "price", "limit"]
    columns |= {name: [1.5, 2.0, 3.0] for name in numbers}
    schema = neuid3.Examples(columns).schema
    found = _RULES.findall(page_text("background.md"))
    assert sum(bool(shown) for _, shown in found) >= 10
    for rules, shown in found:
        if shown:
            with pytest.raises(neuid3.NeuID3Error) as caught:
                Program(rules, schema)
            assert f"{caught.value}\n" == shown
        else:
            assert Program(rules, schema).predicates


def test_the_site_lists_every_page() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", CONFIGURATION, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert sorted(listed) == sorted([*PAGES, *hooks().ALSO_PAGES.values()])


def test_the_reference_lists_every_public_name() -> None:
    assert set(re.findall(r"^::: neuid3\.(\w+)$", page_text("api.md"), flags=re.MULTILINE)) == {
        *neuid3.__all__,
        "errors",
    }


PARAMETERS = {
    name: parameter.default
    for name, parameter in inspect.signature(neuid3.NeuID3Classifier.__init__).parameters.items()
    if name != "self"
}


def settings_row(name: str) -> list[str]:
    """The cells of a parameter on the page about settings, which lists it once, after its name."""
    (row,) = re.findall(rf"^\| `{name}` \|(.*)$", page_text("settings.md"), flags=re.MULTILINE)
    return [cell.strip() for cell in row.split(" | ")]


@pytest.mark.parametrize(("name", "default"), PARAMETERS.items())
def test_the_page_about_settings_lists_every_parameter_with_its_default(name: str, default: Any) -> None:
    assert settings_row(name)[0] == f"`{default!r}`"


@pytest.mark.parametrize("name", [field.name for field in fields(TrainingConfig)])
def test_the_page_about_settings_lists_every_field_of_the_training_with_both_values(name: str) -> None:
    values = [getattr(config, name) for config in (TrainingConfig(), PAPER_TRAINING)]
    assert settings_row(name)[:2] == [f"`{value!r}`" for value in values]


def test_the_docstring_of_the_classifier_lists_every_parameter() -> None:
    parameters, _, attributes = (inspect.getdoc(neuid3.NeuID3Classifier) or "").partition("Attributes\n")
    assert sorted(re.findall(r"^(\w+) : ", parameters, flags=re.MULTILINE)) == sorted(PARAMETERS)
    assert all(name.endswith("_") for name in re.findall(r"^(\w+) : ", attributes, flags=re.MULTILINE))


def hooks() -> Any:
    spec = spec_from_file_location("neuid3_docs_hooks", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_command_is_on_the_page_of_commands() -> None:
    page = "\n".join(hooks().help_of_all_commands())
    headings = set(re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE))
    assert {f"neuid3 {name}" for name in main.list_commands(click.Context(main))} <= headings
    assert {"neuid3 bank add", "neuid3 bank list"} <= headings
    assert {
        "python -m experiments datasets show",
        "python -m experiments reproduce uci",
        "python -m benchmarks",
    } <= headings
    assert "--checkpoint FOLDER" in page


def test_links_that_leave_the_site_become_text_and_others_stay() -> None:
    text = "[`results/`](../results), [speed](speed.md#a), [the web](https://example.org), ![x](images/cards.png)"
    kept = hooks().without_links_out(text, DOCS / "results.md")
    assert kept == "`results/`, [speed](speed.md#a), [the web](https://example.org), ![x](images/cards.png)"


# A command that draws a table into a page, and the pages that name it.
_DRAWN = re.compile(r"`python -m benchmarks\.(\w+) --table \S+ docs/(\S+\.md)`")


def test_commands_that_draw_a_table_name_the_page_that_has_it() -> None:
    drawn = {(page, *found) for page in PAGES for found in _DRAWN.findall(" ".join(page_text(page).split()))}
    assert len(drawn) > 5
    for page, name, target in drawn:
        assert page == target, f"{page} says that {name} is drawn into {target}"
        mark = {"regrow": "again"}.get(name, name)  # the mark has the name of the file in results/
        assert re.search(rf"^<!-- {mark} -->\n(.*\n)*<!-- /{mark} -->$", page_text(page), flags=re.MULTILINE), page


@pytest.mark.parametrize("page", [f"docs/{page}" for page in PAGES] + ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_files_named_on_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|docs|experiments|benchmarks)/[\w/.-]+\.\w+)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


# The map of packages in CONTRIBUTING.md: a package at the start of a line, its modules below it, indented by 15 spaces.
_MAP = re.search(r"## Packages\n.*?```text\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.DOTALL)


_PACKAGE = re.compile(r"^(\w+)/? +.*\n(?: {13}\S.*\n)*((?: {15}.*\n)*)", flags=re.MULTILINE)


def mapped_packages() -> dict[str, set[str]]:
    """The packages of the map, in its order, each with its modules and inner packages."""
    assert _MAP is not None
    return {name: set(re.findall(r"\w+", modules)) for name, modules in _PACKAGE.findall(_MAP.group(1))}


def test_the_map_of_packages_has_the_order_of_the_import_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert list(mapped_packages()) == [layer.removeprefix("neuid3.") for layer in reversed(layers)]


def test_the_map_names_every_package_and_module() -> None:
    mapped = mapped_packages()
    library = ROOT / "src" / "neuid3"
    folders = {path.parent.name: path.parent for path in library.glob("*/__init__.py")}
    folders |= {name: ROOT / name for name in ("experiments", "benchmarks")}
    assert set(mapped) == {*folders, "errors"}
    for name, folder in folders.items():
        modules = {path.stem for path in folder.rglob("*.py")} - {"__init__", "__main__"}
        inner = {path.parent.name for path in folder.glob("*/__init__.py")}
        assert mapped[name] == modules | inner, f"{name}: {sorted(mapped[name] ^ (modules | inner))}"


def test_modules_named_on_the_page_where_does_this_go_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)`", page_text("where.md"))
    assert len(named) > 20
    assert [path for path in named if not (ROOT / "src" / "neuid3" / path).is_file()] == []


def test_the_journey_of_a_fit_opens_at_most_twelve_files_each_once() -> None:
    journey = page_text("where.md").split("\n## ")[1]
    files = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \|", journey, flags=re.MULTILINE)
    assert len(files) == len(set(files))
    assert 8 <= len(files) <= 12


def test_the_files_of_both_journeys_define_what_the_page_says_of_them() -> None:
    rows = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| .*?`([\w.]+)`", page_text("where.md"), flags=re.MULTILINE)
    assert len(rows) > 18
    for path, names in rows:
        source = (ROOT / "src" / "neuid3" / path).read_text(encoding="utf-8")
        for name in names.split("."):
            assert re.search(rf"^ *(?:def|class) {name}\b", source, flags=re.MULTILINE), f"{path} defines no {name}"


_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#:]*)(?:#([^)\s]+))?\)")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", ["README.md", *hooks().ALSO_PAGES, *(f"docs/{page}" for page in PAGES)])
def test_links_between_pages_lead_to_files_and_headings(page: str) -> None:
    also = {name: ROOT / source for source, name in hooks().ALSO_PAGES.items()}
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in _LINK.findall(text):
        path = also.get(Path(target).name) or (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{page} links to {target}#{anchor}"
