"""Stacks: overlays that belong together, read from one file."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.pins import is_folder_name
from npu_overlays.overlay.project import BUNDLED, CONFIG_FILE, STACKS_FILE
from npu_overlays.overlay.tables import Table, load_toml


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """The named sets of overlays.

    Args:
        file: where they were read from.
        default: the name of the one that is built when nothing is named.
        members: overlay names by stack name, in building order.
    """

    file: Path
    default: str
    members: dict[str, tuple[str, ...]]

    def get(self, name: str) -> tuple[str, ...]:
        """Return a stack's overlay names; raises `ConfigError` for an unknown one."""
        if not self.members:
            what, fix = "there is no such file, hence no default stack", "name an overlay, or say --all"
            raise ConfigError(Problem(where=str(self.file), what=what, fix=fix))
        if name not in self.members:
            nearest = difflib.get_close_matches(name, self.members, n=1)
            what = f"no such stack in {self.file}" + (f"; nearest: {nearest[0]}" if nearest else "")
            raise ConfigError(Problem(where=name, what=what, fix=f"one of: {', '.join(self.members)}"))
        return self.members[name]

    def partners(self, name: str) -> tuple[str, ...]:
        """Return the names of the overlays that one is paired with; empty where no stack names it.

        Raises:
            ConfigError: where two stacks pair it with different ones: a wheel can require only one of them.
        """
        found = {tuple(other for other in names if other != name) for names in self.members.values() if name in names}
        if len(found) > 1:
            what = f"{name} is paired differently by several stacks"
            raise ConfigError(Problem(where=str(self.file), what=what, fix="give each pair overlays of its own"))
        return next(iter(found), ())


def load_stacks(root: Path) -> Stacks:
    """Return the stacks of a folder of overlays, none where it has no stacks file; raises `ConfigError`."""
    file = root / STACKS_FILE
    if not file.is_file():
        return Stacks(file=file, default="", members={})
    problems: list[Problem] = []
    table = Table(load_toml(file), where=str(file), key="", problems=problems)
    stacks = table.table("stacks", required=True)
    members = {name: stacks.texts(name, required=True) for name in stacks.keys()}  # noqa: SIM118  # a method of Table
    default = table.get("default", str)
    if default and members and default not in members:
        table.problem("default", f"`{default}` is not one of the stacks", f"one of: {', '.join(members)}")
    for name, overlays in members.items():
        for overlay in overlays:
            # An sdist holds only the overlays that building it needs.
            if not is_folder_name(overlay):
                stacks.problem(name, f"{overlay!r} is not the name of an overlay", "write its folder's, without a path")
            elif root.name != BUNDLED and not (root / overlay / CONFIG_FILE).is_file():
                stacks.problem(name, f"no overlay `{overlay}` in {root}", "correct the name")
        projects = [overlay.partition("@")[0] for overlay in overlays]
        for project in sorted({project for project in projects if projects.count(project) > 1}):
            stacks.problem(name, f"names two overlays of {project}: both would install it", "keep one of them")
    table.refuse_others()
    if problems:
        raise ConfigError(problems)
    return Stacks(file=file, default=default, members=members)
