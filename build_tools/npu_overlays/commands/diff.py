"""`diff`: overlays → the unified diff between upstream and what their wheels hold."""

from __future__ import annotations

from dataclasses import dataclass

from npu_overlays.changes.record import unified_diff
from npu_overlays.commands.command import Command, Selection
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import select
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import each, joined, prepare, preview
from npu_overlays.sources.tree import PatchedTree

_DESCRIPTION = """\
Print the unified diff between upstream and the content of the wheel, in the
format of `git diff`: `git apply` takes it in a clone of upstream.

An overlay without a lock is applied without its contracts, so that you can look
at an operation while you write it.

examples:
  npu-overlays diff verl@d62da49 | less
  npu-overlays diff verl@d62da49 > verl.diff && git -C ~/src/verl apply /tmp/verl.diff
"""


@dataclass(frozen=True, kw_only=True)
class Options(Selection):
    """The overlays."""


def _run(options: Options, console: Console) -> int:
    overlays, choice = select(options), options.choice
    work = _Patching(loader=Loader(overlays, choice), choice=choice, console=console)
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
        self.console.notice(f"{overlay.name}: {unchecked}; `npu-overlays lock {overlay.argument}` records it")
        return preview(overlay, self.choice)


COMMAND = Command(
    name="diff",
    summary="print the unified diff between upstream and the content of the wheel",
    description=_DESCRIPTION,
    options=Options,
    run=_run,
)
