"""Output folder: built wheels and sdists → moved to their places; no version gets other bytes."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from packaging.version import Version

from npu_overlays.errors import Problem, listing
from npu_overlays.files import scratch, writing
from npu_overlays.interrupts import held
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.build_version import INPUT_NAMES
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.sources.acquisition import sources_of
from npu_overlays.wheels.statement import sha256, stated_digests, stated_inputs
from npu_summary.versions import BUILD, local_parts

_DEVELOPMENT = r"\d+\.\d{17}\.dev[0-9a-f]{7}"


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """Give a temporary folder inside the output folder, which is created if it is missing; raises `OutputError`."""
    new = [one for one in (out, *out.parents) if not one.exists()]
    try:
        with ExitStack() as stack:
            with writing(out, option="--out"):
                out.mkdir(parents=True, exist_ok=True)
                folder = stack.enter_context(scratch(out))
            yield folder
    finally:
        for one in new:
            with suppress(OSError):  # something lies in it
                one.rmdir()


def wheels_of(overlay: Overlay, version: str, out: Path) -> tuple[Path, Path] | None:
    """Return both wheels of a version in a folder, from any inputs; None unless both exist."""
    wheel, companion = (sorted(out.glob(f"{name}-{version}-*.whl")) for name in _names(overlay))
    files = [*wheel, *companion]
    return (files[0], files[1]) if len(files) == len(_names(overlay)) else None


def versions_in(overlay: Overlay, upstream: str, out: Path) -> set[str]:
    """Return the versions of an overlay that files in a folder have, given the version of its upstream."""
    versions = (re.escape(overlay.version(upstream, source, "BUILD")) for source in sources_of(overlay.pin))
    pattern = "|".join(versions).replace("BUILD", BUILD)
    there: set[str] = set()
    for name in _names(overlay):
        there.update(map(version_in, out.glob(f"{name}-*")))
    return {version for version in there if re.fullmatch(pattern, version)}


def earlier_builds(loaded: Loaded, out: Path) -> tuple[str, ...]:
    """Return the build parts of the versions of an overlay's development builds after its revision, in a folder."""
    there = versions_in(loaded.overlay, loaded.metadata.version, out)
    builds = (local_parts(version)["build"].partition(".") for version in there)
    revision = str(loaded.overlay.revision)
    return tuple(development for number, _, development in builds if development and number == revision)


def other_bytes(
    made: Sequence[Path], out: Path, overlay: str, used: Mapping[str, str] | None = None
) -> Iterator[Problem]:
    """Yield a problem for each file that would replace another one of the same version with other bytes.

    A file that the statement beside it contradicts was damaged, and may be restored.

    Args:
        made: the files, the patched wheel first.
        out: the output folder.
        overlay: its name on a command line.
        used: the inputs that decide their bytes, if known.
    """
    wheel = out / made[0].name
    stated = stated_digests(wheel)
    for file in made:
        there = out / file.name
        if not there.is_file() or filecmp.cmp(file, there, shallow=False) or stated.get(file.name) == sha256(file):
            continue
        before, now = stated_inputs(wheel), used or {}
        others = [INPUT_NAMES[name] for name in now if before.get(name, now[name]) != now[name]]
        what = "other bytes lie there under this version"
        what += f"; they followed from other inputs: {listing(others)}" if others else ""
        fix = f'run `npu-overlays revise {overlay} --why "…"` and build again, name another --out, or, if nobody has'
        fix += " installed the old ones, add --replace"
        yield Problem(where=str(there), what=what, fix=fix)


def move_into(out: Path, made: Iterable[Path]) -> None:
    """Move files to where they belong; raises `OutputError`."""
    with writing(out, option="--out"), held(f"what was made lies in {out}, whole"):
        for file in sorted(made):
            file.replace(out / file.name)


def remove_superseded(placed: Iterable[Path]) -> tuple[str, ...]:
    """Remove the development builds that files replace.

    Returns:
        The versions of those that installers take for newer than the files.

    Raises:
        OutputError: one cannot be removed.
    """
    newer = []
    for file in placed:
        for old in _superseded(file):
            with writing(old, option="--out"):
                old.unlink()
            if Version(version_in(old)) > Version(version_in(file)):
                newer.append(version_in(old))
    return tuple(dict.fromkeys(newer))


def _superseded(placed: Path) -> list[Path]:
    """Return the development builds beside a file whose names differ from its name in the build alone."""
    parts = local_parts(version_in(placed))
    if not parts:
        return []
    build = re.escape(f"{parts['suffix']}.{parts['build']}.")
    name = re.escape(placed.name).replace(build, rf"{parts['suffix']}\.{_DEVELOPMENT}\.")
    return [file for file in placed.parent.iterdir() if re.fullmatch(name, file.name) and file != placed]


def _names(overlay: Overlay) -> tuple[str, str]:
    return overlay.distribution.replace("-", "_"), overlay.pin.project.replace("-", "_")


def version_in(file: Path) -> str:
    """Return the version in the name of a wheel, its statement, or an sdist."""
    return file.name.removesuffix(".tar.gz").partition("-")[2].partition("-")[0]
