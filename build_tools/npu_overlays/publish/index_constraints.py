"""Index constraints: the constraints files on an index and those given → the ones it gets, and their mistakes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from npu_doctor.stacks import constraints_name
from npu_overlays.errors import OutputError, Problem
from npu_overlays.wheels.constraints import FIX, combined, mistakes, older, pinned, read_constraints


@dataclass(frozen=True, kw_only=True)
class ConstraintsUpdate:
    """The constraints file of a stack before and after an update."""

    name: str  # of the file
    before: str  # its text on the index, empty where there is none
    after: str  # the text it gets
    # files given that pin older wheels than the index does, with these pins
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
class ConstraintsContext:
    """What constraints on an index depend on."""

    out: Path  # the folder of the index
    versions: Callable[[str], Collection[Version]]  # gives those of a project that the index is to hold, by its name
    replace: bool  # whether older pins may take the place of newer ones


def update_constraints(
    folders: Sequence[Path], context: ConstraintsContext, problems: list[Problem]
) -> tuple[ConstraintsUpdate, ...]:
    """Return the constraints of every stack that some are given of.

    Args:
        folders: what was given; later folders take precedence over earlier ones, and all over the index.
        context: the index.
        problems: to which all mistakes are added.
    """
    names: set[str] = set()
    for folder in folders:
        for file in folder.glob(constraints_name("*")):
            names.add(file.name)
    return tuple(_updated(name, folders, context, problems) for name in sorted(names))


def _updated(
    name: str, folders: Sequence[Path], context: ConstraintsContext, problems: list[Problem]
) -> ConstraintsUpdate:
    there = context.out / name
    before = _read(there, problems, fix="move it away: it is written anew") if there.exists() else ""
    after, refused = before, []
    for folder in folders:
        file = folder / name
        if not file.exists():
            continue
        text = _read(file, problems, fix=FIX)
        if text:
            problems += [*mistakes(file, text), *_unavailable(file, text, context)]
        outdated = older(text, after)
        if outdated and not context.replace:
            refused.append((file, tuple(map(str, outdated))))
        else:
            after = combined(after, text)
    return ConstraintsUpdate(name=name, before=before, after=after, refused=tuple(refused))


def _read(file: Path, problems: list[Problem], *, fix: str) -> str:
    """Return the text of constraints; where they cannot be read, nothing, and the reason is added to `problems`."""
    try:
        return read_constraints(file, fix=fix)
    except OutputError as error:
        problems += error.problems
        return ""


def _unavailable(file: Path, text: str, context: ConstraintsContext) -> Iterator[Problem]:
    """Yield each pin of a wheel of ours that nobody could install from the index."""
    for pin in pinned(text):
        versions = context.versions(pin.name)
        if not any(pin.specifier.contains(version, prereleases=True) for version in versions):
            there = f"the index has {', '.join(map(str, sorted(versions)))}" if versions else "the index has none"
            what = f"pins {pin}, which is neither on the index nor given: of {pin.name} {there}"
            yield Problem(where=str(file), what=what, fix="give the wheels that it was built with, or leave it out")
