"""Pinning: the constraints that lie on an index and those given → what lies there then, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from npu_doctor.stacks import constraints_name
from npu_overlays.errors import OutputError, Problem
from npu_overlays.installs.pins import FIX, mistakes, older, pinned, read_constraints
from npu_overlays.installs.stacks import combined


@dataclass(frozen=True, kw_only=True)
class Pinning:
    """The constraints of a stack.

    Args:
        name: of their file.
        before: what the index has under that name, empty where it has none.
        after: what it is to have.
        refused: those given that are not taken, and which of their pins are older than what is pinned there.
    """

    name: str
    before: str
    after: str
    refused: tuple[tuple[Path, tuple[str, ...]], ...] = ()

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that go."""
        return _without(self.before, self.after)

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that come."""
        return _without(self.after, self.before)


def _without(text: str, other: str) -> tuple[str, ...]:
    known = set(other.splitlines())
    return tuple(line for line in text.splitlines() if line not in known)


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Where constraints are to lie.

    Args:
        out: the folder of the index.
        versions: gives those of a project that the index is to hold, by its name.
        replace: whether older pins may take the place of newer ones.
    """

    out: Path
    versions: Callable[[str], Collection[Version]]
    replace: bool


def pinnings(folders: Sequence[Path], shelf: Shelf, problems: list[Problem]) -> tuple[Pinning, ...]:
    """Return what becomes of the constraints of every stack that some are given of.

    Args:
        folders: what was given; what was there before is believed least, then the folders in their order.
        shelf: where they are to lie.
        problems: to which all mistakes are added.
    """
    names = {file.name for folder in folders for file in folder.glob(constraints_name("*"))}
    return tuple(_pinning(name, folders, shelf, problems) for name in sorted(names))


def _pinning(name: str, folders: Sequence[Path], shelf: Shelf, problems: list[Problem]) -> Pinning:
    there = shelf.out / name
    before = after = _read(there, problems, fix="move it away: it is written anew") if there.exists() else ""
    refused = []
    for file in (folder / name for folder in folders if (folder / name).exists()):
        text = _read(file, problems, fix=FIX)
        problems += [*mistakes(file, text), *_not_held(file, text, shelf)] if text else []
        if (outdated := older(text, after)) and not shelf.replace:
            refused.append((file, tuple(map(str, outdated))))
        else:
            after = combined([after, text])
    return Pinning(name=name, before=before, after=after, refused=tuple(refused))


def _read(file: Path, problems: list[Problem], *, fix: str) -> str:
    """Return the text of constraints; where there is none to be had, nothing, and why is added to `problems`."""
    try:
        return read_constraints(file, fix=fix)
    except OutputError as error:
        problems += error.problems
        return ""


def _not_held(file: Path, text: str, shelf: Shelf) -> Iterator[Problem]:
    """Yield each pin of a wheel of ours that nobody could install from the index."""
    for pin in pinned(text):
        versions = shelf.versions(pin.name)
        if not any(pin.specifier.contains(version, prereleases=True) for version in versions):
            there = f"the index has {', '.join(map(str, sorted(versions)))}" if versions else "the index has none"
            what = f"pins {pin}, which is neither on the index nor given: of {pin.name} {there}"
            yield Problem(where=str(file), what=what, fix="give the wheels that it was built with, or leave it out")
