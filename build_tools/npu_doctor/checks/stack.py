"""What is installed against the pins of the chosen stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npu_doctor import versions
from npu_doctor.checks import driver
from npu_doctor.checks.published import fix_of, tables_that_allow
from npu_doctor.context import Context
from npu_doctor.model import Level, Row
from npu_doctor.stacks import Component, Stack


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
    wanted = next(stack for stack in context.knowledge.stacks if not stack.record and stack.component("torch_npu"))
    for name in ("torch", "torch_npu"):
        if component := wanted.component(name):
            version = component.version
            yield context.pip_torch(version) if name == "torch" else f"{name}=={version}"


def pins(context: Context) -> Iterator[Row]:
    """Yield one row for each component of the chosen stack."""
    if context.stack is None:
        return
    yield _python(context, context.stack)
    for component in context.stack.components:
        yield from _component_rows(context, component)


def _python(context: Context, stack: Stack) -> Row:
    """Return how this Python stands; another than the stack's will do where the tables put it with the pins."""
    found = context.system.python
    if versions.allows(f"=={stack.python}.*", found):
        return _row(context, "python", "matched", found, stack.python)
    pins = {component.name: component.version for component in stack.components if component.version}
    tables = tables_that_allow(context, "python", found, pins)
    expected = f"{stack.python}; allowed by the tables {', '.join(tables)}" if tables else stack.python
    row = _row(context, "python", "compatible" if tables else "broken", found, stack.python)
    return replace(row, expected=expected)


def _component_rows(context: Context, component: Component) -> Iterator[Row]:
    found = context.version(component.name)
    wanted = component.version or component.commit or component.tag or component.allow
    limit_only = bool(component.allow) and not component.version
    if component.group in context.settings["optional_groups"] and not _any_of(context, component.group):
        return
    if component.commit:
        stands, at = _commit_level(context, component)
        yield _row(context, component.name, stands, at, f"{component.version} at {component.commit}".strip())
    elif not wanted:
        level: Level = "matched" if context.has(component.name) else "broken"
        yield _row(context, component.name, level, "there" if level == "matched" else "not there", "to be there")
    elif found:
        stands = _pin_level(component, found)
        if stands == "broken" and component.name == "hdk" and driver.named(context):
            stands = "compatible"
        yield _row(context, component.name, stands, found, _expected(component))
    elif not limit_only:
        # Containers often do not see the driver's file; everything else would be there.
        missing: Level = "unknown" if component.name in ("hdk", "nnal") else "broken"
        yield _row(context, component.name, missing, "not found", wanted)


def _any_of(context: Context, group: str) -> bool:
    """Return whether anything of an optional group is installed: half of one is a mistake, none of it a choice."""
    pins = context.stack.components if context.stack else ()
    return any(context.version(component.name) for component in pins if component.group == group)


def _expected(component: Component) -> str:
    if component.allow and component.version:
        return f"{component.version}; {component.allow} is allowed"
    return component.version or component.allow or component.tag


def _pin_level(component: Component, found: str) -> Level:
    if component.version and (
        versions.same(component.version, found) or versions.same(component.version, versions.public(found))
    ):
        return "matched"
    if component.allow and versions.allows(component.allow, versions.public(found)):
        return "compatible" if component.version else "matched"
    if not component.version and not component.allow:
        return "matched" if versions.same(component.tag, versions.public(found)) else "compatible"
    return "broken"


def _commit_level(context: Context, component: Component) -> tuple[Level, str]:
    """Return how a component pinned to a commit stands, and the commit found."""
    origin = context.origin(component.name if component.name != "megatron_core" else "megatron.core")
    if origin is None:
        return "broken", "not found"
    if origin.commit:
        abbreviated = min(len(origin.commit), len(component.commit))
        same = origin.commit[:abbreviated] == component.commit[:abbreviated]
        return ("matched" if same else "broken"), f"{origin.version} at {origin.commit}".strip()
    if component.version and versions.same(component.version, versions.public(origin.version)):
        return "compatible", f"{origin.version}, commit unknown"
    return "unknown", f"{origin.version} in {origin.file}, commit unknown"


def _row(context: Context, name: str, level: Level, found: str, expected: str) -> Row:
    chosen = context.stack
    component = chosen.component(name) if chosen else None
    fix = "" if level == "matched" else _pin_fix(context, name, component, expected)
    why = "" if level == "matched" else f"the stack {chosen.name if chosen else ''} asks for it"
    see = tuple(filter(None, [component.source if component else (chosen.source if chosen else "")]))
    return Row(component=name, level=level, found=found, expected=expected, why=why, fix=fix, see=see)


def _pin_fix(context: Context, name: str, component: Component | None, expected: str) -> str:
    if component is not None and component.repository and component.install in ("git", "source"):
        env = "".join(f"{key}={value} " for key, value in component.env.items())
        options = f"{component.options} " if component.options else ""
        revision = f"@{component.commit or component.tag}" if component.commit or component.tag else ""
        command = "; ".join(component.commands) or f"{env}pip install {options}'git+{component.repository}{revision}'"
        return f"{component.prepare['en']}, then {command}" if component.prepare else command
    if component is not None and component.install == "overlay":
        return " ".join(["pip install", *context.pip_options(ours=True), f"{name}-npu"])
    return fix_of(context, name, component.version or component.allow if component else expected)


def absent(context: Context) -> Iterator[Row]:
    """Yield a row for each distribution that the stack says must not be installed."""
    if context.stack is None:
        return
    for name in context.stack.absent:
        found = context.packages.version(name)
        # Where triton-ascend lies over triton, removing needs care; the check for the two says how.
        level: Level = "broken" if found else "matched"
        fix = f"pip uninstall -y {name}" if found else ""
        see = (context.stack.source,)
        yield Row(
            component=name, level=level, found=found or "not installed", expected="not installed", fix=fix, see=see
        )
