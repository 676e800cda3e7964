"""An overlay → what building its wheel costs, beside upstream's own build and mere compression."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from measurements import Contender, Measurement, command, function, interleaved

from npu_overlays.errors import OverlayError, SourceError
from npu_overlays.overlay.overlay_folders import find_overlay, load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import choice_from
from npu_overlays.sources import acquisition

# The first is had from git; the second where no repository can be reached.
_CANDIDATES = ("transformers@8365f70", "transformers@91393fe")
PATCHED, UPSTREAM, DEFLATE, UNCHANGED = "patched build", "upstream's own build", "deflating alone", "unchanged rebuild"
MERGED = "patched build, merged anew"
ALL, ALL_MERGED = "builds of all, two at once", "builds of all, two at once, merged anew"
ALL_DEFLATED, ALL_UNCHANGED, ALL_WRITTEN = "deflating all of them", "unchanged rebuilds of all", "writing all of them"


def choose(root: Path, told: Callable[[str], None]) -> tuple[Overlay, bool]:
    """Return the overlay to measure, and whether git has its commit; its source is in the cache afterwards."""
    overlay = find_overlay(root, _CANDIDATES[0])
    told(f"looking for {overlay.name} by git")
    if _elsewhere(lambda: acquisition.acquire(overlay.pin, mode="git", local=_clone(overlay))):
        return overlay, True
    other = find_overlay(root, _CANDIDATES[1])
    told(f"looking for {other.name}")
    if not _elsewhere(lambda: acquisition.acquire(other.pin)):
        acquisition.acquire(other.pin)  # once more, for its error
    return other, False


def _elsewhere(work: Callable[[], object]) -> bool:
    """Do something in a process of its own, and return whether it could: what this one once held, its children seem to.

    A process that is started has, for the system, held as much as the one that started it.
    """
    process = get_context("fork").Process(target=_attempt, args=(work,))
    process.start()
    process.join()
    return process.exitcode == 0


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except OverlayError:
        sys.exit(1)


def upstream_tree(overlay: Overlay, work: Path, *, git: bool) -> Path:
    """Return a writable copy of the unpatched source, as git has it or as the sdist of the release holds it."""
    if git:
        tree = acquisition.acquire(overlay.pin, mode="git", local=_clone(overlay), read=False)
        target = work / "upstream"
        if not _elsewhere(lambda: tree.unpack(target)):
            tree.unpack(target)  # once more, for its error
        return target
    archive = overlay.pin.archives[0]
    requirement = f"{archive.distribution}=={archive.version}"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary=:all:")
    subprocess.run([*pip, "--dest", str(work), requirement], check=True, stdout=subprocess.DEVNULL)
    (sdist,) = work.glob("*.tar.gz")
    shutil.unpack_archive(sdist, work / "sdist")
    (target,) = (work / "sdist").iterdir()
    return target


def _clone(overlay: Overlay) -> Path | None:
    return choice_from(os.environ).clone(overlay.pin.project)


def build(overlay: Overlay, out: Path, *options: str) -> tuple[str | Path, ...]:
    """Return the command that builds an overlay."""
    return _build([overlay], out, *options)


def _build(overlays: Sequence[Overlay], out: Path, *options: str) -> tuple[str | Path, ...]:
    names, root = [one.name for one in overlays], overlays[0].folder.parent
    return (sys.executable, "-m", "npu_overlays", "build", *names, "--overlays", root, "--out", out, *options)


def at_hand(root: Path, told: Callable[[str], None]) -> list[Overlay]:
    """Return every overlay whose source can be had; it is in the cache afterwards."""
    found = []
    for overlay in load_all(root):
        with suppress(SourceError):
            acquisition.acquire(overlay.pin, local=_clone(overlay), progress=told)
            found.append(overlay)
    return found


def measure_all(
    overlays: Sequence[Overlay], work: Path, repeats: int, told: Callable[[str], None]
) -> dict[str, list[Measurement]]:
    """Return the samples of building several overlays on two cores, and of deflating their bytes on one."""
    out = work / "all"
    contenders = {
        ALL: Contender(run=command(*_build(overlays, out, "--jobs", "2"), cores=2), before=lambda: _forget_wheels(out)),
        ALL_MERGED: Contender(run=command(*_build(overlays, out, "--force", "--jobs", "2"), cores=2)),
        ALL_UNCHANGED: Contender(run=command(*_build(overlays, out), cores=1)),
        ALL_WRITTEN: Contender(run=function(lambda: _write(out, work / "written"))),
        ALL_DEFLATED: Contender(run=lambda: _deflate(*out.glob("*.whl"))),
    }
    return interleaved(contenders, repeats, told=told)


def measure(
    overlay: Overlay, tree: Path, work: Path, repeats: int, told: Callable[[str], None]
) -> dict[str, list[Measurement]]:
    """Return the samples of all contenders, run in turn."""
    out = work / "wheels"
    upstream_build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work / "theirs", tree)
    contenders = {
        PATCHED: Contender(run=command(*build(overlay, out), cores=1), before=lambda: _forget_wheels(out)),
        MERGED: Contender(run=command(*build(overlay, out, "--force"), cores=1)),
        UNCHANGED: Contender(run=command(*build(overlay, out), cores=1)),
        UPSTREAM: Contender(run=command(*upstream_build), before=lambda: _forget_build(tree)),
        DEFLATE: Contender(run=lambda: _deflate(next(out.glob(f"{overlay.distribution.replace('-', '_')}-*.whl")))),
    }
    return interleaved(contenders, repeats, told=told)


def _forget_wheels(out: Path) -> None:
    """Delete what an earlier build left, which would be up to date."""
    shutil.rmtree(out, ignore_errors=True)


def _write(out: Path, copy: Path) -> None:
    for wheel in out.glob("*.whl"):
        copy.mkdir(exist_ok=True)
        (copy / wheel.name).write_bytes(wheel.read_bytes())


def _forget_build(tree: Path) -> None:
    """Delete what an earlier build left: setuptools would take files over from it."""
    shutil.rmtree(tree / "build", ignore_errors=True)
    for info in tree.rglob("*.egg-info"):
        shutil.rmtree(info)


def _deflate(*wheels: Path) -> Measurement:
    # In a process of its own: its memory must not become the floor of what children seem to hold.
    script = Path(__file__).with_name("deflate.py")
    done = subprocess.run([sys.executable, str(script), *map(str, wheels)], check=True, capture_output=True, text=True)
    return Measurement(seconds=float(done.stdout))
