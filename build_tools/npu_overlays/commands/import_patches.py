"""`import-patches`: a folder of patches that a team applies by hand → overlays that give the same trees."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.import_patches.forms import FormKind
from npu_overlays.authoring.import_patches.import_patches import ImportedPatchSet, ImportOptions, ImportResult, migrate
from npu_overlays.authoring.import_patches.ledger_comparison import LedgerComparison
from npu_overlays.authoring.import_patches.report import KINDS, as_json, notices, unsound
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.commands.command import Command, add_clones, add_json, choice_of, folder, one_line, package
from npu_overlays.commands.console import Console
from npu_overlays.commands.reasons import reasons
from npu_overlays.errors import MergeError, OverlayError
from npu_summary.plurals import plural

_DESCRIPTION = """\
Make overlays of a folder of patches, DIR/REPO/REV/NAME.patch (or DIR/patch/…):
one for each REPO/REV, pinned to that commit, tag or release. Each needs no
other overlay and gives exactly the tree that `git apply` gives, in the order of
the names, or of a quilt series below REPO/REV. A file with several mails gives
one patch for each.

Patches stay patches; --as operations turns them into what they do to each
symbol. An operation depends on its symbol alone, so it holds on upstream
commits on which a patch fails. What no operation can express stays a patch.
Both forms are tried and proven: patches give the same bytes and modes,
operations the same program in each module.

What cannot be imported is refused by name, all at once: hunks that do not fit,
or only with fuzz, or are cut off; links; modes of upstream's files; files that
are not shipped, unless --only-shipped omits them. A missing last line end is
added, CRLF is converted, a patch that git did not write is written anew, and a
hunk that fits in several places gets more context.

--summary compares a hand-written patch_summary.yaml with what the patches do,
by syntax: entries without a change, changes without an entry, and entries with
another action, kind or owner. It changes nothing in the overlays.

REV is a commit id, abbreviated or not (the summary may have all of it), a tag,
or a version on your package index. Repository, packages and suffix are taken
from overlays of the same project unless they are given here.

examples:
  npu-overlays import-patches ../verl_npu --summary ../verl_npu/patch_summary.yaml --dry-run
  npu-overlays import-patches ../verl_npu --label imported --why "As the plugin patched it."
  npu-overlays import-patches ../verl_npu --only verl/796871d --as operations --label imported
  npu-overlays import-patches patches --only jinja2/3.1.2 --only-shipped --suffix acme
  npu-overlays import-patches patches --only attrs --suffix acme --repository https://github.com/python-attrs/attrs
"""
_EPILOG = """
exit codes: 0 imported, even if the summary is wrong; 5 a patch cannot be
imported, and nothing is written; or the overlays are written, and a build
would refuse what the patches do
"""
_COUNTED = {"files": "added file", "edits": "substitution", "patches": "patch file"}
_HEADINGS = ("finding", "what", "listed", "found", "where")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for."""

    folder: Path  # of the patches
    summary: Path | None  # the hand-written summary, or None
    only: list[str]  # the sets that are meant; empty for all
    kind: FormKind  # the form in which the patches are kept
    request: InitRequest  # what is said of the new overlays
    root: Path  # the folder of overlays
    why: str  # the reason of all that has none; empty to ask
    only_shipped: bool  # whether hunks for files that no wheel has are left out
    dry_run: bool  # whether to write nothing
    json: bool  # whether the report is JSON


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=folder, metavar="DIR", help="holds REPO/REV/NAME.patch, itself or in patch/")
    parser.add_argument("--summary", type=folder, metavar="FILE", help="a hand-written patch_summary.yaml to compare")
    parser.add_argument(
        "--as", dest="kind", choices=["patches", "operations"], default="patches", help="default: patches"
    )
    text = "import only this; may be given several times"
    parser.add_argument("--only", action="append", default=[], metavar="REPO[/REV]", help=text)
    parser.add_argument(
        "--only-shipped", action="store_true", help="omit hunks for files that no wheel has, and list them"
    )
    parser.add_argument(
        "--why", type=one_line, default="", metavar="TEXT", help="the reason for patches that give none"
    )
    parser.add_argument("--suffix", default="", metavar="WORD", help="name the wheels PROJECT-WORD")
    parser.add_argument("--label", default="", metavar="WORD", help="distinguish them from others of the same pin")
    parser.add_argument("--repository", default="", metavar="URL", help="the git repository that has the commit")
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        type=package,
        metavar="PATH[=NAME]",
        help="ship this folder or module, as NAME",
    )
    parser.add_argument(
        "--not-built",
        action="append",
        default=[],
        metavar="GLOB",
        help="files that upstream builds and the wheel may lack",
    )
    text = "where the overlays are written (default: the folder of overlays, else here)"
    parser.add_argument("--out", type=folder, metavar="DIR", help=text)
    parser.add_argument("--dry-run", action="store_true", help="prove and report, and write nothing")
    add_clones(parser)
    add_json(parser)


def _check(parsed: argparse.Namespace) -> None:
    """Collect what is said of the new overlays."""
    root: Path = parsed.root
    parsed.request = InitRequest(
        name="",
        repository=parsed.repository,
        suffix=parsed.suffix,
        label=parsed.label,
        packages=tuple(parsed.package),
        not_built=tuple(parsed.not_built),
        parent=parsed.out or (root if root.is_dir() else Path.cwd()),
        choice=choice_of(None, dict(parsed.upstream)),
        elsewhere="tell it apart with --label WORD, or name another place with --out",
    )


def _run(options: Options, console: Console) -> int:
    outcome = migrate(
        ImportOptions(
            folder=options.folder,
            summary=options.summary,
            only=tuple(options.only),
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


def _report(console: Console, outcome: ImportResult, options: Options) -> None:
    for path in outcome.passed_over:
        what = "is in no series" if {".patch", ".diff"} & set(path.suffixes) else "is no *.patch"
        console.notice(f"{path}: {what}, and was passed over")
    for one in outcome.migrated:
        _report_one(console, one, options)
    if outcome.comparison:
        _report_comparison(console, outcome.comparison, options)


def _report_one(console: Console, one: ImportedPatchSet, options: Options) -> None:
    console.notices(f"{one.patches.name}: {notice}" for notice in notices(one, options.kind))
    number = plural(len(one.patches.patches), "patch file")
    written = "would be written" if options.dry_run else "written"
    console.line(f"{one.overlay.folder}: {written}, from {number} of {one.patches.name}", style="green")
    for kind in KINDS:
        console.line(f"  as {kind:<11} {_proof_line(one, kind)}{' (kept)' if kind == options.kind else ''}")
    if problems := unsound(one, options.kind):
        for problem in problems:
            console.notices(str(problem).splitlines())
        console.line(f"  {plural(len(problems), 'problem')} to mend there, or a build refuses it", style="yellow")
    if not options.dry_run:
        console.line(f"  next: npu-overlays lock {one.overlay.argument}")


def _proof_line(one: ImportedPatchSet, kind: FormKind) -> str:
    """Return in a line whether a form of a set of patches was proven, and what it consists of."""
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


def _report_comparison(console: Console, comparison: LedgerComparison, options: Options) -> None:
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
    summary="make overlays of a folder of patches, and check its hand-written summary",
    description=_DESCRIPTION + _EPILOG,
    arguments=_add_arguments,
    check=_check,
    options=Options,
    run=_run,
)
