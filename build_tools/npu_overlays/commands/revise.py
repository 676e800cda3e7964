"""`revise`: overlays and why they changed → their next revisions, with the digests of what these are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.commands.command import flag, json_option, option, overlays
from npu_overlays.commands.console import Console
from npu_overlays.commands.selection import checked_root, find_named
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.interrupts import held
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.overlay.overlay_folders import load_all, load_each
from npu_overlays.overlay.project import LAYER_FILE, Overlay
from npu_overlays.overlay.revisions import Revision, record_revision, set_revision
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.build_version import is_revision, revision_digest
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.pipeline.preparation import each, joined

SUMMARY = "record the next revision of overlays, with its reason"
TIDY = False
DESCRIPTION = """\
Record the next revision of overlays: raise `revision` in their
pyproject.toml, and record in their revisions.toml the reason and a digest of
all inputs. A build of exactly these inputs is the revision, such as
0.9.1+npu.2.adb6e6f2. Any other build is a development build, and its version
says so: 0.9.1+npu.2.20261122103000123.dev3f2a1c9.adb6e6f2 is newer than
revision 2 and older than revision 3.

If you name a layer, every pin on it is revised. Some wheels name the revision
of another overlay: if that one is revised, they are revised too, unless they
have changes of their own.

examples:
  npu-overlays revise verl@0.9.1 --why "Packs mixed batches."
  npu-overlays revise transformers --why "…"    every pin on overlays/transformers
  npu-overlays revise --all --why "…"           every overlay that differs from its last revision
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The overlays and layers, and what is new."""

    root: Path
    overlay: list[str] = option(
        nargs="*", metavar="OVERLAY", help="an overlay, as every command takes it, or a layer", offered=overlays
    )
    all: bool = flag("--all", "every overlay that differs from its last revision, or has none")
    why: str = option(
        "--why", type=str.strip, required=True, metavar="TEXT", help="required: what is new, in a sentence for users"
    )
    json: bool = json_option()


def _check(options: Options) -> None:
    """Refuse a call that names no overlay and not all, or both, or gives no reason; raises `UsageError`."""
    problems = []
    if bool(options.overlay) == options.all:
        fix, more = "name overlays or layers, or give --all", () if options.all else (("--all", ""),)
        problems.append(
            Problem(where="npu-overlays revise", what="which overlays are meant is not clear", fix=fix, options=more)
        )
    if not options.why:
        problems.append(Problem(where="--why", what="is empty", fix="write what is new, in a sentence for users"))
    UsageError.raise_for(problems)


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    _check(options)
    wanted = changed(load_all(checked_root(options.root))) if options.all else _named(options)
    planned = planned_revisions(wanted)
    revise(planned, options.why)
    if options.json:
        console.json(list(map(as_json, planned)))
    else:
        report(console, planned)
    return 0


@dataclass(frozen=True, kw_only=True)
class PlannedRevision:
    """An overlay that gets its next revision."""

    overlay: Overlay
    number: int
    due_to: str = ""  # the overlay that it is paired with and that changes; empty where the user asked for it


def as_json(planned: PlannedRevision) -> dict[str, object]:
    """Return a revision as JSON."""
    return {"overlay": planned.overlay.name, "revision": planned.number}


def report(console: Console, planned: Sequence[PlannedRevision]) -> None:
    """Print which revisions were recorded."""
    for one in planned:
        due = f", as it is paired with {one.due_to}" if one.due_to else ""
        console.line(f"{one.overlay.name}: revision {one.number}{due}")
    if not planned:
        console.line("every overlay is as its last revision")


def _named(options: Options) -> list[Overlay]:
    """Return the overlays that are named, and the pins of layers that are; raises `ConfigError`, all at once."""
    found: dict[Path, Overlay] = {}
    errors = []
    for name in options.overlay:
        try:
            found |= {one.folder: one for one in _meant(options.root, name)}
        except OverlayError as error:
            errors.append(error)
    if errors:
        raise joined(errors)
    return list(found.values())


def _meant(root: Path, name: str) -> list[Overlay]:
    layer = next((folder for folder in (Path(name), root / name) if (folder / LAYER_FILE).is_file()), None)
    if layer is None:
        return [find_named(root, name)]
    place = layer.resolve()
    pins = []
    for one in load_all(checked_root(root)):
        if any(other.folder.resolve() == place for other in one.layers):
            pins.append(one)
    if not pins:
        what, fix = f"is a layer that no overlay in {root} is made of", "name an overlay"
        raise UsageError(Problem(where=name, what=what, fix=fix))
    return pins


def _loaded(overlays: Sequence[Overlay]) -> list[Loaded]:
    loaded, errors = each(overlays, Loader(overlays, Choice()).load)
    if errors:
        raise joined(errors)
    return loaded


def changed(overlays: Sequence[Overlay]) -> list[Overlay]:
    """Return the overlays that differ from their last revision; raises `OverlayError`."""
    return [one.overlay for one in _loaded(overlays) if not _is_revision(one)]


def _is_revision(loaded: Loaded) -> bool:
    return is_revision(loaded, inputs_digest(input_files(loaded.overlay)))


def _paired(wanted: Iterable[Overlay]) -> dict[Path, tuple[Overlay, str]]:
    """Return, by folder, the other overlays that would not be as their last revisions any more, and due to which."""
    changing = {one.name for one in wanted}
    near: list[Loaded] = []
    for root in {one.root for one in wanted}:
        near += _readable(root)
    others = [one for one in near if one.name not in changing and _is_revision(one)]
    found: dict[Path, tuple[Overlay, str]] = {}
    for _ in near:  # what is paired may be what another is paired with
        for one in others:
            due = [pair.overlay for pair in one.pairs if pair.overlay in changing]
            if due and one.name not in changing:
                found[one.overlay.folder] = (one.overlay, due[0])
                changing.add(one.name)
    return found


def _readable(root: Path) -> list[Loaded]:
    """Return the overlays below a folder, but for those with mistakes."""
    overlays, _ = load_each(root)
    loaded, _ = each(overlays, Loader(overlays, Choice()).load)
    return loaded


def planned_revisions(wanted: Sequence[Overlay]) -> list[PlannedRevision]:
    """Return the next revisions of overlays, and of those that name them; raises `OverlayError`, with all mistakes."""
    found = [PlannedRevision(overlay=one.overlay, number=_next(one)) for one in _loaded(wanted)]
    paired = _paired(wanted)
    due_to = {folder: due for folder, (_, due) in paired.items()}
    for one in _loaded([overlay for overlay, _ in paired.values()]):
        found.append(PlannedRevision(overlay=one.overlay, number=_next(one), due_to=due_to[one.overlay.folder]))
    return found


def _next(loaded: Loaded) -> int:
    last = loaded.revisions[-1].number if loaded.revisions else 0
    return max(last, loaded.overlay.revision) + 1


def revise(planned: Sequence[PlannedRevision], why: str) -> None:
    """Record revisions in the folders of their overlays; raises `OverlayError`."""
    with held("every revision is recorded"):
        for one in planned:
            set_revision(one.overlay.folder, one.number)
        for revised in _loaded([load_overlay(one.overlay.folder) for one in planned]):
            digest = revision_digest(revised, inputs_digest(input_files(revised.overlay)))
            record_revision(revised.overlay.folder, Revision(number=revised.overlay.revision, why=why, sha256=digest))
