"""`refresh`: a checkout that was edited → the overlay that gives it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.authoring.refresh.placement import LayerFile, undone_on_failure
from npu_overlays.authoring.refresh.refresh import (
    EDITED,
    RefreshResult,
    bring_up_to_date,
    refresh,
    write_result,
)
from npu_overlays.commands.command import (
    OneOverlay,
    flag,
    json_option,
    one_line,
    option,
    path_option,
    text_option,
    whole_path,
)
from npu_overlays.commands.reasons import reasons
from npu_overlays.commands.refresh_steps import UNDONE, StepResult, Steps, take
from npu_overlays.commands.selection import select
from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.interrupts import undisguised
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.preparation import subject
from npu_overlays.progress import about
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.commands.console import Console

SUMMARY = "bring what you edited in a checkout back into its overlay"
DESCRIPTION = """\
Bring what you edited in a checkout back into its overlay. In a Python file,
each symbol becomes the operation that depends on least: edited if little
changed, wrapped if upstream's function still stands beside it as
`_upstream_NAME`, else replaced, added or deleted. Existing operations stay in
their files, with their reasons; new ones go into the pin's own folder, or
--into a layer. What no operation can express becomes a patch. If existing
operations would have to go for that, nothing is done; --as-patch writes the
patch, with their reasons.

Everything is proven before anything is written: the changed overlay is applied
and must give the files that you edited. Comments outside operations, blank
lines, and the places of imports and additions may differ; such files are named,
and the work tree as you left it is kept as a commit.

The reasons of what is new are given with --why, or asked for in $EDITOR.

--lock, --check, --revise and --build then do what these commands do, in this
order. Each includes the ones before it, except --revise, which you have to
give. If one fails, nothing is written: the overlay and the work tree are as
they were.

examples:
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --why "NPU has no bfloat16 here."
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --why "…" --revise --build
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --dry-run
  npu-overlays refresh verl@d62da49 ~/src/verl-npu --into verl
"""


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, its checkout, and how to bring that back."""

    folder: Path = option(type=whole_path, metavar="DIR", help="a work tree made by `npu-overlays checkout`")
    why: str = text_option("--why", "TEXT", "the reason for everything new, and for the revision", type=one_line)
    into: str = text_option("--into", "LAYER", "the layer that takes what is new (default: the pin)")
    as_patch: bool = flag("--as-patch", "if operations of the pin cannot stay, write a patch in their place")
    dry_run: bool = flag("--dry-run", "prove and report, and write nothing")
    lock: bool = flag("--lock", "then write overlay.lock")
    check: bool = flag("--check", "then do what a build does, except writing a wheel")
    revise: bool = flag("--revise", "then raise the revision, with --why as its reason, if anything changed since it")
    build: bool = flag("--build", "then build the wheels")
    out: Path | None = path_option("--out", "DIR", "where wheels go (default: wheels)")
    json: bool = json_option()

    @property
    def steps(self) -> Steps:
        """The steps to take afterwards."""
        asked = {"lock": self.lock, "check": self.check, "revise": self.revise, "build": self.build}
        typed = tuple(name for name, is_asked in asked.items() if is_asked)
        return Steps(typed=typed, choice=self.choice, why=self.why, out=self.out or whole_path("wheels"))


def _refuse_contradictions(options: Options) -> None:
    """Raise `UsageError` where options do not go together."""
    problems = []
    typed = " ".join(f"--{name}" for name in options.steps.typed)
    if options.dry_run and typed:
        what, fix = f"writes nothing, and {typed} would", f"leave out --dry-run, or {typed}"
        problems.append(Problem(where="--dry-run", what=what, fix=fix))
    if options.revise and not options.why:
        what = "needs the reason of the revision"
        problems.append(Problem(where="--revise", what=what, fix='give it with --why "…"'))
    if options.out and not options.build:
        what = "says where wheels go, and none are built"
        problems.append(Problem(where="--out", what=what, fix="build them too", options=(("--build", ""),)))
    UsageError.raise_for(problems)


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    _refuse_contradictions(options)
    (overlay,) = select(options)
    choice = options.choice
    with about(overlay.name):
        done = refresh(
            subject(overlay, choice),
            options.folder,
            lambda new: reasons(new, options.why, ask=not options.json),
            into=options.into,
            as_patch=options.as_patch,
        )
        results = [] if options.dry_run else _written(done, options.steps, overlay)
    if options.json:
        console.json(_as_json(done, options, results))
    else:
        _report(console, done, options, overlay)
        for one in results:
            one.report(console)
    if (done.files or options.revise) and not options.dry_run:
        with undisguised("the overlay was refreshed, and the work tree is as you left it"), about(overlay.name):
            bring_up_to_date(done, subject(load_overlay(overlay.folder), choice))
    return 0


