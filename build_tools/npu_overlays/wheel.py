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

from npu_overlays.errors import OverlayError
from npu_overlays.inspection import read_record
from npu_overlays.lock import load_lock
from npu_overlays.metadata import rewritten_requires
from npu_overlays.pipeline import Prepared, prepare, source_mode
from npu_overlays.progress import step
from npu_overlays.project import Overlay
from npu_overlays.reproducible import cannot_write
from npu_overlays.source import local_override
from npu_overlays.statement import inputs, sha256, up_to_date, write_statement


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
        force: build those too that are up to date.

    Raises:
        OverlayError: with the mistakes of every overlay; or `out` cannot be written. No half wheel is left.
    """
    fresh = {overlay.name: found for overlay in overlays if not force and (found := _existing(overlay, out))}
    problems = []
    error: OverlayError | None = None
    for overlay in overlays:
        try:
            if overlay.name not in fresh:
                prepare(overlay)
        except OverlayError as caught:
            error = error or caught
            problems += [problem for problem in caught.problems if problem not in problems]
    if error is not None:
        raise type(error)(problems)
    return tuple(fresh.get(overlay.name) or _build(overlay, out) for overlay in overlays)


def _existing(overlay: Overlay, out: Path) -> Built | None:
    """Return the files of an earlier build where nothing they follow from has changed."""
    version = overlay.version(load_lock(overlay).metadata.version)
    wheel, companion = (
        out / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        for name in (overlay.distribution, overlay.pin.project)
    )
    mode = "git" if local_override(overlay.pin.project) else source_mode()
    if not up_to_date(wheel, companion, inputs(overlay), mode=mode):
        return None
    return Built(
        overlay=overlay.name,
        wheel=wheel,
        companion=companion,
        sha256=sha256(wheel),
        record=read_record(wheel),
        rebuilt=False,
    )


def _build(overlay: Overlay, out: Path) -> Built:
    prepared = prepare(overlay)
    with workspace(out) as folder:
        step(f"writing {overlay.distribution} {prepared.version}")
        made = [_companion(prepared, folder), _hatch(overlay.folder, folder)]
        companion, wheel = (file.replace(out / file.name) for file in made)
        write_statement(wheel, companion, prepared.record, inputs(overlay))
    return Built(
        overlay=overlay.name,
        wheel=wheel,
        companion=companion,
        sha256=sha256(wheel),
        record=prepared.record,
        rebuilt=True,
    )


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """Give a temporary folder beside the results; failures to write become `OutputError`."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".npu-overlays-") as folder:
            yield Path(folder)
    except OSError as error:
        raise cannot_write(Path(error.filename or out), error) from error


def _hatch(project: Path, out: Path) -> Path:
    """Run hatchling's wheel builder on a project folder."""
    # Dates in the archive are hatchling's constant, or SOURCE_DATE_EPOCH where the user sets it.
    (wheel,) = WheelBuilder(str(project)).build(directory=str(out), versions=["standard"])
    return Path(wheel)


def companion_table(prepared: Prepared) -> dict[str, object]:
    """Return the ``[project]`` table of the companion.

    It holds no file. Other packages require upstream's name and ask for its
    version; the companion answers both. It carries upstream's extras, because
    packages also require ``transformers[torch]``.
    """
    overlay = prepared.content.overlay
    own = {overlay.pin.project: f"{overlay.distribution}=={prepared.version}"}
    _, extras = rewritten_requires(prepared.lock.metadata, {**prepared.requires, **own}, ())
    return {
        "name": overlay.pin.project,
        "version": prepared.version,
        "description": f"Empty: stands for {overlay.pin.project}, whose files {overlay.distribution} installs",
        "requires-python": prepared.lock.metadata.fields.get("requires-python", ">=3.10"),
        "optional-dependencies": extras,
    }


def _companion(prepared: Prepared, out: Path) -> Path:
    wheel = {"bypass-selection": True, "core-metadata-version": "2.4"}
    document = {"project": companion_table(prepared), "tool": {"hatch": {"build": {"targets": {"wheel": wheel}}}}}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-companion-") as folder:
        Path(folder, "pyproject.toml").write_text(tomli_w.dumps(document), "utf-8")
        return _hatch(Path(folder), out)
