"""Try a recipe: the built wheels in, a run of GRPO on this machine's CPU out.

Installs the wheels of the default stack, npu-recipes and all that verl requires
into a scratch environment, once, and runs the recipe smoke-grpo there. torch
comes first, the build for CPUs where an index has it: left to itself, pip would
fetch the gigabytes of the one for GPUs.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from email.parser import BytesHeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.specifiers import SpecifierSet

from npu_doctor.stacks import CPU_INDEX
from try_wheels import TIMER, built, run, run_timed

TORCH = "2.13.0"
# Of an index that does not answer pip would say so after minutes.
QUICKLY = ("--retries", "1", "--timeout", "10")


def main() -> int:
    """Install and train; returns the exit code of the first step that failed, else 0."""
    parser = argparse.ArgumentParser(
        description="Install the built wheels into a scratch environment; train with them."
    )
    parser.add_argument("--environment", type=Path, required=True, help="folder of the scratch environment")
    parser.add_argument("--out", default="wheels", help="folder of the wheels (default: wheels)")
    parser.add_argument("--fresh", action="store_true", help="train from the beginning, not from the last checkpoint")
    parser.add_argument("arguments", nargs="*", help="what `npu-recipes run` takes (default: smoke-grpo)")
    options = parser.parse_args()
    try:
        listed = built(options.out, [])
        wheels = [Path(one[kind]) for one in listed for kind in ("companion", "wheel")]
        ours, problems = found(Path(options.out))
        if problems := problems or unfit([*wheels, *ours]):
            sys.stderr.write("".join(f"try_recipe: error: {problem}\n" for problem in problems))
            return 2
        if problem := install(options.environment, [*wheels, *ours]):
            sys.stderr.write(f"try_recipe: error: {problem}\n")
            return 2
        arguments = options.arguments or ["smoke-grpo"]
        if options.fresh:
            shutil.rmtree(Path("runs") / arguments[0], ignore_errors=True)
        run(options.environment / "bin" / "npu-recipes", "run", *arguments)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def found(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the wheels of npu-doctor and npu-recipes in a folder, and which of them are not there."""
    ours = {name: sorted(folder.glob(f"npu_{name}-*.whl"))[-1:] for name in ("doctor", "recipes")}
    problems = [f"{folder} has no wheel of npu-{name}; make wheels" for name, wheels in ours.items() if not wheels]
    return [wheel for wheels in ours.values() for wheel in wheels], problems


def unfit(wheels: list[Path], python: str = platform.python_version()) -> list[str]:
    """Return which wheels are for no such Python, and what to do; pip says it only once torch has been fetched."""
    problems = []
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            wanted = BytesHeaderParser().parsebytes(archive.read(name))["Requires-Python"] or ""
        if python not in SpecifierSet(wanted):
            fix = "begin anew with another: make clean, make wheels train PYTHON=python3.12"
            problems.append(f"{wheel.name} is for Python {wanted}, and this is {python}; {fix}")
    return problems


def install(environment: Path, wheels: list[Path]) -> str:
    """Make the environment, where it is missing, and install the wheels with what they require.

    Returns:
        What cannot be installed, and what to do about it; empty where everything is.
    """
    stamp = environment / "installed"
    digests = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    wanted = "\n".join([sys.version, TORCH, *digests])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return ""
    python = environment / "bin" / "python"
    if not python.exists():
        run_timed(sys.executable, "-m", "venv", "--clear", "--without-pip", environment)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet", "install")
    if problem := install_torch(pip, wheels[-1].parent):
        return problem
    try:
        # Of the wheels what is new: the version says which upstream, not which build of ours.
        run_timed(*pip, "--force-reinstall", "--no-deps", *wheels)
        run_timed(*pip, *wheels)
    except subprocess.CalledProcessError:
        return "what verl requires cannot be installed, for the reason above; PIP_INDEX_URL=… names pip another index"
    stamp.write_text(wanted, "utf-8")
    return ""


def install_torch(pip: Sequence[str | Path], folder: Path) -> str:
    """Install torch: the build for CPUs, of the user's indexes or PyTorch's own, else the plain one of that version.

    Args:
        pip: the command, up to ``install``.
        folder: where a wheel of torch may lie, too.

    Returns:
        Which wheel to supply, where none can be had; else nothing.
    """
    pip = (*pip, "--find-links", folder, *QUICKLY)
    for place, options in (("the index of pip", ()), (CPU_INDEX, ("--extra-index-url", CPU_INDEX))):
        print(f"Installing torch=={TORCH}+cpu, some 200 MB, of {place}", flush=True)
        if not _attempted(*pip, *options, f"torch=={TORCH}+cpu"):
            return ""
    plain = f"torch=={TORCH}"
    print(f"No index here has {plain}+cpu: fetching {plain}, which may be gigabytes for GPUs", flush=True)
    if not (said := _attempted(*pip, plain)):
        return ""
    wheel = f"torch-{TORCH}+cpu-cp{sys.version_info.major}{sys.version_info.minor}-…_{platform.machine()}.whl"
    return (
        f"{plain} cannot be installed: pip says `{said}`; where no index that it reaches has torch, put {wheel} of "
        f"{CPU_INDEX} into {folder}/, or name an index that has it: PIP_INDEX_URL=…"
    )


def _attempted(*command: str | Path) -> str:
    """Run pip; returns the first of its errors, or nothing where it succeeds."""
    done = subprocess.run([*TIMER, *map(str, command)], check=False, stderr=subprocess.PIPE, text=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    return (errors or [f"exit code {done.returncode}"])[0].removeprefix("ERROR: ") if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
