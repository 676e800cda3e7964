"""Follow: overlays, and the package index → the newest pin of each project, ported to every newer release.

A port is tried in a copy of all overlays, so that nothing changes that is not reviewed. With the proposals of `port`
accepted, some parts may be left to a person; where none is, the wheels are built, and a command may prove them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.version import Version

from npu_overlays.authoring.port.carry_out import decide
from npu_overlays.authoring.port.causes import causes
from npu_overlays.authoring.port.decisions import Decisions
from npu_overlays.authoring.port.port import Port
from npu_overlays.authoring.port.start import start
from npu_overlays.contracts.lock_head import load_metadata
from npu_overlays.errors import OutputError, OverlayError, Problem, UsageError
from npu_overlays.files import canonical_json, write_atomically
from npu_overlays.overlay.overlay_folders import find_overlay, overlay_folders
from npu_overlays.overlay.project import LAYER_FILE, Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.overlay.stacks import stacks_folder
from npu_overlays.progress import about, step
from npu_overlays.sources.releases import newer_releases
from npu_overlays.wheels.batch_build import BuildPolicy, build_all

_ACCEPTED = Decisions(accept=("all",))
_OVERLAYS, _WHEELS = "overlays", "wheels"
_MEANINGS = {
    "decide": "Some parts are left to a person: `npu-overlays port NAME --continue` shows them.",
    "failed": "The port could not be started, locked or built.",
    "unproven": "Nothing is left to decide, and the wheels were built. No command proved them.",
    "untried": "Nothing is left to decide, and the wheels were built. The proof could not run:",
    "disproved": "Nothing is left to decide, and the wheels were built. The proof failed: see `proof.log`.",
    "proven": "Nothing is left to decide, the wheels were built, and the proof passed.",
}
# What a shell's exit code says about a command of its own.
_SHELLS = {126: "its shell cannot execute a command", 127: "its shell does not find a command"}


@dataclass(frozen=True, kw_only=True)
class FollowedRelease:
    """A release that an overlay was ported to.

    Args:
        origin: the name of the overlay.
        name: that of the one it becomes.
        version: of the release.
        folder: where its overlays, its wheels and its report lie.
        seconds: how long the port took, without the build.
        port: as far as it came; None if it could not be started.
        problems: why it cannot be started, locked or built.
        proof: the exit code of the command that proves it; None if it was not run.
        untried: why the proof could not run; empty if it did, or there is none.
    """

    origin: str
    name: str
    version: str
    folder: Path
    seconds: float = 0.0
    port: Port | None = None
    problems: tuple[Problem, ...] = ()
    proof: int | None = None
    untried: str = ""

    @property
    def left(self) -> int:
        """How many parts a person has to decide."""
        return len(self.port.open) if self.port else 0

    @property
    def outcome(self) -> str:
        """How far it came: a name of `_MEANINGS`."""
        if self.left:
            return "decide"
        if self.problems:
            return "failed"
        if self.untried:
            return "untried"
        if self.proof is None:
            return "unproven"
        return "disproved" if self.proof else "proven"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "from": self.origin,
            "to": self.name,
            "version": self.version,
            "outcome": self.outcome,
            "left": self.left,
            "seconds": round(self.seconds, 1),
            "problems": [one.as_json() for one in self.problems],
            "proof": self.proof,
            "untried": self.untried,
            "port": self.port.as_json() if self.port else None,
        }


def newest(overlays: Iterable[Overlay], projects: Iterable[str] = ()) -> list[Overlay]:
    """Return of each project the overlay of the newest version; of these projects alone, if any is named.

    Overlays with a label are a site's own, and not followed unless there is no other of the project.
    """
    wanted = set(projects)
    found: dict[str, tuple[bool, Version, Overlay]] = {}
    for overlay in overlays:
        project = overlay.pin.project
        ranked = (not overlay.label, Version(load_metadata(overlay).version), overlay)
        if (not wanted or project in wanted) and (project not in found or ranked[:2] > found[project][:2]):
            found[project] = ranked
    return [overlay for _, _, overlay in found.values()]


def follow(overlay: Overlay, choice: Choice, out: Path, proof: Sequence[str] = ()) -> Iterator[FollowedRelease]:
    """Port an overlay to every newer release, each from the last that left nothing to decide, oldest release first.

    Args:
        overlay: of the newest pin.
        choice: where upstream comes from.
        out: the folder for a folder of each release; an existing one is replaced.
        proof: a command, run where a wheel was built, with `NPU_OVERLAYS_WHEELS` and `NPU_OVERLAYS_ROOT`, the folders
            of the wheels and of the overlays, `NPU_OVERLAYS_NAME`, that of the new overlay, and `NPU_OVERLAYS_UNTRIED`,
            a file for the reason why it cannot prove anything.

    Yields:
        The result of each, once its folder is complete.

    Raises:
        OverlayError: no index answers, or `out` cannot be written.
    """
    step(f"{overlay.pin.project}: looking for newer releases")
    current = load_metadata(overlay).version
    versions = newer_releases(overlay.pin.project, current, progress=step)
    for number, version in enumerate(versions, start=1):
        folder = out / f"{overlay.pin.project}@{version}"
        with about(f"{folder.name} ({number} of {len(versions)})"), _whole(folder):
            release = _followed(_copied(overlay, folder), version, choice, folder, proof)
            write_atomically(folder / "report.json", canonical_json(release.as_json()))
            write_atomically(folder / "report.md", report(release).encode())
        yield release
        if release.port and release.port.is_finished:
            overlay = release.port.new


def refuse_among(root: Path, out: Path) -> None:
    """Raise `UsageError` where a port could take the place of an overlay, or be copied into itself.

    Args:
        root: the folder of overlays.
        out: the folder for the ports.
    """
    if out.resolve() == root.resolve() or any(out.resolve().is_relative_to(one.resolve()) for one in _sources(root)):
        what = f"is the folder of the overlays, or inside one: {root}"
        options = (("--out", str(root / "follow")),)
        raise UsageError(Problem(where=f"--out {out}", what=what, fix="name a folder of its own", options=options))


def _sources(root: Path) -> list[Path]:
    """Return the folders that a port is made with: every overlay and every layer."""
    return [*overlay_folders(root), *(file.parent for file in root.glob(f"*/{LAYER_FILE}"))]


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Remove a folder where the block fails or is interrupted; raises `OutputError` where another thing lies there."""
    if folder.exists() and not (folder / _OVERLAYS).is_dir():
        fix = "move it away, or name another folder with --out"
        raise OutputError(Problem(where=str(folder), what="exists, and `follow` did not make it", fix=fix))
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _copied(overlay: Overlay, folder: Path) -> Overlay:
    """Return an overlay in a copy of its folder's surroundings, stacks included; raises `OutputError`."""
    root = overlay.folder.parent
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for beside in _sources(root):
            shutil.copytree(beside, folder / _OVERLAYS / beside.name, ignore=shutil.ignore_patterns("__pycache__"))
        if stacks_folder(root).is_dir():
            shutil.copytree(stacks_folder(root), stacks_folder(folder / _OVERLAYS))
    except (OSError, shutil.Error) as error:
        fix = "name another folder with --out"
        raise OutputError(Problem(where=str(folder), what=f"cannot be written: {error}", fix=fix)) from error
    return find_overlay(folder / _OVERLAYS, overlay.folder.name)


