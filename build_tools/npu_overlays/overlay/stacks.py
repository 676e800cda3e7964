"""Stacks: a folder of overlays → the stacks that name them, from the folder beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_doctor.jsonfiles import DataError
from npu_doctor.knowledge import settings
from npu_doctor.stacks import Catalogue, Stack, read_stacks
from npu_overlays.errors import ConfigError, Problem, nearest, suggestion
from npu_overlays.overlay.pin_faults import is_folder_name
from npu_overlays.overlay.project import BUNDLED, CONFIG_FILE, STACKS_FOLDER


@dataclass(frozen=True, kw_only=True)
class Stacks(Catalogue):
    """The stacks beside a folder of overlays, the default one first, and what holds for all of them."""

    folder: Path  # where they were read from

    @property
    def default(self) -> str:
        """The name of the one that is built when nothing is named; empty if none is."""
        for stack in self.stacks:
            if stack.default:
                return stack.name
        return ""

    def get(self, name: str) -> tuple[str, ...]:
        """Return a stack's overlay names; raises `ConfigError` for an unknown one."""
        for stack in self.stacks:
            if stack.name == name:
                return stack.overlays
        names = [one.name for one in self.stacks]
        if not name:
            what, fix = "there is no default stack", "name an overlay or a stack, or build all"
            raise ConfigError(Problem(where=str(self.folder), what=what, fix=fix, options=(("--all", ""),)))
        near = nearest(name, names)
        what = f"no such stack in {self.folder}"
        fix = f"name one of {', '.join(names)}" if names else "name an overlay, or give --all"
        fix = f"{fix}; {suggestion(near, '')}" if near else fix
        raise ConfigError(Problem(where=name, what=what, fix=fix, options=((name, near),) if near else ()))

    def of(self, overlay: str) -> list[Stack]:
        """Return the stacks that name an overlay."""
        return [one for one in self.stacks if overlay in one.overlays]

    def partners(self, name: str) -> tuple[str, ...]:
        """Return the names of the overlays that one is paired with; empty if no stack names it.

        Raises:
            ConfigError: if two stacks pair it with different ones: a wheel can require only one of them.
        """
        found: dict[tuple[str, ...], str] = {}
        for stack in self.of(name):
            others = tuple(other for other in stack.overlays if other != name)
            found[others] = stack.name
        if len(found) > 1:
            what = f"{name} is paired differently by the stacks {' and '.join(found.values())}"
            raise ConfigError(Problem(where=str(self.folder), what=what, fix="give each pair overlays of its own"))
        return next(iter(found), ())


def stacks_folder(root: Path) -> Path:
    """Return where the stacks of a folder of overlays lie: beside it, and in an sdist inside it."""
    return root / STACKS_FOLDER if root.name == BUNDLED else root.parent / STACKS_FOLDER


def load_stacks(root: Path) -> Stacks:
    """Return the stacks of a folder of overlays, none if there is no folder of them; raises `ConfigError`."""
    folder = stacks_folder(root)
    if not folder.is_dir():
        return Stacks(folder=folder)
    try:
        stacks = Stacks(stacks=read_stacks(folder), settings=settings(folder), folder=folder)
    except DataError as error:
        raise ConfigError(Problem(where=one.where, what=one.what, fix=one.fix) for one in error.mistakes) from error
    problems: list[Problem] = []
    for stack in stacks.stacks:
        problems += _problems(stack, folder, root)
    ConfigError.raise_for(problems)
    return stacks


def _problems(stack: Stack, folder: Path, root: Path) -> Iterator[Problem]:
    """Yield what is wrong with the overlays that a stack names."""
    where = f"{folder / stack.name}.json: overlays"
    if not stack.overlays:
        yield Problem(where=where, what="names no overlay", fix="name at least one")
    there = [name for name in stack.overlays if (root / name / CONFIG_FILE).is_file()]
    for name in stack.overlays:
        # An sdist holds only the overlays that building it needs, and another folder of overlays perhaps none of these.
        if not is_folder_name(name):
            what = f"{name!r} is not the name of an overlay"
            yield Problem(where=where, what=what, fix="write the name of its folder, without a path")
        elif root.name != BUNDLED and there and name not in there:
            fix = "write the name of an overlay that `npu-overlays list` shows"
            yield Problem(where=where, what=f"no overlay `{name}` in {root}", fix=fix)
    projects = [name.partition("@")[0] for name in stack.overlays]
    for project in sorted({project for project in projects if projects.count(project) > 1}):
        yield Problem(
            where=where, what=f"names two overlays of {project}: both would install it", fix="keep one of them"
        )
