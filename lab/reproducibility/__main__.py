"""An overlay → docs/reproducibility.md in both languages; leaves with 1 where bytes differ that must not."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import requires, version
from pathlib import Path

from rich.console import Console

from environments.pythons import SUPPORTED, find_python
from npu_overlays.files import write_atomically
from npu_overlays.overlay.overlay_folders import find_overlay
from reproducibility.builds import Setting, Tool
from reproducibility.comparison import OF_HATCHLING, outcomes
from reproducibility.conditions import OLDEST, possible
from reproducibility.page import Outcome, pages

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Build, print a line for each condition, write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--overlay", default="transformers@5.10.4", help="the overlay that is built")
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="npu-overlays-reproducibility-") as folder:
        work = Path(folder)
        source = "git" if find_overlay(ROOT / "overlays", options.overlay).pin.commit else "archive"
        setting = Setting(root=ROOT, overlay=options.overlay, source=source, work=work)
        try:
            tools = installed(work)
            for outcome in outcomes(setting.given_out(), possible(tools), tools):
                found.append(replace(outcome, note=noted(outcome, tools)))
                console.print(
                    f"{outcome.condition.name}: {', '.join(outcome.differing) or 'the same bytes'}", markup=False
                )
        except subprocess.CalledProcessError as error:
            console.print((error.output or b"").decode(errors="replace"), str(error), sep="\n", markup=False)
            return 2
    for name, text in pages(options.overlay, source, version("hatchling"), found).items():
        write_atomically(ROOT / "docs" / name, text.encode())
    return 0 if all(map(right, found)) else 1


def right(one: Outcome) -> bool:
    """Return whether nothing differs that must not."""
    return set(one.differing) <= set(OF_HATCHLING if one.condition.tool == OLDEST else ())


def installed(work: Path) -> dict[str, Tool]:
    """Install npu-overlays for each supported Python that this machine has, and with the oldest hatchling allowed."""
    pythons = {version: found for version in SUPPORTED if (found := find_python(version))}
    tools = {version: _installed(python, work / f"python-{version}") for version, python in pythons.items()}
    tools[OLDEST] = _installed(sys.executable, work / "oldest", f"hatchling=={_oldest()}.*")
    return tools


def _installed(python: str, folder: Path, *more: str) -> Tool:
    subprocess.run([python, "-m", "venv", str(folder)], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    own = str(folder / "bin" / "python")
    install = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    projects = [str(ROOT / "build_tools"), str(ROOT)]
    subprocess.run([*install, *projects, *more], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return Tool(python=own)


def _oldest() -> str:
    """Return the oldest hatchling that npu-overlays allows."""
    listed = (re.fullmatch(r"hatchling>=([\d.]+)", text) for text in requires("npu-overlays") or ())
    return next(found[1] for found in listed if found)


def noted(one: Outcome, tools: dict[str, Tool]) -> str:
    """Return the version of hatchling that a condition names none of."""
    if one.condition.tool != OLDEST:
        return ""
    asked = [tools[OLDEST].python, "-c", "from importlib.metadata import version; print(version('hatchling'))"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
