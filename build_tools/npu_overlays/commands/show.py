"""`show`: an overlay's pin, and every operation with its reason, without reading any upstream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.checkout.units import Unit, target_of, units_of
from npu_overlays.commands.command import json_option, overlay_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import archives_as_json, pinned
from npu_overlays.commands.selection import find_named
from npu_overlays.contracts.lockfile import stated_forms, stated_version
from npu_overlays.overlay.content import Content, StillAssigned, load_content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.revisions import read_revisions

# Behind operations, in their own order.
_LATER = ("file", "edit", "patch")
SUMMARY = "show the pin of an overlay, and every operation with its reason"
TIDY = False
DESCRIPTION = """\
Show the pin of an overlay, its revisions, and every operation with its reason,
file by file; the layer that has it stands in brackets. Upstream's source is not
read: `npu-overlays check` tells whether everything still fits.

examples:
  npu-overlays show verl@d62da49
  npu-overlays show verl@v0.6.1 --json
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The folder of overlays, and one of them."""

    root: Path
    overlay: str = overlay_option()
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    overlay = find_named(options.root, options.overlay)
    content = load_content(overlay, stated_version(overlay), stated_forms(overlay))
    if options.json:
        console.json(_as_json(content))
    else:
        _report(console, content)
    return 0


def _report(console: Console, content: Content) -> None:
    _head(console, content)
    for path, parts in _by_path(units_of(content)).items():
        console.line("")
        console.line(path)
        for name, unit in parts:
            versions = f", {unit.bounds}" if unit.bounds else ""
            console.line(f"  {unit.action:<9} {name}{'  ' if name else ''}[{unit.layer}{versions}]")
            _reason(console, unit.reason.why)
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
        console.paragraph(f"revision {revision.number}: {revision.why}", indent=0)


def _by_path(units: Iterable[Unit]) -> dict[str, list[tuple[str, Unit]]]:
    """Return what changes each file, operations first and patches last, with the symbol or the patch."""
    found: dict[str, list[tuple[str, Unit]]] = {}
    for unit in sorted(units, key=lambda one: _LATER.index(one.action) if one.action in _LATER else -1):
        for target in unit.targets:
            path, _, symbol = target.partition(":")
            found.setdefault(path, []).append((unit.name if unit.action == "patch" else symbol, unit))
    return found


def _pinned(overlay: Overlay) -> str:
    pin = overlay.pin
    if pin.commit:
        return f"{pin.repository} at {pin.commit} {pin.tag}".rstrip()
    return pinned(pin)


def _reason(console: Console, why: str) -> None:
    console.paragraph(why, indent=12, style="dim")


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
    path, _, symbol = target_of(operation).partition(":")
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
