"""`import-patches`: a folder of patches that a team applies by hand → overlays that give the same trees."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import as_typed
from npu_overlays.commands.options import add_clones, add_json, choice_of, folder
from npu_overlays.commands.reasons import reasons
from npu_overlays.errors import MergeError, OverlayError
from npu_overlays.migrating.comparing import Comparison
from npu_overlays.migrating.forming import Kind
from npu_overlays.migrating.migrate import Asked, Migrated, Outcome, migrate
from npu_overlays.migrating.report import KINDS, as_json, notices, unsound
from npu_overlays.starting.request import Request
from npu_summary.plurals import plural

_DESCRIPTION = """\
Make overlays of a folder of patches, DIR/REPO/REV/NAME.patch (or DIR/patch/…):
one for each REPO/REV, pinned to that commit, tag or release, that stands alone
and gives exactly the tree that `git apply` gives, in the order of the names, or
of a quilt series below REPO/REV. A file with several mails is a patch for each.

The patches are kept as patches, or with --as operations turned into what they
do to each symbol: what an operation depends on is that symbol, so it holds on
upstream commits on which a patch fails. What no symbol can say stays a patch.
Either way both forms are tried, and proven: the patches give the same bytes
and modes, the operations the same program in each module.

What cannot be taken over is refused by name, everything at once: hunks that do
not fit or only with fuzz, that are cut off, links, modes of upstream's files,
files that are not shipped, unless --only-shipped leaves those out. A last line
end that is missing is put there, CRLF is converted, a patch that is not git's is
made anew, and a hunk that fits in several places gets more context.

With --summary, a patch_summary.yaml written by hand is compared with what the
patches do, by syntax: what is listed and not there, there and not listed, or
listed with another action, kind or owner. It changes nothing of the overlays.

REV is a commit, as long as it is written (the summary may say all of it), a tag,
or a version on your package index. What is not said here is taken from overlays
of the same project: repository, packages and suffix.

examples:
  npu-overlays import-patches ../verl_npu --summary ../verl_npu/patch_summary.yaml --dry-run
  npu-overlays import-patches ../verl_npu --label imported --why "As the plugin patched it."
  npu-overlays import-patches ../verl_npu --only verl/796871d --as operations --label imported
  npu-overlays import-patches patches --only jinja2/3.1.2 --only-shipped --suffix acme
  npu-overlays import-patches patches --only attrs --suffix acme --repository https://github.com/python-attrs/attrs
