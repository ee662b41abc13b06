"""Hooks of mkdocs: equations as MathML, the commands' help, the changelog and other files as pages."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

log = logging.getLogger("mkdocs.hooks.neuid3")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

# Files beside the README that are also pages of the site.
ALSO_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}

COMMANDS = "<!-- commands -->"

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie outside the folder of pages."""
    from mkdocs.structure.files import File

    for source, page in ALSO_PAGES.items():
        files.append(File.generated(config, page, content=as_page((ROOT / source).read_text(encoding="utf-8"))))
    return files


def as_page(text: str) -> str:
    """A file of the repository's top folder with its links as they are seen from the pages.

    >>> as_page("see [this](docs/speed.md) and [that](CHANGELOG.md)")
    'see [this](speed.md) and [that](changelog.md)'
    """

    def moved(found: re.Match[str]) -> str:
        mark, words, target, anchor = found.groups()
        inside = target.startswith("docs/") or target in ALSO_PAGES or "://" in target
        place = ALSO_PAGES.get(target, target.removeprefix("docs/")) if inside else f"../{target}"
        return f"{mark}[{words}]({place}{anchor or ''})"

    return _LINK.sub(moved, text)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write in the commands' help, and turn links that leave the site into plain words."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, "\n".join(help_of_all_commands()))
    return without_links_out(markdown, DOCS / page.file.src_uri)


def without_links_out(markdown: str, page: Path) -> str:
    """A page links to files of the repository; the site has no place for them, and says only what they are called."""

    def plain(found: re.Match[str]) -> str:
        _, words, target, _ = found.groups()
        place = (page.parent / target).resolve()
        if "://" in target or place.is_relative_to(DOCS):
            return found.group(0)
        measured = place.is_relative_to(ROOT / "results")  # measurements may be running still
        if not place.exists() and not measured:
            log.warning("%s links to %s, which is not there.", page.name, target)
        return words

    return _LINK.sub(plain, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Equations become MathML, which browsers draw themselves; no script is needed."""
    return _EQUATION.sub(_drawn, content)


def _drawn(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    kind, _, latex = found.groups()
    block = kind == "div"
    drawn: str = convert(html.unescape(latex).strip(), display="block" if block else "inline")
    return f'<div class="math-block">{drawn}</div>' if block else drawn


def help_of_all_commands() -> Iterator[str]:
    """A section with the text of `--help` for every command of the library, the experiments and the benchmarks."""
    from benchmarks.commands import bench
    from experiments.__main__ import main as experiments
    from neuid3.cli.main import GROUPS, main

    context = click.Context(main, info_name="neuid3")
    for name in main.list_commands(context):
        command = getattr(import_module(GROUPS[name][0]), name) if name in GROUPS else main.commands[name]
        yield from _help(command, name, context, 2)
    yield from _help(experiments, "python -m experiments", None, 2)
    yield from _help(bench, "python -m benchmarks", None, 2)


def _help(command: click.Command, name: str, above: click.Context | None, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=above, terminal_width=84)
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _help(command.commands[inner], inner, context, level + 1)
