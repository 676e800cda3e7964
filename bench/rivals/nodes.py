"""Nodes: what each machine pays for patched wheels, beside upstream's: once to install them, and at every start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from measurements import Contender, Measurement, command, interleaved

from environments.installer import install

OURS, UPSTREAM = "patched", "upstream"


def measure(
    wheels: dict[str, Path], distribution: str, work: Path, repeats: int, told: Callable[[str], None]
) -> dict[str, dict[str, list[Measurement]]]:
    """Return the samples of each start, patched and not.

    Args:
        wheels: folder with our wheels, and that with upstream's, by `OURS` and `UPSTREAM`.
        distribution: upstream's name.
        work: a folder for both environments.
        repeats: counted runs of each.
        told: called with what is being done.
    """
    told("installing what they require")
    pythons = {name: _environment(folder, work / f"node-{name}") for name, folder in wheels.items()}
    found = {}
    for what, code in (("starting Python", "pass"), (f"importing {distribution}", f"import {distribution}")):
        contenders = {name: Contender(run=command(python, "-c", code)) for name, python in pythons.items()}
        told(what)
        found[what] = interleaved(contenders, repeats, told=lambda _: None)
    return found


def _environment(wheels: Path, folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    install(python, sorted(wheels.glob("*.whl")))
    return python
