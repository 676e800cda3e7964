"""Layers: the `layers` of a pin → their folders, read and checked.

A layer is a folder with a ``layer.toml``. It has no pin and no lock, and cannot be built by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from npu_overlays.errors import ConfigError, Problem, collected
from npu_overlays.overlay.pin_faults import is_folder_name
from npu_overlays.overlay.project import BUNDLED, LAYER_FILE, Layer
from npu_overlays.overlay.settings import (
    check_paths,
    check_words,
    read_assigned,
    read_dependencies,
    read_drops,
    read_edits,
    read_files,
    read_packages,
    read_repository,
)
from npu_overlays.overlay.tables import Table, read_bytes, toml_of
from npu_overlays.paths import at_home

# In an sdist, the layers lie below this folder, each in one that is numbered.
BUNDLED_LAYERS = "layers"
# What a pin takes from its layers where it does not say it itself: the value of the highest one that does.
_SETTINGS = ("suffix", "purpose", "doctor", "packages", "license-files")
# What adds up.
_ADDED = ("dependencies", "not-built")
_UPSTREAM = ("repository", "mirrors")
_NAMES = 'write the name of a folder beside this one, a path with a slash, or { distribution = "NAME" }'


@dataclass(frozen=True, kw_only=True)
class Found:
    """A layer, and the settings that its pins inherit."""

    layer: Layer
    project: str
    values: Mapping[str, Any]


def find_layers(folder: Path, table: Table) -> list[Found]:
    """Return the layers of a pin, lowest first; notes missing ones.

    Args:
        folder: of the pin.
        table: its settings. Without ``layers`` it has the layer of its project beside it, if there is one.

    Raises:
        ConfigError: with the mistakes of the layers themselves.
    """
    entries = table.get("layers", list, [])
    project = table.get("project", str)
    bundled = folder / BUNDLED
    folders: list[Path] = []
    if bundled.is_dir():
        for numbered in sorted((bundled / BUNDLED_LAYERS).glob("*"), key=_number):
            folders += numbered.iterdir()
    elif "layers" in table.keys():  # noqa: SIM118  # a method of Table
        for entry in entries:
            folders += _folder(folder, entry, table)
    elif project and (folder.parent / project / LAYER_FILE).is_file():
        folders.append(folder.parent / project)
    found = _read_all(folders)
    _check_together(found, project, table)
    return found


def inherited(values: Mapping[str, Any], found: list[Found]) -> dict[str, Any]:
    """Return a pin's settings with those of its layers."""
    merged: dict[str, Any] = {}
    upstream: dict[str, Any] = {}
    added: dict[str, list[Any]] = {key: [] for key in _ADDED}
    for layer in (one.values for one in found):
        merged |= {key: value for key, value in layer.items() if key in _SETTINGS}
        upstream |= {key: value for key, value in layer.get("upstream", {}).items() if key in _UPSTREAM}
        for key in _ADDED:
            added[key] += layer.get(key, [])
    merged |= values
    if isinstance(values.get("upstream"), dict):
        merged["upstream"] = upstream | values["upstream"]
    for key in _ADDED:
        own = values.get(key, [])
        if isinstance(own, list):
            merged[key] = list(dict.fromkeys([*added[key], *own]))
    return merged


def _number(path: Path) -> int:
    return int(path.name) if path.name.isdecimal() else 0


def _folder(folder: Path, entry: object, table: Table) -> Iterator[Path]:
    """Yield the folder of an entry of ``layers``; notes why it has none."""
    named = entry.get("distribution") if isinstance(entry, dict) and entry.keys() == {"distribution"} else None
    if isinstance(named, str):
        yield from _installed(named, table)
    elif not isinstance(entry, str) or not entry or not entry.isprintable():
        table.problem("layers", f"{entry!r} does not name a layer", _NAMES)
    else:
        beside = folder.parent / entry if is_folder_name(entry) else folder / at_home(entry)
        if (beside / LAYER_FILE).is_file():
            yield beside.resolve()
        else:
            there = f"holds no {LAYER_FILE}" if beside.is_dir() else "there is no such folder"
            table.problem("layers", f"`{entry}` is no layer: {there} ({beside})", _NAMES)


