"""Freshness: an overlay and what an earlier build wrote → the wheels that need not be built again."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

import npu_overlays
import npu_summary
from npu_overlays.acquisition import acquire
from npu_overlays.errors import OverlayError
from npu_overlays.loading import Loaded
from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.overlay.project import Overlay
from npu_overlays.progress import step
from npu_overlays.reproducible import canonical_json
from npu_overlays.source import Mode, git_answers, sources_of
from npu_overlays.wheels.statement import states

# What counts of a package, and what of `npu_summary` travels.
CODE = (".css", ".js", ".json", ".py")
# Whose code makes a wheel or travels in it; npu-doctor's does neither.
_TOOL = tuple(Path(package.__path__[0]) for package in (npu_overlays, npu_summary))


def wheel_inputs(loaded: Loaded, digest: str) -> dict[str, str]:
    """Return everything a wheel's bytes follow from, apart from the upstream bytes the pin vouches for.

    Args:
        loaded: the overlay and its partners.
        digest: over the files it is made of.
    """
    return {
        "overlay": digest,
        "requires": "; ".join(
            f"{pair.requirement} from {pair.overlay} revision {pair.revision}" for pair in loaded.pairs
        ),
        "extras": hashlib.sha256(canonical_json(loaded.extras)).hexdigest(),
        "tool": _tool_digest(),
        "hatchling": version("hatchling"),
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", ""),
    }


def fresh_wheels(loaded: Loaded, out: Path) -> tuple[Path, Path, str] | None:
    """Return a wheel, its companion and the wheel's sha256 of an earlier build where nothing has changed, else None."""
    overlay = loaded.overlay
    try:
        mode = _mode(loaded)
        versions = [
            (source, overlay.version(loaded.metadata.version, source)) for source in sources_of(overlay.pin, mode)
        ]
        there = [(source, files) for source, version in versions if (files := wheels_of(overlay, version, out))]
        used = wheel_inputs(loaded, inputs_digest(input_files(overlay))) if there else {}
        for source, files in there:
            if digest := states(*files, used):
                # From the commit is best; what an archive gave is up to date while git still has no answer.
                best = mode != "auto" or source.kind == "git" or not git_answers(overlay.pin, progress=step)
                return (*files, digest) if best else None
    except OverlayError:
        pass  # preparing it will fail for the same reason, and say so beside all the others
    return None


def _mode(loaded: Loaded) -> Mode:
    if loaded.clone is None:
        return loaded.mode
    acquire(loaded.overlay, loaded.mode, loaded.clone)  # the clone is looked at whenever it is named
    return "git"


def wheels_of(overlay: Overlay, version: str, out: Path) -> tuple[Path, Path] | None:
    """Return both wheels of a version where they lie in a folder, whatever they were made from."""
    names = [name.replace("-", "_") for name in (overlay.distribution, overlay.pin.project)]
    files = [file for name in names for file in sorted(out.glob(f"{name}-{version}-*.whl"))]
    return (files[0], files[1]) if len(files) == len(names) else None


@cache
def _tool_digest() -> str:
    digest = hashlib.sha256()
    for package in _TOOL:
        for file in sorted(file for file in package.rglob("*") if file.suffix in CODE):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(package.parent).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()
