"""An overlay → a warm cache for each contender, so that none of them has to fetch anything."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from environments import ROOT
from environments.installer import install
from environments.pythons import find_python
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources import acquisition

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Its newest releases ask for a newer Python than others do.
_FROMAGER_PYTHONS = ("3.12", "3.13", "3.11")


@dataclass(frozen=True, kw_only=True)
class ContenderInputs:
    """What all contenders begin with.

    Args:
        overlay: what we build; its upstream lies in the cache.
        version: of upstream's release.
        sdist: upstream's source distribution.
        patch: what the overlay changes, as a patch for the unpacked source distribution.
        builder: the Python of an environment with upstream's build requirements.
        requirements: folder with the wheels of those.
        fromager: the Python of an environment with Fromager.
        fromager_version: which one.
    """

    overlay: Overlay
    version: str
    sdist: Path
    patch: Path
    builder: Path
    requirements: Path
    fromager: Path
    fromager_version: str


def prepare(overlay: Overlay, work: Path, told: Callable[[str], None]) -> ContenderInputs:
    """Return what contenders begin with, fetched into a folder.

    Raises:
        npu_overlays.errors.ConfigError: there is no Python for Fromager.
        npu_overlays.errors.SourceError: upstream cannot be had.
        subprocess.CalledProcessError: something else cannot; its `stderr` says why.
    """
    python = fromager_python()
    told("fetching upstream")
    acquisition.acquire(overlay.pin, mode="archive", progress=told)
    archive = overlay.pin.archives[0]
    sdist = _sdist(f"{archive.distribution}=={archive.version}", work / "sdist")
    needed = _build_requirements(sdist)
    told("installing what upstream is built with")
    requirements = work / "requirements"
    _pip("download", "--dest", requirements, *needed)
    builder = _environment(sys.executable, work / "builder")
    _run(builder, "-m", "pip", "install", "--quiet", *needed)
    told("installing Fromager")
    fromager = _environment(python, work / "fromager")
    install(fromager, ["fromager"])
    asked = "from importlib.metadata import version; print(version('fromager'))"
    return ContenderInputs(
        overlay=overlay,
        version=archive.version,
        sdist=sdist,
        patch=_patch(overlay, archive.distribution, work / "overlay.patch"),
        builder=builder,
        requirements=requirements,
        fromager=fromager,
        fromager_version=_run(fromager, "-c", asked).strip(),
    )


def fromager_python() -> str:
    """Return a Python that Fromager runs on; raises `ConfigError` where there is none."""
    for version in _FROMAGER_PYTHONS:
        if python := find_python(version):
            return python
    what = f"Fromager asks for one of Python {', '.join(sorted(_FROMAGER_PYTHONS))}, and none of them is here"
    raise ConfigError(Problem(where="PATH", what=what, fix="install one, as python3.12 on PATH or with pyenv"))


def _sdist(requirement: str, folder: Path) -> Path:
    _pip("download", "--no-deps", "--no-build-isolation", "--no-binary=:all:", "--dest", folder, requirement)
    (found,) = folder.glob("*.tar.gz")
    return found


def _build_requirements(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as packed:
        name = next(one for one in packed.getnames() if one.count("/") == 1 and one.endswith("/pyproject.toml"))
        file = packed.extractfile(name)
        settings = tomllib.loads(file.read().decode()) if file else {}
    # pip asks for these where nothing is said; older setuptools need the second for wheels.
    return [*settings.get("build-system", {}).get("requires", ["setuptools"]), "wheel"]


def _patch(overlay: Overlay, distribution: str, file: Path) -> Path:
    """Write the overlay as a patch of upstream's repository, which the source distribution is laid out like."""
    diff = _run(Path(sys.executable), "-m", "npu_overlays", "diff", overlay.name, "--source", "archive", cwd=ROOT)
    # A release's wheel has the package where the repository has src.
    moved = re.sub(rf"^(---|\+\+\+|diff --git) ([ab])/({distribution}/)", r"\1 \2/src/\3", diff, flags=re.MULTILINE)
    file.write_text(moved, "utf-8")
    return file


def _environment(python: str, folder: Path) -> Path:
    subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
    return folder / "bin" / "python"


def _pip(*arguments: str | Path) -> None:
    _run(Path(sys.executable), "-m", "pip", arguments[0], "--quiet", "--disable-pip-version-check", *arguments[1:])


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout
