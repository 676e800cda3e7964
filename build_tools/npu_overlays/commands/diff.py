"""`diff`: overlays → the unified diff between upstream and what their wheels hold."""

from __future__ import annotations

from dataclasses import dataclass

from npu_overlays.changes.record import unified_diff
from npu_overlays.commands.command import Selection
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import select
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import each, joined, prepare, preview
from npu_overlays.sources.tree import PatchedTree

SUMMARY = "print the unified diff between upstream and the content of the wheel"
DESCRIPTION = """\
Print the unified diff between upstream and the content of the wheel, in the
format of `git diff`: `git apply` takes it in a clone of upstream.

An overlay without a lock is applied without its contracts, so that you can look
at an operation while you write it.

examples:
  npu-overlays diff verl@d62da49 | less
  npu-overlays diff verl@d62da49 > /tmp/verl.diff && git -C ~/src/verl apply /tmp/verl.diff
"""


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays."""


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    overlays, choice = select(options), options.choice
    loader = Loader(overlays, choice)
    diffs, errors = each(overlays, lambda overlay: unified_diff(_patched(overlay, loader, choice, console)))
    if errors:
        raise joined(errors)
    for text in diffs:
        console.raw(text)
    return 0


def _patched(overlay: Overlay, loader: Loader, choice: Choice, console: Console) -> PatchedTree:
    """Return the tree that an overlay gives, locked or not; a notice says if its contracts were not checked."""
    if (overlay.folder / LOCK_FILE).is_file():
        return prepare(loader.load(overlay)).tree
    unchecked = "there is no overlay.lock yet, so what the operations depend on was not checked"
    console.notice(f"{overlay.name}: {unchecked}; `npu-overlays lock {overlay.argument}` records it")
    return preview(overlay, choice)
