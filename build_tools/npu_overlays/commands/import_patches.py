"""`import-patches`: a folder of patches that a team applies by hand → overlays that give the same trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.import_patches.forms import KINDS, FormKind, ProvenForm
from npu_overlays.authoring.import_patches.import_patches import ImportedPatchSet, ImportOptions, ImportResult, migrate
from npu_overlays.authoring.import_patches.ledger_comparison import LedgerComparison
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.commands.command import (
    choice_of,
    clones_option,
    flag,
    json_option,
    list_option,
    not_built_option,
    one_line,
    option,
    packages_option,
    path_option,
    text_option,
    whole_path,
)
from npu_overlays.commands.console import Console
from npu_overlays.commands.notes import archives_as_json
from npu_overlays.commands.reasons import reasons
from npu_overlays.errors import OverlayError, Problem
from npu_summary.plurals import plural

SUMMARY = "make overlays of a folder of patches, and check its hand-written summary"
DESCRIPTION = """\
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
added, CRLF is converted, a patch that git did not write is rewritten in git's
form, and a hunk that fits in several places gets more context.

--summary compares a hand-written patch_summary.yaml with what the patches do,
by syntax: entries without a change, changes without an entry, and entries with
another action, kind or owner. It changes nothing in the overlays.

REV is a commit id, abbreviated or not (the summary may have all of it), a tag,
or a version on your package index. Repository, packages and suffix are taken
from overlays of the same project unless they are given here.

examples:
  npu-overlays import-patches ../verl_npu --label imported --dry-run
  npu-overlays import-patches ../verl_npu --label imported --summary ../verl_npu/patch_summary.yaml
  npu-overlays import-patches ../verl_npu --label imported --why "As the plugin patched it."
  npu-overlays import-patches ../verl_npu --only verl/796871d --as operations --label imported
  npu-overlays import-patches patches --only jinja2/3.1.2 --only-shipped --suffix acme
  npu-overlays import-patches patches --only lib --suffix acme --repository https://example.com/lib

exit codes: 0 imported, even if the summary is wrong; 5 a patch cannot be
imported, and nothing is written; 7 the overlays are written, and a build
refuses them until they are corrected
"""
_REFUSED_BY_BUILD = 7  # the exit code if a build refuses an overlay that is written
_COUNTED = {"files": "added file", "edits": "substitution", "patches": "patch file"}
_HEADINGS = ("finding", "what", "listed", "found", "where")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The patches, and the options for the new overlays."""

    root: Path
    folder: Path = option(type=whole_path, metavar="DIR", help="holds REPO/REV/NAME.patch, itself or in patch/")
    summary: Path | None = path_option("--summary", "FILE", "a hand-written patch_summary.yaml to compare")
    kind: FormKind = option("--as", choices=["patches", "operations"], default="patches", help="default: patches")
    only: list[str] = list_option("--only", "REPO[/REV]", "import only this; may be given more than once")
    only_shipped: bool = flag("--only-shipped", "omit hunks for files that no wheel has, and list them")
    why: str = text_option("--why", "TEXT", "the reason for patches that give none", type=one_line)
    suffix: str = text_option("--suffix", "WORD", "name the wheels PROJECT-WORD")
    label: str = text_option("--label", "WORD", "distinguish them from others of the same pin")
    repository: str = text_option("--repository", "URL", "the git repository that has the commit")
    packages: list[tuple[str, str]] = packages_option("ship this folder or module, as NAME")
    not_built: list[str] = not_built_option("files that upstream builds and the wheel may lack")
    out: Path | None = path_option(
        "--out", "DIR", "where the overlays are written (default: the folder of overlays, else here)"
    )
    dry_run: bool = flag("--dry-run", "prove and report, and write nothing")
    upstream: list[tuple[str, Path]] = clones_option()
    json: bool = json_option()


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    outcome = migrate(
        ImportOptions(
            folder=options.folder,
            summary=options.summary,
            only=tuple(options.only),
            kind=options.kind,
            request=_request(options),
            root=options.root,
            only_shipped=options.only_shipped,
            explain=lambda new: reasons(new, options.why, ask=not options.json),
            dry_run=options.dry_run,
        )
    )
    if options.json:
        console.json(_as_json(outcome, options.kind, options.summary, written=not options.dry_run))
    else:
        _report(console, outcome, options)
    return _REFUSED_BY_BUILD if any(_unsound(one, options.kind) for one in outcome.migrated) else 0


def _request(options: Options) -> InitRequest:
    """Return the options for all new overlays."""
    return InitRequest(
        name="",
        repository=options.repository,
        suffix=options.suffix,
        label=options.label,
        packages=tuple(options.packages),
        not_built=tuple(options.not_built),
        parent=options.out or (options.root if options.root.is_dir() else Path.cwd()),
        choice=choice_of(None, options.upstream),
        elsewhere="tell it apart with --label WORD, or name another place with --out",
    )


