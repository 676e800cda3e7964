"""An environment and requirements → the environment with them and what they require.

uv does it where there is one: for a hundred requirements it takes a fifth of pip's time. Files are copied out of its
cache, which others use, too, and nothing is compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_QUIET = ("--quiet", "--no-compile", "--disable-pip-version-check")


@cache
def find_uv() -> str | None:
    """Return uv from this environment or the search path, or None."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.is_file() else shutil.which("uv")


def install(python: Path, requirements: Sequence[str | Path], *, given: Sequence[str] = ()) -> None:
    """Install requirements from the index, with what they require.

    Args:
        python: of the environment.
        requirements: as pip takes them.
        given: names of distributions that the environment sees though they are not its own: uv looks no further.

    Raises:
        subprocess.CalledProcessError: it cannot be done; its `stderr` says why.
    """
    uv = find_uv()
    if not uv:
        pip = (sys.executable, "-m", "pip", "--python", python, "install", *_QUIET)
        _run(*pip, *requirements)
        return
    with tempfile.TemporaryDirectory() as folder:
        overrides = Path(folder) / "given.txt"
        overrides.write_text("".join(f"{name} ; sys_platform == 'given'\n" for name in given), "utf-8")
        _run(*_uv(uv, python), "--overrides", overrides, *requirements)


def place(python: Path, wheels: Sequence[Path], folder: Path) -> None:
    """Install wheels into a folder, without what they require."""
    uv = find_uv()
    pip = (sys.executable, "-m", "pip", "--python", python, "install", *_QUIET)
    options: tuple[str | Path, ...] = ("--no-deps", "--no-index", "--target", folder, *wheels)
    try:
        _run(*(_uv(uv, python) if uv else pip), *options)
    except subprocess.CalledProcessError as error:
        # verl had a mark of direction in a file's name for three months: pip takes it, uv does not.
        if not uv or "unacceptable filename" not in error.stderr:
            raise
        _run(*pip, *options)


def _uv(uv: str, python: Path) -> tuple[str | Path, ...]:
    return uv, "pip", "install", "--quiet", "--python", python, "--link-mode", "copy"


@cache
def _variables() -> dict[str, str]:
    """Return this process's variables, and where uv is not told of an index, the one that pip is told of."""
    variables = dict(os.environ)
    if not {"UV_INDEX_URL", "UV_DEFAULT_INDEX"} & variables.keys():
        asked = [sys.executable, "-m", "pip", "config", "list"]
        listed = subprocess.run(asked, capture_output=True, text=True, check=True)
        if urls := re.findall(r"^[^ ]+\.index-url='(.*)'$", listed.stdout, re.MULTILINE):
            variables["UV_DEFAULT_INDEX"] = urls[-1]
    return variables


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], env=_variables(), capture_output=True, text=True, check=True)