"""
_EPILOG = """
exit codes: 0 imported, whatever is wrong with the summary; 5 a patch cannot be
taken over, and nothing is written; or the overlays are written, and a build
would refuse what the patches do
"""
_COUNTED = {"files": "added file", "edits": "substitution", "patches": "patch file"}
_HEADINGS = ("finding", "what", "listed", "found", "where")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        folder: of the patches.
        summary: the hand-written summary, or None.
        only: the sets that are meant; empty for all.
        kind: the form in which the patches are kept.
        request: what is said of the new overlays.
        root: the folder of overlays.
        why: the reason of all that has none; empty to ask.
        only_shipped: whether hunks for files that no wheel has are left out.
        dry_run: whether to write nothing.
        json: whether the report is JSON.
    """

    folder: Path
    summary: Path | None
    only: tuple[str, ...]
    kind: Kind
    request: Request
    root: Path
    why: str
    only_shipped: bool
    dry_run: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=folder, metavar="DIR", help="holds REPO/REV/NAME.patch, itself or in patch/")
    parser.add_argument("--summary", type=folder, metavar="FILE", help="a patch_summary.yaml, to be compared")
    parser.add_argument(
        "--as", dest="kind", choices=["patches", "operations"], default="patches", help="default: patches"
    )
    parser.add_argument("--only", action="append", default=[], metavar="REPO[/REV]", help="leave out all others")
    parser.add_argument(
        "--only-shipped", action="store_true", help="leave out hunks for files that no wheel has, and list them"
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason of all that gives none itself")
    parser.add_argument("--suffix", default="", metavar="WORD", help="the wheels are called PROJECT-WORD")
    parser.add_argument("--label", default="", metavar="WORD", help="tells them from other overlays on that pin")
    parser.add_argument("--repository", default="", metavar="URL", help="where git has the commit")
    parser.add_argument(
        "--package", action="append", default=[], metavar="PATH[=NAME]", help="ship this folder or module, as NAME"
    )
    parser.add_argument(
        "--not-built",
        action="append",
        default=[],
        metavar="GLOB",
        help="what the wheel may lack of what upstream builds",
    )
    text = "where the overlays are written (default: the folder of overlays, else here)"
    parser.add_argument("--out", type=folder, metavar="DIR", help=text)
    parser.add_argument("--dry-run", action="store_true", help="prove and report, and write nothing")
    add_clones(parser)
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    root: Path = parsed.overlays
    request = Request(
        name="",
        repository=parsed.repository,
        suffix=parsed.suffix,
        label=parsed.label,
        packages=tuple((path, name) for path, _, name in (text.partition("=") for text in parsed.package)),
        not_built=tuple(parsed.not_built),
        parent=parsed.out or (root if root.is_dir() else Path.cwd()),
        choice=choice_of(None, dict(parsed.upstream)),
        elsewhere="tell it apart with --label WORD, or name another place with --out",
    )
    return Options(
        folder=parsed.folder,
        summary=parsed.summary,
        only=tuple(parsed.only),
        kind=parsed.kind,
        request=request,
        root=root,
        why=" ".join(parsed.why.split()),
        only_shipped=parsed.only_shipped,
        dry_run=parsed.dry_run,
        json=parsed.json,
    )


def _run(options: Options, console: Console) -> int:
    outcome = migrate(
        Asked(
            folder=options.folder,
            summary=options.summary,
            only=options.only,
            kind=options.kind,
            request=options.request,
            root=options.root,
            only_shipped=options.only_shipped,
            explain=lambda new: reasons(new, options.why, ask=not options.json),
            dry_run=options.dry_run,
        )
    )
    if options.json:
        console.json(as_json(outcome, options.kind, options.summary, written=not options.dry_run))
    else:
        _report(console, outcome, options)
    return MergeError.exit_code if any(unsound(one, options.kind) for one in outcome.migrated) else 0


def _report(console: Console, outcome: Outcome, options: Options) -> None:
    for path in outcome.passed_over:
        what = "is in no series" if path.suffix in (".patch", ".diff") else "is no *.patch"
        console.notice(f"{path}: {what}, and was passed over")
    for one in outcome.migrated:
        _report_one(console, one, options)
    if outcome.comparison:
        _report_comparison(console, outcome.comparison, options)


def _report_one(console: Console, one: Migrated, options: Options) -> None:
    for notice in notices(one, options.kind):
        console.notice(f"{one.patches.name}: {notice}")
    number = plural(len(one.patches.patches), "patch file")
    written = "would be written" if options.dry_run else "written"
    console.line(f"{one.overlay.folder}: {written}, from {number} of {one.patches.name}", style="green")
    for kind in KINDS:
        console.line(f"  as {kind:<11} {_proof_line(one, kind)}{' (kept)' if kind == options.kind else ''}")
    if problems := unsound(one, options.kind):
        for problem in problems:
            for line in str(problem).splitlines():
                console.notice(line)
        console.line(f"  {plural(len(problems), 'problem')} to mend there, or a build refuses it", style="yellow")
    if not options.dry_run:
        console.line(f"  next: npu-overlays lock {shlex.quote(as_typed(one.overlay.folder))}")


def _proof_line(one: Migrated, kind: Kind) -> str:
    """Return what was seen of a form of a set of patches."""
    proven = one.proven[kind]
    if isinstance(proven, OverlayError):
        return f"cannot be had: {'; '.join(f'{problem.where}: {problem.what}' for problem in proven.problems)}"
    if kind == "patches":
        return "the same tree as git's, byte for byte"
    counted = ", ".join(
        plural(number, _COUNTED[name]) if name in _COUNTED else f"{number} {name}"
        for name, number in one.counts.items()
    )
    otherwise = f"{plural(len(proven.otherwise), 'module')} with other comments or places" if proven.otherwise else ""
    of_what = "; ".join(filter(None, [counted or "no operation", otherwise]))
    return f"the same program in each module, the same bytes elsewhere: {of_what}"


def _report_comparison(console: Console, comparison: Comparison, options: Options) -> None:
    right = plural(comparison.right, "entry", "entries")
    console.line("")
    console.line(
        f"{options.summary}: {right} right, {comparison.wrong} wrong; {comparison.unlisted} changes not listed"
    )
    rows = [(one.kind, one.what, one.said, one.found, one.where) for one in comparison.findings]
    if rows:
        console.table(_HEADINGS, rows)


COMMAND = Command(
    name="import-patches",
    summary="make overlays of a folder of patches, and say where its hand-written summary is wrong",
    description=_DESCRIPTION + _EPILOG,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
