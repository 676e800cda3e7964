"""Overlay folders: a folder of overlays and a name → the pins of that name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from npu_overlays.errors import ConfigError, OverlayError, Problem, nearest, suggestion
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.project import CONFIG_FILE, Layer, Overlay


def overlay_folders(root: Path) -> list[Path]:
    """Return the folders of all overlays below `root`, sorted by name."""
    return sorted(file.parent for file in root.glob(f"*@*/{CONFIG_FILE}"))


def load_each(root: Path) -> tuple[list[Overlay], dict[str, ConfigError]]:
    """Return every readable overlay below `root`, and the errors of the others by name."""
    overlays: list[Overlay] = []
    unread: dict[str, ConfigError] = {}
    for folder in overlay_folders(root):
        try:
            overlays.append(load_overlay(folder))
        except ConfigError as error:
            unread[folder.name] = error
    return overlays, unread


def load_all(root: Path) -> list[Overlay]:
    """Return every overlay below `root`; raises `ConfigError` with the mistakes of all, or if there is none."""
    overlays, unread = load_each(root)
    problems: list[Problem] = []
    for error in unread.values():
        problems += error.problems
    if not overlays and not problems:
        problems.append(Problem(where=str(root), what="holds no overlay", fix="name the folder with --overlays"))
    ConfigError.raise_for(problems)
    return overlays


def find_overlay(root: Path, name: str) -> Overlay:
    """Return the overlay of that name, or whose pinned tag or commit is `<project>@<tag or commit>`.

    Raises:
        ConfigError: none or several fit; names the nearest.
    """
    folder = root / name
    if (folder / CONFIG_FILE).is_file():
        return load_overlay(folder)
    project, _, revision = name.partition("@")
    fits = [overlay for overlay in readable(root, project) if _is_named(overlay, revision)]
    if len(fits) == 1:
        return fits[0]
    near = ""
    if fits:
        what = f"stands for {len(fits)} overlays"
        fix = f"name one of {', '.join(overlay.name for overlay in fits)}"
    else:
        known = [folder.name for folder in overlay_folders(root)]
        near = nearest(name, known, 0.3)
        what = f"no such overlay in {root}"
        fix = f"name one of {', '.join(known)}" if known else "name the folder of overlays with --overlays"
        fix = f"{fix}; {suggestion(near, '')}" if near else fix
    raise ConfigError(Problem(where=name, what=what, fix=fix, options=((name, near),) if near else ()))


def _is_named(overlay: Overlay, revision: str) -> bool:
    """Return whether a revision is a pin's tag, with or without its ``v``, or begins its commit; an empty one fits."""
    pin = overlay.pin
    is_tag = revision in (pin.tag, pin.tag.removeprefix("v"))
    return not revision or is_tag or (len(revision) >= len(pin.short) and pin.commit.startswith(revision))


def readable(root: Path, project: str) -> list[Overlay]:
    """Return a project's overlays, without those with mistakes, which are reported when they are named."""
    overlays = []
    for folder in overlay_folders(root):
        if folder.name.partition("@")[0] == project:
            with suppress(OverlayError):
                overlays.append(load_overlay(folder))
    return overlays


def pins_on(layer: Layer, *, beside: Overlay) -> list[Overlay]:
    """Return the other pins beside a layer that use it, without those with mistakes."""
    folder, found = layer.folder.resolve(), []
    for overlay in readable(layer.folder.parent, beside.pin.project):
        is_other = overlay.folder.resolve() != beside.folder.resolve()
        if is_other and folder in [one.folder.resolve() for one in overlay.layers]:
            found.append(overlay)
    return found
