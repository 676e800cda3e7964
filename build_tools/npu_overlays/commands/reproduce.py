"""`reproduce`: a wheel → whether these overlays give the same bytes, and if not, where they differ."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import (
    choice_of,
    clones_option,
    json_option,
    option,
    path_option,
    text_option,
)
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root, find_named
from npu_overlays.files import write_atomically
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.wheels.reproduction import Reproduction

SUMMARY = "build a wheel again and compare the bytes"
UNTRIED = 2
DESCRIPTION = """\
Build a wheel again, from the overlay and the upstream that it names, and
compare the bytes. It needs only the wheel, patched or companion, from any
machine, and a checkout with its overlay. If the statement lies beside the wheel
(*.intoto.json), it also names the inputs that differ.

exit codes:
  0  the same bytes
  1  other bytes: it lists the inputs and members that differ, and how
  2  it cannot be tried: not a wheel of ours, no such overlay here, or no build

examples:
  npu-overlays reproduce wheels/verl_npu-0.9.1+npu.1.adb6e6f2-py3-none-any.whl
  npu-overlays reproduce verl_npu-*.whl --overlay ../theirs/overlays/verl@0.9.1
"""
_MOST = 20


@dataclass(frozen=True, kw_only=True)
class Options:
    """The wheel, and what to make it of."""

    root: Path
    wheel: Path = option(type=Path, metavar="WHEEL", help="a patched wheel or a companion")
    overlay: str = text_option("--overlay", "DIR", "build it from this, not from the one it names")
    out: Path | None = path_option("--out", "DIR", "keep the wheel that is built here")
    upstream: list[tuple[str, Path]] = clones_option()
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.wheels.reproduction import reproduce  # noqa: PLC0415  # hatchling takes a fifth of a second

    overlay = find_named(options.root, options.overlay) if options.overlay else None
    root = options.root if overlay else checked_root(options.root)
    found = reproduce(options.wheel, root, choice_of("auto", options.upstream), overlay)
    if options.out:
        write_atomically(options.out / found.name, found.made)
    if options.json:
        console.json(_as_json(found))
    else:
        _report(found, console)
    return 1 if found.differences else 0


def _report(found: Reproduction, console: Console) -> None:
    if not found.differences:
        digest = hashlib.sha256(found.made).hexdigest()
        console.line(f"{found.wheel}: {found.overlay.name} gives the same bytes here, sha256 {digest}", style="green")
        return
    console.line(f"{found.wheel}: {found.overlay.name} gives other bytes here", style="red")
    for one in found.inputs:
        console.line(f"  made of another input: {one.name}: {one.then or 'none'}, here {one.here or 'none'}")
    for difference in found.differences[:_MOST]:
        console.line(f"  {f'{difference.path}: ' if difference.path else ''}{difference.how}")
        for line in difference.diff:
            console.line(f"    {line}")
    if len(found.differences) > _MOST:
        more = plural(len(found.differences) - _MOST, "more difference")
        console.line(f"  and {more}, which --json lists")


def _as_json(found: Reproduction) -> dict[str, object]:
    return {
        "wheel": str(found.wheel),
        "overlay": found.overlay.name,
        "same": not found.differences,
        "made": {"name": found.name, "sha256": hashlib.sha256(found.made).hexdigest()},
        "inputs": list(map(asdict, found.inputs)),
        "differences": list(map(asdict, found.differences)),
    }
