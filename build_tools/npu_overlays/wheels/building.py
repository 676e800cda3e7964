"""Wheels: an overlay in, its wheel and its companion wheel out, written by hatchling, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu_overlays.embedded.doctor.data import load as load_knowledge
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.installs.stacks import constraints, constraints_name, stacks_of
from npu_overlays.interrupts import held
from npu_overlays.lock.lockfile import load_lock
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline import Prepared, acquire, each, joined, prepare, source_mode
from npu_overlays.progress import about, step
from npu_overlays.reproducible import writing
from npu_overlays.scratch import scratch, temporaries
from npu_overlays.source import Mode, ask_again, git_answers, local_override, origins
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.packing import check_tables, pack_companion, pack_wheel
from npu_overlays.wheels.statement import inputs, sha256, up_to_date, write_statement


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
    record: dict[str, Any]
    rebuilt: bool


def build_all(overlays: Sequence[Overlay], out: Path, *, force: bool = False) -> tuple[Built, ...]:
    """Build several overlays; all that need it are prepared before the first file is written.

    Args:
        overlays: in building order.
        out: folder for the wheels, their companions and statements.
        force: build those too that are up to date, and ask repositories again that were silent lately.

    Raises:
        OverlayError: with the mistakes of every overlay; or `out` cannot be written. No half wheel is left.
    """
    if force:
        ask_again()
    fresh = {overlay.name: found for overlay in overlays if not force and (found := _existing(overlay, out))}
    stale = [overlay for overlay in overlays if overlay.name not in fresh]
    prepared, errors = each(stale, prepare)
    if errors:
        raise _nothing_built(overlays, [*fresh, *(one.content.overlay.name for one in prepared)], errors)
    if stale:
        with workspace(out) as folder:
            made = {overlay.name: _build(overlay, folder, out) for overlay in stale}
            with held(f"what was built lies in {out}, whole"):
                for file in sorted(folder.iterdir()):
                    file.replace(out / file.name)
    return tuple(fresh.get(overlay.name) or made[overlay.name] for overlay in overlays)


def _nothing_built(overlays: Sequence[Overlay], able: Sequence[str], errors: Sequence[OverlayError]) -> OverlayError:
    """Return the mistakes of all overlays, and where there are others, how to build those."""
    error = joined(errors)
    if not able:
        return error
    what = f"nothing was built: {len(errors)} of {len(overlays)} overlays cannot be"
    fix = f"mend what is said above, or build the others alone: npu-overlays build {' '.join(sorted(able))}"
    return type(error)((*error.problems, Problem(where="npu-overlays build", what=what, fix=fix)))


def _existing(overlay: Overlay, out: Path) -> Built | None:
    """Return the files of an earlier build where nothing they follow from has changed."""
    try:
        mode = _mode(overlay)
        used, upstream = inputs(overlay), load_lock(overlay).metadata.version
        for origin in origins(overlay.pin, mode):
            found = _found(overlay, overlay.version(upstream, origin), out, used)
            if found is not None:
                # From the commit is best; what an archive gave is up to date while git still has no answer.
                best = mode != "auto" or origin.kind == "git" or not git_answers(overlay.pin, progress=step)
                return found if best else None
    except OverlayError:
        pass  # preparing it will fail for the same reason, and say so beside all the others
    return None


def _mode(overlay: Overlay) -> Mode:
    if local_override(overlay.pin.project) is None:
        return source_mode(overlay) if overlay.pin.commit else "archive"
    acquire(overlay)  # the clone is looked at whenever it is named
    return "git"


def _found(overlay: Overlay, version: str, out: Path, used: dict[str, str]) -> Built | None:
    """Return both wheels of a version where they lie there and their statement says that they are made from `used`."""
    names = [name.replace("-", "_") for name in (overlay.distribution, overlay.pin.project)]
    files = [file for name in names for file in sorted(out.glob(f"{name}-{version}-*.whl"))]
    if len(files) != len(names) or not up_to_date(files[0], files[1], used):
        return None
    wheel, companion = files
    return Built(
        overlay=overlay.name,
        wheel=wheel,
        companion=companion,
        sha256=sha256(wheel),
        record=read_record(wheel),
        rebuilt=False,
    )


def _build(overlay: Overlay, folder: Path, out: Path) -> Built:
    """Write the files of an overlay into `folder` and return them as they will lie in `out`."""
    prepared = prepare(overlay)
    # What was read, not what may lie there by now.
    used = {**inputs(overlay), "overlay": prepared.content.digest}
    with about(overlay.name):
        step(f"writing {overlay.distribution} {prepared.version}")
        companion, wheel = pack_companion(prepared, folder), pack_wheel(prepared, folder)
    write_statement(wheel, companion, prepared.record, used)
    _write_constraints(overlay, folder)
    return Built(
        overlay=overlay.name,
        wheel=out / wheel.name,
        companion=out / companion.name,
        sha256=sha256(wheel),
        record=prepared.record,
        rebuilt=True,
    )


def _write_constraints(overlay: Overlay, folder: Path) -> None:
    """Write the constraints of every stack that goes with an overlay."""
    knowledge = load_knowledge()
    for stack in stacks_of([overlay.name], knowledge):
        (folder / constraints_name(stack)).write_bytes(constraints(stack, knowledge).encode())


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """Give a temporary folder beside the results, hatchling's own temporary files included; raises `OutputError`."""
    with writing(out, option="--out"):
        out.mkdir(parents=True, exist_ok=True)
        with temporaries(out) as folder, scratch(folder) as made:
            yield made


def rehearse(overlay: Overlay) -> Prepared:
    """Do all that a build does, except writing the wheel and its companion; raises `OverlayError`."""
    prepared = prepare(overlay)
    step(f"trying what {overlay.distribution} {prepared.version} will be")
    check_tables(prepared)
    return prepared
