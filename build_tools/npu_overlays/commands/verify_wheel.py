"""`verify-wheel`: what a build wrote → whether it is whole and says the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import json_option, option
from npu_overlays.commands.console import Console
from npu_overlays.errors import OutputError, Problem, collected
from npu_overlays.progress import step
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.wheels.results import Verified

SUMMARY = "check that wheels are whole and consistent, without installing them"
DESCRIPTION = """\
Check that wheels are whole and consistent, without installing them: that a
wheel's two lists of digests (pip's RECORD and the summary's manifest.json), its
summary and its diff agree with the files, that the requirements fit the
companion, and that the statement beside a wheel (*.intoto.json) names these
very bytes. Name every file that a build wrote: a wheel without its statement
can only be compared with itself, and the command lists the files that only
RECORD covers.

examples:
  npu-overlays verify-wheel wheels/*
"""
_KINDS = {
    "companion": "an empty companion",
    "statement": "its statement, which names these wheels and their source",
    "constraints": "as the stack says",
    "doctor": "which examines machines",
    "recipes": "which trains and compares runs",
}
# They are made of no overlay and no upstream that a statement could name.
_WITHOUT_STATEMENT = {"doctor", "recipes"}
_RECORD_ALONE = "; it has no statement, so only its own RECORD vouches for its files"
_NO_STATEMENT = "no statement beside it names these bytes; only its own RECORD says that these are as built"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The files to check, and whether the report is JSON."""

    files: list[Path] = option(type=Path, nargs="+", metavar="FILE", help="a wheel, a statement or constraints")
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    verified = _verified(options.files)
    if options.json:
        console.json(list(map(_as_json, verified)))
        return 0
    for one in verified:
        name = " ".join(filter(None, (one.name, one.version)))
        console.line(f"{one.wheel}: {name}, {_finding(one)}", style="green")
        if one.unproven and one.kind not in _WITHOUT_STATEMENT:
            console.line(f"  {_NO_STATEMENT}: {', '.join(one.unproven)}", style="yellow")
    return 0


def _as_json(one: Verified) -> dict[str, object]:
    return {
        "wheel": str(one.wheel),
        "name": one.name,
        "version": one.version,
        "kind": one.kind,
        "made": one.made,
        "unproven": one.unproven,
    }


def _verified(files: Iterable[Path]) -> list[Verified]:
    """Return what each file is; raises `OutputError` with everything that is wrong with any of them."""
    from npu_overlays.wheels.output_check import verify_output  # noqa: PLC0415  # only needed here

    verified = []
    problems: list[Problem] = []
    for file in files:
        step(f"{file.name}: reading it whole")
        with collected(problems, OutputError):
            verified.append(verify_output(file))
            problems += [one for one in verified[-1].problems if one not in problems]
    OutputError.raise_for(problems)
    return verified


def _finding(one: Verified) -> str:
    if one.kind in _KINDS:
        return f"{_KINDS[one.kind]}{_RECORD_ALONE if one.kind in _WITHOUT_STATEMENT else ''}"
    return f"{plural(one.files, 'file')}, as its summary says; made of {one.made}"
