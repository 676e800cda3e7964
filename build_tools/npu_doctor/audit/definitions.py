"""Definitions: the source of a module → every name its scopes bind, and the code of each function."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field

from npu_doctor.syntax import assigned, dotted, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType
    from typing import Literal

    Kind = Literal["function", "class", "import", "value"]
    Codes = Mapping[tuple[str, int], list[CodeType]]


@dataclass(frozen=True, kw_only=True)
class SourceBinding:
    """One statement that binds a name."""

    kind: Kind  # what it binds the name to
    line: int  # where
    code: CodeType | None = None  # a function's code, as this Python compiles it
    # Dotted names of the decorators, outermost first; ``?`` for one that is no plain name.
    decorators: tuple[str, ...] = ()
    # For an import, the module and the name taken from it (empty for the module itself).
    taken: tuple[str, str] = ("", "")
    scope: SourceScope | None = None  # for a class, its body
    conditional: bool = False  # whether it stands below an ``if``, ``try`` or loop


@dataclass(kw_only=True)
class SourceScope:
    """The body of a module or class."""

    names: dict[str, list[SourceBinding]] = field(default_factory=dict)  # bindings by name, in order
    # Names that code deletes, declares ``global``, or assigns from outside, so nothing can be said of them.
    fluid: set[str] = field(default_factory=set)
    star: bool = False  # whether ``import *`` binds names we do not know
    packages: set[str] = field(default_factory=set)  # top-level packages that the file imports, anywhere


def read(source: bytes, *, module: str, is_package: bool) -> SourceScope:
    """Return what a module defines.

    Args:
        source: the file's bytes.
        module: its dotted name, which relative imports are resolved against.
        is_package: whether the file is an ``__init__.py``.

    Raises:
        SyntaxError: as Python's own import would.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
        top = compile(source, "source", "exec", dont_inherit=True)
    codes: dict[tuple[str, int], list[CodeType]] = {}
    for code in _codes(top):
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    package = module if is_package else module.rpartition(".")[0]
    reader = _Reader(codes=codes, package=package)
    scope = reader.scope(tree.body, "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            scope.fluid.update(node.names)
        elif isinstance(node, ast.Import):
            scope.packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            scope.packages.add(node.module.partition(".")[0])
    _mark_outer_assignments(tree, scope)
    return scope


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield constant
            yield from _codes(constant)


def _mark_outer_assignments(tree: ast.Module, scope: SourceScope) -> None:
    """Mark what a module assigns to its own classes from outside: ``Model.forward = other``, ``setattr(Model, …)``."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        pairs = [(one.value, one.attr) for one in targets if isinstance(one, ast.Attribute)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr" and node.args:
            name = node.args[1] if len(node.args) > 1 else None
            pairs.append((node.args[0], str(name.value) if isinstance(name, ast.Constant) else "*"))
        for owner, attribute in pairs:
            bindings = scope.names.get(owner.id, []) if isinstance(owner, ast.Name) else []
            for binding in bindings:
                if binding.scope is not None:
                    binding.scope.fluid.add(attribute)


@dataclass(frozen=True, kw_only=True)
class _Reader:
    codes: Codes
    package: str

    def scope(self, body: list[ast.stmt], owner: str) -> SourceScope:
        """Return the scope of a module (no owner) or of the class `owner`."""
        scope = SourceScope()
        for node, conditional in statements(body, conditional=False):
            self._bind(node, scope, owner, conditional=conditional)
        return scope

    def _bind(self, node: ast.stmt, scope: SourceScope, owner: str, *, conditional: bool) -> None:
        def add(name: str, binding: SourceBinding) -> None:
            scope.names.setdefault(mangled(name, owner), []).append(binding)

        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            add(node.name, self._definition(node, conditional=conditional))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_imports(node, scope, conditional=conditional)
        elif isinstance(node, ast.Delete):
            scope.fluid |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        else:
            for name in assigned(node):
                add(name, SourceBinding(kind="value", line=node.lineno, conditional=conditional))

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *, conditional: bool
    ) -> SourceBinding:
        decorators = tuple(dotted(one) for one in node.decorator_list)
        if isinstance(node, ast.ClassDef):
            inner = self.scope(node.body, node.name)
            return SourceBinding(
                kind="class", line=node.lineno, decorators=decorators, scope=inner, conditional=conditional
            )
        line = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        found = self.codes.get((node.name, line), [None])
        return SourceBinding(
            kind="function", line=node.lineno, code=found[0], decorators=decorators, conditional=conditional
        )

    def _bind_imports(self, node: ast.Import | ast.ImportFrom, scope: SourceScope, *, conditional: bool) -> None:
        for alias in node.names:
            if alias.name == "*":
                scope.star = True
                continue
            if isinstance(node, ast.Import):
                name, taken = alias.asname or alias.name.partition(".")[0], (alias.name, "")
                if not alias.asname:
                    taken = (name, "")
            else:
                name, taken = alias.asname or alias.name, (self._absolute(node), alias.name)
            binding = SourceBinding(kind="import", line=node.lineno, taken=taken, conditional=conditional)
            scope.names.setdefault(name, []).append(binding)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        base = self.package.split(".")
        base = base[: len(base) - node.level + 1]
        return ".".join([*base, *filter(None, [node.module])])


def mangled(name: str, owner: str) -> str:
    """Return the name a private attribute really has in its class."""
    private = owner.strip("_") and name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if private else name
