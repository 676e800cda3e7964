"""Wheels: an overlay in, its wheel and its companion wheel out, written by hatchling, whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from hatchling.builders.wheel import WheelBuilder

from npu_overlays.embedded.doctor.data import load as load_knowledge
from npu_overlays.errors import ConfigError, OverlayError, Problem
from npu_overlays.installs.stacks import constraints, constraints_name, stacks_of
from npu_overlays.interrupts import held
from npu_overlays.lock.lockfile import load_lock
from npu_overlays.lock.metadata import of_extras, rewritten_requires
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline import Prepared, acquire, each, joined, prepare, source_mode
from npu_overlays.progress import about, step
from npu_overlays.reproducible import writing
from npu_overlays.scratch import scratch, temporaries
from npu_overlays.source import ask_again, git_answers, local_override
from npu_overlays.wheels.inspection import read_record
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
        version = overlay.version(load_lock(overlay).metadata.version)
        local = local_override(overlay.pin.project)
        if local is not None:
            acquire(overlay)  # the clone is looked at whenever it is named
        used, mode = inputs(overlay), "git" if local else source_mode()
    except OverlayError:
        return None  # preparing it will fail for the same reason, and say so beside all the others
    wheel, companion = (
        out / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        for name in (overlay.distribution, overlay.pin.project)
    )
    if not up_to_date(wheel, companion, used, mode=mode):
        return None
    record = read_record(wheel)
    # A wheel from an archive stood in for one from the commit, which may be had by now.
    if mode == "auto" and record["upstream"]["source"]["kind"] == "archive" and git_answers(overlay.pin, progress=step):
        return None
    return Built(
        overlay=overlay.name,
        wheel=wheel,
        companion=companion,
        sha256=sha256(wheel),
        record=record,
        rebuilt=False,
    )


def _build(overlay: Overlay, folder: Path, out: Path) -> Built:
    """Write the files of an overlay into `folder` and return them as they will lie in `out`."""
    prepared = prepare(overlay)
    # What was read, not what may lie there by now.
    used = {**inputs(overlay), "overlay": prepared.content.digest}
    with about(overlay.name):
        step(f"writing {overlay.distribution} {prepared.version}")
        companion, wheel = _companion(prepared, folder), _hatch(overlay.folder, folder)
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
    with _companion_project(prepared) as companion, temporaries() as folder:
        for project in (overlay.folder, companion):
            with _refusals(project):
                builder = WheelBuilder(str(project))
                list(builder.build(directory=str(folder), versions=["standard"], hooks_only=True))
                builder.config.core_metadata_constructor(builder.metadata)
    return prepared


def _hatch(project: Path, out: Path) -> Path:
    """Run hatchling's wheel builder on a project folder."""
    # Dates in the archive are hatchling's constant, or SOURCE_DATE_EPOCH where the user sets it.
    with _refusals(project):
        (wheel,) = WheelBuilder(str(project)).build(directory=str(out), versions=["standard"])
    return Path(wheel)


@contextmanager
def _refusals(project: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:  # how hatchling refuses a [project] table
        fix = "mend the [project] and [tool.hatch] tables"
        problem = Problem(where=str(project / CONFIG_FILE), what=f"hatchling refuses it: {error}", fix=fix)
        raise ConfigError(problem) from error


def companion_table(prepared: Prepared) -> dict[str, object]:
    """Return the ``[project]`` table of the companion.

    It holds no file. Other packages require upstream's name and ask for its
    version; the companion answers both. It carries upstream's extras, because
    packages also require ``transformers[torch]``.
    """
    overlay = prepared.content.overlay
    own = {overlay.pin.project: f"{overlay.distribution}=={prepared.version}"}
    metadata = prepared.lock.metadata
    return {
        "name": overlay.pin.project,
        "version": prepared.version,
        "description": f"Empty: stands for {overlay.pin.project}, whose files {overlay.distribution} installs",
        "readme": {
            "content-type": "text/markdown",
            "text": f"Holds no files: {overlay.distribution} installs those of {overlay.pin.project}, patched.\n"
            f"It answers packages that require {overlay.pin.project}.\n",
        },
        "requires-python": metadata.fields.get("requires-python", ">=3.10"),
        "dependencies": of_extras(rewritten_requires(metadata, {**prepared.requires, **own})),
        "optional-dependencies": {extra: [] for extra in metadata.extras},
    }


def _companion(prepared: Prepared, out: Path) -> Path:
    with _companion_project(prepared) as project:
        return _hatch(project, out)


@contextmanager
def _companion_project(prepared: Prepared) -> Iterator[Path]:
    wheel = {"bypass-selection": True, "core-metadata-version": "2.4"}
    document = {"project": companion_table(prepared), "tool": {"hatch": {"build": {"targets": {"wheel": wheel}}}}}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-companion-") as folder:
        Path(folder, "pyproject.toml").write_text(tomli_w.dumps(document), "utf-8")
        yield Path(folder)
