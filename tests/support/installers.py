"""The installers that wheels are tried with: the oldest pip, the newest pip, and uv, each in an environment."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from support.environment import Environment
from support.pythons import SUPPORTED, find_python, some_uv
from support.venvs import Venv, make_venv
from support.wheelhouse import run_pip, why_not, write_reason

# The oldest supported pip of each Python is the one its first release came with: on none of them
# does anyone have an older one. Ubuntu 22.04, which CANN's images are based on, has 22.0.2 for 3.10.
OLDEST_PIPS = {"3.10": "21.2.3", "3.11": "22.3", "3.12": "23.2.1", "3.13": "24.2"}
INSTALLERS = ("oldest pip", "newest pip", "uv")


def lowest_python() -> tuple[str, str]:
    """Return version and command of the lowest supported Python of this machine, and so the one with the oldest pip."""
    return next((version, found) for version in SUPPORTED if (found := find_python(version)))


def download_pips(folder: Path) -> None:
    """Fetch the oldest and the newest pip from the user's index; else leave a file that says why not."""
    for name, version in (("oldest", OLDEST_PIPS[lowest_python()[0]]), ("newest", "")):
        wanted = f"pip=={version}" if version else "pip"
        if problem := run_pip("download", "--no-deps", "--dest", str(folder / name), wanted):
            write_reason(folder, problem)
            return


def make_installer(name: str, folder: Path, environment: Environment, pips: Path) -> None:
    """Make a virtual environment with the named installer, to be copied; skips where it cannot be had."""
    if name != "uv" and (reason := why_not(pips)):
        pytest.skip(f"the package index cannot be reached: {reason}")
    python = lowest_python()[1] if name == "oldest pip" else sys.executable
    site = make_venv(folder, environment, python=python).site
    if name != "uv":
        (wheel,) = (pips / name.partition(" ")[0]).glob("pip-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        environment.succeed(folder / "bin" / "python", "-m", "compileall", "-q", site)


def copy_installer(name: str, template: Path, folder: Path, environment: Environment) -> Venv:
    """Copy a virtual environment that `make_installer` made; skips where there is no uv."""
    uv = some_uv() if name == "uv" else ""
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True, copy_function=_link_pip)
    installer = (uv, "pip") if uv else (str(folder / "bin" / "python"), "-m", "pip")
    return Venv(folder=folder, environment=environment, installer=installer)


def _link_pip(source: str, target: str) -> None:
    """Copy a file; pip's own, of which there are a thousand, are linked, because nothing changes them in place."""
    if f"{os.sep}pip{os.sep}" in source.partition("site-packages")[2]:
        os.link(source, target)
    else:
        shutil.copy2(source, target)
