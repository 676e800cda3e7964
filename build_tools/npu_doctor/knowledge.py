"""What the doctor knows: JSON files → checked tables, symptoms and stacks. Extended by files, not by code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu_doctor.stacks import Catalogue, DataError, Mistake, Stack, parse_stack, read_json, read_stacks
from npu_doctor.tables import Range, Table, statement, table

SCHEMA = 1
_TABLES = "knowledge"
_HERE = Path(__file__).resolve().parent
# In the wheel the data lies beside the code, in a checkout in a folder of its own at the top.
FOLDER = _HERE / "data" if (_HERE / "data").is_dir() else _HERE.parents[1] / "stacks"


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """What users see when something is wrong.

    Args:
        number: its number in the table of symptoms.
        section: the phase it shows in.
        message: the fragment of the error users search for.
        cause: why.
        fix: what to do.
        threads: where it was learnt.
    """

    number: int
    section: str
    message: str
    cause: str
    fix: str
    threads: tuple[str, ...]


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
    tables: tuple[Table, ...]
    ranges: tuple[Range, ...]

    def stack(self, name: str) -> Stack:
        """Return a stack by name; raises `DataError` naming those there are."""
        for one in self.stacks:
            if one.name == name:
                return one
        raise DataError([Mistake(where="--stack", what=f"no stack `{name}`", fix=f"there are: {self.names()}")])

    def names(self) -> str:
        """Return the names of all stacks, for people."""
        return ", ".join(one.name for one in self.stacks)


def load(more: Iterable[str] = ()) -> Knowledge:
    """Read the knowledge that travels with the doctor, and files that add to it.

    Args:
        more: JSON files with ``tables``, ``ranges`` and ``stacks`` of the same shape; theirs are asked first.

    Raises:
        DataError: a file cannot be read or does not have the shape.
    """
    own = [FOLDER / _TABLES / name for name in ("compatibility.json", "symptoms.json")]
    files = [(path, _read(path)) for path in [*map(Path, more), *own]]
    try:
        return Knowledge(
            symptoms={item["number"]: _symptom(item) for _, value in files for item in value.get("symptoms", [])},
            tables=tuple(table(item) for _, value in files for item in value.get("tables", [])),
            ranges=tuple(statement(item) for _, value in files for item in value.get("ranges", [])),
            stacks=(
                *(parse_stack(item, str(path)) for path, value in files for item in value.get("stacks", [])),
                *read_stacks(FOLDER),
            ),
            settings=settings(FOLDER),
        )
    except DataError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        names = ", ".join(str(path) for path, _ in files[: len(files) - len(own)]) or str(FOLDER)
        what = f"not of the shape of {own[0]} and of a stack ({error!r})"
        raise DataError([Mistake(where=names, what=what, fix="correct it")]) from error


def settings(folder: Path) -> dict[str, Any]:
    """Return what holds for every stack of a folder, nothing where it does not say; raises `DataError`."""
    file = settings_file(folder)
    return _read(file) if file.is_file() else {}


def settings_file(folder: Path) -> Path:
    """Return where a folder of stacks says what holds for all of them."""
    return folder / _TABLES / "environment.json"


def _read(file: Path) -> dict[str, Any]:
    value = read_json(file)
    if value.get("schema") != SCHEMA:
        raise DataError(
            [Mistake(where=str(file), what=f"not an object with `schema` {SCHEMA}", fix=f'say "schema": {SCHEMA}')]
        )
    return value


def _symptom(item: dict[str, Any]) -> Symptom:
    return Symptom(**{**item, "threads": tuple(item["threads"])})
