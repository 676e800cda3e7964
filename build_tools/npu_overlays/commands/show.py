"""`show`: an overlay's pin, and every operation with its reason, without reading any upstream."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import Command
from npu_overlays.commands.options import add_json
from npu_overlays.commands.selection import named
from npu_overlays.console import Console
from npu_overlays.lock.lockfile import stated_version
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay

_DESCRIPTION = """\
Show what an overlay is pinned to, and every operation with its reason, file by
file; in brackets stands the layer that says so. Upstream's source is not
read: `npu-overlays check` tells whether all of it still fits.

examples:
  npu-overlays show verl@d62da49
  npu-overlays show verl@v0.6.1 --json
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: the folder of overlays, one of them, and whether the report is JSON."""

    root: Path
    name: str
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("overlay", metavar="OVERLAY", help="verl@796871d, with a tag verl@v0.6.1, or a folder")
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(root=parsed.overlays, name=parsed.overlay, json=parsed.json)


def _run(options: Options, console: Console) -> int:
    overlay = named(options.root, options.name)
    content = load_content(overlay, stated_version(overlay))
    if options.json:
        console.json(_as_json(content))
    else:
        _report(console, content)
    return 0


def _report(console: Console, content: Content) -> None:
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


def _as_json(content: Content) -> dict[str, object]:
    overlay = content.overlay
    return {
        "name": overlay.name,
        "distribution": overlay.distribution,
        "commit": overlay.pin.commit,
        "tag": overlay.pin.tag,
        "repository": overlay.pin.repository,
        "archives": [{"file": one.file, "sha256": one.sha256} for one in overlay.pin.archives],
        "layers": list(content.layers),
        "dropped": [{"name": one.drop.name, "overlay": one.overlay, "why": one.drop.why} for one in content.dropped],
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


COMMAND = Command(
    name="show",
    summary="show an overlay's pin, and every operation with its reason",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
    tidy=False,
)
