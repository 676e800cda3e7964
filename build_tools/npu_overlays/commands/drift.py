"""`drift`: an overlay and a range of upstream's commits → on how many of them it still applies, and what breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.port.drift import Drift, WalkSegment, drift
from npu_overlays.authoring.port.drift_report import Curve, as_json, change_rows, curve_rows, curves, page
from npu_overlays.authoring.port.history import BlobCache, UpstreamHistory
from npu_overlays.authoring.port.line_patches import LinePatches, try_patches
from npu_overlays.commands.command import OneOverlay, json_option, option, path_option
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import find_named
from npu_overlays.errors import Problem, UsageError
from npu_overlays.files import write_atomically
from npu_overlays.merge.apply import apply_part
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.pipeline.preparation import load
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import about, step
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import history
from npu_overlays.sources.tree import SourceTree
from npu_summary.plurals import plural

SUMMARY = "report on how many upstream commits an overlay still applies, and what breaks it"
DESCRIPTION = """\
Walk a range of upstream's commits, without checking any of them out, and report
for each operation on what share of them it still applies, the first commit that
breaks it, and whether `npu-overlays port` has a proposal there. For comparison,
the same changes are tried as line patches, by git apply and by GNU patch.

A..B is written as for git: tags, branches or commits; ..B begins at the pin.
The history is fetched once and kept (see `npu-overlays cache`).

The first table gives the share of operations that apply: `mean` over all
commits, `all of it` the number of commits on which every one applies, `at the
end` the share on the last commit. "With port's rules" and `with rules` also
count an operation for which `port` has a proposal.

examples:
  npu-overlays drift verl@796871d --range ..v0.6.0
  npu-overlays drift verl@d62da49 --range v0.6.1..v0.7.0 --html drift.html
  npu-overlays drift transformers@8365f70 --range ..main --step 10 --json

exit codes: 0 even if nothing survives; 2 to 6 as for every command
"""
_CURVES = ("share of", "mean", "all of it", "at the end")
_CHANGES = ("applies", "with rules", "change")


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, and the commits."""

    range: str = option(
        "--range", required=True, metavar="A..B", help="required: the commits to walk; ..B begins at the pin"
    )
    step: int = option("--step", type=int, default=1, metavar="N", help="try every Nth commit only")
    html: Path | None = path_option("--html", "FILE", "also write a page with the curves")
    patches: bool = option("--no-patches", action="store_false", help="do not try the same changes as line patches")
    json: bool = json_option()


def _range(options: Options) -> tuple[str, str]:
    """Return where to begin, empty for the pin, and where to end; raises `UsageError` for an invalid range."""
    first, dots, last = options.range.partition("..")
    if not dots or not last or last.startswith("."):
        what = f"`{options.range}` is no range"
        raise UsageError(Problem(where="--range", what=what, fix="write A..B, or ..B to begin at the pin"))
    if options.step < 1:
        what, steps = f"counts from 1, not {options.step}", (("--step", "10"),)
        raise UsageError(
            Problem(
                where="--step",
                what=what,
                fix="write how many commits to a step; every tenth, for example",
                options=steps,
            )
        )
    return first, last


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    ends = _range(options)
    overlay = find_named(options.root, options.name)
    with about(overlay.name):
        found, listed = _walked(load(overlay, Loader([overlay], options.choice)), ends, options)
    if options.html:
        write_atomically(options.html, page(overlay.name, found, listed).encode())
    if options.json:
        console.json(as_json(overlay.name, found, listed))
    else:
        _report(console, found, listed)
    return 0


def _walked(loaded: Loaded, ends: tuple[str, str], options: Options) -> tuple[Drift, list[Curve]]:
    pin = loaded.overlay.pin
    if not pin.commit:
        what = "pins a release alone, and no commit whose history could be walked"
        raise UsageError(Problem(where=loaded.name, what=what, fix="name its commit in tool.overlay.upstream.commit"))
    first, last = ends[0] or pin.commit, ends[1]
    repository, ids = history(pin, [pin.commit, first, last], clone=loaded.clone, cache=cache_root(), progress=step)
    past = UpstreamHistory(repository=repository)
    every = past.commits(ids[first], ids[last])
    # The last one counts, wherever it falls.
    commits = [*every[:-1][:: options.step], every[-1]]
    # As it is written, and not written out for the pin: what empties a module does so on every commit.
    content = load_content(loaded.overlay, loaded.lock.metadata.version, loaded.lock.forms)
    # The history holds the pin, also if a clone of the user's has checked out something else.
    changed = _changed(content, acquire(loaded.overlay, "auto", repository)) if options.patches else {}
    step(f"walking {plural(len(commits), 'commit')}")
    walk = WalkSegment(
        content=content,
        locked=loaded.lock.contracts,
        history=past,
        base=pin.commit,
        commits=commits,
        files=tuple(changed),
    )
    found = drift(walk)
    return found, curves(found, _as_patches(found, changed, past) if changed else None, walk.files)


def _changed(content: Content, upstream: SourceTree) -> dict[str, tuple[bytes, bytes]]:
    """Return the files that upstream has and the overlay changes, before and after."""
    step("making line patches of the same changes")
    tree = apply_part(written_out(content, upstream), upstream)
    changed = {}
    for path in sorted(tree.changed):
        before, after = tree.before(path), tree.after(path)
        if before is not None and after is not None:
            changed[path] = (before, after)
    return changed


def _as_patches(found: Drift, changed: dict[str, tuple[bytes, bytes]], past: UpstreamHistory) -> LinePatches:
    step("trying the same changes as line patches")
    blobs = BlobCache(past.repository)
    versions: set[tuple[str, str]] = set()
    for state in found.states:
        versions.update((path, state[path]) for path in changed if state.get(path))
    blobs.keep(blob for _, blob in versions)
    return try_patches(changed, {(path, blob): blobs[blob] for path, blob in sorted(versions)})


def _report(console: Console, found: Drift, listed: list[Curve]) -> None:
    console.line(f"{plural(len(found.commits), 'commit')}, from {found.commits[0]}")
    console.line(f"to {found.commits[-1]}")
    console.line("")
    console.table(_CURVES, curve_rows(listed))
    rows = list(map(_change, change_rows(found)))
    if rows:
        console.line("")
        console.table(_CHANGES, rows)


def _change(row: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a row whose last cell may take several lines: the change, its end, and the first breaking commit."""
    applies, resolved, action, name, end, commit = row
    said = f"{action} {name}, at the end {end}"
    return applies, resolved, f"{said}; first break {commit}" if commit else said
