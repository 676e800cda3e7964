"""Fork: a prepared build → source distributions with the patched files, which need only hatchling.

An overlay's own sdist needs this tool and upstream at build time. These need neither, nor git or an index: a site that
builds from source gets the same wheel as here, with the same hatchling to the last byte, and its companion. Both are
tested before they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import tomlkit
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from npu_overlays.errors import OutputError, Problem
from npu_overlays.files import temporaries, writing
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import Prepared, each, joined, prepare
from npu_overlays.progress import about, step
from npu_overlays.wheels.hatchling_archives import pack, written
from npu_overlays.wheels.output_folder import earlier_builds, move_into, other_bytes, remove_superseded, workspace
from npu_overlays.wheels.parts import Parts, companion_parts, patched_parts
from npu_overlays.wheels.statement import sha256

_BOUNDARIES = (".git", ".hg")
_FILES = "src"
# Hatchling has no setting for a tag.
_HOOK = '''\
"""Gives the wheel upstream's tag: it holds upstream's compiled files."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TagHook(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data.update(tag={tag!r}, pure_python={pure!r})
'''


@dataclass(frozen=True, kw_only=True)
class Fork:
    """The source distributions of one overlay."""

    overlay: str  # its name
    sdist: Path  # makes the patched wheel
    companion: Path  # makes its companion
    sha256: str  # of the first, hex


def fork_all(overlays: Sequence[Overlay], choice: Choice, out: Path, *, anyway: bool = False) -> tuple[Fork, ...]:
    """Write the source distributions of several overlays; raises `OverlayError` with all mistakes, and writes none.

    Args:
        overlays: the overlays.
        choice: where their upstreams are to come from.
        out: folder for the source distributions.
        anyway: whether they may take the place of others of their version with other bytes.
    """
    loaded, unloaded = each(overlays, Loader(overlays, choice).load)
    prepared, unprepared = each((replace(one, earlier=earlier_builds(one, out)) for one in loaded), prepare)
    if errors := [*unloaded, *unprepared]:
        raise joined(errors)
    with writing(out, option="--out"), workspace(out) as folder, temporaries(folder):
        made = [pack_fork(one, folder) for one in prepared]
        problems: list[Problem] = []
        for one, source in zip(made, prepared, strict=True):
            problems += other_bytes((one.sdist, one.companion), out, source.content.overlay.argument)
        if problems and not anyway:
            raise OutputError(problems)
        move_into(out, chain.from_iterable((one.sdist, one.companion) for one in made))
        placed = [replace(one, sdist=out / one.sdist.name, companion=out / one.companion.name) for one in made]
        remove_superseded(chain.from_iterable((one.sdist, one.companion) for one in placed))
    return tuple(placed)


def pack_fork(prepared: Prepared, out: Path) -> Fork:
    """Write both source distributions of an overlay into a folder; raises `OverlayError`."""
    overlay = prepared.content.overlay
    with about(overlay.name):
        step(f"writing the source of {overlay.distribution} {prepared.version}, and building from it")
        made = [_packed(parts, overlay, out) for parts in (patched_parts(prepared), companion_parts(prepared))]
    return Fork(overlay=overlay.name, sdist=made[0], companion=made[1], sha256=sha256(made[0]))


def _packed(parts: Parts, overlay: Overlay, out: Path) -> Path:
    """Write one source distribution, after building the same wheel from it."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-fork-") as folder:
        root = Path(folder, "source")
        # Hatchling takes a .gitignore along, from there or any folder above, up to where a repository begins.
        for boundary in _BOUNDARIES:
            (root / boundary).mkdir(parents=True)
        for path, content, executable in _sources(parts):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
            (root / path).chmod(0o755 if executable else 0o644)
        made = written(SdistBuilder(str(root)), Path(folder))
        again = written(WheelBuilder(str(root)), Path(folder, "again"))
        wheel = pack(parts, overlay, Path(folder))
        if again.read_bytes() != wheel.read_bytes():
            what = f"hatchling {version('hatchling')} makes another wheel of it than of the overlay"
            raise OutputError(Problem(where=made.name, what=what, fix="use the wheel, and report this"))
        return made.replace(out / made.name)


def _sources(parts: Parts) -> Iterator[tuple[str, bytes, bool]]:
    """Yield the path, the content, and whether it is executable, of every file of a source distribution."""
    yield "pyproject.toml", tomlkit.dumps(_document(parts)).encode(), False
    if not _plain(parts):
        yield "hatch_build.py", _HOOK.format(tag=parts.tag, pure=parts.pure).encode(), False
    for path, content in parts.beside.items():
        yield path, content, False
    for file in parts.files:
        yield f"{_FILES}/{file.place}", file.read(), file.executable


def _document(parts: Parts) -> dict[str, Any]:
    """Return the pyproject.toml of a source distribution."""
    wheel = {**parts.target, "bypass-selection": True, "sbom-files": [*parts.sboms]}
    if parts.files:  # the companion of a namespace has none
        wheel["force-include"] = {_FILES: "/"}
    if not _plain(parts):
        wheel["hooks"] = {"custom": {}}
    return {
        "build-system": {"requires": ["hatchling>=1.30"], "build-backend": "hatchling.build"},
        "project": parts.table,
        "tool": {"hatch": {"build": {"ignore-vcs": True, "targets": {"wheel": wheel, "sdist": parts.target}}}},
    }


def _plain(parts: Parts) -> bool:
    """Return whether hatchling determines a wheel's tag by itself."""
    return parts.tag == Parts.tag and parts.pure
