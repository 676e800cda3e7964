"""`build`: overlays → their wheels."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from npu_overlays.commands.command import REPLACE, Selection, flag, json_option, option, path_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import count_of, source_notes
from npu_overlays.commands.selection import select, select_readable
from npu_overlays.interrupts import undisguised
from npu_overlays.wheels.results import BuildOutcome, BuiltWheels, FailedBuild
from npu_overlays.worker_pool import cores
from npu_summary.changes import Changes

SUMMARY = "build wheels"
DESCRIPTION = """\
Build the wheels of overlays: for each the patched distribution, such as
verl-npu, and its companion, a wheel under upstream's name that holds none of
upstream's files and satisfies other packages that require verl.

Upstream's source is fetched once and kept. A wheel that exists already and was
made from the same inputs is left alone. Either all wheels are written or none;
with --keep-going, those of every overlay that can be built. They are written
at the end: an interrupted build writes nothing. --jobs builds several overlays
at once, each in a process of its own, with the same bytes.

An overlay that differs from its last revision (npu-overlays revise) gives a
development build, which replaces the previous one. No wheel replaces another
one that has the same version and other bytes.

examples:
  npu-overlays build                        the default stack, into wheels/
  npu-overlays build verl@d62da49 --out dist
  npu-overlays build verl@796871d --upstream verl=~/src/verl
  npu-overlays build --all --jobs 4         every overlay, and a table at the end
"""
_UNREVISED = "has no revision yet; to record the first"
_HEADINGS = ("overlay", "outcome", "seconds", "wheel")


def _jobs(text: str) -> int:
    """Return how many are to be built at once."""
    if text == "auto":
        return cores()
    if not text.isdecimal() or not int(text):
        msg = f"`{text}` is neither a number from 1 on nor auto"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays, and how to build them."""

    out: Path = path_option("--out", "DIR", "where wheels go (default: wheels)", default="wheels")
    force: bool = flag("--force", "build and merge again although nothing changed")
    jobs: int | None = option(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="how many to build at once; each takes a core and 300 MB; `auto`: one per core (default: 1)",
    )
    keep_going: bool = flag("--keep-going", "build the others if some cannot be built; the exit code is then not 0")
    replace: bool = flag("--replace", REPLACE)
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.wheels.batch_build import BuildPolicy, build_all  # noqa: PLC0415  # hatchling takes a fifth of a second

    policy = BuildPolicy(
        force=options.force, jobs=options.jobs or 1, keep_going=options.keep_going, replace=options.replace
    )
    with undisguised(f"nothing was written to {options.out}"):
        overlays, unread = select_readable(options) if policy.keep_going else (select(options), {})
        outcomes = build_all(overlays, options.choice, options.out, policy)
    outcomes += tuple(FailedBuild(overlay=name, error=error) for name, error in unread.items())
    if options.json:
        console.json(list(map(as_json, outcomes)))
    else:
        report(console, outcomes, table=options.all or policy.keep_going or options.jobs is not None)
    if errors := [one.error for one in outcomes if isinstance(one, FailedBuild)]:
        raise type(errors[0])(chain.from_iterable(error.problems for error in errors))
    return 0


def report(console: Console, outcomes: Sequence[BuildOutcome], *, table: bool = False) -> None:
    """Print what was built, as a table or with the summary of each."""
    built = [one for one in outcomes if isinstance(one, BuiltWheels)]
    for one in built:
        if one.instead_of:
            console.notice(_older(one.record, one.instead_of))
    for state, is_first in (("differs from its last revision; to record the next", False), (_UNREVISED, True)):
        developed = [one for one in built if one.development and is_first == (not one.record["overlay"]["revision"])]
        if names := " ".join(one.argument for one in developed):
            console.notice(f'{state}: npu-overlays revise {names} --why "…"')
    for one in built:
        if one.rebuilt:
            console.notices(_notes(one))
    if table:
        console.table(_HEADINGS, map(_cells, outcomes))
        counts = Counter(one.state for one in outcomes)
        console.line(", ".join(f"{number} {state}" for state, number in counts.items()))
        return
    for one in built:
        console.line(f"{one.wheel}", style="green")
        state = "" if one.rebuilt else "  (up to date)"
        console.line(f"  {one.overlay}: {count_of(one.record)}; companion {one.companion.name}{state}")


def _notes(one: BuiltWheels) -> list[str]:
    return [*source_notes(one.record, one.argument, verb="built"), *one.notices]


def _older(record: Changes, newer: Sequence[str]) -> str:
    name, version = record["distribution"]["name"], record["distribution"]["version"]
    what = f"{record['overlay']['name']}: installers take it for older than what lay there, {', '.join(newer)}"
    return f'{what}; where that is installed: pip install "{name}=={version}" "{record["companion"]}=={version}"'


def _cells(one: BuildOutcome) -> tuple[str, ...]:
    return one.overlay, one.state, f"{one.seconds:.1f}", str(one.wheel) if isinstance(one, BuiltWheels) else ""


def as_json(one: BuildOutcome) -> dict[str, object]:
    """Return the outcome of a build as JSON."""
    head = {"overlay": one.overlay, "outcome": one.state, "seconds": round(one.seconds, 3)}
    if isinstance(one, FailedBuild):
        return {**head, "problems": list(map(asdict, one.error.problems))}
    return {
        **head,
        "wheel": str(one.wheel),
        "companion": str(one.companion),
        "sha256": one.sha256,
        "rebuilt": one.rebuilt,
        "development": one.development,
        "source": one.record["upstream"]["source"],
        "notes": _notes(one),
    }