def _followed(old: Overlay, version: str, choice: Choice, folder: Path, proof: Sequence[str]) -> FollowedRelease:
    """Port an overlay to a release; where nothing is left to decide, build it and prove it."""
    release = FollowedRelease(origin=old.name, name=f"{old.pin.project}@{version}", version=version, folder=folder)
    began = time.perf_counter()
    try:
        started = start(old, version, choice)
        port = decide(started.overlay.folder, choice, _ACCEPTED, started)
        seconds = time.perf_counter() - began
        release = replace(release, name=port.new.name, port=port, problems=port.problems, seconds=seconds)
        if port.is_finished:
            build_all([port.new], choice, folder / _WHEELS, BuildPolicy())
            release = _proven(release, proof)
    except OverlayError as error:
        release = replace(release, problems=tuple(error.problems))
    return release


def _proven(release: FollowedRelease, command: Sequence[str]) -> FollowedRelease:
    """Run the command that proves a port, and return the release with its end; what it prints is in `proof.log`."""
    if not command:
        return release
    step("running the proof")
    reason = release.folder / "untried.txt"
    variables = {
        "NPU_OVERLAYS_NAME": release.name,
        "NPU_OVERLAYS_ROOT": str((release.folder / _OVERLAYS).absolute()),
        "NPU_OVERLAYS_WHEELS": str((release.folder / _WHEELS).absolute()),
        "NPU_OVERLAYS_UNTRIED": str(reason.absolute()),
    }
    with (release.folder / "proof.log").open("wb") as log:
        try:
            done = subprocess.run(
                command, env={**os.environ, **variables}, stdout=log, stderr=subprocess.STDOUT, check=False
            )
        except OSError as error:
            return replace(release, untried=f"cannot be started: {error.strerror or error}")
    written = " ".join(reason.read_text("utf-8", "replace").split()) if reason.is_file() else ""
    return replace(release, proof=done.returncode, untried=written or _not_run(done.returncode))


def _not_run(code: int) -> str:
    """Return why a command with an exit code has proved nothing; empty if it ran to its end."""
    if code < 0:
        return f"ended by signal {-code}"
    return f"exit code {code}: {_SHELLS[code]}" if code in _SHELLS else ""


def report(release: FollowedRelease) -> str:
    """Return the text of a port's pull request, as Markdown."""
    meaning = _MEANINGS[release.outcome] + (f" {release.untried}." if release.outcome == "untried" else "")
    lines = [f"# {release.origin} → {release.version}", "", meaning, ""]
    for problem in release.problems:
        lines.append(f"- {problem}")
    if release.port:
        lines += [f"{release.port.fitting}.", ""]
        for cause in causes(release.port.parts):
            named = ", ".join(f"`{part.name}`" for part in cause.parts)
            said = cause.said.replace("\n", " ")
            lines.append(f"- {said}: {named}" + (f" ({cause.proposal or 'to decide'})" if cause.is_open else ""))
    return "\n".join(lines).rstrip() + "\n"
