"""Folder: an overlay and another pin → the files of the folder it is ported into, and what is written there later.

Only that folder is written. What no longer applies is dropped by its pin, with why; what moved is stated there anew:
the layers serve other pins, for which they are right as they are.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
import tomlkit
from packaging.version import Version

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.lock.lockfile import load_lock, stated_version
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import CONTENT_FOLDERS
from npu_overlays.overlay.lookup import readable
from npu_overlays.overlay.project import CONFIG_FILE, Overlay, TextEdit
from npu_overlays.overlay.tables import load_toml
from npu_overlays.pin import Pin
from npu_overlays.reproducible import write_atomically
from npu_overlays.starting.project import readme, staged

# What an unfinished port remembers; it is gone when the port is through.
STATE_FILE = ".port.json"
_HEADER = re.compile(r"^\s*\[\[?\s*(?P<name>[\w.\"-]+)\s*\]?\]", re.MULTILINE)
_UPSTREAM = "tool.overlay.upstream"


@dataclass(frozen=True, kw_only=True)
class State:
    """What an unfinished port remembers.

    Args:
        origin: the folder of the overlay that is ported.
        to: what it is ported to, as the user named it.
        version: upstream's, there.
    """

    origin: str
    to: str
    version: str


def place(old: Overlay, pin: Pin) -> Path:
    """Return the folder of an overlay on another pin."""
    return old.folder.parent / f"{pin.project}@{pin.short}{f'-{old.label}' if old.label else ''}"


def begin(old: Overlay, wanted: Overlay, state: State) -> Overlay:
    """Write the folder of a port, whole or not at all, and return the overlay it holds.

    Args:
        old: the overlay that is ported.
        wanted: the same with its new pin, and with what is to be shipped there.
        state: what the port is to remember.

    Raises:
        OutputError: the folder is there already, or cannot be written.
        ConfigError: the old overlay's configuration cannot be carried over.
    """
    folder = place(old, wanted.pin)
    with staged(folder) as stage:
        for name in CONTENT_FOLDERS:
            if (old.folder / name).is_dir():
                shutil.copytree(old.folder / name, stage / name)
        (stage / CONFIG_FILE).write_text(_configuration(old, wanted), "utf-8")
        (stage / STATE_FILE).write_text(json.dumps(vars(state), indent=2) + "\n", "utf-8")
    overlay = load_overlay(folder)
    write_atomically(folder / "README.md", readme(overlay).encode())
    return overlay


def read_state(folder: Path) -> State:
    """Return what an unfinished port in a folder remembers; raises `ConfigError` where there is none."""
    file = folder / STATE_FILE
    try:
        return State(**json.loads(file.read_text("utf-8")))
    except FileNotFoundError as error:
        fix = "begin one: npu-overlays port OVERLAY --to REVISION"
        raise ConfigError(Problem(where=str(folder), what="holds no port that is under way", fix=fix)) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(Problem(where=str(file), what=f"damaged ({error})", fix="--abort, and begin anew")) from error


def origin_of(folder: Path) -> State:
    """Return what an unfinished port remembers; of a finished one, that it came from the next older pin beside it.

    Raises:
        ConfigError: it is neither.
    """
    if (folder / STATE_FILE).exists():
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
    (folder / STATE_FILE).unlink(missing_ok=True)


def abort(folder: Path) -> None:
    """Remove the folder of an unfinished port; raises `ConfigError` where it is none."""
    read_state(folder)
    # What marks it goes last, so that an abort that is killed can be repeated.
    for path in folder.iterdir():
        if path.name != STATE_FILE:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    finish(folder)
    folder.rmdir()


def add_settings(folder: Path, drops: Mapping[str, str], edits: Iterable[tuple[str, TextEdit]]) -> None:
    """Add to a pin's configuration what it drops, by name with why, and substitutions of its own, by path."""
    file = folder / CONFIG_FILE
    known = {one["name"] for one in load_toml(file)["tool"]["overlay"].get("drop", [])}
    dropped = [{"name": name, "why": why} for name, why in drops.items() if name not in known]
    stated = [_edit(path, edit) for path, edit in edits]
    overlay = {key: value for key, value in (("drop", dropped), ("edit", stated)) if value}
    if overlay:
        text = tomli_w.dumps({"tool": {"overlay": overlay}}, multiline_strings=True)
        write_atomically(file, f"{file.read_text('utf-8').rstrip()}\n\n{text}".encode())


def _edit(path: str, edit: TextEdit) -> dict[str, Any]:
    values = {"paths": [path], "find": edit.find, "replace": edit.replace, "why": edit.why}
    return {**values, **({"count": edit.count} if edit.count != 1 else {})}


def _configuration(old: Overlay, wanted: Overlay) -> str:
    """Return the old overlay's configuration with what is wanted now; all else in it stays as it is written."""
    pin = wanted.pin
    text = (old.folder / CONFIG_FILE).read_text("utf-8")
    upstream = load_toml(old.folder / CONFIG_FILE)["tool"]["overlay"].get("upstream", {})
    kept = {key: upstream[key] for key in ("repository", "mirrors") if key in upstream}
    own: dict[str, Any] = {**kept, **({"commit": pin.commit} if pin.commit else {})}
    own |= {"tag": pin.tag} if pin.tag else {}
    own |= {"archive": [vars(archive) for archive in pin.archives]} if pin.archives else {}
    pinned = tomli_w.dumps({"tool": {"overlay": {"upstream": own}}})
    marks = list(_HEADER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    parts = [text[: marks[0].start()] if marks else text]
    parts += [
        text[mark.start() : end]
        for mark, end in zip(marks, ends, strict=True)
        if mark["name"] != _UPSTREAM and not mark["name"].startswith(f"{_UPSTREAM}.")
    ]
    kept_text = re.sub(r"(?m)^revision\s*=.*$", "revision = 1", "".join(parts)).rstrip()
    return _shipping(f"{kept_text}\n\n{pinned}", old, wanted)


def _shipping(text: str, old: Overlay, wanted: Overlay) -> str:
    """Return a configuration that says what is shipped, where that is less than the old overlay and its layers say."""
    document = tomlkit.parse(text)
    table: Any = document["tool"]["overlay"]  # tomlkit's containers
    imports = dict(wanted.pin.imports)
    if wanted.pin.packages != old.pin.packages:
        table["packages"] = [
            {"path": path, "import": imports[path].removesuffix(".py").replace("/", ".")} if path in imports else path
            for path in wanted.pin.packages
        ]
    if wanted.license_files != old.license_files:
        table["license-files"] = list(wanted.license_files)
    return tomlkit.dumps(document)
