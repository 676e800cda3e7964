"""What is installed against the pins of the chosen stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npu_doctor import versions
from npu_doctor.checks import driver
from npu_doctor.checks.published import fix_of, tables_that_allow
from npu_doctor.context import Context
from npu_doctor.model import Level, Row
from npu_doctor.stacks import Pin, Stack


def presence(context: Context) -> Iterator[Row]:
    """Yield that torch_npu is missing, without which nothing here could run; a stack says so itself."""
    if context.stack is None and not context.version("torch_npu"):
        why = "nothing runs on an NPU without it"
        fix = f"python -m pip install {' '.join(_pair(context))}"
        yield Row(component="torch_npu", level="broken", found="not installed", expected="installed", why=why, fix=fix)


def _pair(context: Context) -> Iterator[str]:
    """Yield the requirements that give torch_npu: for the torch that is there, else those of the first stack."""
    table = next(table for table in context.knowledge.tables if table.name == "torch_npu")
    found = versions.public(context.version("torch"))
    for row in table.rows:
        if found and versions.same(row[table.columns.index("torch")], found):
            yield f"torch_npu=={row[0]}"
            return
    wanted = next(stack for stack in context.knowledge.stacks if not stack.record and stack.pin("torch_npu"))
    for name in ("torch", "torch_npu"):
        if pin := wanted.pin(name):
            yield f"{name}=={pin.version}"


def pins(context: Context) -> Iterator[Row]:
    """Yield one row for each pin of the chosen stack."""
    if context.stack is None:
        return
    yield _python(context, context.stack)
    for pin in context.stack.pins:
        yield from _pinned(context, pin)


def _python(context: Context, stack: Stack) -> Row:
    """Return how this Python stands; another than the stack's will do where the tables put it with the pins."""
    found = context.system.python
    if versions.allows(f"=={stack.python}.*", found):
        return _row(context, "python", "matched", found, stack.python)
    pins = {pin.name: pin.version for pin in stack.pins if pin.version}
    tables = tables_that_allow(context, "python", found, pins)
    expected = f"{stack.python}; allowed by the tables {', '.join(tables)}" if tables else stack.python
    row = _row(context, "python", "compatible" if tables else "broken", found, stack.python)
    return replace(row, expected=expected)


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
    return "compatible" if level == "broken" and pin.name == "hdk" and driver.named(context) else level


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
    return fix_of(name, pin.version or pin.allow if pin else expected)


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
