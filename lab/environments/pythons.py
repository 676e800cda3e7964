"""The supported Pythons, as far as this machine has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SUPPORTED = ("3.10", "3.11", "3.12", "3.13")
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"


@cache
def find_python(version: str) -> str | None:
    """Return a working Python of that version, or None; `version` is like ``3.10``."""
    for candidate in _candidates(version):
        # A launcher of a version manager may be there without the version behind it.
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[str]:
    if version == RUNNING:
        yield sys.executable
    if name := shutil.which(f"python{version}"):
        yield name
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))
