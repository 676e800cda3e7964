"""Import cycles: imports of the overlay's that lead back to a module that is still being imported.

Each module is imported first once, as Python would do it; only unconditional imports are followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeAlias

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.model.scopes import Scopes
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbols import Imported

_FIX = "import it inside the function that needs it"
_Import: TypeAlias = ast.Import | ast.ImportFrom


@dataclass(frozen=True, kw_only=True)
class ImportFailure:
    """An import that fails: its place, and the missing name with its module."""

    path: str
    node: ast.ImportFrom
    module: str
    name: str


@dataclass(kw_only=True)
class _Interpreter:
    """One interpreter that imports modules of a tree."""

    modules: ShippedModules
    imports: Callable[[str], list[tuple[_Import, list[Imported]]]]  # of a repository path, with the names they bind
    # How far each module has come: the line of the import it waits for, 0 once it is through; the first imported first
    lines: dict[str, int] = field(default_factory=dict)

    def failures(self, module: str) -> Iterator[ImportFailure]:
        """Import a module and yield the failures on the way; Python would stop after the first."""
        if module in self.lines:
            return
        parts = module.split(".")
        for number in range(1, len(parts) + 1):
            name = ".".join(parts[:number])
            path = self.modules.paths.get(name, "")
            if name in self.lines or not path.endswith(".py"):
                continue
            for node, names in self.imports(path):
                if isinstance(node, ast.ImportFrom) and self.lines.get(names[0].module) == 0:
                    continue  # which is through already, as most are
                self.lines[name] = node.lineno
                yield from self._statement(path, node, names)
            self.lines[name] = 0

    def _statement(self, path: str, node: _Import, names: list[Imported]) -> Iterator[ImportFailure]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self.failures(alias.name)
            return
        yield from self.failures(names[0].module)
        for one in names:
            if self.lines.get(one.module) and self._lacks(one.module, one.name):
                if one.full in self.modules.paths:
                    yield from self.failures(one.full)
                else:
                    yield ImportFailure(path=path, node=node, module=one.module, name=one.name)

    def _lacks(self, module: str, name: str) -> bool:
        """Return whether a module that waits for an import has certainly not bound a name yet."""
        text, line = self.modules.text(self.modules.paths[module]), self.lines[module]
        scopes = text.outer_scopes if text else Scopes()
        bound = any(one.line < line for one in scopes.bound(name)) or any(star.line < line for star in scopes.stars)
        return name != "*" and not bound and not self.modules.surface(module).dynamic


def report_import_cycles(context: CheckContext, report: ProblemReport) -> None:
    """Report imports of the overlay's that break importing some module first."""
    reported: set[tuple[str, _Import]] = set()
    before, after = context.before.modules, context.after.modules
    imports_before, imports_after = cache(partial(_bound, before)), cache(partial(_bound, after))
    for entry in _entries(context):
        interpreter = _Interpreter(modules=after, imports=imports_after)
        failure = next(interpreter.failures(entry), None)
        own = _own_import(context, interpreter) if failure else None
        if failure is None or own is None or own in reported:
            continue
        if next(_Interpreter(modules=before, imports=imports_before).failures(entry), None):
            continue
        reported.add(own)
        path, node = own
        place = f"{failure.path}:{failure.node.lineno} needs `{failure.name}` of {failure.module} before it is there"
        what = f"`{ast.unparse(node)}` in {path} leads in a circle where {entry} is imported first: {place}"
        offset = context.after.modules.offset(path, node)
        names = [f"import {alias.name}" for alias in node.names]
        report.add(context.attribution.author(path, offset, node.lineno, names), what, _FIX)


def _entries(context: CheckContext) -> list[str]:
    """Return the modules that import shipped ones by the overlay's own text, and the imported ones."""
    found: dict[str, None] = {}
    for module in context.modules:
        name = context.name(module.path)
        if not name:
            continue
        for node in context.after.modules.imports(module.path):
            if context.attribution.wrote(module.path, context.after.modules.offset(module.path, node)):
                targets = _targets(context.after.modules, name, node)
                found |= dict.fromkeys([name, *targets] if targets else [])
    return list(found)


def _targets(modules: ShippedModules, name: str, node: _Import) -> list[str]:
    """Return the shipped modules that an import may run."""
    named = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        taken = list(modules.imported(name, node))
        named = [taken[0].module, *(one.full for one in taken)]
    return [one for one in named if one in modules.paths]


def _own_import(context: CheckContext, interpreter: _Interpreter) -> tuple[str, _Import] | None:
    """Return the overlay's first import on the way to a failure, with its path."""
    waiting = {name: line for name, line in interpreter.lines.items() if line}
    for name, line in waiting.items():
        path = context.after.modules.paths[name]
        for node in context.after.modules.imports(path):
            offset = context.after.modules.offset(path, node)
            if node.lineno == line and context.attribution.wrote(path, offset):
                return path, node
    return None


def _bound(modules: ShippedModules, path: str) -> list[tuple[_Import, list[Imported]]]:
    """Return a module's unconditional imports of the tree's own modules, each with the names that it binds."""
    found: list[tuple[_Import, list[Imported]]] = []
    for node in modules.imports(path):
        names = list(modules.imported(modules.name(path), node))
        needed = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [names[0].module]
        if any(map(modules.owns, needed)):  # others lead back to none
            found.append((node, names))
    return found
