"""Beginning: an overlay and what a user names → the folder of its port, or the one of a port that is under way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays import source
from npu_overlays.acquisition import released_version, upstream_metadata
from npu_overlays.choice import Choice
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.derivation import Told
from npu_overlays.errors import ConfigError, Problem, UsageError
from npu_overlays.overlay.inputs import PORT_FILE
from npu_overlays.overlay.project import Overlay
from npu_overlays.pin import Pin
from npu_overlays.porting.folder import State, begin, place, read_state
from npu_overlays.porting.shipping import without_absent
from npu_overlays.porting.target import Target, find_target
from npu_overlays.progress import step
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A port that has just begun.

    Args:
        overlay: the new one.
        notes: what was found out on the way and is worth saying.
        metadata: upstream's, there, if they were asked for, which takes seconds.
    """

    overlay: Overlay
    notes: tuple[str, ...]
    metadata: Told | None


def start(old: Overlay, to: str, choice: Choice) -> Begun:
    """Make the folder of a port and return the overlay in it, of which nothing is decided yet.

    Raises:
        OverlayError: the target cannot be had, is the old pin, or its folder is there already.
    """
    load_lock(old)
    target = find_target(old.pin, to, choice.clone(old.pin.project))
    if target.pin.identity == old.pin.identity:
        what = f"{to} is what {old.name} is pinned to"
        raise UsageError(Problem(where="--to", what=what, fix="name another revision"))
    _check_absent(place(old, target.pin))
    tree = _tree(target.pin, target, choice)
    ported, notes = without_absent(replace(old, pin=target.pin), tree)
    version, told = _version(target.pin, tree)
    new = begin(old, ported, State(origin=old.folder.name, to=to, version=version), tree)
    return Begun(overlay=new, notes=tuple(f"{new.name}: {note}" for note in (*target.notes, *notes)), metadata=told)


def _version(pin: Pin, tree: SourceTree) -> tuple[str, Told | None]:
    """Return upstream's version, and all its metadata where these had to be asked for.

    A release tells its version, and that of the commit it was made from. Upstream's backend takes seconds to tell it:
    here it is asked about a commit that was not released, about others when the port is locked.
    """
    if pin.archives:
        return pin.archives[0].version, None
    if tree.metadata:
        return released_version(tree), None
    told = Told(source=tree.source, metadata=upstream_metadata(tree))
    return told.metadata.version, told


def _check_absent(folder: Path) -> None:
    if (folder / PORT_FILE).is_file():
        fix = f"npu-overlays port {folder.name} --continue, or --abort"
        raise UsageError(Problem(where=str(folder), what="a port to that is under way", fix=fix))
    if folder.exists():
        what = "there is an overlay for that already"
        raise UsageError(Problem(where=str(folder), what=what, fix="edit that, or name another revision"))


def _tree(pin: Pin, target: Target, choice: Choice) -> SourceTree:
    clone = (target.history or choice.clone(pin.project)) if pin.commit else None
    return source.acquire(pin, mode="auto" if clone else choice.mode or "auto", local=clone, progress=step)


def find_unfinished(folder: Path) -> Path:
    """Return the folder of an unfinished port; raises `ConfigError` where it is none."""
    if not folder.is_dir():
        fix = "name the folder that `port --to` made"
        raise ConfigError(Problem(where=str(folder), what="there is no such folder", fix=fix))
    read_state(folder)
    return folder
