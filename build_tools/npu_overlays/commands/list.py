"""`list`: the overlays and stacks on disk, without reading any upstream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import Command, json_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root
from npu_overlays.contracts.lockfile import upstream_version
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks

_DESCRIPTION = """\
List the overlays, their pins, and the stacks they belong to. Every other
command takes the names in the first column.
"""
_HEADINGS = ("overlay", "upstream", "tag", "revision", "layers", "stack")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The folder of overlays, and whether the report is JSON."""

    root: Path
    json: bool = json_option()


@dataclass(frozen=True, kw_only=True)
class _Row:
    """An overlay, upstream's version or an empty text where it is not locked yet, and its stacks."""

    overlay: Overlay
    upstream: str
    stacks: list[str]


def _run(options: Options, console: Console) -> int:
    root = checked_root(options.root)
    overlays, stacks = load_all(root), load_stacks(root)
    rows = [_row(overlay, stacks) for overlay in overlays]
    if options.json:
        console.json({"default": stacks.default, "overlays": list(map(_as_json, rows))})
        return 0
    console.table(_HEADINGS, map(_cells, rows))
    if stacks.default:
        console.line(f"default stack: {stacks.default}")
    return 0


def _row(overlay: Overlay, stacks: Stacks) -> _Row:
    names = [stack.name for stack in stacks.of(overlay.name)]
    return _Row(overlay=overlay, upstream=upstream_version(overlay), stacks=names)


def _as_json(row: _Row) -> dict[str, object]:
    return {
        "name": row.overlay.name,
        "upstream": row.upstream,
        "tag": row.overlay.pin.tag,
        "commit": row.overlay.pin.commit,
        "revision": row.overlay.revision,
        "layers": [layer.name for layer in row.overlay.layers],
        "stacks": row.stacks,
    }


def _cells(row: _Row) -> tuple[str, ...]:
    overlay, upstream = row.overlay, row.upstream or "not locked"
    layers = ", ".join(layer.name for layer in overlay.layers)
    return overlay.name, upstream, overlay.pin.tag, str(overlay.revision), layers, ", ".join(row.stacks)


COMMAND = Command(
    name="list",
    summary="list the overlays and stacks",
    description=_DESCRIPTION,
    options=Options,
    run=_run,
    tidy=False,
)
