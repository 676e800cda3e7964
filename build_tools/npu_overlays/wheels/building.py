"""Building: overlays → their wheels and companions, written by hatchling, all or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.choice import Choice
from npu_overlays.errors import OutputError, OverlayError, Problem
from npu_overlays.interrupts import held
from npu_overlays.loading import Loaded, Loader
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline import Prepared, each, joined, prepare
from npu_overlays.progress import about, step
from npu_overlays.reproducible import writing
from npu_overlays.scratch import scratch, temporaries
from npu_overlays.source import ask_again
from npu_overlays.wheels.constraining import write_constraints
from npu_overlays.wheels.freshness import fresh_wheels, wheel_inputs
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.packing import check_tables, pack_companion, pack_wheel
from npu_overlays.wheels.statement import sha256, write_statement
from npu_summary.changes import Changes


@dataclass(frozen=True, kw_only=True)
class Built:
    """The files of one overlay.

    Args:
        overlay: name of the overlay.
        wheel: the patched distribution.
        companion: the empty distribution under upstream's name that goes with it.
        sha256: of the wheel, hex.
        record: the content of the wheel's ``changes.json``.
        rebuilt: False where the files were there already, made from the same inputs.
    """

    overlay: str
    wheel: Path
    companion: Path
    sha256: str
    record: Changes
    rebuilt: bool


def build_all(overlays: Sequence[Overlay], choice: Choice, out: Path, *, force: bool = False) -> tuple[Built, ...]:
    """Build several overlays; all that need it are prepared before the first file is written.

    Args:
        overlays: in building order.
        choice: where their upstreams are to come from.
        out: folder for the wheels, their companions and statements.
        force: build those too that are up to date, and ask repositories again that were silent lately.

    Raises:
        OverlayError: with the mistakes of every overlay; or `out` cannot be written. No half wheel is left.
    """
    if force:
        ask_again()
    loader = Loader(overlays, choice)
    loaded, unloaded = each(overlays, loader.load)
    fresh = {one.overlay.folder: built for one in loaded if not force and (built := _fresh(one, out))}
    stale = [one for one in loaded if one.overlay.folder not in fresh]
    prepared, unprepared = each(stale, prepare)
    if errors := [*unloaded, *unprepared]:
        able = [one.overlay for one in fresh.values()]
        raise _nothing_built(overlays, [*able, *(one.loaded.overlay.name for one in prepared)], errors)
    made: dict[Path, Built] = {}
    if prepared:
        with workspace(out) as folder:
            made = {one.loaded.overlay.folder: _build(one, folder, out) for one in prepared}
            with held(f"what was built lies in {out}, whole"):
                for file in sorted(folder.iterdir()):
                    file.replace(out / file.name)
    results = tuple(fresh.get(overlay.folder) or made[overlay.folder] for overlay in overlays)
    write_constraints(loaded, loader, (one.wheel for one in results), out)
    return results


def _nothing_built(overlays: Sequence[Overlay], able: Sequence[str], errors: Sequence[OverlayError]) -> OverlayError:
    """Return the mistakes of all overlays, and where there are others, how to build those."""
    error = joined(errors)
    if not able:
        return error
    what = f"nothing was built: {len(errors)} of {len(overlays)} overlays cannot be"
    fix = f"mend what is said above, or build the others alone: npu-overlays build {' '.join(sorted(able))}"
    return type(error)((*error.problems, Problem(where="npu-overlays build", what=what, fix=fix)))


def _fresh(loaded: Loaded, out: Path) -> Built | None:
    """Return the files of an earlier build where they need not be built again."""
    files = fresh_wheels(loaded, out)
    if files is None:
        return None
    try:
        record = read_record(files[0])
    except OutputError:
        return None
    wheel, companion = files
    return Built(
        overlay=loaded.name,
        wheel=wheel,
        companion=companion,
        sha256=sha256(wheel),
        record=record,
        rebuilt=False,
    )


def _build(prepared: Prepared, folder: Path, out: Path) -> Built:
    """Write the files of an overlay into `folder` and return them as they will lie in `out`."""
    overlay = prepared.loaded.overlay
    # What was read, not what may lie there by now.
    used = wheel_inputs(prepared.loaded, prepared.content.digest)
    with about(overlay.name):
        step(f"writing {overlay.distribution} {prepared.version}")
        companion, wheel = pack_companion(prepared, folder), pack_wheel(prepared, folder)
    write_statement(wheel, companion, prepared.record, used, prepared.content.inputs)
    return Built(
        overlay=overlay.name,
        wheel=out / wheel.name,
        companion=out / companion.name,
        sha256=sha256(wheel),
        record=prepared.record,
        rebuilt=True,
    )


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """Give a temporary folder beside the results, hatchling's own temporary files included; raises `OutputError`."""
    with writing(out, option="--out"):
        out.mkdir(parents=True, exist_ok=True)
        with temporaries(out) as folder, scratch(folder) as made:
            yield made


def rehearse(loaded: Loaded) -> Prepared:
    """Do all that a build does, except writing the wheel and its companion; raises `OverlayError`."""
    prepared = prepare(loaded)
    step(f"trying what {loaded.overlay.distribution} {prepared.version} will be")
    check_tables(prepared)
    return prepared
