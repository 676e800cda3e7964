"""Folder: an overlay and another pin → the folder of the port, and the decisions that are written there later.

Only that folder is written: layers serve other pins.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.version import Version

from npu_overlays.authoring.init.overlay_files import readme
from npu_overlays.authoring.init.request import ELSEWHERE
from npu_overlays.authoring.new_folder import new_folder
from npu_overlays.authoring.writer.settings_text import edit_entry, with_entries, with_pin, with_reasons
from npu_overlays.contracts.lockfile import load_lock, stated_version
from npu_overlays.errors import ConfigError, Problem, UsageError, listing
from npu_overlays.files import remove, write_atomically
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import CONTENT_FOLDERS, LICENCE_FILES, PORT_FILE, is_ignored
from npu_overlays.overlay.overlay_folders import readable
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit
from npu_overlays.overlay.tables import load_toml
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class PortState:
    """The state of an unfinished port, in a file of its folder.

    Args:
        origin: the folder of the overlay that is ported.
        to: the new revision, as the user named it.
        version: of upstream at that revision.
        written: the sha256 of each file that the port wrote into its folder, by path.
        kept: the parts that stay as they are by decision: unchanged, though their locked contracts are broken, or left
            out, though they fit.
    """

    origin: str
    to: str
    version: str
    written: Mapping[str, str] = field(default_factory=dict)
    kept: Sequence[str] = ()

    def write(self, folder: Path, digests: Mapping[str, str]) -> None:
        """Write it into a port's folder, with the digests of the files that the port wrote."""
        content = json.dumps(vars(replace(self, written=digests)), indent=2) + "\n"
        write_atomically(folder / PORT_FILE, content.encode())


def place(old: Overlay, pin: Pin) -> Path:
    """Return the folder of an overlay on another pin."""
    return old.folder.parent / f"{pin.project}@{pin.short}{f'-{old.label}' if old.label else ''}"


def begin(old: Overlay, wanted: Overlay, state: PortState, tree: SourceTree) -> Overlay:
    """Write the whole folder of a port or nothing, and return the overlay in it.

    Args:
        old: the overlay that is ported.
        wanted: the same with its new pin, and with the packages that upstream has there.
        state: of the port.
        tree: upstream at the new pin.

    Raises:
        OutputError: the folder exists already, or cannot be written.
        ConfigError: the old overlay's configuration cannot be used for the new pin.
    """
    folder = place(old, wanted.pin)
    with new_folder(folder, fix=ELSEWHERE) as stage:
        for name in CONTENT_FOLDERS:
            if (old.folder / name).is_dir():
                shutil.copytree(old.folder / name, stage / name)
        for name in LICENCE_FILES:
            own = old.folder / name
            is_upstreams = own.is_file() and name in tree and tree.read(name) == own.read_bytes()
            if own.is_file() and not is_upstreams:
                (stage / name).write_bytes(own.read_bytes())
        text = (old.folder / CONFIG_FILE).read_text("utf-8")
        (stage / CONFIG_FILE).write_text(with_pin(text, old, wanted), "utf-8")
        state.write(stage, _digests(stage))
    overlay = load_overlay(folder)
    write_atomically(folder / "README.md", readme(overlay).encode())
    state.write(folder, _digests(folder))
    return overlay


def read_state(folder: Path) -> PortState:
    """Return the state of the unfinished port in a folder; raises `ConfigError` if there is none."""
    file = folder / PORT_FILE
    if not folder.is_dir():
        fix = "name the folder that `port --to` made"
        raise ConfigError(Problem(where=str(folder), what="there is no such folder", fix=fix))
    try:
        return PortState(**json.loads(file.read_text("utf-8")))
    except FileNotFoundError as error:
        fix = "begin one with `npu-overlays port OVERLAY --to REV`"
        raise ConfigError(Problem(where=str(folder), what="holds no unfinished port", fix=fix)) from error
    except (ValueError, TypeError) as error:
        what, fix = f"cannot be read: {error}", f"delete {folder}, and begin the port again"
        raise ConfigError(Problem(where=str(file), what=what, fix=fix)) from error


