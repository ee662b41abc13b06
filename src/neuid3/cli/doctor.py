"""Report on an installation: versions, backend of the networks, optional packages, ProbLog and data."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class OptionalPackage:
    """A package that neuid3 runs without: its module, what it is for, and how it is installed."""

    module: str
    purpose: str
    install: str


# The modules of required and optional packages, by their names in pip.
REQUIRED = {
    "click": "click",
    "joblib": "joblib",
    "numpy": "numpy",
    "problog": "problog",
    "rich": "rich",
    "safetensors": "safetensors",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "torch": "torch",
}
OPTIONAL = {
    "pillow": OptionalPackage("PIL", "files of images", "'neuid3[tables]'"),
    "pyarrow": OptionalPackage("pyarrow", "Parquet files", "'neuid3[tables]'"),
    "pandas": OptionalPackage("pandas", "DataFrames as examples", "pandas"),
    "matplotlib": OptionalPackage("matplotlib", "trees and explanations drawn with matplotlib", "'neuid3[plots]'"),
    "torchvision": OptionalPackage("torchvision", "encoders of pictures by name", "'neuid3[encoders]'"),
    "timm": OptionalPackage("timm", "more encoders of pictures by name", "timm"),
    "sentence-transformers": OptionalPackage("sentence_transformers", "encoders of texts by name", "'neuid3[text]'"),
    "pysdd": OptionalPackage("pysdd", "verification with ProbLog through SDDs", "'neuid3[verify]'"),
    "onnx": OptionalPackage("onnx", "export to ONNX", "'neuid3[onnx]'"),
    "onnxscript": OptionalPackage("onnxscript", "export of networks to ONNX", "'neuid3[onnx]'"),
    "onnxruntime": OptionalPackage("onnxruntime", "verification of ONNX files", "'neuid3[onnx]'"),
    "distributed": OptionalPackage("distributed", "a fit on many machines with Dask", "'neuid3[dask]'"),
    "ray": OptionalPackage("ray", "a fit on many machines with Ray", "'neuid3[ray]'"),
    "deepproblog": OptionalPackage("deepproblog", "running trees in DeepProbLog", "--no-deps deepproblog"),
}

MISSING = "missing"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def doctor(as_json: bool) -> None:
    """Report on the installation and the backend of the networks.

    Prints versions, whether networks run in the compiled kernel or in PyTorch's operations and why, optional packages and
    their purpose, whether ProbLog starts, and the data found. Please add the output to a bug report.

    Example: neuid3 doctor
    """
    report = installation_report()
    click.echo(json.dumps(report, indent=1, ensure_ascii=False) if as_json else "\n".join(_lines(report)))


def installation_report() -> dict[str, Any]:
    """The report, as JSON."""
    import neuid3

    torch_version, networks, threads = _networks()
    return {
        "neuid3": {"version": neuid3.__version__, "folder": str(Path(neuid3.__file__).parent)},
        "python": {"version": platform.python_version(), "platform": platform.platform()},
        "torch": torch_version,
        "networks": networks,
        "threads": threads,
        "problog": _problog(),
        "required": {name: _installed(name, module) for name, module in REQUIRED.items()},
        "optional": {
            name: {"version": _installed(name, package.module), "purpose": package.purpose}
            for name, package in OPTIONAL.items()
        },
        "encoders": _encoders(),
        "data": _data(),
    }


def _networks() -> tuple[str | None, dict[str, Any], dict[str, int | None]]:
    """The version of PyTorch, the backend that runs networks, and threads."""
    threads: dict[str, int | None] = {"cores": _cores(), "torch": None}
    networks: dict[str, Any] = {"name": None, "backend": None, "variant": None, "variants": [], "reason": None}
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways, and each is reported
        return None, networks | {"reason": f"PyTorch cannot be imported: {error}"}, threads
    threads["torch"] = torch.get_num_threads()
    from neuid3.errors import KernelError
    from neuid3.networks import select_backend
    from neuid3.utils.kernel import chosen_kernel, runnable_variants

    networks["name"] = select_backend("auto").name
    networks["variants"] = list(runnable_variants()[0])
    try:
        chosen = chosen_kernel()
    except KernelError as error:
        networks["reason"] = str(error)
    else:
        backend = "torch" if chosen.variant is None else "kernel"
        networks |= {"backend": backend, "variant": chosen.variant, "reason": chosen.reason}
    return torch.__version__, networks, threads


def _cores() -> int | None:
    """The number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # not on every platform
    return os.cpu_count() if usable is None else len(usable(0))


