"""`diff`: overlays → the unified diff between upstream and what their wheels hold."""

from __future__ import annotations

from dataclasses import dataclass

from npu_overlays.changes.record import unified_diff
from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.options import Selection, add_selection, read_selection
from npu_overlays.commands.selection import select
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import each, joined, prepare, preview
from npu_overlays.sources.tree import PatchedTree

_DESCRIPTION = """\
Print the unified diff between upstream and what the wheel holds, as `git diff`
writes it: `git apply` takes it in a clone of upstream.

An overlay that is not locked yet is applied without its contracts, so that an
operation can be looked at while it is being written.

examples:
  npu-overlays diff verl@d62da49 | less
  npu-overlays diff verl@d62da49 > /tmp/verl.diff && git -C ~/src/verl apply /tmp/verl.diff
"""


def _run(selection: Selection, console: Console) -> int:
    overlays = select(selection)
    work = _Patching(loader=Loader(overlays, selection.choice), choice=selection.choice, console=console)
    diffs, errors = each(overlays, lambda overlay: unified_diff(work.patched(overlay)))
    if errors:
        raise joined(errors)
    for text in diffs:
        console.raw(text)
    return 0


@dataclass(frozen=True, kw_only=True)
class _Patching:
    """What applying an overlay needs, locked or not."""

    loader: Loader
    choice: Choice
    console: Console

    def patched(self, overlay: Overlay) -> PatchedTree:
        if (overlay.folder / LOCK_FILE).is_file():
            return prepare(self.loader.load(overlay)).tree
        unchecked = "there is no overlay.lock yet, so what the operations depend on was not checked"
        self.console.notice(f"{overlay.name}: {unchecked}; `npu-overlays lock {overlay.name}` records it")
        return preview(overlay, self.choice)


COMMAND = Command(
    name="diff",
    summary="print the unified diff between upstream and what the wheel holds",
    description=_DESCRIPTION,
    arguments=add_selection,
    read=read_selection,
    run=_run,
)
