"""Versions against the published tables: each pair that a table puts together, in three levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from npu_doctor import versions
from npu_doctor.checks import driver
from npu_doctor.context import Context
from npu_doctor.knowledge import VersionTable
from npu_doctor.model import Level, Row

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_EXACT = re.compile(r"(?:==)?[0-9][0-9a-z.+]*")
# What is built for one kind of device, together.
TORCH = ("torch", "torchvision", "torchaudio")
_FIXES = {
    "python": "make an environment with Python {version}",
    "cann": "install the CANN toolkit {version}, its kernels and its NNAL, and source their set_env.sh",
    "nnal": "install NNAL {version} and source nnal/atb/set_env.sh",
    "hdk": "install the driver {version}",
}


def tables(context: Context) -> Iterator[Row]:
    """Yield one row for each pair of components that a published table puts together."""
    for table in context.knowledge.tables:
        key = context.version(table.key)
        if not key:
            continue
        if rows := _rows_of(table, key):
            yield from _pair_rows(context, table, key, rows)
        elif table.complete and not _in_another(context, table, key):
            expected = f"a version of the table {table.name}"
            if table.symptom:
                yield context.judge(table.symptom, table.key, "unknown", key, expected, source=table.source)
                continue
            fix, see = "take one that is in the table, or add a row with --data FILE", (table.source,)
            yield Row(component=table.key, level="unknown", found=key, expected=expected, fix=fix, see=see)


def _in_another(context: Context, table: VersionTable, key: str) -> bool:
    """Return whether another table has a row for the version, or for the very commit of what has no release."""
    keys = {table.key: key}
    if f"{table.key}_commit" in context.settings["commit_components"]:
        keys[f"{table.key}_commit"] = context.version(f"{table.key}_commit")
    others = [other for other in context.knowledge.tables if other is not table and other.key in keys]
    return any(_rows_of(other, keys[other.key]) for other in others)


def _rows_of(table: VersionTable, key: str) -> list[tuple[str, ...]]:
    """Return the rows of a table for a version of its key."""
    column = table.columns.index(table.key)
    return [row for row in table.rows if _matches(row[column], key)]


def _matches(cell: str, version: str) -> bool:
    if _COMMIT.fullmatch(version) and cell.startswith(version):
        return True
    return bool(version) and versions.same(cell, versions.public(version))


def _pair_rows(context: Context, table: VersionTable, key: str, rows: list[tuple[str, ...]]) -> Iterator[Row]:
    for column, name in enumerate(table.columns):
        found = context.version(name) if name not in {table.key, "branch"} else ""
        cells = [row[column] for row in rows if row[column]]
        if not found or not cells:
            continue
        level, expected, source = _level(context, table, name, found, cells)
        label = f"{name} with {table.key} {key[:40]}"
        if table.symptom:
            # The fix names the partner of the key as this machine should have it.
            fill = {table.key: _partner(table, context.torch)}
            yield context.judge(table.symptom, label, level, found, expected, source=source, **fill)
            continue
        why = fix = ""
        if level != "matched":
            why = f"the table {table.name} puts {table.key} {key[:40]} with {expected}"
            fix = fix_of(context, name, cells[0].split(" | ")[0])
        yield Row(component=label, level=level, found=found, expected=expected, why=why, fix=fix, see=(source,))


def _partner(table: VersionTable, torch: str) -> str:
    column = table.columns.index("torch") if "torch" in table.columns else -1
    return next((row[0] for row in table.rows if column >= 0 and versions.same(row[column], torch)), "…")


def _level(context: Context, table: VersionTable, name: str, found: str, cells: list[str]) -> tuple[Level, str, str]:
    """Return the level of one component, what was expected, and where that is published."""
    choices = " | ".join(cells).split(" | ")
    answers = [versions.allows(choice, versions.public(found)) for choice in choices]
    expected = " or ".join(dict.fromkeys(choices))
    if True in answers or any(versions.same(choice, found) for choice in choices):
        return "matched", expected, table.source
    for one in context.knowledge.ranges:
        named = one.component == name and table.key in one.when
        if named and _holds(context, one.when) and versions.allows(one.allow, versions.public(found)):
            return "compatible", f"{expected}; {one.allow} is allowed", one.source
    if name == "hdk" and driver.named(context):
        return "compatible", f"{expected}; the files of driver and toolkit allow it", driver.SOURCE
    outside: Level = "compatible" if table.outside == "compatible" else "broken"
    return (outside if False in answers else "unknown"), expected, table.source


def _holds(context: Context, when: Mapping[str, tuple[str, ...]]) -> bool:
    for name, values in when.items():
        found = context.version(name)
        if not any(_matches(value, found) for value in values):
            return False
    return True


def tables_that_allow(context: Context, name: str, found: str, pins: Mapping[str, str]) -> tuple[str, ...]:
    """Return the tables that put a component's version with the pinned ones; none where one of them does not.

    Args:
        context: holds the tables.
        name: the component.
        found: its version.
        pins: versions by component.
    """
    published: dict[str, list[str]] = {}
    for table in context.knowledge.tables:
        if table.key in pins and (choices := _choices(table, name, pins[table.key])):
            published[table.name] = choices
    for choices in published.values():
        if not any(versions.allows(choice, found) for choice in choices):
            return ()
    return tuple(published)


def _choices(table: VersionTable, name: str, key: str) -> list[str]:
    """Return the versions and ranges of a component that a table puts with a version of its key."""
    if name not in table.columns:
        return []
    column = table.columns.index(name)
    cells = [row[column] for row in _rows_of(table, key) if row[column]]
    return " | ".join(cells).split(" | ") if cells else []


def fix_of(context: Context, name: str, wanted: str) -> str:
    """Return what installs a component in a version or range."""
    bare = wanted.removeprefix("==").removesuffix(".*")
    if name in _FIXES:
        return _FIXES[name].format(version=bare)
    if name in TORCH and _EXACT.fullmatch(wanted):
        return f"pip install --no-deps {context.pip_torch(bare, name)}"
    return f"pip install --no-deps '{name.replace('_', '-')}{wanted if wanted[0] in '<>=!~' else f'=={wanted}'}'"
