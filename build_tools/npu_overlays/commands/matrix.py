"""`matrix`: the overlays on disk → CI's cells, one for each overlay and Python version."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from npu_overlays.commands.command import option, text_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root
from npu_overlays.publish.affected_overlays import affected_overlays
from npu_overlays.publish.ci_matrix import Cell, OverlayFolder, as_github, as_gitlab, cells_of, load_overlay_folder
from npu_overlays.publish.work_tree_changes import change_since

SUMMARY = "print CI's matrix, one cell for each overlay and Python"
TIDY = False
DESCRIPTION = """\
Print CI's matrix, one cell for each overlay and each Python that its upstream
supports. It is made from what is on disk: a new overlay is in it at once.

With --changed-since it has only the cells that a change affects: overlays whose
folder or layers it touches, those that require one of these in a stack, and
those that a changed stack names. A change of the tool, a workflow or the
Makefile affects all, one of documents none. The work tree, committed or not, is
compared with the commit where it left the branch.

examples:
  npu-overlays matrix
  npu-overlays matrix --changed-since origin/main
  npu-overlays matrix --format gitlab > cells.yml
"""
_FORMATS = """\
table: a line for each overlay, the default on a terminal; json: the default elsewhere;
github: a line for $GITHUB_OUTPUT, batches=[…], each a matrix of no more jobs than GitHub runs;
gitlab: a child pipeline in YAML
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The folder of overlays, and how to print which of the cells."""

    root: Path
    format: str = option("--format", choices=["table", "json", "github", "gitlab"], default="", help=_FORMATS)
    since: str = text_option(
        "--changed-since", "REV", "only the cells affected by the changes since then: a branch, a tag or a commit"
    )


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    folder = load_overlay_folder(checked_root(options.root))
    cells = cells_of(folder, _touched(folder, options.since, console) if options.since else None)
    form = options.format or ("table" if sys.stdout.isatty() else "json")
    if form == "json":
        console.json({"include": cells})
    elif form == "table":
        console.table(("overlay", "Pythons", "stack", "sources"), _rows(cells))
    else:
        console.raw((as_github if form == "github" else as_gitlab)(cells))
    return 0


def _rows(cells: Iterable[Cell]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cells of each overlay as one row."""
    for (overlay, stack, sources), alike in groupby(cells, key=itemgetter("overlay", "stack", "sources")):
        yield overlay, ", ".join(cell["python"] for cell in alike), stack, sources


def _touched(folder: OverlayFolder, since: str, console: Console) -> set[str]:
    """Return the names of the overlays that a change touches."""
    change = change_since(since, folder.root)
    if change.note:
        console.notice(change.note)
    return affected_overlays(folder, change)
