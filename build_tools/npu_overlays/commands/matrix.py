"""`matrix`: the overlays on disk → CI's cells, one for each overlay and Python version."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from packaging.specifiers import SpecifierSet

from npu_overlays.commands.command import Command
from npu_overlays.commands.selection import checked_root
from npu_overlays.console import Console
from npu_overlays.lock.lockfile import load_lock
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.lookup import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks
from npu_overlays.pin import Pin

_DESCRIPTION = """\
Print CI's matrix, one cell for each overlay and each Python that its upstream
supports. It is made from what is on disk: a new overlay is in it by being there.
"""
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


class Cell(TypedDict):
    """One job.

    Keys:
        name: of the job.
        overlay: its name, as every command takes it.
        project: upstream's distribution name.
        python: the version to build and test with.
        stack: the stack the overlay is part of, or empty.
        sources: where upstream's bytes can be had, in the order they are tried: ``git``, ``archive``, or both.
        artifact: a name for the wheels of this job, of characters every artifact store takes.
    """

    name: str
    overlay: str
    project: str
    python: str
    stack: str
    sources: str
    artifact: str


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: the folder of overlays, and whether to print a line for GitHub instead of JSON."""

    root: Path
    github: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=["json", "github"], default="json", help="github: a line for $GITHUB_OUTPUT"
    )


def _read(parsed: argparse.Namespace) -> Options:
    return Options(root=parsed.overlays, github=parsed.format == "github")


def _run(options: Options, console: Console) -> int:
    cells = matrix(checked_root(options.root))
    if options.github:
        console.raw(f"matrix={json.dumps({'include': cells}, separators=(',', ':'))}\n")
    else:
        console.json({"include": cells})
    return 0


def matrix(root: Path) -> list[Cell]:
    """Return the cells, by overlay name and then Python version.

    Raises:
        ConfigError: there are no overlays, or one of them or the stacks file is wrong; with every mistake.
    """
    overlays = load_all(root)
    stacks = load_stacks(root)
    return [_cell(overlay, python, stacks) for overlay in overlays for python in _pythons(overlay)]


def _pythons(overlay: Overlay) -> list[str]:
    """Return the versions upstream supports: all of ours where there is no lock yet that says so."""
    if not (overlay.folder / LOCK_FILE).is_file():
        return list(PYTHONS)
    supported = SpecifierSet(load_lock(overlay).metadata.fields.get("requires-python", ""))
    # The last patch release there can be: ">=3.10.2" does not leave out Python 3.10.
    return [python for python in PYTHONS if supported.contains(f"{python}.99")]


def _sources(pin: Pin) -> tuple[tuple[str, object], ...]:
    return ("git", pin.commit), ("archive", pin.archives)


def _cell(overlay: Overlay, python: str, stacks: Stacks) -> Cell:
    return Cell(
        name=f"{overlay.name} py{python}",
        overlay=overlay.name,
        project=overlay.pin.project,
        python=python,
        stack=next((stack.name for stack in stacks.of(overlay.name)), ""),
        sources=" ".join(kind for kind, known in _sources(overlay.pin) if known),
        artifact=f"{overlay.distribution}-{overlay.name.partition('@')[2]}-py{python}",
    )


COMMAND = Command(
    name="matrix",
    summary="print CI's matrix, one cell for each overlay and Python",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
    tidy=False,
)
