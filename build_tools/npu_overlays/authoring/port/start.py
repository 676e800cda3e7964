"""Start: an overlay and a revision that a user names → the folder of its port, with the new pin in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npu_overlays.authoring.port.folder import PortState, begin, place
from npu_overlays.authoring.port.target import find_target
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.errors import Problem, SourceError, UsageError
from npu_overlays.overlay.inputs import PORT_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.paths import as_argument
from npu_overlays.pipeline.lock_derivation import FetchedMetadata
from npu_overlays.pipeline.upstream import absent, released_version, upstream_metadata
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class StartedPort:
    """A port that was just started.

    Args:
        overlay: the new one.
        notes: about the new pin, for the user.
        metadata: of upstream at the new pin, if its build backend gave them.
    """

    overlay: Overlay
    notes: tuple[str, ...]
    metadata: FetchedMetadata | None


def start(old: Overlay, to: str, choice: Choice) -> StartedPort:
    """Make the folder of a port without any decisions.

    Raises:
        OverlayError: the target cannot be fetched, is the old pin, or its folder exists already.
    """
    load_lock(old)
    clone = choice.clone(old.pin.project)
    target = find_target(old.pin, to, clone)
    pin = target.pin
    if pin.identity == old.pin.identity:
        what = f"{to} is what {old.name} is pinned to"
        raise UsageError(Problem(where="--to", what=what, fix="name another revision"))
    folder = place(old, pin)
    if (folder / PORT_FILE).is_file():
        fix = f"npu-overlays port {as_argument(folder)} --continue, or --abort"
        raise UsageError(Problem(where=str(folder), what="a port to that is under way", fix=fix))
    if folder.exists():
        what = "there is an overlay for that already"
        raise UsageError(Problem(where=str(folder), what=what, fix="edit that, or name another revision"))
    repository = (target.history or clone) if pin.commit else None
    mode = "auto" if repository else choice.mode or "auto"
    tree = acquisition.acquire(pin, mode=mode, local=repository, progress=step)
    ported, notes = _shipping(replace(old, pin=pin), tree)
    version, fetched = _version(pin, tree)
    new = begin(old, ported, PortState(origin=old.folder.name, to=to, version=version), tree)
    named = tuple(f"{new.name}: {note}" for note in (*target.notes, *notes))
    return StartedPort(overlay=new, notes=named, metadata=fetched)


def _version(pin: Pin, tree: SourceTree) -> tuple[str, FetchedMetadata | None]:
    """Return upstream's version, and its metadata if its build backend gave them, which takes seconds.

    A release has its version, which is that of its commit, too. So the backend runs here only for a commit without a
    release; for others it runs when the port is locked.
    """
    if pin.archives:
        return pin.archives[0].version, None
    if tree.metadata:
        return released_version(tree), None
    fetched = FetchedMetadata(source=tree.source, metadata=upstream_metadata(tree))
    return fetched.metadata.version, fetched


def _shipping(overlay: Overlay, tree: SourceTree) -> tuple[Overlay, list[str]]:
    """Return an overlay that ships the packages and licence files that a tree has, with notes on the missing ones.

    Raises:
        SourceError: nothing is left to ship.
    """
    gone: dict[str, list[str]] = {}
    for key, path in absent(overlay, tree):
        gone.setdefault(key, []).append(path)
    packages = tuple(path for path in overlay.pin.packages if path not in gone.get("packages", ()))
    licences = tuple(path for path in overlay.license_files if path not in gone.get("license-files", ()))
    holder = tree.source.archive or f"commit {tree.source.commit[:9]}"
    if not packages:
        tops = sorted({path.partition("/")[0] for path in tree.entries if path.endswith(".py")})
        what = f"holds none of the shipped packages: {', '.join(overlay.pin.packages)}"
        fix = f"name another revision; of Python it has {', '.join(tops) or 'nothing'}"
        raise SourceError(Problem(where=holder, what=what, fix=fix))
    notes: list[str] = []
    for key, paths in gone.items():
        named = ", ".join(f"`{path}`" for path in paths)
        notes.append(f"{holder} holds no {named}, so {key} of the new pin leaves it out")
    return replace(overlay, pin=replace(overlay.pin, packages=packages), license_files=licences), notes
