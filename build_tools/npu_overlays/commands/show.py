"""`show`: an overlay's pin, and every operation with its reason, without reading any upstream."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import Command, add_json, add_overlay
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import archives_as_json, pinned
from npu_overlays.commands.selection import find_named
from npu_overlays.contracts.lockfile import stated_forms, stated_version
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.content import Content, StillAssigned, load_content
from npu_overlays.overlay.layer_content import file_reason
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.patches import read_patch
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.revisions import read_revisions

_DESCRIPTION = """\
Show the pin of an overlay, its revisions, and every operation with its reason,
file by file; the layer that has it stands in brackets. Upstream's source is not
read: `npu-overlays check` tells whether everything still fits.

examples:
  npu-overlays show verl@d62da49
  npu-overlays show verl@v0.6.1 --json
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: the folder of overlays, one of them, and whether the report is JSON."""

    root: Path
    overlay: str
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_overlay(parser)
    add_json(parser)


def _run(options: Options, console: Console) -> int:
    overlay = find_named(options.root, options.overlay)
    content = load_content(overlay, stated_version(overlay), stated_forms(overlay))
    if options.json:
        console.json(_as_json(content))
    else:
        _report(console, content)
    return 0


def _report(console: Console, content: Content) -> None:
    _head(console, content)
    rows = list(_rows(content))
    for path in dict.fromkeys(row.path for row in rows):
        console.line("")
        console.line(path)
        for row in rows:
            if row.path == path:
                versions = f", {row.bounds}" if row.bounds else ""
                console.line(f"  {row.what:<9} {row.symbol}{'  ' if row.symbol else ''}[{row.layer}{versions}]")
                _reason(console, row.why)
    if content.dropped:
        console.line("")
        console.line("left out of the layers below")
        for one in content.dropped:
            console.line(f"  {one.drop.name}  [{one.layer}]")
            _reason(console, one.drop.why)
    if content.assigned:
        console.line("")
        console.line("assigned at run time by upstream's own code, in other packages")
    for left in content.assigned:
        console.line(f"  when {' '.join(left.assigned.when.split())}  [{left.layer}]")
        for name in left.assigned.what:
            console.line(f"    {name}")
        _reason(console, left.assigned.why)


def _head(console: Console, content: Content) -> None:
    overlay = content.overlay
    console.line(f"{overlay.name}: {overlay.distribution}", style="bold")
    console.line(_pinned(overlay))
    if content.layers:
        console.line(f"layers, lowest first: {', '.join(content.layers)}")
    for revision in read_revisions(overlay.folder):
        console.line(f"revision {revision.number}: {' '.join(revision.why.split())}")


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One thing that is done to a file: what, on which symbol if any, which layer says so, for which versions, why."""

    path: str
    what: str
    symbol: str = ""
    layer: str
    bounds: Bounds
    why: str = ""


def _rows(content: Content) -> Iterator[_Row]:
    for operation in content.operations:
        path, symbol = _target(operation)
        yield _Row(
            path=path,
            what=operation.action,
            symbol=symbol,
            layer=operation.layer,
            bounds=operation.bounds,
            why=operation.reason.why,
        )
    for file in content.files:
        why = file_reason(file)
        yield _Row(path=file.path, what="file", layer=file.layer, bounds=file.bounds, why=why)
    for edit in content.edits:
        yield _Row(path=edit.path, what="edit", layer=edit.layer, bounds=edit.bounds, why=edit.edit.why)
    for file in content.patches:
        patch = read_patch(file)
        for path in patch.paths:
            why = patch.reason.why
            yield _Row(path=path, what="patch", symbol=file.path, layer=file.layer, bounds=file.bounds, why=why)


def _target(operation: Operation) -> tuple[str, str]:
    """Return where a change is made; of one whose targets are not known, where they are looked for, and the model."""
    if operation.like and not operation.path:
        return operation.like.within, f"like {operation.like.model}"
    return operation.path, operation.symbol


def _pinned(overlay: Overlay) -> str:
    pin = overlay.pin
    if pin.commit:
        return f"{pin.repository} at {pin.commit} {pin.tag}".rstrip()
    return pinned(pin)


def _reason(console: Console, why: str) -> None:
    console.line(f"            {' '.join(why.split())}", style="dim")


def _as_json(content: Content) -> dict[str, object]:
    overlay = content.overlay
    return {
        "name": overlay.name,
        "distribution": overlay.distribution,
        "commit": overlay.pin.commit,
        "tag": overlay.pin.tag,
        "repository": overlay.pin.repository,
        "archives": archives_as_json(overlay.pin),
        "revisions": [{"number": one.number, "why": one.why} for one in read_revisions(overlay.folder)],
        "operations": list(map(_operation, content.operations)),
        "files": [{"path": one.path, "overlay": one.layer} for one in content.files],
        "patches": [{"path": one.path, "overlay": one.layer} for one in content.patches],
        "edits": [{"path": one.path, "overlay": one.layer, "why": one.edit.why} for one in content.edits],
        "assigned": list(map(_assigned, content.assigned)),
    }


def _assigned(one: StillAssigned) -> dict[str, object]:
    return {
        "when": one.assigned.when,
        "what": list(one.assigned.what),
        "why": one.assigned.why,
        "overlay": one.layer,
        "since": one.assigned.bounds.since,
        "until": one.assigned.bounds.until,
    }


def _operation(operation: Operation) -> dict[str, str]:
    path, symbol = _target(operation)
    return {
        "operation": operation.action,
        "path": path,
        "symbol": symbol,
        "why": operation.reason.why,
        "forwarded": operation.reason.forwarded,
        "drop_when": operation.reason.drop_when,
        "overlay": operation.layer,
        "since": operation.bounds.since,
        "until": operation.bounds.until,
    }


COMMAND = Command(
    name="show",
    summary="show the pin of an overlay, and every operation with its reason",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    options=Options,
    run=_run,
    tidy=False,
)
