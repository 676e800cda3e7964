"""Selection: what a command line names → the overlays it means."""

from __future__ import annotations

import os
from pathlib import Path

from npu_overlays.commands.command import Selection
from npu_overlays.errors import ConfigError, OverlayError, Problem
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.overlay_folders import find_overlay, load_all, load_each
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.paths import at_home


def checked_root(folder: Path) -> Path:
    """Return the folder of overlays; raises `ConfigError` if there is none, or it is an overlay itself."""
    if (folder / CONFIG_FILE).is_file() and "@" in folder.name:
        what, options = "is an overlay, not a folder of overlays", (("--overlays", str(folder.parent)),)
        raise ConfigError(
            Problem(where=str(folder), what=what, fix=f"name {folder.name} in its folder", options=options)
        )
    if not folder.is_dir():
        what = "is a file, not a folder of overlays" if folder.exists() else "there is no such folder of overlays"
        fix = "run this where overlays/ lies, or name the folder with --overlays"
        raise ConfigError(Problem(where=str(folder), what=what, fix=fix))
    return folder


def select(selection: Selection) -> list[Overlay]:
    """Return the overlays a command line names; raises `ConfigError` with every unknown one."""
    overlays = load_all(checked_root(selection.root)) if selection.all else _by_names(selection)
    return _with_clones(overlays, selection)


def select_readable(selection: Selection) -> tuple[list[Overlay], dict[str, OverlayError]]:
    """Return the overlays a command line names; where it names all, those that can be read, and why others cannot.

    Raises:
        ConfigError: with every unknown name; or not one can be read.
    """
    if not selection.all:
        return select(selection), {}
    overlays, unread = load_each(checked_root(selection.root))
    return _with_clones(overlays or load_all(selection.root), selection), dict(unread)


def _with_clones(overlays: list[Overlay], selection: Selection) -> list[Overlay]:
    """Return overlays; raises `ConfigError` if a clone is named that none of them is for."""
    known = {overlay.pin.project for overlay in overlays}
    for name, _ in selection.upstream:
        if name not in known:
            what, fix = "none of the chosen overlays is for that project", f"name one of {', '.join(sorted(known))}"
            raise ConfigError(Problem(where=f"--upstream {name}", what=what, fix=fix))
    return overlays


def find_named(root: Path, name: str) -> Overlay:
    """Return the overlay of a name, a tag or a path; raises `ConfigError` if there is none."""
    folder = at_home(name)
    if folder.name == CONFIG_FILE:
        folder = folder.parent
    if (folder / CONFIG_FILE).is_file():
        return load_overlay(Path(os.path.realpath(folder)))
    if os.sep in name:
        there = "holds no pyproject.toml" if folder.is_dir() else "there is no such folder"
        what, fix = f"{there}, so it is no overlay", "name an overlay as `npu-overlays list` does, or its folder"
        raise ConfigError(Problem(where=name, what=what, fix=fix))
    return find_overlay(checked_root(root), name)


def _by_names(selection: Selection) -> list[Overlay]:
    names = list(selection.overlay)
    if selection.stack or not names:
        stacks = load_stacks(checked_root(selection.root))
        names += stacks.get(selection.stack or stacks.default)
    overlays: dict[Path, Overlay] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            overlay = find_named(selection.root, name)
            overlays[overlay.folder.resolve()] = overlay
        except OverlayError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    ConfigError.raise_for(problems)
    return list(overlays.values())
