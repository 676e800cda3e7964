"""Folder: an overlay and another pin → the files of the folder it is ported into, and what is written there later.

Only that folder is written. What no longer applies is dropped by its pin, with why; what moved is stated there anew:
the layers serve other pins, for which they are right as they are. What the pin says itself is changed where it stands.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.version import Version

from npu_overlays.contracts.lockfile import load_lock, stated_version
from npu_overlays.errors import ConfigError, Problem, UsageError, listing
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import CONTENT_FOLDERS, LICENCE_FILES, PORT_FILE, is_ignored
from npu_overlays.overlay.lookup import readable
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit
from npu_overlays.pin import Pin
from npu_overlays.porting.settings import add_settings, configuration
from npu_overlays.reproducible import remove, write_atomically
from npu_overlays.starting.project import readme, staged
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class State:
    """What an unfinished port remembers.

    Args:
        origin: the folder of the overlay that is ported.
        to: what it is ported to, as the user named it.
        version: upstream's, there.
        written: the sha256 of what the port wrote into its folder, by path.
    """

    origin: str
    to: str
    version: str
    written: Mapping[str, str] = field(default_factory=dict)


def place(old: Overlay, pin: Pin) -> Path:
    """Return the folder of an overlay on another pin."""
    return old.folder.parent / f"{pin.project}@{pin.short}{f'-{old.label}' if old.label else ''}"


def begin(old: Overlay, wanted: Overlay, state: State, tree: SourceTree) -> Overlay:
    """Write the folder of a port, whole or not at all, and return the overlay it holds.

    Args:
        old: the overlay that is ported.
        wanted: the same with its new pin, and with what is to be shipped there.
        state: what the port is to remember.
        tree: upstream where it is ported to.

    Raises:
        OutputError: the folder is there already, or cannot be written.
        ConfigError: the old overlay's configuration cannot be carried over.
    """
    folder = place(old, wanted.pin)
    with staged(folder) as stage:
        for name in CONTENT_FOLDERS:
            if (old.folder / name).is_dir():
                shutil.copytree(old.folder / name, stage / name)
        for name, content in _own_licences(old, tree):
            (stage / name).write_bytes(content)
        (stage / CONFIG_FILE).write_text(configuration(old, wanted), "utf-8")
        (stage / PORT_FILE).write_bytes(_state(replace(state, written=_digests(stage))))
    overlay = load_overlay(folder)
    write_atomically(folder / "README.md", readme(overlay).encode())
    write_atomically(folder / PORT_FILE, _state(replace(state, written=_digests(folder))))
    return overlay


def _own_licences(old: Overlay, tree: SourceTree) -> Iterator[tuple[str, bytes]]:
    """Yield the licence files beside a pin that are not upstream's own."""
    for name in LICENCE_FILES:
        file = old.folder / name
        if file.is_file() and not (name in tree and tree.read(name) == file.read_bytes()):
            yield name, file.read_bytes()


def read_state(folder: Path) -> State:
    """Return what an unfinished port in a folder remembers; raises `ConfigError` where there is none."""
    file = folder / PORT_FILE
    try:
        return State(**json.loads(file.read_text("utf-8")))
    except FileNotFoundError as error:
        fix = "begin one: npu-overlays port OVERLAY --to REVISION"
        raise ConfigError(Problem(where=str(folder), what="holds no port that is under way", fix=fix)) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            Problem(where=str(file), what=f"damaged ({error})", fix=f"delete {folder}, and begin anew")
        ) from error


def origin_of(folder: Path) -> State:
    """Return what an unfinished port remembers; of a finished one, that it came from the next older pin beside it.

    Raises:
        ConfigError: it is neither.
    """
    if (folder / PORT_FILE).exists():
        return read_state(folder)
    new = load_overlay(folder)
    version = Version(load_lock(new).metadata.version)
    beside = (one for one in readable(folder.parent, new.pin.project) if one.label == new.label)
    dated = [(Version(text), one.folder.name) for one in beside if (text := stated_version(one))]
    older = max((pair for pair in dated if pair[0] < version), default=None)
    if older is None:
        what = f"holds no port that is under way, and beside it lies no older pin of {new.pin.project}"
        raise ConfigError(Problem(where=str(folder), what=what, fix="begin one: npu-overlays port OVERLAY --to REV"))
    return State(origin=older[1], to=str(version), version=str(version))


def finish(folder: Path) -> None:
    """Forget that a port was under way."""
    (folder / PORT_FILE).unlink(missing_ok=True)


def abort(folder: Path) -> None:
    """Remove the folder of an unfinished port.

    Raises:
        ConfigError: it is none.
        UsageError: it holds what somebody else wrote; nothing is removed then.
    """
    if not (folder / PORT_FILE).is_file():
        read_state(folder)
    if foreign := _foreign(folder):
        what, fix = f"holds work of yours: {listing(foreign)}", f"put it elsewhere, or delete all of it: rm -r {folder}"
        raise UsageError(Problem(where=str(folder), what=what, fix=fix))
    # What marks it goes last, so that an abort that is killed can be repeated.
    for path in folder.iterdir():
        if path.name != PORT_FILE:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    finish(folder)
    folder.rmdir()


def _foreign(folder: Path) -> list[str]:
    try:
        written = read_state(folder).written
    except ConfigError:
        written = {}
    return [path for path, digest in _digests(folder).items() if written.get(path) != digest]


def _digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of a port that is not only what tools write as they go."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())
    kept = (path for path in files if path != folder / PORT_FILE and not is_ignored(path, folder))
    return {
        path.relative_to(folder).as_posix(): "" if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in kept
    }


def _state(state: State) -> bytes:
    return (json.dumps(vars(state), indent=2) + "\n").encode()


def carry_out(
    folder: Path, files: Mapping[str, bytes | None], drops: Mapping[str, str], edits: Sequence[tuple[str, TextEdit]]
) -> None:
    """Write into the folder of a port what was decided.

    Args:
        folder: of the port.
        files: by their paths in it, in the order in which they are to be written; None for those that go.
        drops: what the pin drops, by name with why.
        edits: substitutions of its own, by path.
    """
    if not (files or drops or edits):
        return
    foreign = set(_foreign(folder))
    # What is stated anew is there before it is dropped where it stood: a port that is killed in between loses nothing.
    for path, content in files.items():
        if content is None:
            remove(folder / path, within=folder)
        else:
            write_atomically(folder / path, content)
    add_settings(folder / CONFIG_FILE, drops, edits)
    ours = {path: digest for path, digest in _digests(folder).items() if path not in foreign}
    write_atomically(folder / PORT_FILE, _state(replace(read_state(folder), written=ours)))
