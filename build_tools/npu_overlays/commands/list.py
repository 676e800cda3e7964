"""`list`: the overlays and stacks on disk, without reading any upstream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from npu_overlays.commands.command import json_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root
from npu_overlays.contracts.lockfile import upstream_version
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks

SUMMARY = "list the overlays and stacks"
TIDY = False
DESCRIPTION = """\
List the overlays, their pins, and the stacks they belong to. Every other
command takes the names in the first column.

examples:
  npu-overlays list
  npu-overlays list --json
"""
_HEADINGS = ("overlay", "upstream", "tag", "revision", "layers", "stack")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The folder of overlays, and whether the report is JSON."""

    root: Path
    json: bool = json_option()


class _Row(TypedDict):
    """An overlay; the version of upstream is empty where it is not locked yet."""

    name: str
    upstream: str
    tag: str
    commit: str
    revision: int
    layers: list[str]
    stacks: list[str]


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    root = checked_root(options.root)
    overlays, stacks = load_all(root), load_stacks(root)
    rows = [_row(overlay, stacks) for overlay in overlays]
    if options.json:
        console.json({"default": stacks.default, "overlays": rows})
        return 0
    console.table(_HEADINGS, map(_cells, rows))
    if stacks.default:
        console.line(f"default stack: {stacks.default}")
    return 0


def _row(overlay: Overlay, stacks: Stacks) -> _Row:
    return _Row(
        name=overlay.name,
        upstream=upstream_version(overlay),
        tag=overlay.pin.tag,
        commit=overlay.pin.commit,
        revision=overlay.revision,
        layers=[layer.name for layer in overlay.layers],
        stacks=[stack.name for stack in stacks.of(overlay.name)],
    )


def _cells(row: _Row) -> tuple[str, ...]:
    layers, stacks = ", ".join(row["layers"]), ", ".join(row["stacks"])
    return row["name"], row["upstream"] or "not locked", row["tag"], str(row["revision"]), layers, stacks
