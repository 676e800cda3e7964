"""`build`: overlays → their wheels."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import count_of, source_notes
from npu_overlays.commands.options import REPLACE, Selection, add_json, add_selection, folder, read_selection
from npu_overlays.commands.selection import select, select_readable
from npu_overlays.interrupts import undisguised
from npu_overlays.wheels.results import Built, Failed, Outcome
from npu_overlays.worker_pool import cores
from npu_summary.changes import Changes

_DESCRIPTION = """\
Build the wheels of overlays: of each the patched distribution, verl-npu say,
and its companion, a wheel without code under upstream's name, which answers other
packages that require verl.

Upstream's source is fetched once and kept. A wheel that is there already and
made from the same inputs is left alone. Either all wheels are written or none;
with --keep-going, those of all overlays that can be built. Wheels appear when
all were tried: a build that is interrupted writes nothing. With --jobs several
are built at once, each in a process of its own, and the bytes are the same.

An overlay that is not as its last revision (npu-overlays revise) gives a
development build, which takes the place of the one before. No wheel takes the
place of another with other bytes and the same version.

examples:
  npu-overlays build                        the default stack, into wheels/
  npu-overlays build verl@d62da49 --out /tmp/w
  npu-overlays build verl@796871d --upstream verl=~/src/verl
  npu-overlays build --all --jobs 4         every overlay, and a table at the end
"""
_HEADINGS = ("overlay", "outcome", "seconds", "wheel")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        selection: which overlays, and where their upstreams are to come from.
        out: folder for the wheels.
        force: whether to build those too that are up to date.
        jobs: how many at once; None where nothing is said of it.
        keep_going: whether one that cannot be built leaves the others as they are.
        replace: whether a wheel may take the place of one of its version with other bytes.
        json: whether the report is JSON.
    """

    selection: Selection
    out: Path
    force: bool
    jobs: int | None
    keep_going: bool
    replace: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--out", type=folder, default="wheels", metavar="DIR", help="where wheels go (default: wheels)")
    parser.add_argument("--force", action="store_true", help="build although nothing changed, and merge anew")
    jobs = "how many to build at once, each takes a core and some 300 MB; `auto` is one a core (default: 1)"
    parser.add_argument("--jobs", type=_jobs, metavar="N", help=jobs)
    keep = "build the others where some cannot be; the exit code still says so"
    parser.add_argument("--keep-going", action="store_true", help=keep)
    parser.add_argument("--replace", action="store_true", help=REPLACE)
    add_json(parser)


def _jobs(text: str) -> int:
    """Return how many are to be built at once."""
    if text == "auto":
        return cores()
    if not text.isdecimal() or not int(text):
        msg = f"`{text}` is neither a number from 1 on nor auto"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(
        selection=read_selection(parsed),
        out=parsed.out,
        force=parsed.force,
        jobs=parsed.jobs,
        keep_going=parsed.keep_going,
        replace=parsed.replace,
        json=parsed.json,
    )


def _run(options: Options, console: Console) -> int:
    from npu_overlays.wheels.building import Manner, build_all  # noqa: PLC0415  # hatchling takes a fifth of a second

    manner = Manner(force=options.force, jobs=options.jobs or 1, keep_going=options.keep_going, replace=options.replace)
    with undisguised(f"nothing was written to {options.out}"):
        overlays, unread = select_readable(options.selection) if manner.keep_going else (select(options.selection), {})
        outcomes = build_all(overlays, options.selection.choice, options.out, manner)
    outcomes += tuple(Failed(overlay=name, error=error) for name, error in unread.items())
    if options.json:
        console.json([_built_as_json(one) if isinstance(one, Built) else _failed_as_json(one) for one in outcomes])
    else:
        _report(console, outcomes, table=options.selection.all or manner.keep_going or options.jobs is not None)
    if errors := [one.error for one in outcomes if isinstance(one, Failed)]:
        raise type(errors[0])([problem for error in errors for problem in error.problems])
    return 0


def _report(console: Console, outcomes: Sequence[Outcome], *, table: bool) -> None:
    built = [one for one in outcomes if isinstance(one, Built)]
    for one in built:
        if one.instead_of:
            console.notice(_older(one.record, one.instead_of))
    if names := " ".join(one.overlay for one in built if one.development):
        console.notice(f'not as the last revision; to give out the next: npu-overlays revise {names} --why "…"')
    for one in built:
        for note in source_notes(one.record, verb="built") if one.rebuilt else ():
            console.notice(note)
    if table:
        console.table(_HEADINGS, map(_cells, outcomes))
        counts = Counter(one.state for one in outcomes)
        console.line(", ".join(f"{number} {state}" for state, number in counts.items()))
        return
    for one in built:
        console.line(f"{one.wheel}", style="green")
        state = "" if one.rebuilt else "  (up to date)"
        console.line(f"  {one.overlay}: {count_of(one.record)}; companion {one.companion.name}{state}")


def _older(record: Changes, newer: Sequence[str]) -> str:
    name, version = record["distribution"]["name"], record["distribution"]["version"]
    what = f"{record['overlay']['name']}: installers take it for older than what lay there, {', '.join(newer)}"
    return f'{what}; where that is installed: pip install "{name}=={version}" "{record["companion"]}=={version}"'


def _cells(one: Outcome) -> tuple[str, ...]:
    return one.overlay, one.state, f"{one.seconds:.1f}", str(one.wheel) if isinstance(one, Built) else ""


def _built_as_json(built: Built) -> dict[str, object]:
    return {
        "overlay": built.overlay,
        "outcome": built.state,
        "seconds": round(built.seconds, 3),
        "wheel": str(built.wheel),
        "companion": str(built.companion),
        "sha256": built.sha256,
        "rebuilt": built.rebuilt,
        "development": built.development,
        "source": built.record["upstream"]["source"],
        "notes": list(source_notes(built.record, verb="built")),
    }


def _failed_as_json(failed: Failed) -> dict[str, object]:
    problems = [asdict(problem) for problem in failed.error.problems]
    return {
        "overlay": failed.overlay,
        "outcome": failed.state,
        "seconds": round(failed.seconds, 3),
        "problems": problems,
    }


COMMAND = Command(
    name="build",
    summary="build wheels",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
