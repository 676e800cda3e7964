"""`follow`: overlays → ports of the newest pins to every newer release, each in a folder for review."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.commands.command import json_option, option, path_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root
from npu_overlays.errors import ConfigError, Problem, UsageError
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.source_choice import Choice
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.authoring.follow import FollowedRelease

SUMMARY = "port the newest pins to every newer release of the package index, each in a folder for review"
DESCRIPTION = """\
Look in the package index for releases that are newer than the newest pin of a
project, and make a port for each, oldest first. It starts from that pin, then
from the last port that left nothing to decide. Your overlays stay as they are:
each port lies in a folder of its own, DIR/PROJECT@VERSION, with a copy of the
overlays in which it was made (overlays/), its wheels where nothing was left to
decide, and a report for people (report.md) and machines (report.json).

Once the wheels of a port are built, the command of --prove runs. It finds the
wheels by NPU_OVERLAYS_WHEELS, the overlays by NPU_OVERLAYS_ROOT and the name of
the new overlay by NPU_OVERLAYS_NAME, and has to exit with 0 if all is well. If it
cannot prove anything, it writes the reason to the file NPU_OVERLAYS_UNTRIED. Its
output goes into proof.log. If you interrupt `follow`, finished ports stay.

examples:
  npu-overlays follow
  npu-overlays follow transformers --out ports
  npu-overlays follow verl --prove "make prove"

exit codes: 0 done, also if parts are left to decide; 2 to 6 as for every command
"""
_HEADINGS = ("project", "release", "outcome", "left", "seconds", "report")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The projects, and where their ports go."""

    root: Path
    projects: list[str] = option(nargs="*", metavar="PROJECT", help="upstream's name (default: every project)")
    out: Path = path_option("--out", "DIR", "where the ports go (default: follow)", default="follow")
    words: list[str] = option(
        "--prove", type=shlex.split, default=[], metavar="COMMAND", help="the command that proves a port"
    )
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.authoring.follow import follow, newest, refuse_among  # noqa: PLC0415  # hatchling takes a fifth of a second

    # Before anything is ported.
    if options.words and shutil.which(options.words[0]) is None:
        what, fix = f"there is no command {options.words[0]}", "name one of PATH, or its file"
        raise UsageError(Problem(where="--prove", what=what, fix=fix))
    overlays = load_all(checked_root(options.root))
    _refuse_unknown(options.projects, {overlay.pin.project for overlay in overlays})
    refuse_among(options.root, options.out)
    releases: list[FollowedRelease] = []
    is_whole = False
    try:
        for overlay in newest(overlays, options.projects):
            for release in follow(overlay, Choice(), options.out, options.words):
                releases.append(release)
                if not options.json:
                    why = f" ({release.untried})" if release.untried else ""
                    left = plural(release.left, "part")
                    console.notice(f"{release.folder.name}: {release.outcome}{why}, {left} left to decide")
        is_whole = True
    finally:
        # An error or an interrupt leaves the ports that are finished: they are reported, too.
        if releases or is_whole:
            _report(options, console, releases)
    return 0


def _report(options: Options, console: Console, releases: list[FollowedRelease]) -> None:
    if options.json:
        console.json([release.as_json() for release in releases])
    elif releases:
        console.table(_HEADINGS, map(_cells, releases))
    else:
        console.line("no index has a release newer than the newest pins")


def _cells(release: FollowedRelease) -> tuple[str, ...]:
    project, file = release.folder.name.partition("@")[0], release.folder / "report.md"
    return project, release.version, release.outcome, str(release.left), f"{release.seconds:.1f}", str(file)


def _refuse_unknown(projects: list[str], known: set[str]) -> None:
    problems = []
    for project in projects:
        if project not in known:
            fix = f"name one of {', '.join(sorted(known))}"
            problems.append(Problem(where=project, what="no overlay is for a project of that name", fix=fix))
    ConfigError.raise_for(problems)
