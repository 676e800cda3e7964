"""Ways: how a patched wheel is made of what is there already, and installed; each is a contender to be timed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measurements import Contender, Measurement, command, interleaved

from environments import ROOT
from rivals.preparation import ContenderInputs

OURS, AGAIN = "npu-overlays", "npu-overlays, merged before"
FROMAGER, PATCHED, UPSTREAM = "Fromager", "patch, pip wheel", "upstream unpatched, pip wheel"
Told = Callable[[str], None]
_PIP = ("-m", "pip", "--disable-pip-version-check")


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to a wheel.

    Args:
        name: of the way.
        make: makes the wheels once, and says how long it took.
        before: clears away what the run before left.
        wheels: folder they lie in afterwards.
        patched: whether they hold what ours hold.
    """

    name: str
    make: Callable[[], Measurement]
    before: Callable[[], None]
    wheels: Path
    patched: bool = True


@dataclass(frozen=True, kw_only=True)
class Took:
    """Samples of one way: until there is a wheel, and of its installation."""

    making: list[Measurement]
    installing: list[Measurement]


def ways(prepared: ContenderInputs, work: Path) -> list[Way]:
    """Return all ways, each in a folder of its own below `work`."""
    return [
        _ours(OURS, prepared, work / "ours", "--force"),
        _ours(AGAIN, prepared, work / "again"),
        _fromager(prepared, work / "fromager-run"),
        _by_pip(PATCHED, prepared, work / "patched", patch=True),
        _by_pip(UPSTREAM, prepared, work / "upstream", patch=False),
    ]


def measure(found: list[Way], work: Path, repeats: int, told: Told) -> dict[str, Took]:
    """Return what each way took, all of them in turn, one step after the other."""
    site = {way.name: work / "site" / str(number) for number, way in enumerate(found)}
    contenders: dict[str, Contender] = {}
    for way in found:
        contenders[way.name] = Contender(run=way.make, before=way.before)
        contenders[f"installing: {way.name}"] = _installing(way, site[way.name])
    samples = interleaved(contenders, repeats, told=told)
    return {way.name: Took(making=samples[way.name], installing=samples[f"installing: {way.name}"]) for way in found}


def differing(found: list[Way], work: Path, distribution: str) -> dict[str, int]:
    """Return, for each way to a patched wheel, how many installed files of the package differ from ours."""
    trees = {way.name: _digests(work / "site" / str(number) / distribution) for number, way in enumerate(found)}
    ours = trees[OURS].items()
    return {name: len({path for path, _ in tree.items() ^ ours}) for name, tree in trees.items()}


def _digests(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _installing(way: Way, site: Path) -> Contender:
    def run() -> Measurement:
        wheels = sorted(way.wheels.glob("*.whl"))
        install = ("install", "--quiet", "--no-deps", "--no-index", "--target", site)
        return command(sys.executable, *_PIP, *install, *wheels)()

    return Contender(run=run, before=partial(shutil.rmtree, site, ignore_errors=True))


def _ours(name: str, prepared: ContenderInputs, work: Path, *options: str) -> Way:
    out = work / "wheels"
    build = (sys.executable, "-m", "npu_overlays", "build", prepared.overlay.name, "--source", "archive")
    return Way(
        name=name,
        make=command(*build, "--out", out, *options, cwd=ROOT),
        before=partial(shutil.rmtree, out, ignore_errors=True),
        wheels=out,
    )


def _by_pip(name: str, prepared: ContenderInputs, work: Path, *, patch: bool) -> Way:
    """Return the way of a script: unpack, patch, and let pip build in an environment that has what it takes."""
    tree, out = work / "tree", work / "wheels"
    build = command(prepared.builder, *_PIP, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", out, tree)

    def make() -> Measurement:
        tree.mkdir(parents=True)
        steps = [command("tar", "-xf", prepared.sdist, "--strip-components=1", "-C", tree)()]
        if patch:
            steps.append(command("patch", "-p1", "--silent", "-i", prepared.patch, cwd=tree)())
        return _sum([*steps, build()])

    return Way(name=name, make=make, before=partial(shutil.rmtree, work, ignore_errors=True), wheels=out, patched=patch)


def _fromager(prepared: ContenderInputs, work: Path) -> Way:
    name, version = prepared.overlay.pin.archives[0].distribution, prepared.version
    downloaded, wheels = work / "sdists/downloads", work / "wheels/downloads"
    order = work / "build-order.json"
    url = f"https://example.invalid/{prepared.sdist.name}"
    entry = {"req": f"{name}=={version}", "dist": name, "version": version, "prebuilt": False, "source_url": url}
    places = ("--sdists-repo", work / "sdists", "--wheels-repo", work / "wheels", "--work-dir", work / "work")
    options = ("--patches-dir", work / "patches", "--no-network-isolation")

    def before() -> None:
        shutil.rmtree(work, ignore_errors=True)
        patches = work / "patches" / f"{name}-{version}"
        for folder in (downloaded, wheels, patches):
            folder.mkdir(parents=True)
        # What it would have fetched before: the source, and what that is built with.
        shutil.copy(prepared.sdist, downloaded)
        for wheel in prepared.requirements.iterdir():
            shutil.copy(wheel, wheels)
        shutil.copy(prepared.patch, patches / "001-overlay.patch")
        order.write_text(json.dumps([{**entry, "source_url_type": "sdist", "constraint": ""}]), "utf-8")

    def make() -> Measurement:
        # It starts uv, which lies beside it.
        path = f"PATH={prepared.fromager.parent}{os.pathsep}{os.environ['PATH']}"
        start = ("env", path, prepared.fromager, "-m", "fromager")
        sample = command(*start, *places, *options, "build-sequence", "--force", order)()
        (made,) = wheels.glob(f"{name}-{version}-*.whl")
        (work / "made").mkdir()
        shutil.move(made, work / "made")
        return sample

    return Way(name=FROMAGER, make=make, before=before, wheels=work / "made")


def _sum(samples: list[Measurement]) -> Measurement:
    return Measurement(seconds=sum(one.seconds for one in samples), peak=max(one.peak for one in samples))
