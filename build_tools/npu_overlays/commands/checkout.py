"""`checkout`: an overlay → a git work tree with one commit for each thing it says."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.authoring.checkout.folder import check_out
from npu_overlays.authoring.checkout.repository import BRANCH, UPSTREAM
from npu_overlays.authoring.new_folder import refuse_present
from npu_overlays.commands.command import OneOverlay, json_option, option, whole_path
from npu_overlays.commands.notes import units_as_json
from npu_overlays.commands.selection import select
from npu_overlays.pipeline.preparation import subject
from npu_overlays.progress import about
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.commands.console import Console

SUMMARY = "make a git work tree of an overlay, with one commit for each change, to edit there"
DESCRIPTION = """\
Make a git work tree of an overlay: upstream's own commit (or the files of a
release), and on top of it one commit for each operation, patch and added file,
with its reason as the message. A wheel is made from exactly the files of the
last commit.

Edit any file there with any tool, and run upstream's tests there. Then
`npu-overlays refresh` brings your changes back into the overlay.

The lock is not checked, so that an overlay that no longer fits it can be
inspected too; `check` does that.

examples:
  npu-overlays checkout verl@d62da49 ~/src/verl-npu
  git -C ~/src/verl-npu log upstream..          every change and its reason
  git -C ~/src/verl-npu log -S fused upstream.. -- verl/workers
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --why "…"
"""


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, and where to write."""

    folder: Path = option(type=whole_path, metavar="DIR", help="where to write: a new or empty folder")
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    refuse_present(options.folder)
    (overlay,) = select(options)
    with about(overlay.name):
        found, made = check_out(subject(overlay, options.choice), options.folder)
    if options.json:
        commits = [{"units": units_as_json(one.units), "paths": sorted(one.changes)} for one in made]
        console.json(
            {
                "overlay": found.overlay,
                "folder": str(found.folder),
                "upstream": found.base,
                "head": found.head,
                "commits": commits,
            }
        )
        return 0
    number = plural(len(made), "commit")
    console.line(f"{found.folder}: {number} on top of {found.base[:12]}, on branch {BRANCH}", style="green")
    place = shlex.quote(str(found.folder))
    console.line(f"  every change and its reason:    git -C {place} log {UPSTREAM}..")
    console.line(f"  back into the overlay:          npu-overlays refresh {overlay.argument} {place}")
    return 0
