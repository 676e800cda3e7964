"""Versions against the published tables and against a stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .. import versions
from ..context import Context
from ..data import Pin, Table
from ..model import Level, Row

_SYMPTOMS = {"torchvision": 4}
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_FAMILY = 11  # V100R001C23, the part of an inner version that names a release
_DRIVER = "compatible_version in ascend_toolkit_install.info and in driver/version.info"
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
        rows = [row for row in table.rows if _is(row[table.columns.index(table.key)], key)]
        if rows:
            yield from _pairs(context, table, key, rows)
        elif table.key in {"torch_npu", "vllm_ascend"} and not _by_commit(context, table.key):
            expected = f"a version of the table {table.name}"
            fix = "take one that is in the table, or add a row with --data FILE"
            yield Row(
                component=table.key,
                level="unknown",
                found=key,
                expected=expected,
                fix=fix,
                see=(table.source,),
            )


def _by_commit(context: Context, component: str) -> bool:
    """Return whether a table knows the very commit of a component that has no release."""
    commit = (
        context.version(f"{component}_commit") if f"{component}_commit" in context.settings["commit_components"] else ""
    )
    keyed = [table for table in context.knowledge.tables if table.key == f"{component}_commit"]
    return any(_is(row[table.columns.index(table.key)], commit) for table in keyed for row in table.rows if commit)


def _is(cell: str, version: str) -> bool:
    if _COMMIT.fullmatch(version) and cell.startswith(version):
        return True
    return bool(version) and versions.same(cell, versions.public(version))


def _pairs(context: Context, table: Table, key: str, rows: list[tuple[str, ...]]) -> Iterator[Row]:
    for column, name in enumerate(table.columns):
        found = context.version(name) if name not in {table.key, "branch"} else ""
        cells = [row[column] for row in rows if row[column]]
        if not found or not cells:
            continue
        level, expected, source = _level(context, table, name, found, cells)
        label = f"{name} with {table.key} {key[:40]}"
        if (symptom := _SYMPTOMS.get(table.name)) is not None:
            fill = {"torchvision": _partner(table, context.torch)}
            yield context.judge(symptom, label, level, found, expected, source=source, **fill)
        else:
            fix = "" if level == "matched" else _fix(name, cells[0].split(" | ")[0])
            why = "" if level == "matched" else f"the table {table.name} puts {table.key} {key[:40]} with {expected}"
            yield Row(
                component=label,
                level=level,
                found=found,
                expected=expected,
                why=why,
                fix=fix,
                see=(source,),
            )


def _partner(table: Table, torch: str) -> str:
    return next((row[0] for row in table.rows if versions.same(row[1], torch)), "…")


def _level(context: Context, table: Table, name: str, found: str, cells: list[str]) -> tuple[Level, str, str]:
    """Return the level of one component, what was expected, and where that is published."""
    choices = [choice for cell in cells for choice in cell.split(" | ")]
    answers = [versions.allows(choice, versions.public(found)) for choice in choices]
    expected = " or ".join(dict.fromkeys(choices))
    if True in answers or any(versions.same(choice, found) for choice in choices):
        return "matched", expected, table.source
    for one in context.knowledge.ranges:
        named = one.component == name and table.key in one.when
        if named and _holds(context, one.when) and versions.allows(one.allow, versions.public(found)):
            return "compatible", f"{expected}; {one.allow} is allowed", one.source
    if name == "hdk" and _named(context):
        return "compatible", f"{expected}; the files of driver and toolkit allow it", _DRIVER
    return ("broken" if False in answers else "unknown"), expected, table.source


def _holds(context: Context, when: object) -> bool:
    conditions = dict(when) if isinstance(when, dict) else {}
    return all(any(_is(value, context.version(name)) for value in values) for name, values in conditions.items())


def _fix(name: str, wanted: str) -> str:
    bare = wanted.removeprefix("==").removesuffix(".*")
    if name in _FIXES:
        return _FIXES[name].format(version=bare)
    return f"pip install --no-deps '{name.replace('_', '-')}{wanted if wanted[0] in '<>=!~' else f'=={wanted}'}'"


def presence(context: Context) -> Iterator[Row]:
    """Yield that torch_npu is missing, without which nothing here could run; a stack says so itself."""
    if context.stack is None and not context.version("torch_npu"):
        fix = "take one stack from the install page: pip install -c constraints-STACK.txt 'verl-npu[npu]'"
        why = "nothing runs on an NPU without it"
        yield Row(component="torch_npu", level="broken", found="not installed", expected="installed", why=why, fix=fix)


def stack(context: Context) -> Iterator[Row]:
    """Yield one row for each pin of the chosen stack."""
    if context.stack is None:
        return
    python = context.stack.python
    at_hand = versions.allows(f"=={python}.*", context.system.python)
    yield _row(context, "python", "matched" if at_hand else "broken", context.system.python, python)
    for pin in context.stack.pins:
        yield from _pinned(context, pin)


def _pinned(context: Context, pin: Pin) -> Iterator[Row]:
    found = context.version(pin.name)
    wanted = pin.version or pin.commit or pin.tag or pin.allow
    limit_only = bool(pin.allow) and not pin.version
    if pin.group in context.settings["optional_groups"] and not _any_of(context, pin.group):
        return
    if pin.commit:
        yield _row(context, pin.name, *_commit_level(context, pin), f"{pin.version} at {pin.commit}".strip())
    elif not wanted:
        level: Level = "matched" if context.has(pin.name) else "broken"
        yield _row(context, pin.name, level, "there" if level == "matched" else "not there", "to be there")
    elif found:
        yield _row(context, pin.name, _found_level(context, pin, found), found, _expected(pin))
    elif not limit_only:
        # Containers often do not see the driver's file; everything else would be there.
        missing: Level = "unknown" if pin.name in {"hdk", "nnal"} else "broken"
        yield _row(context, pin.name, missing, "not found", wanted)


def _any_of(context: Context, group: str) -> bool:
    """Return whether anything of an optional group is installed: half of one is a mistake, none of it a choice."""
    pins = context.stack.pins if context.stack else ()
    return any(context.version(pin.name) for pin in pins if pin.group == group)


def _found_level(context: Context, pin: Pin, found: str) -> Level:
    level = _pin_level(pin, found)
    return "compatible" if level == "broken" and pin.name == "hdk" and _named(context) else level


def _expected(pin: Pin) -> str:
    wanted = [pin.version, f"{pin.allow} is allowed" if pin.allow and pin.version else pin.allow]
    return "; ".join(filter(None, wanted)) or pin.tag


def _pin_level(pin: Pin, found: str) -> Level:
    if pin.version and (versions.same(pin.version, found) or versions.same(pin.version, versions.public(found))):
        return "matched"
    if pin.allow and versions.allows(pin.allow, versions.public(found)):
        return "compatible" if pin.version else "matched"
    if not pin.version and not pin.allow:
        return "matched" if versions.same(pin.tag, versions.public(found)) else "compatible"
    return "broken"


def _commit_level(context: Context, pin: Pin) -> tuple[Level, str]:
    """Return how a component pinned to a commit stands, and the commit found."""
    origin = context.origin(pin.name if pin.name != "megatron_core" else "megatron.core")
    if origin is None:
        return "broken", "not found"
    if origin.commit:
        abbreviated = min(len(origin.commit), len(pin.commit))
        same = origin.commit[:abbreviated] == pin.commit[:abbreviated]
        return ("matched" if same else "broken"), f"{origin.version} at {origin.commit}".strip()
    if pin.version and versions.same(pin.version, versions.public(origin.version)):
        return "compatible", f"{origin.version}, commit unknown"
    return "unknown", f"{origin.version} in {origin.file}, commit unknown"


def _row(context: Context, name: str, level: Level, found: str, expected: str) -> Row:
    chosen = context.stack
    pin = chosen.pin(name) if chosen else None
    fix = "" if level == "matched" else _pin_fix(name, pin, expected)
    why = "" if level == "matched" else f"the stack {chosen.name if chosen else ''} asks for it"
    see = tuple(filter(None, [pin.source if pin else (chosen.source if chosen else "")]))
    return Row(component=name, level=level, found=found, expected=expected, why=why, fix=fix, see=see)


def _pin_fix(name: str, pin: Pin | None, expected: str) -> str:
    if pin is not None and pin.repository and pin.install in {"git", "source"}:
        env = "".join(f"{key}={value} " for key, value in pin.env.items())
        options = f"{pin.options} " if pin.options else ""
        revision = f"@{pin.commit or pin.tag}" if pin.commit or pin.tag else ""
        return "; ".join(pin.commands) or f"{env}pip install {options}'git+{pin.repository}{revision}'"
    if pin is not None and pin.install == "overlay":
        return f"install the patched wheel: pip install {name}-npu"
    return _fix(name, pin.version or pin.allow if pin else expected)


def absent(context: Context) -> Iterator[Row]:
    """Yield a row for each distribution that the stack says must not be installed."""
    for name in context.stack.absent if context.stack else ():
        found = context.packages.version(name)
        # Where triton-ascend lies over triton, removing needs care; the check for the two says how.
        level: Level = "broken" if found else "matched"
        fix = f"pip uninstall -y {name}" if found else ""
        see = (context.stack.source,) if context.stack else ()
        yield Row(
            component=name,
            level=level,
            found=found or "not installed",
            expected="not installed",
            fix=fix,
            see=see,
        )


def driver(context: Context) -> Iterator[Row]:
    """Yield whether toolkit and driver name each other in their own files, the widest published range there is."""
    named = _named(context)
    if named is None:
        return
    fix = "" if named else "install the driver of the row of the toolkit, or a toolkit of the driver's time"
    found = context.ascend.driver.get("Innerversion", "")[:_FAMILY]
    expected = context.ascend.toolkit.get("compatible_version", "")
    level: Level = "matched" if named else "broken"
    yield Row(
        component="driver with toolkit",
        level=level,
        found=found,
        expected=expected,
        fix=fix,
        see=(_DRIVER,),
    )


def _named(context: Context) -> bool | None:
    """Return whether the files of toolkit and driver name each other; None where one cannot be read."""
    inner = context.ascend.driver.get("Innerversion", "")[:_FAMILY]
    listed = context.ascend.toolkit.get("compatible_version", "")
    own = context.ascend.toolkit.get("innerversion", "")[:_FAMILY]
    if not inner or not listed:
        return None
    return f"[{inner}]" in listed or f"[{own}]" in context.ascend.driver.get("compatible_version", "")


def firmware(context: Context) -> Iterator[Row]:
    """Yield whether the firmware lies in the range that the driver's file gives."""
    found = context.ascend.firmware
    limits = context.ascend.driver.get("compatible_version_fw", "").strip("[]").split(",")
    if not found or len(limits) != len(("lowest", "highest")):
        return
    inside = versions.allows(f">={limits[0].strip()},<={limits[1].strip()}", found)
    level: Level = "unknown" if inside is None else "matched" if inside else "broken"
    fix = "" if inside else f"install the firmware of the driver {context.ascend.hdk}"
    where = "compatible_version_fw in /usr/local/Ascend/driver/version.info"
    yield Row(
        component="firmware",
        level=level,
        found=found,
        expected=" to ".join(limits),
        fix=fix,
        see=(where,),
    )
