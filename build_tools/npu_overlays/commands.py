"""Commands: what each sub-command calls and reports."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from npu_overlays import matrix as cells
from npu_overlays.changes.record import unified_diff
from npu_overlays.errors import ConfigError, OutputError, Problem
from npu_overlays.interrupts import Interrupted, held, undisguised
from npu_overlays.lock.carried import carried_over
from npu_overlays.lock.lockfile import render_lock, write_lock
from npu_overlays.locking import Made, make_lock
from npu_overlays.notes import count_of, plural, source_notes
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.ledger import README_FILE, write_readme
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline import Prepared, each, joined, prepare, preview
from npu_overlays.progress import step
from npu_overlays.report import Console
from npu_overlays.scratch import temporaries
from npu_overlays.selection import root, selected
from npu_overlays.tree import PatchedTree

if TYPE_CHECKING:
    from npu_overlays.wheels.building import Built
    from npu_overlays.wheels.verification import Verified

Command = Callable[[argparse.Namespace, Console], int]


def _tidy(command: Command) -> Command:
    """Let a command have its temporary files in one folder, which is gone afterwards."""

    @wraps(command)
    def tidied(options: argparse.Namespace, console: Console) -> int:
        with temporaries():
            return command(options, console)

    return tidied


@_tidy
def build(options: argparse.Namespace, console: Console) -> int:
    """Build wheels and say what each holds."""
    from npu_overlays.wheels.building import build_all  # noqa: PLC0415  # hatchling is only needed here

    try:
        with undisguised():
            built = build_all(selected(options), options.out, force=options.force)
    except Interrupted as interrupted:
        state = interrupted.state or f"nothing was written to {options.out}"
        raise Interrupted(interrupted.number, state) from interrupted
    if options.json:
        console.json([_built(one) for one in built])
        return 0
    for one in built:
        for note in source_notes(one.record, verb="built") if one.rebuilt else ():
            console.notice(note)
    for one in built:
        console.line(f"{one.wheel}", style="green")
        state = "" if one.rebuilt else "  (up to date)"
        console.line(f"  {one.overlay}: {count_of(one.record)}; companion {one.companion.name}{state}")
    return 0


def _built(one: Built) -> dict[str, object]:
    return {
        "overlay": one.overlay,
        "wheel": str(one.wheel),
        "companion": str(one.companion),
        "sha256": one.sha256,
        "rebuilt": one.rebuilt,
        "source": one.record["upstream"]["source"],
        "notes": list(source_notes(one.record, verb="built")),
    }


@_tidy
def check(options: argparse.Namespace, console: Console) -> int:
    """Do all a build does except writing, for every overlay: say what is right, and report all mistakes."""
    from npu_overlays.wheels.building import rehearse  # noqa: PLC0415  # hatchling is only needed here

    prepared, errors = each(selected(options), rehearse)
    if options.json:
        console.json([one.record for one in prepared])
    else:
        for one in prepared:
            _report_checked(console, one)
    if errors:
        raise joined(errors)
    return 0


def _report_checked(console: Console, prepared: Prepared) -> None:
    for notice in (*source_notes(prepared.record, verb="would be built"), *prepared.notices):
        console.notice(notice)
    name = prepared.content.overlay.name
    if carried := carried_over(prepared.content, prepared.lock):
        number = plural(len(carried), "notice")
        console.notice(f"{name}: {number} on what upstream changed: `npu-overlays lock --check {name}` prints them")
    console.line(f"{name}: {count_of(prepared.record)}, as declared", style="green")


@_tidy
def lock(options: argparse.Namespace, console: Console) -> int:
    """Write the locks of overlays and the tables in their READMEs, or with --check fail where one would change."""
    work = _lock_checked if options.check else _locked
    _, errors = each(selected(options), lambda overlay: work(overlay, console))
    if errors:
        raise joined(errors)
    return 0


def _locked(overlay: Overlay, console: Console) -> None:
    made = make_lock(overlay)
    with held(f"{overlay.name} is locked"):
        changed = write_lock(overlay.folder, made.lock)
        changed |= write_readme(load_content(overlay), write=True)
    _report_locked(console, overlay, made, "written" if changed else "up to date")


def _report_locked(console: Console, overlay: Overlay, made: Made, state: str) -> None:
    for notice in made.notices:
        console.notice(notice)
    console.line(f"{overlay.name}: {state}, {plural(len(made.lock.contracts), 'contract')}")


def _lock_checked(overlay: Overlay, console: Console) -> None:
    made = make_lock(overlay)
    file = overlay.folder / LOCK_FILE
    stale = [] if file.is_file() and file.read_bytes() == render_lock(made.lock).encode() else [LOCK_FILE]
    stale += [README_FILE] if write_readme(load_content(overlay), write=False) else []
    if stale:
        for notice in made.notices:
            console.notice(notice)
        fix = f"run `npu-overlays lock {overlay.name}`"
        raise ConfigError(
            Problem(where=str(overlay.folder / name), what="is missing or out of date", fix=fix) for name in stale
        )
    _report_locked(console, overlay, made, "up to date")


@_tidy
def diff(options: argparse.Namespace, console: Console) -> int:
    """Print what overlays change; one that is not locked yet is applied without its contracts."""
    shown, errors = each(selected(options), lambda overlay: unified_diff(_patched(overlay, console)))
    if errors:
        raise joined(errors)
    for text in shown:
        console.raw(text)
    return 0


def _patched(overlay: Overlay, console: Console) -> PatchedTree:
    if (overlay.folder / LOCK_FILE).is_file():
        return prepare(overlay).tree
    unchecked = "there is no overlay.lock yet, so what the operations depend on was not checked"
    console.notice(f"{overlay.name}: {unchecked}; `npu-overlays lock {overlay.name}` records it")
    return preview(overlay)


def summary(options: argparse.Namespace, console: Console) -> int:
    """Print what a wheel says of itself."""
    from npu_overlays.wheels.inspection import wheel_summary  # noqa: PLC0415  # only needed here

    console.raw(wheel_summary(options.wheel, style=options.format, why=options.why, diff=options.diff))
    return 0


@_tidy
def verify_wheels(options: argparse.Namespace, console: Console) -> int:
    """Verify what a build wrote; raises `OutputError` with everything that is wrong with any of the files."""
    from npu_overlays.wheels.outputs import verify_output  # noqa: PLC0415  # only needed here

    verified = []
    problems: list[Problem] = []
    for file in options.wheel:
        step(f"{file.name}: reading it whole")
        try:
            verified.append(verify_output(file))
            problems += [one for one in verified[-1].problems if one not in problems]
        except OutputError as error:
            problems += error.problems
    if problems:
        raise OutputError(problems)
    if options.json:
        values = [(str(one.wheel), one.name, one.version, one.kind, one.made) for one in verified]
        console.json([dict(zip(("wheel", "name", "version", "kind", "made"), value, strict=True)) for value in values])
        return 0
    for one in verified:
        called = " ".join(filter(None, (one.name, one.version)))
        console.line(f"{one.wheel}: {called}, {_verified(one)}", style="green")
    return 0


def _verified(one: Verified) -> str:
    said = {
        "companion": "an empty companion",
        "statement": "its statement, which names these wheels and their source",
        "constraints": "as the stack says",
    }
    return said.get(one.kind) or f"{plural(one.files, 'file')}, as its summary says; made of {one.made}"


def matrix(options: argparse.Namespace, console: Console) -> int:
    """Print the CI matrix."""
    found = cells.matrix(root(options))
    if options.format == "github":
        console.raw(f"matrix={json.dumps({'include': found}, separators=(',', ':'))}\n")
    else:
        console.json({"include": found})
    return 0
