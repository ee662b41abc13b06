"""Build hook: the compiled kernels, for the wheel or for the source tree of an editable install.

A package of `src/neuid3` with a `kernel.c` has a kernel. `python hatch_build.py` compiles all of them into this source tree.
Without them networks are run by PyTorch's operations, and the trees of ensembles are grown in numpy.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import mac_platforms

# The C sources of the kernels; their libraries go into the folder `compiled` beside each.
SOURCES = "src/neuid3/*/kernel.c"
COMPILED = "compiled"
RECORD = "build.json"

FLAGS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
# The kernel of this package is compiled for each precision, the others once.
WITH_PRECISIONS = "networks"
PRECISIONS = {"-float32": (), "-float64": ("-DDOUBLE",)}
# The variants for x86-64, and the level of the architecture that each needs; other machines have the compiler's baseline.
X86_64 = {"x86-64": 1, "x86-64-v3": 3, "x86-64-v4": 4}
# What happens without the kernel of a package.
WITHOUT = {
    "binned": "the trees of ensembles are grown in numpy, many times slower",
    "networks": "networks are run by PyTorch's operations, two to three times slower",
}
COMPILERS = ("cc", "gcc", "clang")
PATIENCE = 300.0  # seconds until a compiler counts as stuck


class CannotCompileError(Exception):
    """There is no C compiler, or it does not take the source."""


class KernelHook(BuildHookInterface):
    """Compiles the kernel and puts it into the wheel; an editable install has it in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="neuid3-kernel-")  # goes when the hook goes
        root, editable = Path(self.root), version == "editable"
        for source in sources(root):
            folder = Path(self._folder.name) / source.parent.name
            record = build_in_place(source) if editable else build(source, folder)
            (self.app.display_warning if record["reason"] else self.app.display_info)(sentence(source, record))
            if editable:
                continue
            place = (source.parent / COMPILED).relative_to(root / "src").as_posix()
            build_data["force_include"].update({str(path): f"{place}/{path.name}" for path in folder.iterdir()})
            if record["variants"]:
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{platform_tag()}"


def sources(root: Path) -> list[Path]:
    """The C sources of all kernels."""
    return sorted(root.glob(SOURCES))


def platform_tag() -> str:
    """The platform that the libraries are compiled for, as a wheel names it."""
    if sys.platform == "darwin":  # the interpreter may be universal, the libraries are not
        target = os.environ.get("MACOSX_DEPLOYMENT_TARGET")
        version = tuple(map(int, f"{target}.0".split(".")[:2])) if target else None
        return next(mac_platforms(version))
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_in_place(source: Path) -> dict[str, Any]:
    """A kernel in the source tree, compiled anew unless it is up to date; returns the record of the build."""
    place = source.parent / COMPILED
    try:
        record: dict[str, Any] = json.loads((place / RECORD).read_text("utf-8"))
        if record == expected(source) and all((place / name).is_file() for name in files(source, record)):
            return record
    except (OSError, ValueError, CannotCompileError):
        pass
    with tempfile.TemporaryDirectory(dir=source.parent, prefix=".compiled-") as folder:
        record = build(source, Path(folder))
        place.mkdir(exist_ok=True)
        for path in Path(folder).iterdir():
            path.replace(place / path.name)  # a process that runs the old library keeps it
    for path in place.iterdir():
        if path.name not in (RECORD, *files(source, record)):
            path.unlink()
    return record


def build(source: Path, folder: Path) -> dict[str, Any]:
    """Compile every variant into a folder and write the record of the build there, or the reason why there is none."""
    folder.mkdir(exist_ok=True)
    try:
        record = expected(source)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda file: _compile(source, folder / file[0], file[1]), files(source, record).items()))
    except CannotCompileError as error:
        for path in folder.iterdir():
            path.unlink()
        record = {"reason": str(error), "source": _digest(source), "compiler": None, "flags": [], "variants": {}}
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record


def expected(source: Path) -> dict[str, Any]:
    """The record of a build that succeeds with this source and this compiler."""
    machine = platform.machine().lower()
    return {
        "reason": None,
        "source": _digest(source),
        "compiler": _output([*compiler(), "--version"]).partition("\n")[0],
        "flags": list(FLAGS),
        "variants": X86_64 if machine in ("x86_64", "amd64") else {machine: 0},
    }


def files(source: Path, record: dict[str, Any]) -> dict[str, list[str]]:
    """The libraries of a kernel by name, each with the flags of its own."""
    precisions = PRECISIONS if source.parent.name == WITH_PRECISIONS else {"": ()}
    flags_of = {}
    for variant, level in record["variants"].items():
        for precision, flags in precisions.items():
            flags_of[f"kernel-{variant}{precision}.so"] = [*([f"-march={variant}"] if level else []), *flags]
    return flags_of


def compiler() -> list[str]:
    """The command of the C compiler: CC, or the first that is found."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    path = next(filter(None, map(shutil.which, COMPILERS)), None)
    if path is None:
        raise CannotCompileError(f"no C compiler ({', '.join(COMPILERS)}) was found")
    return [path]


def sentence(source: Path, record: dict[str, Any]) -> str:
    """What a build log says of the build of a kernel."""
    package = source.parent.name
    if record["reason"]:
        return (
            f"neuid3.{package} is built without its compiled kernel, because {record['reason']}; {WITHOUT[package]}. "
            "To change that, install GCC 12 or Clang and build again."
        )
    return f"The kernel of neuid3.{package} is compiled for {', '.join(record['variants'])} by {record['compiler']}."


def _compile(source: Path, library: Path, flags: list[str]) -> None:
    _output([*compiler(), *FLAGS, *flags, str(source), "-o", str(library), "-lm"])


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotCompileError(f"the C compiler {command[0]} does not run ({error})") from None
    if done.returncode:
        lines = done.stderr.splitlines()
        line = next((line for line in lines if "error" in line), lines[0] if lines else f"exit code {done.returncode}")
        raise CannotCompileError(f"the C compiler {command[0]} fails ({line.strip()})")
    return done.stdout


def _digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


if __name__ == "__main__":
    for kernel in sources(Path(__file__).resolve().parent):
        print(sentence(kernel, build_in_place(kernel)))
