"""Commands: what each sub-command calls and reports."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from npu_overlays import matrix as cells
from npu_overlays.content import LOCK_FILE, load_content
from npu_overlays.errors import ConfigError, OverlayError, Problem
from npu_overlays.ledger import write_readme
from npu_overlays.lock import load_lock, render_lock, write_lock
from npu_overlays.operations import Operation
from npu_overlays.pipeline import Prepared, make_lock, prepare
from npu_overlays.project import Overlay, find_overlay, load_overlay, overlay_folders
from npu_overlays.record import unified_diff
from npu_overlays.report import Console
from npu_overlays.stacks import load_stacks


def _selected(options: argparse.Namespace) -> list[Overlay]:
    """Return the overlays a command line names; raises `ConfigError` with every unknown one."""
    root: Path = options.overlays.absolute()
    stacks = load_stacks(root)
    if options.all:
        return [load_overlay(folder) for folder in overlay_folders(root)]
    names = list(options.overlay)
    if options.stack or not names:
        names += stacks.get(options.stack or stacks.default)
    overlays: dict[str, Overlay] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            overlay = find_overlay(root, name)
            overlays[overlay.name] = overlay
        except OverlayError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return list(overlays.values())


def build(options: argparse.Namespace, console: Console) -> int:
    """Build wheels and say what each holds."""
    from npu_overlays.wheel import build_all  # noqa: PLC0415  # hatchling is only needed here

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
        console.line(
            f"  {one.overlay}: {changes} in {len(one.record['files'])} files; companion {one.companion.name}{state}"
        )
    return 0


def _count(record: dict[str, Any]) -> str:
    number = sum(
        len(file["module_changes"]) + sum(len(entry["changes"]) or 1 for entry in file["class_changes"])
        for file in record["files"]
    )
    return f"{number} changes"


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
        console.notice(f"{name}: it lacks {len(upstream['missing'])} files of the commit, in {', '.join(tops)}")
    if record["not_applied"]:
        console.notice(f"{name}: {len(record['not_applied'])} operations on those files are left out")


def list_overlays(options: argparse.Namespace, console: Console) -> int:
    """List overlays and stacks."""
    root = options.overlays.absolute()
    stacks = load_stacks(root)
    overlays = [load_overlay(folder) for folder in overlay_folders(root)]
    if not overlays:
        raise ConfigError(Problem(where=str(root), what="holds no overlay", fix="name the folder with --overlays"))
    stacks_of = {one.name: [stack for stack, names in stacks.members.items() if one.name in names] for one in overlays}
    versions = {one.name: load_lock(one).metadata.version for one in overlays}
    if options.json:
        rows = [
            {
                "name": one.name,
                "upstream": versions[one.name],
                "tag": one.pin.tag,
                "commit": one.pin.commit,
                "revision": one.revision,
                "extends": one.extends,
                "stacks": stacks_of[one.name],
            }
            for one in overlays
        ]
        console.json({"default": stacks.default, "overlays": rows})
        return 0
    console.table(
        ("overlay", "upstream", "tag", "revision", "extends", "stack"),
        (
            (one.name, versions[one.name], one.pin.tag, str(one.revision), one.extends, ", ".join(stacks_of[one.name]))
            for one in overlays
        ),
    )
    console.line(f"default stack: {stacks.default}")
    return 0


def show(options: argparse.Namespace, console: Console) -> int:
    """Show one overlay's pin and operations."""
    overlay = find_overlay(options.overlays.absolute(), options.overlay[0])
    content = load_content(overlay)
    if options.json:
        console.json(
            {
                "name": overlay.name,
                "distribution": overlay.distribution,
                "commit": overlay.pin.commit,
                "tag": overlay.pin.tag,
                "repository": overlay.pin.repository,
                "extends": list(reversed(content.lineage)),
                "operations": [_operation(one) for one in content.operations],
                "files": [{"path": one.path, "overlay": one.overlay} for one in content.files],
                "patches": [{"path": one.path, "overlay": one.overlay} for one in content.patches],
                "edits": [{"path": one.path, "overlay": one.overlay, "why": one.edit.why} for one in content.edits],
            }
        )
        return 0
    console.line(f"{overlay.name}: {overlay.distribution}, revision {overlay.revision}", style="bold")
    console.line(f"{overlay.pin.repository} at {overlay.pin.commit} {overlay.pin.tag}".rstrip())
    for path in dict.fromkeys(one.path for one in content.operations):
        console.line(f"\n{path}")
        for one in content.operations:
            if one.path == path:
                console.line(f"  {one.action:<9} {one.symbol}  [{one.overlay}]")
                console.line(f"            {one.reason.why}", style="dim")
    for file in content.files:
        console.line(f"\n{file.path}\n  file      [{file.overlay}]")
    for edit in content.edits:
        console.line(f"\n{edit.path}\n  edit      [{edit.overlay}]")
        console.line(f"            {edit.edit.why}", style="dim")
    for patch in content.patches:
        console.line(f"\n{patch.path}\n  patch     [{patch.overlay}]")
    return 0


def _operation(operation: Operation) -> dict[str, str]:
    return {
        "operation": operation.action,
        "path": operation.path,
        "symbol": operation.symbol,
        "why": operation.reason.why,
        "forwarded": operation.reason.forwarded,
        "drop_when": operation.reason.drop_when,
        "overlay": operation.overlay,
    }


def check(options: argparse.Namespace, console: Console) -> int:
    """Do all a build does except writing, for every overlay, and report all mistakes."""
    prepared = [prepare(overlay) for overlay in _selected(options)]
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
    console.line(f"{name}: {_count(prepared.record)} in {len(prepared.files)} files, as declared", style="green")


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
        if not options.check or not changed:
            console.line(f"{overlay.name}: {'written' if changed else 'up to date'}, {len(made.contracts)} contracts")
    if stale:
        raise ConfigError(stale)
    return 0


def diff(options: argparse.Namespace, console: Console) -> int:
    """Print what overlays change."""
    for overlay in _selected(options):
        console.raw(unified_diff(prepare(overlay).tree))
    return 0


def summary(options: argparse.Namespace, console: Console) -> int:
    """Print what a wheel says of itself."""
    from npu_overlays.inspection import wheel_summary  # noqa: PLC0415  # only needed here

    console.raw(wheel_summary(options.wheel, style=options.format, why=options.why, diff=options.diff))
    return 0


def matrix(options: argparse.Namespace, console: Console) -> int:
    """Print the CI matrix."""
    found = cells.matrix(options.overlays.absolute())
    if options.format == "github":
        console.raw(f"matrix={json.dumps({'include': found}, separators=(',', ':'))}\n")
    else:
        console.json({"include": found})
    return 0
