"""Report: the result of an import → notices, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from npu_overlays.authoring.import_patches.forms import KINDS, FormKind, ProvenForm
from npu_overlays.authoring.import_patches.import_patches import ImportedPatchSet, ImportResult
from npu_overlays.errors import OverlayError, Problem


def unsound(one: ImportedPatchSet, kind: FormKind) -> tuple[Problem, ...]:
    """Return the problems for which a build refuses an overlay."""
    proven = one.proven[kind]
    return proven.problems if isinstance(proven, OverlayError) else proven.unsound


def notices(one: ImportedPatchSet, kind: FormKind) -> Iterator[str]:
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


def as_json(outcome: ImportResult, kind: FormKind, summary: Path | None, *, written: bool) -> dict[str, object]:
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
    pin = one.overlay.pin
    return {
        "overlay": one.overlay.name,
        "folder": str(one.overlay.folder),
        "patches": one.patches.name,
        "commit": pin.commit,
        "archives": [{"file": archive.file, "sha256": archive.sha256} for archive in pin.archives],
        "files": [file.path for file in one.files],
        "operations": one.counts,
        "forms": {each: _form_as_json(one.proven[each]) for each in KINDS},
        "mended": list(dict(one.patches.mended)),
        "widened": _widened(one),
        "left_out": list(map(vars, one.applied.left_out)),
        "empty": [Path(file).name for file in one.applied.empty],
        "problems": _problems_as_json(unsound(one, kind)),
    }


def _form_as_json(proven: ProvenForm | OverlayError) -> dict[str, object]:
    if isinstance(proven, OverlayError):
        return {"same": False, "problems": _problems_as_json(proven.problems)}
    problems = _problems_as_json(proven.unsound)
    return {
        "same": True,
        "otherwise": list(proven.otherwise),
        "problems": problems,
        "notices": list(proven.notices),
    }


def _problems_as_json(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"where": one.where, "what": one.what, "fix": one.fix} for one in problems]
