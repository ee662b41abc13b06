"""Public names have numpydoc docstrings that agree with their signatures."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

import neuid3
import neuid3.errors
from neuid3 import NeuID3Classifier

ERRORS = {
    name
    for name, thing in vars(neuid3.errors).items()
    if inspect.isclass(thing) and issubclass(thing, neuid3.errors.NeuID3Error)
}
SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "Notes", "Examples", "See Also", "References")

# Packages and modules whose docstrings are not complete yet.
INCOMPLETE: tuple[str, ...] = ()


def packages() -> list[str]:
    found = pkgutil.walk_packages(neuid3.__path__, "neuid3.")
    return ["neuid3", *(module.name for module in found if module.ispkg)]


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every public class and function, once, by its full name."""
    seen = set()
    for package in packages():
        face = importlib.import_module(package)
        for name in getattr(face, "__all__", ()):
            thing = getattr(face, name)
            if not inspect.isroutine(thing) and not inspect.isclass(thing):
                continue
            if str(getattr(thing, "__module__", "")).startswith("neuid3.") and id(thing) not in seen:
                seen.add(id(thing))
                yield f"{thing.__module__}.{name}", thing
    for name in sorted(ERRORS):
        if id(thing := getattr(neuid3.errors, name)) not in seen:
            yield f"neuid3.errors.{name}", thing


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that this library defines, also in a base class."""
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        owner = next((base for base in kind.__mro__ if name in vars(base)), type)  # some names are those of a metaclass
        if not name.startswith("_") and owner.__module__.startswith("neuid3."):
            if isinstance(member, staticmethod | classmethod):
                yield name, member.__func__
            elif isinstance(member, FunctionType | property):
                yield name, member
            elif hasattr(member, "func"):  # functools.cached_property
                yield name, property(member.func)


def documented() -> dict[str, Any]:
    """What must have a docstring: public classes and functions, with the methods and properties of the classes."""
    found = {}
    for path, thing in public_objects():
        if path.startswith(tuple(f"neuid3.{name}." for name in INCOMPLETE)):
            continue
        found[path] = thing
        if inspect.isclass(thing):
            found |= {f"{path}.{name}": member for name, member in members(thing)}
    return found


DOCUMENTED = documented()
# One test for each package rather than for each of a thousand names: the overhead of a test is longer than what it does.
DOCUMENTED_IN: dict[str, list[str]] = {}
for name in DOCUMENTED:
    DOCUMENTED_IN.setdefault(".".join(name.split(".")[:2]), []).append(name)
each_package = pytest.mark.parametrize("package", DOCUMENTED_IN)


def docstring(path: str) -> str:
    """The docstring of a public name; a method without one has that of the method it overrides."""
    owner, _, name = path.rpartition(".")
    thing = DOCUMENTED[path]
    if owner in DOCUMENTED:
        return inspect.getdoc(getattr(DOCUMENTED[owner], name)) or ""
    return inspect.cleandoc(thing.__doc__ or "")


def documented_sections(path: str) -> dict[str, str]:
    """The sections of a docstring; a method that overrides another one may leave out what is the same there."""
    owner, _, name = path.rpartition(".")
    bases = DOCUMENTED[owner].__mro__ if owner in DOCUMENTED else ()
    overridden = [
        inspect.cleandoc(getattr(vars(base)[name], "__doc__", "") or "") for base in bases if name in vars(base)
    ]
    found: dict[str, str] = {}
    for text in (*reversed(overridden), docstring(path)):
        found |= sections(text)
    return found


def sections(text: str) -> dict[str, str]:
    """The sections of a numpydoc docstring by heading; the text before the first has the heading ''."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> list[str]:
    """The names that a section describes."""
    lines = re.findall(r"^([*\w][\w*, ]*?) : ", section, re.MULTILINE)
    return [name.strip() for line in lines for name in line.split(",")]


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters of a function, with stars, without `self`."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters
    return [stars.get(one.kind, "") + name for name, one in found.items() if name not in ("self", "cls")]


def has_own_constructor(kind: type) -> bool:
    constructor = inspect.getattr_static(kind, "__init__")
    is_protocol = bool(getattr(kind, "_is_protocol", False))
    return isinstance(constructor, FunctionType) and constructor.__module__.startswith("neuid3.") and not is_protocol


def raised(function: Any) -> set[str]:
    """The errors of this library that a function raises itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc.func for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name)} & ERRORS


@each_package
def test_a_docstring_begins_with_a_summary_of_one_line(package: str) -> None:
    for path in DOCUMENTED_IN[package]:
        summary = docstring(path).split("\n\n")[0]
        assert summary, path
        assert "\n" not in summary, path
        assert summary.endswith((".", "?", ":")), path


@each_package
def test_the_parameters_of_a_docstring_are_those_of_the_signature(package: str) -> None:
    for path in DOCUMENTED_IN[package]:
        thing, found = DOCUMENTED[path], documented_sections(path)
        if isinstance(thing, property):
            assert "Parameters" not in found, path
        elif not inspect.isclass(thing):
            assert sorted(entries(found.get("Parameters", ""))) == sorted(parameters(thing)), path
        elif dataclasses.is_dataclass(thing):
            fields = [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
            described = found.get("Attributes", "") + found.get("Parameters", "")
            assert sorted(entries(described)) == sorted(fields), path
        elif has_own_constructor(thing):
            assert sorted(entries(found.get("Parameters", ""))) == sorted(parameters(thing)), path


@each_package
def test_a_function_with_parameters_says_what_it_returns(package: str) -> None:
    for path in DOCUMENTED_IN[package]:
        thing, found = DOCUMENTED[path], documented_sections(path)
        if inspect.isclass(thing) or isinstance(thing, property) or not parameters(thing):
            continue
        returns = inspect.signature(thing).return_annotation
        expected = returns not in (None, "None", "Never", "NoReturn")
        assert ("Returns" in found or "Yields" in found) == expected, path


@each_package
def test_a_docstring_names_the_errors_that_the_function_raises(package: str) -> None:
    for path in DOCUMENTED_IN[package]:
        thing, found = DOCUMENTED[path], documented_sections(path)
        if inspect.isclass(thing):
            bodies = [vars(thing)[name] for name in ("__init__", "__post_init__") if name in vars(thing)]
            bodies = [body for body in bodies if not (dataclasses.is_dataclass(thing) and body.__name__ == "__init__")]
        else:
            bodies = [thing.fget if isinstance(thing, property) else thing]
        expected = set().union(*map(raised, bodies))
        named = {
            word
            for line in re.findall(r"^\S.*$", found.get("Raises", ""), re.MULTILINE)
            for word in re.findall(r"\w+", line)
        }
        assert expected <= named, path


def test_the_attributes_of_the_classifier_are_those_of_a_fit() -> None:
    fitted = NeuID3Classifier(class_weight="balanced", random_state=0).fit({"a": [True, False] * 20}, [1, 0] * 20)
    found = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    assert {*entries(sections(inspect.getdoc(NeuID3Classifier) or "")["Attributes"])} == found
