"""Shadowed names: patched tree → names a module gained that have another meaning for upstream's other code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from npu_overlays.checks.attribution import Culprit, ProblemReport, culprit_of
from npu_overlays.checks.context import CheckContext
from npu_overlays.errors import listing

_RENAME = "give it another name"


def report_shadowed_names(context: CheckContext, report: ProblemReport) -> None:
    """Report names that the overlay adds to upstream's modules and that others so far resolve to something else.

    They resolve to a submodule, to a name of a star import, or, in modules that star-import this one, to a builtin or
    another module's name.
    """
    starred: dict[str, frozenset[str]] = {}
    for path in filter(context.name, context.changed_modules):
        old, new = context.before.modules.exports(path), context.after.modules.exports(path)
        for name in sorted(new.bound - old.bound):
            for what in _hidden_by(context, path, name):
                report.add(_culprit(context, path, name), what, _RENAME)
        if gained := new.starred - old.starred:
            starred[path] = gained
    if starred:
        _report_starred(context, report, starred)
    _report_hiding_modules(context, report)


def _hidden_by(context: CheckContext, path: str, name: str) -> Iterator[str]:
    """Yield what a name of an upstream module means to its importers so far."""
    module, before = context.name(path), context.before.modules
    inner = f"{module}.{name}"
    own = {f"from . import {name}", f"from {module} import {name}", f"import {inner} as {name}"}
    if before.holds(inner) and not own & _statements(context, path, name):
        yield f"`{name}` in {path} would hide the module {inner}"
    for star in before.stars(module):
        brought = before.star_brings(star, name)
        # Of a module that cannot be looked at, private names do not come.
        if brought or (brought is None and not name.startswith("_")):
            yield f"`{name}` in {path} would hide what `from {star} import *` may bring under that name"


def _statements(context: CheckContext, path: str, name: str) -> set[str]:
    """Return the imports of a name by operations on a module."""
    found: set[str] = set()
    for operation in context.content.operations:
        if operation.path == path:
            found |= {one.statement for one in operation.imports if one.name == name}
    return found


def _report_starred(context: CheckContext, report: ProblemReport, gains: Mapping[str, Iterable[str]]) -> None:
    """Report names that star imports bring only now, to modules that resolve them to something else.

    Args:
        context: what is checked.
        report: the problems.
        gains: by path of a module the names that a star import of it brings only in the patched tree.
    """
    words = {name.encode() for name in set[str]().union(*gains.values())}
    for other in sorted(context.starred & {*context.after.modules.paths.values()}):
        content = context.tree.before(other) or b""
        # Few of the modules with a star import mention a gained name; the others need not be parsed.
        mentioned = any(word in content for word in words)
        text = context.before.modules.text(other) if mentioned else None
        if text is None or not text.surface.stars:
            continue
        loads = text.scopes.global_loads
        for path, names in gains.items():
            for name in sorted(names):
                lines = sorted({load.at.lineno for load in loads.get(name, [])})
                if lines and _reaches(context, other, path, name):
                    what = f"`{name}` in {path} would reach {other} by its star import and change what that reads"
                    what = f"{what} (line {listing(map(str, lines))})"
                    report.add(_culprit(context, path, name), what, _RENAME)


def _reaches(context: CheckContext, other: str, path: str, name: str) -> bool:
    """Return whether a star import of one module brings a name that another module gained."""
    if other == path:
        return False
    before, after = context.before.modules, context.after.modules
    stars = list(before.stars(context.name(other)))
    return any(after.star_brings(star, name) and not before.star_brings(star, name) for star in stars)


def _report_hiding_modules(context: CheckContext, report: ProblemReport) -> None:
    """Report new modules that, once imported, replace another attribute of their package."""
    files = {file.path: file.file for file in context.content.files}
    before = context.before.modules
    for path in sorted(context.tree.changed):
        package, _, leaf = context.name(path).rpartition(".")
        new = package and context.tree.before(path) is None and not before.holds(f"{package}.{leaf}")
        home = before.paths.get(package, "") if new else ""
        if not home.endswith(".py") or before.offers(package, leaf) is not True:
            continue
        text = before.text(home)
        bindings = text.scopes.bound(leaf) if text else []
        if not bindings or not all(_imports_it(context, one.node, package, leaf) for one in bindings):
            file = files.get(path, f"{context.content.overlay.name}: {path}")
            what = f"importing it would hide what upstream calls `{leaf}` in {package}"
            report.add(Culprit(file=file), what, _RENAME)


def _imports_it(context: CheckContext, node: ast.AST, package: str, leaf: str) -> bool:
    """Return whether a statement of a package imports a submodule."""
    taken = context.before.modules.imported(package, node)
    return any((one.local, one.module, one.name) == (leaf, package, leaf) for one in taken)


def _culprit(context: CheckContext, path: str, name: str) -> Culprit:
    operations = [operation for operation in context.content.operations if operation.path == path]
    for operation in operations:
        if name == operation.name or name in {one.name for one in operation.imports}:
            return culprit_of(operation)
    for operation in operations:
        if operation.symbol == "__all__":
            return culprit_of(operation)
    return context.attribution.taker(path, name)
