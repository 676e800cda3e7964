"""Building: an overlay → what building its wheel costs, beside upstream's own build and mere compression."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from timing import Contender, Sample, command, interleaved

from npu_overlays import source
from npu_overlays.choice import choice_from
from npu_overlays.errors import SourceError
from npu_overlays.overlay.lookup import find_overlay
from npu_overlays.overlay.project import Overlay

# The first is had from git; the second where no repository can be reached.
_CANDIDATES = ("transformers@8365f70", "transformers@91393fe")
PATCHED, UPSTREAM, DEFLATE, UNCHANGED = "patched build", "upstream's own build", "deflating alone", "unchanged rebuild"


def choose(root: Path, told: Callable[[str], None]) -> tuple[Overlay, bool]:
    """Return the overlay to measure, and whether git has its commit; its source is in the cache afterwards."""
    overlay = find_overlay(root, _CANDIDATES[0])
    try:
        source.acquire(overlay.pin, mode="git", local=_clone(overlay), progress=told)
    except SourceError:
        overlay = find_overlay(root, _CANDIDATES[1])
        source.acquire(overlay.pin, progress=told)
        return overlay, False
    return overlay, True


def upstream_tree(overlay: Overlay, work: Path, *, git: bool) -> Path:
    """Return a writable copy of the unpatched source, as git has it or as the sdist of the release holds it."""
    if git:
        tree = source.acquire(overlay.pin, mode="git", local=_clone(overlay))
        target = work / "upstream"
        tree.unpack(target)
        return target
    archive = overlay.pin.archives[0]
    requirement = f"{archive.distribution}=={archive.version}"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary=:all:")
    subprocess.run([*pip, "--dest", str(work), requirement], check=True, stdout=subprocess.DEVNULL)
    (sdist,) = work.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(work / "sdist", filter="data")
    (target,) = (work / "sdist").iterdir()
    return target


def _clone(overlay: Overlay) -> Path | None:
    return choice_from(os.environ).clone(overlay.pin.project)


def build(overlay: Overlay, out: Path, *options: str) -> tuple[str | Path, ...]:
    """Return the command that builds an overlay."""
    root = overlay.folder.parent
    return (sys.executable, "-m", "npu_overlays", "build", overlay.name, "--overlays", root, "--out", out, *options)


def measure(
    overlay: Overlay, tree: Path, work: Path, repeats: int, told: Callable[[str], None]
) -> dict[str, list[Sample]]:
    """Return the samples of all four contenders, run in turn."""
    out = work / "wheels"
    upstream_build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", work / "theirs", tree)
    contenders = {
        PATCHED: Contender(run=command(*build(overlay, out, "--force"))),
        UNCHANGED: Contender(run=command(*build(overlay, out))),
        UPSTREAM: Contender(run=command(*upstream_build), before=lambda: _forget_build(tree)),
        DEFLATE: Contender(run=lambda: _deflate(next(out.glob(f"{overlay.distribution.replace('-', '_')}-*.whl")))),
    }
    return interleaved(contenders, repeats, told=told)


def _forget_build(tree: Path) -> None:
    """Delete what an earlier build left: setuptools would take files over from it."""
    shutil.rmtree(tree / "build", ignore_errors=True)
    for info in tree.rglob("*.egg-info"):
        shutil.rmtree(info)


def _deflate(wheel: Path) -> Sample:
    # In a process of its own: its memory must not become the floor of what children seem to hold.
    script = Path(__file__).with_name("deflate.py")
    done = subprocess.run([sys.executable, str(script), str(wheel)], check=True, capture_output=True, text=True)
    return Sample(seconds=float(done.stdout))
