"""What the doctor knows: JSON files in, checked tables, symptoms and stacks out. Extended by files, not by code."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH100, PTH118, PTH120, PTH123

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
class Table:
    """A published table of versions that belong together.

    Args:
        name: its name.
        source: where it was published.
        key: the component whose version chooses the row.
        columns: the components, in the order of the cells.
        rows: the cells; each a version, a range or several joined by `` | ``.
    """

    name: str
    source: str
    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Range:
    """A published statement that widens or narrows a table.

    Args:
        when: versions or ranges by component that must hold.
        component: what it is about.
        allow: the range it allows.
        source: where it was published.
    """

    when: Mapping[str, tuple[str, ...]]
    component: str
    allow: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One component of a stack.

    Args:
        name: the component: ``torch_npu``, ``cann``.
        version: its version.
        install: ``system``, ``index``, ``source`` (an sdist of the index, to be built), ``git`` or ``overlay``.
        group: the extra it belongs to, empty for none.
        allow: range under which it is still compatible.
        repository: for git.
        commit: for git.
        tag: for git, the tag or branch that was named.
        extra: its own extra that is wanted.
        env: variables to set while it is built.
        options: options of pip to build it with.
        commands: how it is installed where pip alone does not do it.
        wheels: machines the index has wheels for.
        source: where the pin comes from.
        note: what to know, ``{"en": …, "zh": …}``.
    """

    name: str
    version: str = ""
    install: str = "index"
    group: str = ""
    allow: str = ""
    repository: str = ""
    commit: str = ""
    tag: str = ""
    extra: str = ""
    env: Mapping[str, str]
    options: str = ""
    commands: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    source: str = ""
    note: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Two statements about a stack that cannot both hold, and where they stand."""

    components: tuple[str, ...]
    says: Mapping[str, str]
    instead: Mapping[str, str]
    source: str


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A set of versions that was published together, or the nearest one that holds.

    Args:
        name: what ``--stack`` takes.
        record: whether these are pins as published, contradictions and all.
        variant_of: for a consistent variant, the record it stands beside.
        title: one line, by language.
        source: where the record was published.
        python: version of Python.
        overlays: the wheels that go with it.
        pins: its components.
        absent: distributions that must not be installed.
        constraints: further ranges for the resolver.
        contradictions: what does not fit, with sources.
    """

    name: str
    record: bool
    variant_of: str
    title: Mapping[str, str]
    source: str
    python: str
    overlays: tuple[str, ...]
    pins: tuple[Pin, ...]
    absent: tuple[str, ...]
    constraints: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]

    def pin(self, name: str) -> Pin | None:
        """Return a component's pin."""
        return next((pin for pin in self.pins if pin.name == name), None)


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
        for stack in self.stacks:
            if stack.name == name:
                return stack
        raise DataError(f"no stack `{name}`; there are: {', '.join(stack.name for stack in self.stacks)}")


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
            tables=tuple(_table(item) for _, value in files for item in value.get("tables", [])),
            ranges=tuple(_range(item) for _, value in files for item in value.get("ranges", [])),
            stacks=tuple(_stack(item) for _, value in files for item in value.get("stacks", [])),
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


def _table(item: dict[str, Any]) -> Table:
    rows = tuple(tuple(str(cell) for cell in row) for row in item["rows"])
    columns = tuple(item["columns"])
    if item["key"] not in columns or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"table {item['name']}: `key` is no column, or a row has not one cell for each column")
    return Table(name=item["name"], source=item["source"], key=item["key"], columns=columns, rows=rows)


def _range(item: dict[str, Any]) -> Range:
    when = {name: tuple(values) for name, values in item["when"].items()}
    return Range(when=when, component=item["component"], allow=item["allow"], source=item["source"])


def _stack(item: dict[str, Any]) -> Stack:
    own = {"pins", "contradictions"}
    lists = {name: tuple(item.get(name, ())) for name in ("overlays", "absent", "constraints")}
    return Stack(
        **{
            "record": False,
            "variant_of": "",
            **{key: value for key, value in item.items() if key not in own},
            **lists,
            "pins": tuple(_pin(pin) for pin in item["pins"]),
            "contradictions": tuple(
                Contradiction(**{**one, "components": tuple(one["components"])})
                for one in item.get("contradictions", ())
            ),
        }
    )


def _pin(item: dict[str, Any]) -> Pin:
    lists = {name: tuple(item.get(name, ())) for name in ("wheels", "commands")}
    return Pin(**{"env": {}, "note": {}, **item, **lists})