def _report(console: Console, outcome: ImportResult, options: Options) -> None:
    for path in outcome.passed_over:
        what = "is in no series" if {".patch", ".diff"} & set(path.suffixes) else "is no *.patch"
        console.notice(f"{path}: {what}, and was passed over")
    for one in outcome.migrated:
        _report_one(console, one, options)
    if outcome.comparison:
        _report_comparison(console, outcome.comparison, options)


def _report_one(console: Console, one: ImportedPatchSet, options: Options) -> None:
    console.notices(f"{one.patches.name}: {notice}" for notice in _notices(one, options.kind))
    number = plural(len(one.patches.patches), "patch file")
    written = "would be written" if options.dry_run else "written"
    console.line(f"{one.overlay.folder}: {written}, from {number} of {one.patches.name}", style="green")
    for kind in KINDS:
        console.line(f"  as {kind:<11} {_proof_line(one, kind)}{' (kept)' if kind == options.kind else ''}")
    if problems := _unsound(one, options.kind):
        for problem in problems:
            console.notices(str(problem).splitlines())
        console.line(f"  {plural(len(problems), 'problem')} to correct there before it can be built", style="yellow")
    if not options.dry_run:
        console.line(f"  next: npu-overlays lock {one.overlay.argument}")


def _proof_line(one: ImportedPatchSet, kind: FormKind) -> str:
    """Return in a line whether a form of a set of patches was proven, and what it consists of."""
    proven = one.proven[kind]
    if isinstance(proven, OverlayError):
        return f"cannot be made: {'; '.join(f'{problem.where}: {problem.what}' for problem in proven.problems)}"
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
    if comparison.findings:
        console.table(_HEADINGS, ((one.kind, one.what, one.said, one.found, one.where) for one in comparison.findings))


def _unsound(one: ImportedPatchSet, kind: FormKind) -> tuple[Problem, ...]:
    """Return the problems for which a build refuses an overlay."""
    proven = one.proven[kind]
    return proven.problems if isinstance(proven, OverlayError) else proven.unsound


def _notices(one: ImportedPatchSet, kind: FormKind) -> Iterator[str]:
    """Yield what was mended in a set of patches, what was left out, and which patches have no effect."""
    for name, how in one.patches.mended:
        yield f"{name} {how}"
    for name in _widened(one):
        yield f"{name} has hunks that fit in several places, and was given more context"
    for file in one.applied.empty:
        yield f"{Path(file).name} is empty, and was passed over"
    for patch in dict.fromkeys(left.patch for left in one.applied.left_out):
        paths = [f"{left.path} ({left.hunks})" for left in one.applied.left_out if left.patch == patch]
        yield f"{patch}: left out, with the number of hunks, what no wheel has: {', '.join(paths)}"
    proven = one.proven[kind]
    if not isinstance(proven, OverlayError):
        yield from proven.notices


def _widened(one: ImportedPatchSet) -> list[str]:
    return [taken.file.path for taken in one.applied.taken if taken.ambiguous]


def _as_json(outcome: ImportResult, kind: FormKind, summary: Path | None, *, written: bool) -> dict[str, object]:
    """Return the result of an import as data; `summary` is the hand-written one that was compared, if any."""
    result: dict[str, object] = {
        "form": kind,
        "written": written,
        "overlays": [_migrated_as_json(one, kind) for one in outcome.migrated],
        "passed_over": list(map(str, outcome.passed_over)),
    }
    if comparison := outcome.comparison:
        result["summary"] = {
            "file": str(summary),
            "right": comparison.right,
            "wrong": comparison.wrong,
            "not_listed": comparison.unlisted,
            "findings": list(map(vars, comparison.findings)),
        }
    return result


def _migrated_as_json(one: ImportedPatchSet, kind: FormKind) -> dict[str, object]:
    return {
        "overlay": one.overlay.name,
        "folder": str(one.overlay.folder),
        "patches": one.patches.name,
        "commit": one.overlay.pin.commit,
        "archives": archives_as_json(one.overlay.pin),
        "files": [file.path for file in one.files],
        "operations": one.counts,
        "forms": {each: _form_as_json(one.proven[each]) for each in KINDS},
        "mended": list(dict(one.patches.mended)),
        "widened": _widened(one),
        "left_out": list(map(vars, one.applied.left_out)),
        "empty": [Path(file).name for file in one.applied.empty],
        "problems": [problem.as_json() for problem in _unsound(one, kind)],
    }


def _form_as_json(proven: ProvenForm | OverlayError) -> dict[str, object]:
    if isinstance(proven, OverlayError):
        return {"same": False, "problems": [one.as_json() for one in proven.problems]}
    return {
        "same": True,
        "otherwise": list(proven.otherwise),
        "problems": [one.as_json() for one in proven.unsound],
        "notices": list(proven.notices),
    }
