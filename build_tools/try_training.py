"""Try training: the built wheels in, a run of GRPO on this machine's CPU out.

Installs the wheels of the default stack, npu-recipes and all that verl requires
into a scratch environment, once, and runs the recipe smoke-grpo there. torch
comes first, the build for CPUs: left to itself, pip would fetch the gigabytes of
the one for GPUs.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import subprocess
import sys
from email.parser import BytesHeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.specifiers import SpecifierSet

from npu_doctor.stacks import CPU_INDEX
from try_wheels import built, run

TORCH = "torch==2.13.0+cpu"


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
        ours = [sorted(Path(options.out).glob(f"npu_{name}-*.whl"))[-1] for name in ("doctor", "recipes")]
        if problems := unfit([*wheels, *ours]):
            sys.stderr.write("".join(f"try_training: error: {problem}\n" for problem in problems))
            return 2
        install(options.environment, [*wheels, *ours])
        arguments = options.arguments or ["smoke-grpo"]
        if options.fresh:
            shutil.rmtree(Path("runs") / arguments[0], ignore_errors=True)
        run(options.environment / "bin" / "npu-recipes", "run", *arguments)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


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


def install(environment: Path, wheels: list[Path]) -> None:
    """Make the environment, where it is missing, and install the wheels with what they require."""
    stamp = environment / "installed"
    digests = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    wanted = "\n".join([sys.version, TORCH, *digests])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    python = environment / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", "--clear", "--without-pip", environment)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet", "install")
    own_index = subprocess.run([*map(str, pip), TORCH], check=False, capture_output=True)
    if own_index.returncode:
        # If the user's own index has no builds for CPUs.
        run(*pip, "--extra-index-url", CPU_INDEX, TORCH)
    # Of the wheels what is new: the version says which upstream, not which build of ours.
    run(*pip, "--force-reinstall", "--no-deps", *wheels)
    run(*pip, *wheels)
    stamp.write_text(wanted, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
