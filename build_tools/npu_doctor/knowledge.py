"""What the doctor knows: JSON files → published tables, symptoms and stacks. Extended by files, not by code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from npu_doctor.jsonfiles import DataError, DataMistake, decode_all, read_object
from npu_doctor.stacks import Catalogue, Stack, read_stacks, unknown_installs

SCHEMA = 1
_TABLES = "knowledge"
_HERE = Path(__file__).resolve().parent
# In the wheel the data lies beside the code, in a checkout in a folder of its own at the top.
FOLDER = _HERE / "data" if (_HERE / "data").is_dir() else _HERE.parents[1] / "stacks"

_OUTSIDE = ("broken", "compatible")


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """What users see when something is wrong."""

    number: int  # its number in the table of symptoms
    section: str  # the phase it shows in
    message: str  # the fragment of the error users search for
    cause: str  # why
    fix: str  # what to do
    threads: tuple[str, ...]  # where it was learnt


@dataclass(frozen=True, kw_only=True)
class Knowledge(Catalogue):
    """Everything the doctor knows.

    Args:
        stacks: versions that belong together.
        settings: the content of ``environment.json``.
        symptoms: by number.
        tables: published versions that belong together.
        ranges: published ranges that widen them.
    """

    symptoms: Mapping[int, Symptom]
    tables: tuple[VersionTable, ...]
    ranges: tuple[VersionRange, ...]

    def stack(self, name: str) -> Stack:
        """Return a stack by name; raises `DataError`, which names the nearest and all others."""
        stacks = {one.name: one for one in self.stacks}
        if name in stacks:
            return stacks[name]
        nearest = difflib.get_close_matches(name, stacks, n=1)
        meant = f"did you mean {nearest[0]}? " if nearest else ""
        raise DataError(
            [DataMistake(where="--stack", what=f"no stack `{name}`", fix=f"{meant}there are: {self.names()}")]
        )

    def names(self) -> str:
        """Return the names of all stacks, for people."""
        return ", ".join(one.name for one in self.stacks)


@dataclass(frozen=True, kw_only=True)
class _File:
    """The content of a file of knowledge, ours or the user's."""

    schema: int
    symptoms: tuple[Symptom, ...] = ()
    tables: tuple[VersionTable, ...] = ()
    ranges: tuple[VersionRange, ...] = ()
    stacks: tuple[Stack, ...] = ()

    def mistakes(self, prefix: str) -> Iterator[DataMistake]:
        """Yield mistakes that the types of the fields do not exclude."""
        for number, table in enumerate(self.tables):
            yield from misfits(table, f"{prefix}tables[{number}].")
        for number, stack in enumerate(self.stacks):
            yield from unknown_installs(stack, f"{prefix}stacks[{number}].")


def load(more: Iterable[str] = ()) -> Knowledge:
    """Read the knowledge that travels with the doctor, and files that add to it.

    Args:
        more: JSON files with ``tables``, ``ranges`` and ``stacks`` of the same shape; theirs are asked first.

    Raises:
        DataError: files cannot be read or do not have the shape; it lists every mistake.
    """
    own = [FOLDER / _TABLES / name for name in ("compatibility.json", "symptoms.json")]
    mistakes: list[DataMistake] = []
    files = decode_all(_File, [*map(Path, more), *own], _object, _File.mistakes, mistakes)
    if mistakes:
        raise DataError(mistakes)
    return Knowledge(
        symptoms={one.number: one for one in _joined(files, "symptoms")},
        tables=_joined(files, "tables"),
        ranges=_joined(files, "ranges"),
        stacks=(*_joined(files, "stacks"), *read_stacks(FOLDER)),
        settings=settings(FOLDER),
    )


def _joined(files: list[_File], field: str) -> tuple[Any, ...]:  # of what the field holds
    return tuple(chain.from_iterable(map(attrgetter(field), files)))


def settings(folder: Path) -> dict[str, Any]:
    """Return what holds for every stack of a folder, nothing where it does not say; raises `DataError`."""
    file = settings_file(folder)
    return _object(file) if file.is_file() else {}


def settings_file(folder: Path) -> Path:
    """Return where a folder of stacks says what holds for all of them."""
    return folder / _TABLES / "environment.json"


def _object(file: Path) -> dict[str, Any]:
    value = read_object(file)
    if value.get("schema") != SCHEMA:
        raise DataError(
            [
                DataMistake(
                    where=str(file), what=f"not an object with `schema` {SCHEMA}", fix=f'write "schema": {SCHEMA}'
                )
            ]
        )
    return value


@dataclass(frozen=True, kw_only=True)
class VersionTable:
    """A published table of versions that belong together."""

    name: str  # its name
    source: str  # where it was published
    key: str  # the component whose version chooses the row
    columns: tuple[str, ...]  # the components, in the order of the cells
    rows: tuple[tuple[str, ...], ...]  # the cells; each a version, a range or several joined by `` | ``
    symptom: int = 0  # number of the symptom that users see where it does not hold, 0 for none
    # The level of a version that the row does not name: ``broken``, or ``compatible`` where what was published is
    # known to be narrower than what works.
    outside: str = "broken"
    complete: bool = False  # whether a version of the key that has no row in it is worth a word


@dataclass(frozen=True, kw_only=True)
class VersionRange:
    """A published statement that widens or narrows a table."""

    when: Mapping[str, tuple[str, ...]]  # versions or ranges by component that must hold
    component: str  # what it is about
    allow: str  # the range it allows
    source: str  # where it was published


def misfits(table: VersionTable, prefix: str) -> Iterator[DataMistake]:
    """Yield where a table does not fit itself."""
    columns = ", ".join(table.columns)
    if table.key not in table.columns:
        yield DataMistake(where=f"{prefix}key", what=f"`{table.key}` is no column", fix=f"write one of {columns}")
    if table.outside not in _OUTSIDE:
        what = f"`{table.outside}` is no level of it"
        yield DataMistake(where=f"{prefix}outside", what=what, fix=f"write one of {', '.join(_OUTSIDE)}")
    for number, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            fix = f"write one for each column: {columns}"
            yield DataMistake(where=f"{prefix}rows[{number}]", what=f"has {len(row)} cells", fix=fix)