def _problog() -> dict[str, Any]:
    from neuid3.logic.sandbox import Limits, start_error

    reason = start_error(Limits())
    return {"version": _installed("problog", "problog"), "starts": reason is None, "reason": reason}


def _installed(name: str, module: str) -> str | None:
    """The version of an installed package, `unknown` where it has no metadata; None where it is missing."""
    if find_spec(module) is None:
        return None
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _data() -> dict[str, Any]:
    from neuid3.utils.cache import cache_folder

    named = os.environ.get("NEUID3_DATA")
    return {"NEUID3_DATA": _contents(Path(named)) if named else None, "cache": _contents(cache_folder())}


def _encoders() -> dict[str, Any]:
    """The folder in which weights of encoders are looked for, and what is in it."""
    from neuid3.utils.cache import cache_folder

    return _contents(cache_folder() / "encoders")


def _contents(folder: Path) -> dict[str, Any]:
    """A folder of data, whether it exists, and the names of its entries."""
    exists = folder.is_dir()
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if exists else []
    return {"folder": str(folder), "exists": exists, "entries": names}


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """The report as lines of text."""
    threads, problog, data = report["threads"], report["problog"], report["data"]
    on = "" if threads["torch"] is None else f", {_count(threads['torch'], 'thread')}"
    rows = {
        "neuid3": f"{report['neuid3']['version']} in {report['neuid3']['folder']}",
        "Python": f"{report['python']['version']} on {report['python']['platform']}, {_count(threads['cores'], 'core')}",
        "PyTorch": f"{report['torch'] or 'cannot be imported'}{on}",
        "networks": _backend(report["networks"]),
        "ProbLog": f"{problog['version'] or 'not installed'}; its child process "
        + ("starts" if problog["starts"] else f"does not start: {problog['reason']}"),
        "NEUID3_DATA": "not set" if data["NEUID3_DATA"] is None else _folder(data["NEUID3_DATA"]),
        "cache": _folder(data["cache"]),
        "encoders": _folder(report["encoders"]),
    }
    missing = [name for name, installed in report["required"].items() if installed is None]
    if missing:
        rows["missing"] = f"{', '.join(missing)} (pip install {' '.join(missing)})"
    width = max(map(len, rows))
    yield from (f"{label:{width}}  {text}" for label, text in rows.items())
    yield ""
    yield "Optional packages"
    versions = {name: package["version"] or MISSING for name, package in report["optional"].items()}
    name_width, version_width = (max(map(len, cells)) for cells in (versions, versions.values()))
    for name, installed in versions.items():
        hint = f" (pip install {OPTIONAL[name].install})" if installed == MISSING else ""
        yield f"  {name:{name_width}}  {installed:{version_width}}  {OPTIONAL[name].purpose}{hint}"


def _backend(networks: dict[str, Any]) -> str:
    match networks["backend"]:
        case "kernel":
            others = [variant for variant in networks["variants"] if variant != networks["variant"]]
            also = f" (also: {', '.join(others)})" if others else ""
            return f"backend {networks['name']} with the compiled kernel, variant {networks['variant']}{also}"
        case "torch":
            return f"backend {networks['name']} with PyTorch's operations: {networks['reason']}"
        case _:
            return f"cannot run: {networks['reason']}"


def _folder(contents: dict[str, Any]) -> str:
    entries = f": {', '.join(contents['entries'])}" if contents["entries"] else " (empty)"
    return f"{contents['folder']}{entries if contents['exists'] else ' (no such folder)'}"


def _count(number: int | None, noun: str) -> str:
    """A number with a noun in singular or plural.

    >>> _count(1, "core"), _count(2, "core")
    ('1 core', '2 cores')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")
