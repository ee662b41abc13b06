"""Build hook: the compiled kernel of the networks, for the wheel or for the source tree of an editable install.

`python hatch_build.py` compiles it into this source tree. A package without it runs its networks with PyTorch's operations.
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

# The module of the kernel: its C source is beside it, and the libraries go into the folder `compiled` beside it.
KERNEL = Path("src/neuid3/networks/kernel.py")

SOURCE = KERNEL.with_suffix(".c")
COMPILED = KERNEL.with_name("compiled")
RECORD = "build.json"

FLAGS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
PRECISIONS = {"float32": (), "float64": ("-DDOUBLE",)}
# The variants for x86-64, and the level of the architecture that each needs; other machines have the compiler's baseline.
X86_64 = {"x86-64": 1, "x86-64-v3": 3, "x86-64-v4": 4}
COMPILERS = ("cc", "gcc", "clang")
PATIENCE = 300.0  # seconds until a compiler counts as stuck


class CannotCompileError(Exception):
    """There is no C compiler, or it does not take the source."""


class KernelHook(BuildHookInterface):
    """Compiles the kernel and puts it into the wheel; an editable install has it in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="neuid3-kernel-")  # goes when the hook goes
        folder, root, editable = Path(self._folder.name), Path(self.root), version == "editable"
        record = build_in_place(root) if editable else build(root, folder)
        (self.app.display_warning if record["reason"] else self.app.display_info)(sentence(record))
        if editable:
            return
        package = COMPILED.relative_to("src").as_posix()
        build_data["force_include"].update({str(path): f"{package}/{path.name}" for path in folder.iterdir()})
        if record["variants"]:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"


def platform_tag() -> str:
    """The platform that the libraries are compiled for, as a wheel names it."""
    if sys.platform == "darwin":  # the interpreter may be universal, the libraries are not
        target = os.environ.get("MACOSX_DEPLOYMENT_TARGET")
        version = tuple(map(int, f"{target}.0".split(".")[:2])) if target else None
        return next(mac_platforms(version))
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_in_place(root: Path) -> dict[str, Any]:
    """The kernel in the source tree, compiled anew unless it is up to date; returns the record of the build."""
    place = root / COMPILED
    try:
        record: dict[str, Any] = json.loads((place / RECORD).read_text("utf-8"))
        if record == expected(root) and all((place / name).is_file() for name in files(record)):
            return record
    except (OSError, ValueError, CannotCompileError):
        pass
    with tempfile.TemporaryDirectory(dir=root / KERNEL.parent, prefix=".compiled-") as folder:
        record = build(root, Path(folder))
        place.mkdir(exist_ok=True)
        for path in Path(folder).iterdir():
            path.replace(place / path.name)  # a process that runs the old library keeps it
    for path in place.iterdir():
        if path.name not in (RECORD, *files(record)):
            path.unlink()
    return record


def build(root: Path, folder: Path) -> dict[str, Any]:
    """Compile every variant into a folder and write the record of the build there, or the reason why there is none."""
    try:
        record = expected(root)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda file: _compile(root / SOURCE, folder / file[0], file[1]), files(record).items()))
    except CannotCompileError as error:
        for path in folder.iterdir():
            path.unlink()
        record = {"reason": str(error), "source": _digest(root), "compiler": None, "flags": [], "variants": {}}
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record


def expected(root: Path) -> dict[str, Any]:
    """The record of a build that succeeds with this source and this compiler."""
    machine = platform.machine().lower()
    return {
        "reason": None,
        "source": _digest(root),
        "compiler": _output([*compiler(), "--version"]).partition("\n")[0],
        "flags": list(FLAGS),
        "variants": X86_64 if machine in ("x86_64", "amd64") else {machine: 0},
    }


def files(record: dict[str, Any]) -> dict[str, list[str]]:
    """The libraries of a build by name, each with the flags of its own."""
    flags_of = {}
    for variant, level in record["variants"].items():
        for precision, flags in PRECISIONS.items():
            flags_of[f"kernel-{variant}-{precision}.so"] = [*([f"-march={variant}"] if level else []), *flags]
    return flags_of


def compiler() -> list[str]:
    """The command of the C compiler: CC, or the first that is found."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    path = next(filter(None, map(shutil.which, COMPILERS)), None)
    if path is None:
        raise CannotCompileError(f"no C compiler ({', '.join(COMPILERS)}) was found")
    return [path]


def sentence(record: dict[str, Any]) -> str:
    """What a build log says of a build."""
    if record["reason"]:
        return (
            f"neuid3 is built without its compiled kernel, because {record['reason']}; networks are run by PyTorch's "
            "operations, two to three times slower. To change that, install GCC 12 or Clang and build again."
        )
    return f"neuid3's kernel is compiled for {', '.join(record['variants'])} by {record['compiler']}."


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


def _digest(root: Path) -> str:
    return hashlib.sha256((root / SOURCE).read_bytes()).hexdigest()


if __name__ == "__main__":
    print(sentence(build_in_place(Path(__file__).resolve().parent)))
