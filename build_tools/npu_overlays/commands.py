"""Commands: what each sub-command calls and reports."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from npu_overlays import matrix as cells
from npu_overlays.changes.record import unified_diff
from npu_overlays.errors import ConfigError, OutputError, OverlayError, Problem
from npu_overlays.lock.lockfile import render_lock, write_lock
from npu_overlays.locking import make_lock, taken_over
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.ledger import write_readme
from npu_overlays.overlay.lookup import find_overlay, load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.pipeline import Prepared, prepare_all
from npu_overlays.report import Console


def _selected(options: argparse.Namespace) -> list[Overlay]:
    """Return the overlays a command line names; raises `ConfigError` with every unknown one."""
    root: Path = options.overlays.absolute()
    overlays = load_all(root) if options.all else _named(root, options)
    known = {overlay.pin.project for overlay in overlays}
    for name in dict(getattr(options, "upstream", ())):
        if name not in known:
            what, fix = "none of the chosen overlays is for that project", f"one of: {', '.join(sorted(known))}"
            raise ConfigError(Problem(where=f"--upstream {name}", what=what, fix=fix))
    return overlays


def _named(root: Path, options: argparse.Namespace) -> list[Overlay]:
    names = list(options.overlay)
    if options.stack or not names:
        stacks = load_stacks(root)
        names += stacks.get(options.stack or stacks.default)
    overlays: dict[str, Overlay] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            overlay = find_overlay(root, name)
            overlays[overlay.name] = overlay
        except OverlayError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ConfigError(problems)
    return list(overlays.values())


def build(options: argparse.Namespace, console: Console) -> int:
    """Build wheels and say what each holds."""
    from npu_overlays.wheels.building import build_all  # noqa: PLC0415  # hatchling is only needed here

    built = build_all(_selected(options), options.out.absolute(), force=options.force)
    for one in built:
        _report_source(console, one.record)
    if options.json:
        console.json(
            [
                {
                    "overlay": one.overlay,
                    "wheel": str(one.wheel),
                    "companion": str(one.companion),
                    "sha256": one.sha256,
                    "rebuilt": one.rebuilt,
                    "source": one.record["upstream"]["source"],
                }
                for one in built
            ]
        )
        return 0
    for one in built:
        console.line(f"{one.wheel}", style="green")
        changes = _count(one.record)
        state = "" if one.rebuilt else "  (up to date)"
        console.line(f"  {one.overlay}: {changes}; companion {one.companion.name}{state}")
    return 0


def _count(record: dict[str, Any]) -> str:
    """Return how many changes a wheel holds; a file or class that came or went as a whole counts as one."""
    files = record["files"]
    number = sum(
        len(file["module_changes"]) + sum(len(entry["changes"]) or 1 for entry in file["class_changes"]) or 1
        for file in files
    )
    return f"{_plural(number, 'change')} in {_plural(len(files), 'file')}"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _report_source(console: Console, record: dict[str, Any]) -> None:
    """Say which source was used where it is not the commit itself, and what it lacks."""
    upstream = record["upstream"]
    if upstream["source"]["kind"] == "git":
        return
    name = record["overlay"]["name"]
    console.notice(f"{name}: built from {upstream['source']['archive']}, not from git")
    if not upstream["compared"]:
        console.notice(f"{name}: that archive has not been compared with the commit")
    if upstream["missing"]:
        tops = sorted({path.partition("/")[0] for path in upstream["missing"]})
        lacks = _plural(len(upstream["missing"]), "file")
        console.notice(f"{name}: it lacks {lacks} of the commit, in {', '.join(tops)}")
    if record["not_applied"]:
        left_out = _plural(len(record["not_applied"]), "operation")
        console.notice(f"{name}: {left_out} on files it lacks left out")


def check(options: argparse.Namespace, console: Console) -> int:
    """Do all a build does except writing, for every overlay, and report all mistakes."""
    prepared = prepare_all(_selected(options))
    if options.json:
        console.json([one.record for one in prepared])
        return 0
    for one in prepared:
        _report_checked(console, one)
    return 0


def _report_checked(console: Console, prepared: Prepared) -> None:
    _report_source(console, prepared.record)
    for notice in prepared.notices:
        console.notice(notice)
    name = prepared.content.overlay.name
    console.line(f"{name}: {_count(prepared.record)}, as declared", style="green")


def lock(options: argparse.Namespace, console: Console) -> int:
    """Write the locks of overlays and the tables in their READMEs, or with --check fail where one would change."""
    stale = []
    for overlay in _selected(options):
        made = make_lock(overlay)
        file = overlay.folder / LOCK_FILE
        changed = not file.is_file() or file.read_bytes() != render_lock(made).encode()
        changed |= write_readme(load_content(overlay), write=not options.check)
        if options.check and changed:
            stale.append(
                Problem(
                    where=str(file),
                    what="or the table in README.md is out of date",
                    fix=f"run `npu-overlays lock {overlay.name}`",
                )
            )
        elif not options.check:
            write_lock(overlay.folder, made)
        if changed:
            for notice in taken_over(overlay, made):
                console.notice(notice)
        if not options.check or not changed:
            console.line(f"{overlay.name}: {'written' if changed else 'up to date'}, {len(made.contracts)} contracts")
    if stale:
        raise ConfigError(stale)
    return 0


def diff(options: argparse.Namespace, console: Console) -> int:
    """Print what overlays change."""
    for prepared in prepare_all(_selected(options)):
        console.raw(unified_diff(prepared.tree))
    return 0


def summary(options: argparse.Namespace, console: Console) -> int:
    """Print what a wheel says of itself."""
    from npu_overlays.wheels.inspection import wheel_summary  # noqa: PLC0415  # only needed here

    console.raw(wheel_summary(options.wheel, style=options.format, why=options.why, diff=options.diff))
    return 0


def verify_wheels(options: argparse.Namespace, console: Console) -> int:
    """Verify wheel files; raises `OutputError` with everything that is wrong with any of them."""
    from npu_overlays.wheels.verification import verify_wheel  # noqa: PLC0415  # only needed here

    verified = []
    problems: list[Problem] = []
    for file in options.wheel:
        try:
            verified.append(verify_wheel(file))
            problems += [one for one in verified[-1].problems if one not in problems]
        except OutputError as error:
            problems += error.problems
    if problems:
        raise OutputError(problems)
    if options.json:
        values = [(str(one.wheel), one.name, one.version, one.kind) for one in verified]
        console.json([dict(zip(("wheel", "name", "version", "kind"), value, strict=True)) for value in values])
        return 0
    for one in verified:
        said = f"{one.files} files, as its summary says" if one.kind == "patched" else "an empty companion"
        console.line(f"{one.wheel}: {one.name} {one.version}, {said}", style="green")
    return 0


def matrix(options: argparse.Namespace, console: Console) -> int:
    """Print the CI matrix."""
    found = cells.matrix(options.overlays.absolute())
    if options.format == "github":
        console.raw(f"matrix={json.dumps({'include': found}, separators=(',', ':'))}\n")
    else:
        console.json({"include": found})
    return 0
