"""Blame: a class of a module → what the patched wheels changed of it, by their own summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_summary import installed
from npu_summary.changes import Changes, FileChange


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One changed symbol.

    Args:
        distribution: the patched wheel, with its version.
        symbol: its name, with the file's before a function of the module.
        action: what was done to it.
        why: the reason, as the overlay gives it.
        own: whether it is one of the class or of one that it inherits from; else a function of the same file.
    """

    distribution: str
    symbol: str
    action: str
    why: str
    own: bool


class Summaries:
    """What patched wheels say of themselves.

    Args:
        wheels: wheels to ask; without any, what is installed beside this program.
    """

    def __init__(self, wheels: Sequence[Path] = ()) -> None:
        found = installed.places(map(str, wheels) if wheels else None)
        self._read, problems = installed.load(found)
        problems += [f"{wheel}: is no patched wheel" for wheel in wheels if not installed.places([str(wheel)])]
        if problems and wheels:
            raise RecipeError(
                [Problem(where="--wheel", what=one, fix="name a wheel that was built") for one in problems]
            )

    @property
    def known(self) -> dict[str, str]:
        """The distributions, with their versions."""
        return {one["distribution"]["name"]: one["distribution"]["version"] for one in self._read}

    def covers(self, classes: Iterable[str]) -> bool:
        """Return whether one of the wheels is of the package that the first of the classes is from."""
        package = package_of(classes)
        return any(one["upstream"]["project"].replace("-", "_") == package for one in self._read)

    def changes(self, classes: Sequence[str]) -> list[Changed]:
        """Return what was changed of a class, of those it inherits from, and of the functions beside them.

        Args:
            classes: ``package.module:Class``, the class itself first.
        """
        found = (one for name in classes for changes in self._read for one in _of_class(changes, name))
        return sorted(dict.fromkeys(found), key=lambda one: not one.own)


def package_of(classes: Iterable[str]) -> str:
    """Return the package that the first of some classes is from, each ``package.module:Class``."""
    return next(iter(classes), "").partition(":")[0].partition(".")[0]


def _of_class(changes: Changes, name: str) -> Iterator[Changed]:
    module, _, kind = name.partition(":")
    places = {f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")}
    for file in changes["files"]:
        if file["installed"] in places:
            yield from _of_file(changes, file, kind)


def _of_file(changes: Changes, file: FileChange, kind: str) -> Iterator[Changed]:
    distribution = f"{changes['distribution']['name']} {changes['distribution']['version']}"
    if file["action"] == "added":
        yield Changed(distribution=distribution, symbol=file["installed"], action="added", why="", own=True)
    for one in file["class_changes"]:
        for change in one["changes"] if one["name"] == kind else ():
            symbol, why = f"{kind}.{change['name']}", " ".join(change["why"].split())
            yield Changed(distribution=distribution, symbol=symbol, action=change["action"], why=why, own=True)
    for change in file["module_changes"]:
        if change["kind"] == "method":
            symbol, why = f"{file['installed']}: {change['name']}", " ".join(change["why"].split())
            yield Changed(distribution=distribution, symbol=symbol, action=change["action"], why=why, own=False)
