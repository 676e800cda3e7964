"""Base layers: the layers and overlays that a command line names → what a new overlay takes over from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import CONTENT_FOLDERS
from npu_overlays.overlay.layers import Found, find_layers
from npu_overlays.overlay.project import CONFIG_FILE, LAYER_FILE, Overlay
from npu_overlays.overlay.tables import Table
from npu_overlays.paths import at_home

Entry = str | dict[str, str]


@dataclass(frozen=True, kw_only=True)
class BaseLayers:
    """The layers of a new overlay."""

    entries: tuple[Entry, ...] | None = None  # as a configuration names them; None where it should not name any
    # The keys of their settings, and the repository that these name, or empty.
    settings: frozenset[str] = frozenset()
    repository: str = ""
    base: Overlay | None = None  # the overlay whose pin the new one takes over, or None


def read_base_layers(names: Iterable[str], project: str, parent: Path) -> BaseLayers:
    """Return the layers of a new overlay in `parent`, by the names that a user gives.

    Args:
        names: folders of layers or of overlays, or names of installed distributions that hold a layer. With none,
            the layer of the project that lies in `parent` counts, if there is one.
        project: upstream's distribution name.
        parent: the folder in which the new overlay is to lie.

    Raises:
        ConfigError: with everything that is wrong with any of them.
    """
    problems: list[Problem] = []
    bases: list[Overlay] = []
    entries: list[str | Path] = []
    for name in names:
        folder = at_home(name).resolve()
        if (folder / CONFIG_FILE).is_file() and not (folder / LAYER_FILE).is_file():
            base = _base(folder, project, problems)
            if base:
                bases.append(base)
                entries += [layer.folder for layer in base.layers]
        else:
            entries.append(folder if os.sep in name or (folder / LAYER_FILE).is_file() else name)
    if len(bases) > 1:
        what = f"names {len(bases)} overlays: {', '.join(base.name for base in bases)}"
        problems.append(Problem(where="--layer", what=what, fix="name one overlay only: its pin is taken over"))
    found = _found(entries, project, parent, problems)
    ConfigError.raise_for(problems)
    settings: set[str] = set()
    repository = ""
    for one in found:
        settings.update(one.values)
        repository = one.values.get("upstream", {}).get("repository", "") or repository
    named: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Path):
            # Always with a slash, so that it reads as a path.
            named.append(Path(os.path.relpath(entry, parent.resolve() / "overlay")).as_posix())
        else:
            named.append({"distribution": entry})
    base = bases[0] if bases else None
    return BaseLayers(entries=tuple(named) or None, settings=frozenset(settings), repository=repository, base=base)


SUFFIX = "choose a word of lower-case letters; with acme, the wheel is called PROJECT-acme"
_WHERE, _URL = "name the URL of a repository that has the commit", (("--repository", "URL"),)


def missing(request: InitRequest, layered: BaseLayers) -> Iterator[Problem]:
    """Yield what both a request and the layers lack."""
    if not request.suffix and "suffix" not in layered.settings:
        yield Problem(where="--suffix", what="is missing", fix=SUFFIX, options=(("--suffix", "acme"),))
    if request.commit and not (request.repository or layered.repository):
        yield Problem(where="--repository", what="is missing, and --commit needs it", fix=_WHERE, options=_URL)


def _found(entries: list[str | Path], project: str, parent: Path, problems: list[Problem]) -> list[Found]:
    """Return the layers that a new overlay in `parent` would have."""
    named = [str(one) if isinstance(one, Path) else {"distribution": one} for one in entries]
    table = Table(
        {"project": project, **({"layers": named} if named else {})}, where="--layer", key="", problems=problems
    )
    return find_layers(parent / project, table)


def _base(folder: Path, project: str, problems: list[Problem]) -> Overlay | None:
    try:
        overlay = load_overlay(folder)
    except ConfigError as error:
        problems += error.problems
        return None
    own = [name for name in CONTENT_FOLDERS if (folder / name).is_dir()]
    if own or overlay.edits or overlay.drops or overlay.assigned:
        what = f"has content of its own ({', '.join(own) or CONFIG_FILE}), which a new overlay cannot take over"
        fix = f'copy the folder to {folder.name}-acme, and write label = "acme" in its {CONFIG_FILE}'
        problems.append(Problem(where=str(folder), what=what, fix=fix))
    if overlay.pin.project != project:
        what = f"is an overlay of {overlay.pin.project}, not of {project}"
        problems.append(Problem(where=str(folder), what=what, fix=f"name an overlay of {project}"))
    return overlay
