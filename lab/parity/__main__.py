"""Pins of transformers → docs/parity.md in both languages; leaves with 1 where a case fails, 2 where a pin is not had.

Nothing is written unless every pin that was asked for was measured.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.version import Version
from rich.console import Console

from environments import ROOT, TORCH, Unavailable
from npu_overlays.errors import OverlayError
from npu_overlays.files import write_atomically
from npu_overlays.overlay.overlay_folders import find_overlay, readable
from parity.figures import PinFigures
from parity.measurement import Told, measure
from parity.page import pages
from parity.report import Incomplete

OVERLAYS = ROOT / "overlays"


def main() -> int:
    """Measure and write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--overlay", action="append", help="measure this one alone, or these (default: every pin of transformers)"
    )
    options = parser.parse_args()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        names = [find_overlay(OVERLAYS, name).name for name in options.overlay or ()] or every_pin()
    except OverlayError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    with tempfile.TemporaryDirectory(prefix="npu-overlays-parity-") as folder, console.status("") as status:
        found, problems = measured(names, Path(folder), status.update)
    for problem in problems:
        console.print(problem, style="red", markup=False)
    if problems:
        return max(problems.values())
    torch = TORCH.partition("==")[2].partition("+")[0]
    for name, text in pages(found, torch=torch).items():
        write_atomically(ROOT / "docs" / name, text.encode())
    return 0


def every_pin() -> list[str]:
    """Return the names of all overlays of transformers."""
    return [overlay.name for overlay in readable(OVERLAYS, "transformers")]


def measured(names: list[str], work: Path, told: Told) -> tuple[list[PinFigures], dict[str, int]]:
    """Measure pins one after the other; returns their figures by version, and what went wrong with its exit code."""
    found, problems = [], {}
    for name in names:
        try:
            found.append(measure(name, work, told))
        except Unavailable as reason:
            fix = "let git or pip reach what it is made from, or name the others: --overlay NAME, once for each"
            problems[f"{name}: cannot be measured: {reason}\nfix: {fix}"] = 2
        except subprocess.CalledProcessError as error:
            said = "\n".join(str(error.output or error.stderr or "").splitlines()[-50:])
            problems[f"{name}: cannot be measured: {error}\n{said}"] = 2
        except Incomplete as reason:
            fix = f"python -m pytest tests/overlays/transformers -k {name} says why"
            problems[f"{name}: {reason}\nfix: {fix}"] = 1
    return sorted(found, key=lambda pin: Version(pin.version)), problems


if __name__ == "__main__":
    sys.exit(main())
