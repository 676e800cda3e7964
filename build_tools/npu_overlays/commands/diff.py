"""`diff`: overlays → the unified diff between upstream and what their wheels hold."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from npu_overlays.changes.record import unified_diff
from npu_overlays.commands.command import Command
from npu_overlays.commands.options import (
    Selection,
    Sources,
    add_selection,
    add_sources,
    read_selection,
    read_sources,
)
from npu_overlays.commands.selection import selected
from npu_overlays.console import Console
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline import each, joined, prepare, preview
from npu_overlays.tree import PatchedTree

_DESCRIPTION = """\
Print the unified diff between upstream and what the wheel holds, as `git diff`
writes it: `git apply` takes it in a clone of upstream.

An overlay that is not locked yet is applied without its contracts, so that an
operation can be looked at while it is being written.

examples:
  npu-overlays diff verl@d62da49 | less
  npu-overlays diff verl@d62da49 > /tmp/verl.diff && git -C ~/src/verl apply /tmp/verl.diff
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: which overlays, and where upstream's bytes are to come from."""

    selection: Selection
    sources: Sources


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_sources(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(selection=read_selection(parsed), sources=read_sources(parsed))


def _run(options: Options, console: Console) -> int:
    overlays = selected(options.selection, options.sources.clones)
    diffs, errors = each(overlays, lambda overlay: unified_diff(_patched(overlay, console)))
    if errors:
        raise joined(errors)
    for text in diffs:
        console.raw(text)
    return 0


def _patched(overlay: Overlay, console: Console) -> PatchedTree:
    if (overlay.folder / LOCK_FILE).is_file():
        return prepare(overlay).tree
    unchecked = "there is no overlay.lock yet, so what the operations depend on was not checked"
    console.notice(f"{overlay.name}: {unchecked}; `npu-overlays lock {overlay.name}` records it")
    return preview(overlay)


COMMAND = Command(
    name="diff",
    summary="print the unified diff between upstream and what the wheel holds",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
