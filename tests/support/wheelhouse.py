"""The wheelhouse: the wheels of the build tool and of npu-doctor, and all they need, from the user's index."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.environment import Environment

PROJECT = Path(__file__).resolve().parents[2]
DOCTOR = PROJECT / "build_tools"
_REASON = "unreachable"
# What a front end installs for itself or for an upstream beside our own requirements.
_MORE = ("editables", "pip", "setuptools", "wheel")
# Needed on Python 3.10 only, and its compiled wheels serve one Python each.
_PORTABLE = "tomli"
# What is resolved for the lowest Python serves the others as well.
_LOWEST = ("--only-binary=:all:", "--python-version=3.10")


def make_wheelhouse(folder: Path) -> None:
    """Fill `folder`; where the index cannot be reached, leave a file that says so instead of failing."""
    make_own_wheels(folder)
    own = map(str, sorted(folder.glob("npu_*.whl")))
    plain = ("--no-deps", "--implementation=py", "--abi=none", "--platform=any")
    problem = run_pip("download", *_LOWEST, "--dest", str(folder), *own, *_MORE) or run_pip(
        "download", *_LOWEST, *plain, "--dest", str(folder), _PORTABLE
    )
    if problem:
        write_reason(folder, problem)


def make_own_wheels(folder: Path, *projects: Path) -> None:
    """Build the distributions of this repository into `folder`: npu-doctor, and npu-overlays, which requires it."""
    listed = map(str, projects or (DOCTOR, PROJECT))
    built = run_pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), *listed)
    assert built == "", built


def write_reason(folder: Path, problem: str) -> None:
    """Note why a folder could not be filled."""
    (folder / _REASON).write_text(problem, "utf-8")


def why_not(wheelhouse: Path) -> str:
    """Return why there is no wheelhouse, or an empty text."""
    file = wheelhouse / _REASON
    return file.read_text("utf-8") if file.is_file() else ""


def make_site(folder: Path, wheelhouse: Path, environment: Environment) -> None:
    """Install the build tool and all it needs below `folder`, for any Python to find by ``PYTHONPATH``."""
    compiled = {path for path in wheelhouse.glob(f"{_PORTABLE}-*.whl") if not path.name.endswith("-none-any.whl")}
    wheels = [str(path) for path in wheelhouse.glob("*.whl") if path not in compiled]
    # Each Python compiles for itself what it imports of that.
    plainly = ("--quiet", "--no-compile", "--no-deps")
    environment.python("-m", "pip", "install", *plainly, "--target", str(folder), *wheels)


def run_pip(*arguments: str) -> str:
    """Run pip with the user's own configuration; return why it failed, or an empty text."""
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr[-2000:] or f"exit status {done.returncode}"