def origin_of(folder: Path) -> PortState:
    """Return the state of an unfinished port; for a finished one, a state whose origin is the next older pin beside it.

    Raises:
        ConfigError: no port is under way, and no older pin lies beside the overlay.
    """
    if (folder / PORT_FILE).exists():
        return read_state(folder)
    new = load_overlay(folder)
    version = Version(load_lock(new).metadata.version)
    older: list[tuple[Version, str]] = []
    for one in readable(folder.parent, new.pin.project):
        text = stated_version(one) if one.label == new.label else ""
        if text and Version(text) < version:
            older.append((Version(text), one.folder.name))
    if not older:
        what = f"holds no unfinished port, and there is no older pin of {new.pin.project} beside it"
        raise ConfigError(
            Problem(where=str(folder), what=what, fix="begin one with `npu-overlays port OVERLAY --to REV`")
        )
    return PortState(origin=max(older)[1], to=str(version), version=str(version))


def finish(folder: Path) -> None:
    """Delete the file that marks a port as unfinished."""
    (folder / PORT_FILE).unlink(missing_ok=True)


def abort(folder: Path) -> None:
    """Remove the folder of an unfinished port.

    Raises:
        ConfigError: there is none.
        UsageError: it has files that the port did not write; nothing is removed then.
    """
    if not (folder / PORT_FILE).is_file():
        read_state(folder)
    if foreign := _foreign(folder):
        what = f"holds work of yours: {listing(foreign)}"
        fix = f"move it elsewhere, or delete everything: rm -r {folder}"
        raise UsageError(Problem(where=str(folder), what=what, fix=fix))
    # The state goes last: an abort that is killed can be repeated.
    for path in folder.iterdir():
        if path.name != PORT_FILE:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    finish(folder)
    folder.rmdir()


def _foreign(folder: Path) -> list[str]:
    """Return the files in a port's folder that differ from those that the port wrote."""
    try:
        written = read_state(folder).written
    except ConfigError:
        written = {}
    return [path for path, digest in _digests(folder).items() if written.get(path) != digest]


def _digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file of a port, except for caches of tools."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path == folder / PORT_FILE or is_ignored(path, folder):
            continue
        if path.is_symlink():
            found[path.relative_to(folder).as_posix()] = ""
        elif path.is_file():
            found[path.relative_to(folder).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def write_decisions(
    folder: Path,
    files: Mapping[str, bytes | None],
    drops: Mapping[str, str],
    edits: Sequence[tuple[str, TextEdit]],
    kept: Sequence[str],
) -> None:
    """Write decisions into the folder of a port.

    Args:
        folder: of the port.
        files: by path, in the order in which they are written; None for a file to delete.
        drops: the reason for each part of the layers that the pin drops, by name.
        edits: the substitutions that the pin states, each with its path.
        kept: the parts that stay as they are.
    """
    if not (files or drops or edits or kept):
        return
    foreign = frozenset(_foreign(folder))
    # New statements are written before the old ones are dropped: a port that is killed in between loses nothing.
    for path, content in files.items():
        if content is None:
            remove(folder / path, within=folder)
        else:
            write_atomically(folder / path, content)
    _add_settings(folder / CONFIG_FILE, drops, edits)
    ours = {path: digest for path, digest in _digests(folder).items() if path not in foreign}
    state = read_state(folder)
    replace(state, kept=[*state.kept, *kept]).write(folder, ours)


def _add_settings(file: Path, drops: Mapping[str, str], edits: Sequence[tuple[str, TextEdit]]) -> None:
    """Add drops and substitutions to a pin's configuration; a drop that is there gets the new reason."""
    text = file.read_text("utf-8")
    known = {one["name"] for one in load_toml(file)["tool"]["overlay"].get("drop", [])}
    changed = with_reasons(text, {name: why for name, why in drops.items() if name in known})
    dropped = [{"name": name, "why": why} for name, why in drops.items() if name not in known]
    stated = [edit_entry(replace(edit, paths=(path,))) for path, edit in edits]
    changed = with_entries(with_entries(changed, "drop", dropped), "edit", stated)
    if changed != text:
        write_atomically(file, changed.encode())
