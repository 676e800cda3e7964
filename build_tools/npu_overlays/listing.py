"""Listing: what the overlays on disk say, shown without reading any upstream."""

from __future__ import annotations

import argparse

from npu_overlays.lock.lockfile import load_lock
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.lookup import load_all
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.report import Console
from npu_overlays.selection import named, root


def list_overlays(options: argparse.Namespace, console: Console) -> int:
    """List overlays and stacks."""
    folder = root(options)
    stacks = load_stacks(folder)
    overlays = load_all(folder)
    stacks_of = {one.name: [stack for stack, names in stacks.members.items() if one.name in names] for one in overlays}
    versions = {one.name: _upstream_version(one) for one in overlays}
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
    headings = ("overlay", "upstream", "tag", "revision", "extends", "stack")
    cells = [
        (one.name, versions[one.name] or "not locked", one.pin.tag, str(one.revision), one.extends, stacks_of[one.name])
        for one in overlays
    ]
    console.table(headings, ((*texts, ", ".join(names)) for *texts, names in cells))
    if stacks.default:
        console.line(f"default stack: {stacks.default}")
    return 0


def _upstream_version(overlay: Overlay) -> str:
    """Return upstream's version, or an empty text where the overlay is not locked yet."""
    return load_lock(overlay).metadata.version if (overlay.folder / LOCK_FILE).is_file() else ""


def show(options: argparse.Namespace, console: Console) -> int:
    """Show one overlay's pin and operations."""
    content = load_content(named(options, options.overlay[0]))
    if options.json:
        console.json(_values(content))
        return 0
    overlay = content.overlay
    console.line(f"{overlay.name}: {overlay.distribution}, revision {overlay.revision}", style="bold")
    console.line(_pinned(overlay))
    for path in dict.fromkeys(one.path for one in content.operations):
        _heading(console, path)
        for one in content.operations:
            if one.path == path:
                console.line(f"  {one.action:<9} {one.symbol}  [{one.overlay}]")
                _reason(console, one.reason.why)
    for file in content.files:
        _heading(console, file.path)
        console.line(f"  file      [{file.overlay}]")
    for edit in content.edits:
        _heading(console, edit.path)
        console.line(f"  edit      [{edit.overlay}]")
        _reason(console, edit.edit.why)
    for patch in content.patches:
        _heading(console, patch.path)
        console.line(f"  patch     [{patch.overlay}]")
    return 0


def _pinned(overlay: Overlay) -> str:
    pin = overlay.pin
    if pin.commit:
        return f"{pin.repository} at {pin.commit} {pin.tag}".rstrip()
    return f"{pin.archives[0].file}, sha256 {pin.archives[0].sha256}"


def _heading(console: Console, path: str) -> None:
    console.line("")
    console.line(path)


def _reason(console: Console, why: str) -> None:
    console.line(f"            {' '.join(why.split())}", style="dim")


def _values(content: Content) -> dict[str, object]:
    overlay = content.overlay
    return {
        "name": overlay.name,
        "distribution": overlay.distribution,
        "commit": overlay.pin.commit,
        "tag": overlay.pin.tag,
        "repository": overlay.pin.repository,
        "archives": [{"file": one.file, "sha256": one.sha256} for one in overlay.pin.archives],
        "extends": list(reversed(content.lineage)),
        "operations": [_operation(one) for one in content.operations],
        "files": [{"path": one.path, "overlay": one.overlay} for one in content.files],
        "patches": [{"path": one.path, "overlay": one.overlay} for one in content.patches],
        "edits": [{"path": one.path, "overlay": one.overlay, "why": one.edit.why} for one in content.edits],
    }


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
