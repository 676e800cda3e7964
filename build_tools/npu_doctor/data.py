"""What the doctor knows: JSON files in, checked tables, symptoms and stacks out. Extended by files, not by code."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH100, PTH118, PTH120, PTH123

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from npu_doctor.stacks import Stack, stack
from npu_doctor.tables import Range, Table, statement, table

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
SCHEMA = 1


class DataError(ValueError):
    """A data file is not what it should be; the message says which and what."""


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
class Knowledge:
    """Everything the doctor knows; `settings` is `environment.json` as it is."""

    symptoms: Mapping[int, Symptom]
    tables: tuple[Table, ...]
    ranges: tuple[Range, ...]
    stacks: tuple[Stack, ...]
    settings: Mapping[str, Any]

    def stack(self, name: str) -> Stack:
        """Return a stack by name; raises `DataError` naming those there are."""
        for one in self.stacks:
            if one.name == name:
                return one
        raise DataError(f"no stack `{name}`; there are: {self.names()}")

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
    own = [os.path.join(FOLDER, name) for name in ("compatibility.json", "stacks.json", "symptoms.json")]
    files = [(path, _read(path)) for path in [*more, *own]]
    try:
        return Knowledge(
            symptoms={item["number"]: _symptom(item) for _, value in files for item in value.get("symptoms", [])},
            tables=tuple(table(item) for _, value in files for item in value.get("tables", [])),
            ranges=tuple(statement(item) for _, value in files for item in value.get("ranges", [])),
            stacks=tuple(stack(item) for _, value in files for item in value.get("stacks", [])),
            settings=_read(os.path.join(FOLDER, "environment.json")),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        names = ", ".join(path for path, _ in files[: len(files) - len(own)]) or FOLDER
        raise DataError(
            f"{names}: not of the shape of data/compatibility.json and data/stacks.json ({error!r})"
        ) from error


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise DataError(f"{path}: not an object with `schema` {SCHEMA}")
    return value


def _symptom(item: dict[str, Any]) -> Symptom:
    return Symptom(**{**item, "threads": tuple(item["threads"])})
