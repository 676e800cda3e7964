"""`export`: an overlay, or some of what it says → patches of upstream, as mails or as a folder of patches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.checkout.commit_series import OverlayCommit, series
from npu_overlays.authoring.checkout.units import Unit, choose, only, units_of
from npu_overlays.authoring.export import Style, export
from npu_overlays.authoring.new_folder import refuse_present
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.commands.command import OneOverlay, json_option, option, path_option, whole_path
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import select
from npu_overlays.errors import MergeError, Problem
from npu_overlays.pipeline.preparation import AppliedInput, subject
from npu_overlays.progress import about
from npu_summary.plurals import plural

SUMMARY = "write the changes of an overlay as patches of upstream, as mails or as a folder of patches"
DESCRIPTION = """\
Write the changes of an overlay as patches of upstream, one for each operation,
in order, with the reasons as messages. Applied to the pinned commit they give
exactly the tree that a wheel is made from.

If you name operations, only these are exported, each as a patch of upstream's
unchanged code. Name them by `path:Symbol`, symbol, path (everything done there)
or the name of a patch.

  git-am     mails; `git am --keep-cr DIR/*.patch` makes commits of them
  patch-dir  diffs below the reason, as an overlay's patches/ holds them;
             `git apply DIR/0001-….patch`, one after the other

examples:
  npu-overlays export verl@d62da49 --out mails
  npu-overlays export verl@d62da49 DataProto.to --without-notices
  npu-overlays export verl@d62da49 --format patch-dir --out patches
"""


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, what of it to export, and how."""

    names: list[str] = option(
        nargs="*", metavar="OPERATION", help="export only this: path:Symbol, Symbol, path, or the name of a patch"
    )
    style: Style = option("--format", choices=["git-am", "patch-dir"], default="git-am", help="default: git-am")
    out: Path | None = path_option("--out", "DIR", "a new or empty folder (default: OVERLAY.patches)")
    notices: bool = option(
        "--without-notices",
        action="store_false",
        help="omit the comments that mark the changed places, for a pull request to upstream",
    )
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    (overlay,) = select(options)
    out = options.out or whole_path(f"{overlay.name}.patches")
    with about(overlay.name):
        found = subject(overlay, options.choice)
        units = units_of(found.content)
        chosen = choose(units, options.names, overlay=overlay.argument) if options.names else units
        refuse_present(out)
        made = _series(found, chosen, options)
        files = export(found, made, out, options.style)
    if len(chosen) < len(units):
        for problem in _alone(found, chosen):
            console.notice(f"{overlay.name}: alone it would not run: {problem.where}: {problem.what}")
    if options.json:
        console.json({"overlay": overlay.name, "format": options.style, "files": [str(file) for file in files]})
        return 0
    for file in files:
        console.line(str(file))
    console.line(f"{overlay.name}: {plural(len(files), 'file')}, to be applied in this order", style="green")
    return 0


def _series(found: AppliedInput, chosen: tuple[Unit, ...], options: Options) -> tuple[OverlayCommit, ...]:
    try:
        return series(found, chosen, notices=options.notices)
    except MergeError as error:
        if not options.names:
            raise
        fix = "name those that it needs too, or the path of its whole file"
        alone = Problem(where=", ".join(options.names), what="cannot be applied without other operations", fix=fix)
        raise MergeError((*error.problems, alone)) from error


def _alone(found: AppliedInput, chosen: tuple[Unit, ...]) -> tuple[Problem, ...]:
    """Return what would not run of a part of an overlay."""
    try:
        apply_overlay(only(found.content, chosen), found.tree, absent=found.absent)
    except MergeError as error:
        return error.problems
    return ()
