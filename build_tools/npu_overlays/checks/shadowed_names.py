"""Shadowed names: patched tree → names a module gained that mean something else to upstream's other code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from npu_overlays.checks.attribution import Culprit, ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.errors import listing
from npu_overlays.model.scopes import Scopes

_RENAME = "give it another name"


def report_gains(context: CheckContext, report: ProblemReport) -> None:
    """Report names the overlay gives to upstream's modules where others get something else by them so far.

    That is a module of a package, what a star import of the same module brings, and what other modules, which take
    everything by ``*``, read as a builtin or from elsewhere.
    """
    gains = {path: names for path in sorted(context.tree.changed) if (names := _gained(context, path))}
    for path, names in gains.items():
        for name in sorted(names):
            for what in _otherwise(context, path, name):
                report.add(_culprit(context, path, name), what, _RENAME)
    starred = {path: names for path in sorted(context.tree.changed) if (names := _newly_starred(context, path))}
    for path, name, what in _spread(context, starred):
        report.add(_culprit(context, path, name), what, _RENAME)
    for path, what in _hiding_modules(context):
        report.add(Culprit(file=_file(context, path)), what, _RENAME)


def _newly_starred(context: CheckContext, path: str) -> frozenset[str]:
    """Return the names that a star import of one of upstream's modules brings only in the patched tree."""
    before, after = context.tree.before(path), context.tree.after(path)
    if not context.name(path) or not path.endswith(".py") or before is None or after is None:
        return frozenset()
    return context.parsed.surface(after).starred - context.parsed.surface(before).starred


def _hiding_modules(context: CheckContext) -> Iterator[tuple[str, str]]:
    """Yield the new modules that, once imported, stand where their package has something else of that name."""
    for path in sorted(context.tree.changed):
        package, _, leaf = context.name(path).rpartition(".")
        new = package and context.tree.before(path) is None and not context.before.modules.holds(f"{package}.{leaf}")
        home = context.before.modules.paths.get(package, "") if new else ""
        if not home.endswith(".py") or context.before.modules.offers(package, leaf) is not True:
            continue
        bindings = context.parsed.scopes(context.tree.before(home) or b"").bound(leaf)
        if not bindings or not all(_imports_it(context, one.node, package, leaf) for one in bindings):
            yield path, f"importing it would hide what upstream calls `{leaf}` in {package}"


def _imports_it(context: CheckContext, node: ast.AST, package: str, leaf: str) -> bool:
    """Return whether a statement of a package imports a module of its own."""
    taken = context.before.modules.imported(package, node)
    return any((one.local, one.module, one.name) == (leaf, package, leaf) for one in taken)


def _file(context: CheckContext, path: str) -> str:
    files = (file.file for file in context.content.files if file.path == path)
    return next(files, f"{context.content.overlay.name}: {path}")


def _gained(context: CheckContext, path: str) -> frozenset[str]:
    """Return the names that one of upstream's modules has only in the patched tree."""
    before, after = context.tree.before(path), context.tree.after(path)
    if not context.name(path) or not path.endswith(".py") or before is None or after is None:
        return frozenset()
    return context.parsed.surface(after).bound - context.parsed.surface(before).bound


def _otherwise(context: CheckContext, path: str, name: str) -> Iterator[str]:
    """Yield what `name` is to those who take it from a module of upstream's."""
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
    operations = [operation for operation in context.content.operations if operation.path == path]
    return {one.statement for operation in operations for one in operation.imports if one.name == name}


def _spread(context: CheckContext, gains: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str, str]]:
    """Yield (path of the module that gained it, name, what is wrong) for names that star imports hand on."""
    words = {name.encode() for names in gains.values() for name in names}
    for other in sorted(context.prescan.stars & {*context.after.modules.paths.values()}) if gains else ():
        content = context.tree.before(other) or b""
        # Parsing takes long, and few of the modules that import everything of another mention what was gained.
        mentioned = any(word in content for word in words)
        tree = context.parsed.tree(content) if mentioned else None
        if tree is None or not context.parsed.surface(content).stars:
            continue
        scopes = context.parsed.scopes(content)
        for path, names in gains.items():
            for name in sorted(names):
                if (lines := _concerned(scopes, name)) and _reaches(context, other, path, name):
                    what = f"`{name}` in {path} would reach {other} by its star import and change what that reads"
                    yield path, name, f"{what} (line {listing(map(str, lines))})"


def _concerned(scopes: Scopes, name: str) -> list[int]:
    """Return the lines on which a module reads a name of its own or a builtin."""
    return sorted({load.at.lineno for load in scopes.global_loads.get(name, [])})


def _reaches(context: CheckContext, other: str, path: str, name: str) -> bool:
    """Return whether a star import of one module brings a name that another one gained."""
    if other == path:
        return False
    before, after = context.before.modules, context.after.modules
    stars = list(before.stars(context.name(other)))
    return any(after.star_brings(star, name) and not before.star_brings(star, name) for star in stars)


def _culprit(context: CheckContext, path: str, name: str) -> Culprit:
    for operation in context.content.operations:
        if operation.path == path and name in {operation.name, *(one.name for one in operation.imports)}:
            return Culprit(file=operation.file, lines=(operation.line,))
    for operation in context.content.operations:
        if operation.path == path and operation.symbol == "__all__":
            return Culprit(file=operation.file, lines=(operation.line,))
    return context.attribution.taker(path, name)
