"""`refresh`: a checkout that was edited → the overlay that gives it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import Command
from npu_overlays.commands.options import Selection, add_json, add_one, folder, read_one
from npu_overlays.commands.reasons import reasons
from npu_overlays.commands.selection import find_named, select
from npu_overlays.errors import listing
from npu_overlays.interrupts import undisguised
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.preparation import subject
from npu_overlays.progress import about
from npu_overlays.refreshing.files import LayerFile
from npu_overlays.refreshing.refresh import EDITED, Manner, Refreshed, bring_up_to_date, refresh
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.commands.console import Console

_DESCRIPTION = """\
Turn what was edited in a checkout back into its overlay. Of a Python file, each
symbol becomes the operation that depends on least: edited where little changed,
wrapped where upstream's function still stands beside it as `_upstream_NAME`,
else replaced, added or deleted. Operations that were there stay in their files,
with their reasons; what is new goes into the pin's own folder, or --into a
layer. What no operation can say becomes a patch. Where operations would have to
go for it, nothing is done; --as-patch makes the patch, with their reasons.

Everything is proven before anything is written: the changed overlay is applied,
and must give the files that were edited. Comments that stand in no operation,
blank lines, and the places of imports and additions may come out otherwise;
such files are named, and the work tree as you left it is kept as a commit.

Reasons of what is new are given with --why, or asked for in $EDITOR.

examples:
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --why "NPU has no bfloat16 here."
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --dry-run
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --into verl
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        selection: which overlay, and where its upstream is to come from.
        folder: the checkout.
        why: the reason of all that is new; empty to ask.
        into: the layer that takes what is new; empty for the pin's own folder.
        as_patch: whether a patch may take the place of the pin's own operations, where they cannot stay.
        dry_run: whether to write nothing.
        json: whether the report is JSON.
    """

    selection: Selection
    folder: Path
    why: str
    into: str
    as_patch: bool
    dry_run: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_one(parser)
    parser.add_argument("folder", type=folder, metavar="DIR", help="a work tree made by `npu-overlays checkout`")
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason of all that is new")
    parser.add_argument(
        "--into", default="", metavar="LAYER", help="the layer that takes what is new (default: the pin)"
    )
    parser.add_argument(
        "--as-patch",
        action="store_true",
        help="where operations of the pin's own cannot stay, let a patch say all of it",
    )
    parser.add_argument("--dry-run", action="store_true", help="prove and report, and write nothing")
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(
        selection=read_one(parsed),
        folder=parsed.folder,
        why=" ".join(parsed.why.split()),
        into=parsed.into,
        as_patch=parsed.as_patch,
        dry_run=parsed.dry_run,
        json=parsed.json,
    )


def _run(options: Options, console: Console) -> int:
    (overlay,) = select(options.selection)
    choice = options.selection.choice
    with about(overlay.name):
        done = refresh(
            subject(overlay, choice),
            options.folder,
            lambda new: reasons(new, options.why, ask=not options.json),
            Manner(into=options.into, as_patch=options.as_patch, dry_run=options.dry_run),
        )
        if done.files and not options.dry_run:
            with undisguised("the overlay was refreshed, and the work tree is as you left it"):
                now = subject(find_named(options.selection.root, str(overlay.folder)), choice)
                bring_up_to_date(done.checkout, now)
    if options.json:
        console.json(_as_json(done, options))
    else:
        _report(console, done, options, overlay)
    return 0


def _outcomes(done: Refreshed) -> list[dict[str, str]]:
    """Return what becomes of each thing the overlay says."""
    plan = done.plan
    rows = [
        {
            "target": one.target,
            "before": one.known.action if one.known else "",
            "after": one.wanted.action if one.wanted else "",
        }
        for one in plan.operations
    ]
    for file in plan.files:
        after = "file" if file.wanted.content is not None else ""
        rows.append({"target": file.wanted.path, "before": "file" if file.known else "", "after": after})
    rows += [{"target": one.path, "before": "patch" if one.known else "", "after": "patch"} for one in plan.patches]
    for edit in plan.edits:
        after = "" if edit.replace is None else "edit"
        rows.append({"target": edit.path, "before": "edit" if edit.known else "", "after": after})
    return rows


def _report(console: Console, done: Refreshed, options: Options, overlay: Overlay) -> None:
    name = overlay.name
    for path in done.plan.layouts:
        console.notice(f"{path}: comments, blank lines, or the places of imports and additions come out otherwise")
    if done.passed_over:
        what = f"upstream's .gitignore names {listing(done.passed_over)}, passed over; to take it: git add --force"
        console.notice(f"{name}: {what}")
    for path in done.nested:
        what = "is a repository of its own, passed over; to take its files, move its .git away"
        console.notice(f"{done.checkout.folder / path} {what}")
    if not done.files:
        console.line(f"{name}: nothing to bring back from {done.checkout.folder}", style="green")
        return
    gone = {one.path for one in done.plan.patches if one.after is None}
    for row in _outcomes(done):
        verb = {True: "new", False: "changed" if row["after"] else "gone"}[not row["before"]]
        deletes = "  (deletes it)" if row["target"] in gone and row["after"] == "patch" else ""
        console.line(f"  {verb:<8} {row['after'] or row['before']:<9} {row['target']}{deletes}")
    for file in done.files:
        written = "deleted" if file.content is None else "written"
        console.line(f"{file.layer.folder / file.path}: {'would be ' if options.dry_run else ''}{written}")
    if options.dry_run:
        return
    number = plural(len(done.files), "file")
    console.line(f"{name}: {number} refreshed; the wheel will be what was edited", style="green")
    console.line(f"  what it depends on upstream:    npu-overlays lock {name}")
    console.line(f"  the work tree as you left it:   git -C {shlex.quote(str(done.checkout.folder))} show {EDITED}")
    for layer, pins in others_made_of(done.files, overlay):
        console.notice(f"{layer} is what {listing(pins)} is made of, too: npu-overlays lock --all, and check --all")


def others_made_of(files: Iterable[LayerFile], overlay: Overlay) -> list[tuple[str, list[str]]]:
    """Return the layers of which files change and other pins are made too, each with the names of those.

    Args:
        files: what changes.
        overlay: the pin for which it does.
    """
    layers = {file.layer.name: file.layer for file in files if file.layer.folder != overlay.folder}
    found = {name: [pin.name for pin in pins_on(layer, beside=overlay)] for name, layer in sorted(layers.items())}
    return [(name, pins) for name, pins in found.items() if pins]


def _as_json(done: Refreshed, options: Options) -> dict[str, object]:
    return {
        "overlay": done.checkout.overlay,
        "folder": str(done.checkout.folder),
        "written": bool(done.files) and not options.dry_run,
        "changes": _outcomes(done),
        "files": [
            {"path": str(file.layer.folder / file.path), "layer": file.layer.name, "deleted": file.content is None}
            for file in done.files
        ],
        "otherwise": done.plan.layouts,
        "passed_over": list(done.passed_over),
        "nested": list(done.nested),
    }


COMMAND = Command(
    name="refresh",
    summary="turn what was edited in a checkout back into its overlay",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