def _written(done: RefreshResult, steps: Steps, overlay: Overlay) -> Sequence[StepResult]:
    """Write the refreshed overlay and take the steps behind it, all or nothing; raises `OverlayError`."""
    if not steps.names:
        write_result(done)
        return ()
    with ExitStack() as undo:
        undo.enter_context(undone_on_failure([(file.layer, file.path) for file in done.files], state=UNDONE))
        write_result(done)
        return take(steps, overlay, undo)


def _outcomes(done: RefreshResult) -> list[dict[str, str]]:
    """Return how each part of the overlay was written before, and how it is now; empty if it is not."""
    plan = done.plan
    rows: list[tuple[str, str, str]] = []
    for one in plan.operations:
        rows.append((one.target, one.known.action if one.known else "", one.wanted.action if one.wanted else ""))
    for file in plan.files:
        rows.append((file.wanted.path, "file" if file.known else "", "" if file.wanted.content is None else "file"))
    for patch in plan.patches:
        rows.append((patch.path, "patch" if patch.known else "", "patch"))
    for edit in plan.edits:
        rows.append((edit.path, "edit" if edit.known else "", "" if edit.replace is None else "edit"))
    return [{"target": target, "before": before, "after": after} for target, before, after in rows]


def _report(console: Console, done: RefreshResult, options: Options, overlay: Overlay) -> None:
    name = overlay.name
    otherwise = "comments, blank lines, or the places of imports and additions come out otherwise"
    console.notices(f"{path}: {otherwise}" for path in done.plan.layouts)
    if done.passed_over:
        what = f"upstream's .gitignore names {listing(done.passed_over)}, passed over; to take it: git add --force"
        console.notice(f"{name}: {what}")
    for path in done.nested:
        what = "is a repository of its own, passed over; to take its files, move its .git away"
        console.notice(f"{done.checkout.folder / path} {what}")
    if not done.files:
        console.line(f"{name}: nothing to bring back from {done.checkout.folder}", style="green")
        return
    gone = {one.path for one in done.plan.patches if one.after is None}
    for row in _outcomes(done):
        verb = ("changed" if row["after"] else "gone") if row["before"] else "new"
        deletes = "  (deletes it)" if row["target"] in gone and row["after"] == "patch" else ""
        console.line(f"  {verb:<8} {row['after'] or row['before']:<9} {row['target']}{deletes}")
    for file in done.files:
        written = "deleted" if file.content is None else "written"
        console.line(f"{file.layer.folder / file.path}: {'would be ' if options.dry_run else ''}{written}")
    if options.dry_run:
        return
    number = plural(len(done.files), "file")
    console.line(f"{name}: {number} refreshed; the wheel will be what was edited", style="green")
    if not options.steps.names:
        console.line(f"  the upstream code behind it:    npu-overlays lock {overlay.argument}")
    console.line(f"  the work tree as you left it:   git -C {shlex.quote(str(done.checkout.folder))} show {EDITED}")
    for layer, pins in others_made_of(done.files, overlay):
        console.notice(f"{layer} is what {listing(pins)} is made of, too: npu-overlays lock --all, and check --all")


def others_made_of(files: Iterable[LayerFile], overlay: Overlay) -> list[tuple[str, list[str]]]:
    """Return the layers with changed files that other pins are made of too, each with the names of those pins."""
    layers = {file.layer.name: file.layer for file in files if file.layer.folder != overlay.folder}
    found = []
    for name, layer in sorted(layers.items()):
        if pins := [pin.name for pin in pins_on(layer, beside=overlay)]:
            found.append((name, pins))
    return found


def _as_json(done: RefreshResult, options: Options, results: Sequence[StepResult]) -> dict[str, object]:
    answer: dict[str, object] = {
        "overlay": done.checkout.overlay,
        "folder": str(done.checkout.folder),
        "written": bool(done.files) and not options.dry_run,
        "changes": _outcomes(done),
        "files": [
            {"path": str(file.layer.folder / file.path), "layer": file.layer.name, "deleted": file.content is None}
            for file in done.files
        ],
        "otherwise": done.plan.layouts,
        "passed_over": list(done.passed_over),
        "nested": list(done.nested),
    }
    if results:
        answer["steps"] = {one.name: one.json for one in results}
    return answer