def _installed(name: str, table: Table) -> Iterator[Path]:
    """Yield the one layer that an installed distribution holds."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  # takes time, and few ask for one

    try:
        listed = distribution(name).files or ()
    except (PackageNotFoundError, ValueError):
        what = f"no distribution `{name}` is installed where npu-overlays is"
        table.problem("layers", what, f"install it (python -m pip install {name}), or name a path")
        return
    files = [Path(str(file.locate())) for file in listed if file.name == LAYER_FILE]
    if len(files) == 1:
        yield files[0].parent.resolve()
        return
    what = f"the distribution `{name}` holds {len(files)} layers" if files else f"`{name}` lists no {LAYER_FILE}"
    fix = f"name a path instead{'' if files else '; an editable installation lists no files'}"
    table.problem("layers", "; ".join([what, *map(str, files)]), fix)


def _read_all(folders: list[Path]) -> list[Found]:
    found: list[Found] = []
    problems: list[Problem] = []
    for folder in folders:
        with collected(problems, ConfigError):
            found.append(read_layer(folder))
    ConfigError.raise_for(problems)
    return found


def read_layer(folder: Path) -> Found:
    """Return the layer in `folder`; raises `ConfigError` with every mistake of its file."""
    found = _layer_of(folder, read_bytes(folder / LAYER_FILE))
    # A new object each time, so that `_check_together` sees a layer that is named twice.
    return replace(found, layer=replace(found.layer))


@lru_cache(maxsize=256)
def _layer_of(folder: Path, content: bytes) -> Found:
    """Return the layer in a folder whose file has this content; for all its pins, it is read once."""
    file = folder / LAYER_FILE
    problems: list[Problem] = []
    values = toml_of(content, file)
    table = Table(values, where=str(file), key="", problems=problems)
    name = table.get("name", str, folder.name)
    if not is_folder_name(name) or "@" in name:
        table.problem("name", f"{name!r} is no name of a layer", "write one word, as a folder is called")
    project = table.filled("project", hint='write project = "…", the name of upstream\'s distribution')
    _check_settings(table)
    layer = Layer(
        name=name,
        folder=folder,
        edits=read_edits(table),
        drops=read_drops(table),
        files=read_files(table),
        assigned=read_assigned(table),
        text=content.decode("utf-8"),
    )
    table.refuse_others()
    ConfigError.raise_for(problems)
    return Found(layer=layer, project=project, values=values)


def _check_settings(table: Table) -> None:
    """Check the settings that pins inherit from a layer."""
    check_words(table, {key: table.get(key, str, "") for key in ("suffix", "purpose")})
    table.get("doctor", bool, default=False)
    if "packages" in table.keys():  # noqa: SIM118  # a method of Table
        read_packages(table)
    check_paths(table, "license-files", table.texts("license-files"))
    read_dependencies(table)
    table.texts("not-built")
    upstream = table.table("upstream")
    read_repository(upstream)
    upstream.refuse_others()


def _check_together(found: list[Found], project: str, table: Table) -> None:
    """Note layers of another project, and layers of equal names."""
    first: dict[str, Layer] = {}
    for one in found:
        layer = one.layer
        if one.project != project:
            what = f"{layer.folder} is a layer of {one.project}, not of {project}"
            table.problem("layers", what, f"name layers of {project}")
        known = first.setdefault(layer.name, layer)
        if known is not layer:
            what = f"{known.folder} and {layer.folder} are both called {layer.name}"
            fix = f'tell them apart: name = "…" at the top of one {LAYER_FILE}'
            table.problem("layers", what, fix)
