"""`build`: overlays → their wheels."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import Command
from npu_overlays.commands.notes import count_of, source_notes
from npu_overlays.commands.options import Selection, add_json, add_selection, folder, read_selection
from npu_overlays.commands.selection import select
from npu_overlays.console import Console
from npu_overlays.interrupts import undisguised

if TYPE_CHECKING:
    from npu_overlays.wheels.building import Built

_DESCRIPTION = """\
Build the wheels of overlays: of each the patched distribution, verl-npu say,
and its companion, a wheel without code under upstream's name, which answers other
packages that require verl.

Upstream's source is fetched once and kept. A wheel that is there already and
made from the same inputs is left alone. Either all wheels are written or none.

examples:
  npu-overlays build                        the default stack, into wheels/
  npu-overlays build verl@d62da49 --out /tmp/w
  npu-overlays build verl@796871d --upstream verl=~/src/verl
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        selection: which overlays, and where their upstreams are to come from.
        out: folder for the wheels.
        force: whether to build those too that are up to date.
        json: whether the report is JSON.
    """

    selection: Selection
    out: Path
    force: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--out", type=folder, default="wheels", metavar="DIR", help="where wheels go (default: wheels)")
    parser.add_argument("--force", action="store_true", help="build although nothing changed")
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(
        selection=read_selection(parsed),
        out=parsed.out,
        force=parsed.force,
        json=parsed.json,
    )


def _run(options: Options, console: Console) -> int:
    from npu_overlays.wheels.building import build_all  # noqa: PLC0415  # hatchling takes a fifth of a second

    with undisguised(f"nothing was written to {options.out}"):
        overlays = select(options.selection)
        built = build_all(overlays, options.selection.choice, options.out, force=options.force)
    if options.json:
        console.json([_as_json(one) for one in built])
    else:
        _report(console, built)
    return 0


def _report(console: Console, built: tuple[Built, ...]) -> None:
    for one in built:
        for note in source_notes(one.record, verb="built") if one.rebuilt else ():
            console.notice(note)
    for one in built:
        console.line(f"{one.wheel}", style="green")
        state = "" if one.rebuilt else "  (up to date)"
        console.line(f"  {one.overlay}: {count_of(one.record)}; companion {one.companion.name}{state}")


def _as_json(built: Built) -> dict[str, object]:
    return {
        "overlay": built.overlay,
        "wheel": str(built.wheel),
        "companion": str(built.companion),
        "sha256": built.sha256,
        "rebuilt": built.rebuilt,
        "source": built.record["upstream"]["source"],
        "notes": list(source_notes(built.record, verb="built")),
    }


COMMAND = Command(
    name="build",
    summary="build wheels",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
