"""Resolver: expression in a module of a tree → the definition, module or external name that it stands for.

The one place that follows names through assignments, imports, re-exports, star imports, lazy packages and classes. What
a name stands for depends on the line: its last certain binding above, and conditional ones after that.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TypeAlias

from npu_overlays.model.definitions import UNCONDITIONAL, Definition
from npu_overlays.model.exports import looks_dynamic, may_import_all
from npu_overlays.model.imports import all_imported
from npu_overlays.model.inheritance import NAMED_TUPLES, Inheritance, assigned
from npu_overlays.model.lazy_exports import origins
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbols import Imported, Symbol, Target
from npu_overlays.model.syntax import text_of

# A definition, or a star import.
_Binder: TypeAlias = Definition | Binding
# A name of a file's module, and whether assignments are followed.
_Lookup: TypeAlias = tuple[str, str, bool]
_BINDING = re.compile(rb"\b(?:del|global|for|with|except)\b|:=")
_OTHERWISE = rb"\b(?:del|global|for)\b.*\b%b\b|\b(?:with|except)\b.*\bas\b.*\b%b\b|\b%b\s*:="
_ALIASES = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)


class Resolver:
    """What the names in the modules of one tree stand for.

    Args:
        modules: those of the tree.
    """

    def __init__(self, modules: ShippedModules) -> None:
        self.modules = modules
        self._found: dict[_Lookup, tuple[Target, ...]] = {}
        # What is being looked up, and of that what led back to itself.
        self._open: set[_Lookup] = set()
        self._circular: set[_Lookup] = set()
        self._imports: dict[str, dict[str, list[Imported]]] = {}
        self._otherwise: dict[tuple[str, str], bool] = {}

    @property
    def is_settled(self) -> bool:
        """Whether answers found now are complete: no lookup in progress has led back to itself."""
        return not self._circular

    @cached_property
    def inheritance(self) -> Inheritance:
        """The bases and MROs of its classes."""
        return Inheritance(self)

    def resolve(self, path: str, node: ast.expr, *, before: int | None = None, within: str = "") -> tuple[Target, ...]:
        """Return what an expression may stand for, likeliest first; a single answer is certain.

        Args:
            path: of its module.
            node: the expression.
            before: the line on which it is evaluated during the import; None if it is evaluated later.
            within: the class in whose body it stands; empty for the module's own level.
        """
        found: list[Target] = []
        if isinstance(node, ast.Name):
            found += self._name(path, node.id, before, within)
        elif isinstance(node, ast.Attribute):
            for owner in self.resolve(path, node.value, before=before, within=within):
                found += self.attribute(owner, node.attr, path=path, before=before)
        elif isinstance(node, ast.Subscript):
            found += self.resolve(path, node.value, before=before, within=within)
        elif isinstance(node, ast.IfExp):
            for side in (node.body, node.orelse):
                found += self.resolve(path, side, before=before, within=within)
        elif isinstance(node, ast.Call) and node.args and (named := text_of(node.args[0])):
            function = self.resolve(path, node.func, before=before, within=within)
            if NAMED_TUPLES.issuperset(function):
                found.append(self.inheritance.note_named_tuple(f"{self.modules.name(path)}.{named}"))
        return tuple(dict.fromkeys(found)) or (None,)

    def anywhere(self, path: str, node: ast.expr) -> tuple[Target, ...]:
        """Return what an expression in a function may stand for, by any import in its module."""
        found = [*self.resolve(path, node)]
        root, *rest = ast.unparse(node).split(".")
        for one in self.imports(path).get(root, ()):
            owners = list(self._of_import(one, follow=True))
            for name in rest:
                inner: list[Target] = []
                for owner in owners:
                    inner += self.attribute(owner, name)
                owners = inner
            found += owners
        return tuple(dict.fromkeys(found))

    def attribute(self, owner: Target, name: str, *, path: str = "", before: int | None = None) -> tuple[Target, ...]:
        """Return what an attribute of a module, of a class or of something external may stand for.

        Args:
            owner: what has the attribute.
            name: of the attribute.
            path: of the module that reads it.
            before: the line of that module on which it is read during the import; None if it is read later.
        """
        if isinstance(owner, str):
            return self.lookup(owner, name) or (None,)
        return tuple(dict.fromkeys(self._member(owner, name, path, before))) if owner else (None,)

    def lookup(self, module: str, name: str, *, follow: bool = True) -> tuple[Target, ...]:
        """Return what a name of a module may stand for after the module has run; nothing if it has no such name.

        Args:
            module: its dotted name, or that of something external.
            name: the name.
            follow: whether to follow assignments from one name to another.
        """
        inner = f"{module}.{name}"
        path = self.modules.paths.get(module, "")
        if path.endswith(".py"):
            return self.found(path, name, follow=follow)
        if path or (module and not self.modules.owns(module)):
            return (inner,)
        return (inner,) if self.modules.holds(inner) else () if self.modules.holds(module) else (None,)

    def found(self, path: str, name: str, *, follow: bool) -> tuple[Target, ...]:
        """Return what a name of a file's module may stand for, as `lookup` does."""
        key = (path, name, follow)
        if key in self._open:
            self._circular.add(key)
            return ()
        if key in self._found:
            return self._found[key]
        with self._opened(key):
            found = tuple(dict.fromkeys(self._looked_up(path, name, follow=follow)))
        if self.is_settled:  # else more may be found once what leads here is known
            self._found[key] = found
        return found

    @contextmanager
    def _opened(self, key: _Lookup) -> Iterator[None]:
        """Mark a name as being looked up."""
        self._open.add(key)
        try:
            yield
        finally:
            self._open.discard(key)
            self._circular.discard(key)

    def _member(self, owner: Symbol, name: str, path: str, before: int | None) -> Iterator[Target]:
        """Yield what a member of a class may stand for, up to the class of its MRO that certainly has it.

        If a module reads it on a line during its import, only what is bound above that line counts in that module.
        """
        order, known = self.inheritance.mro(owner)
        for one in order:
            if isinstance(one, str):
                break
            member = one.member(name)
            key = (*member, True)
            if key in self._open:  # `Owner.name = Owner.name`
                self._circular.add(key)
                continue
            with self._opened(key):
                found, sure = self._bound(*member, before if one.path == path else None, follow=True, member=True)
            yield from found
            module = self.modules.module(one.path)
            if sure and module and module.is_single(one.name) and (known or one == owner):
                return
        yield None

    def _name(self, path: str, name: str, before: int | None, within: str) -> list[Target]:
        """Return what a name stands for; from a class body, Python looks in the class and then in the module."""
        builtin: list[Target] = [f"builtins.{name}"] if hasattr(builtins, name) else []
        if before is None and not within:
            return [*self.found(path, name, follow=True)] or builtin
        found: list[Target] = []
        symbols = [f"{within}.{name}", name] if within else [name]
        for symbol in symbols:
            targets, sure = self._bound(path, symbol, before, follow=True)
            found += targets
            if sure:
                return found
        return [*found, *builtin]

    def _looked_up(self, path: str, name: str, *, follow: bool) -> Iterator[Target]:
        targets, sure = self._bound(path, name, None, follow=follow)
        yield from targets
        own = self.modules.name(path)
        inner = f"{own}.{name}"
        module = self.modules.module(path)
        if not sure and self.modules.holds(inner):
            yield inner
        elif module and not targets:
            never = module.parsed.typing_only
            found: list[Target] = []
            for one in module.definitions.get(name, []):
                if one.node in never:
                    found += self._bound_to(path, one, name, follow=follow)
            if module.parsed.looks_lazy:
                found += self._lazily(own, name, follow=follow)
            if not found and module.parsed.looks_dynamic:
                found.append(None)
            yield from found

    def _lazily(self, module: str, name: str, *, follow: bool) -> Iterator[Target]:
        """Yield what a name of a lazy package may stand for, up to the first module that certainly has it."""
        unsure: list[Target] = []
        for home, taken, there in origins(self.modules, module, name):
            found = self.lookup(home, taken, follow=follow) if there is not False else ()
            if found and there:
                yield from found
                return
            unsure += found
        yield from unsure

    def _bound(
        self, path: str, symbol: str, before: int | None, *, follow: bool, member: bool = False
    ) -> tuple[list[Target], bool]:
        """Return what a name of a module, or ``Class.name``, may be bound to on a line, and whether it certainly is.

        `member` says that ``Class.name`` is read as a member of the class, and not as a name in its body.
        """
        module = self.modules.module(path)
        if module is None:
            return [], False
        last: list[_Binder] = []
        sure = False
        for one in sorted(self._binders(path, module, symbol), key=_line):
            if before is not None and not _counts(one, before, member=member):
                continue
            if self._is_sure(path, one, symbol):
                sure = True
                last.clear()
            last.append(one)
        targets: list[Target] = []
        for one in sorted(last, key=lambda one: isinstance(one, Binding) or one.kind == "import"):
            targets += self._bound_to(path, one, symbol, follow=follow)
        if follow and last and self._may_be_bound_otherwise(path, module, symbol):
            targets.append(None)
        return targets, sure

    def _may_be_bound_otherwise(self, path: str, module: Module, symbol: str) -> bool:
        """Return whether something besides definitions may bind a name: a loop, a `with`, a function by ``global``."""
        if (path, symbol) not in self._otherwise:
            self._otherwise[path, symbol] = _may_be_bound_otherwise(module, symbol)
        return self._otherwise[path, symbol]

    def _binders(self, path: str, module: Module, symbol: str) -> Iterator[_Binder]:
        """Yield the statements that may bind a name of a module, or ``Class.name``, at run time."""
        never = module.parsed.typing_only
        for one in module.definitions.get(symbol, []):
            if one.node not in never and _gives_value(one):
                yield one
        if "." not in symbol and module.parsed.may_import_all:
            for star in module.outer_scopes.stars:
                source = self._source(path, star)
                brings = not star.typing_only and self._may_mention(source, symbol)
                if brings and self.modules.star_brings(source, symbol) is not False:
                    yield star

    def _bound_to(self, path: str, one: _Binder, symbol: str, *, follow: bool) -> Iterator[Target]:
        """Yield what a name may stand for by one of its binding statements."""
        value = assigned(one) if isinstance(one, Definition) else None
        if isinstance(one, Binding):
            yield from self.lookup(self._source(path, one), symbol, follow=follow) or (None,)
        elif one.kind == "import":
            leaf = symbol.rpartition(".")[2]
            for name in self.modules.imported(self.modules.name(path), one.node):
                if name.local == leaf:
                    yield from self._of_import(name, follow=follow)
        elif one.kind != "attribute" or not follow:
            yield Symbol(path, one.name)
        elif isinstance(value, _ALIASES):
            yield from self.resolve(path, value, before=one.node.lineno, within=one.parent)
        else:
            yield Symbol(path, one.name) if self.inheritance.made(path, one) else None

    def _of_import(self, one: Imported, *, follow: bool) -> tuple[Target, ...]:
        if one.name and (found := self.lookup(one.module, one.name, follow=follow)):
            return found
        return (one.full if self.modules.holds(one.full) or not self.modules.owns(one.full) else None,)

    def imports(self, path: str) -> dict[str, list[Imported]]:
        """Return a module's imports by local name, those in functions too."""
        if path not in self._imports:
            found: dict[str, list[Imported]] = {}
            own = self.modules.name(path)
            if module := self.modules.module(path):
                for one in all_imported(module.parsed.imports, own, package=self.modules.is_package(own)):
                    found.setdefault(one.local, []).append(one)
            self._imports[path] = found
        return self._imports[path]

    def _may_mention(self, module: str, name: str) -> bool:
        """Return whether a module may have a name, by its text: parsing every module of large packages is slow."""
        path = self.modules.paths.get(module, "")
        content = self.modules.read(path) if path.endswith(".py") else name.encode()
        return name.encode() in content or may_import_all(content) or looks_dynamic(content)

    def _source(self, path: str, star: Binding) -> str:
        """Return the module of a star import."""
        return next(one.module for one in self.modules.imported(self.modules.name(path), star.node))

    def _is_sure(self, path: str, one: _Binder, name: str) -> bool:
        """Return whether a statement certainly binds a name."""
        if isinstance(one, Binding):
            return one.direct and self.modules.star_brings(self._source(path, one), name) is True
        return UNCONDITIONAL.issuperset(one.branch)


def _line(one: _Binder) -> int:
    return one.line if isinstance(one, Binding) else one.node.lineno


def _last_line(one: _Binder) -> int:
    """Return the line after which a name is bound; a class is unbound while its body runs."""
    return int(getattr(one.node, "end_lineno", 0)) or _line(one)


def _counts(one: _Binder, line: int, *, member: bool) -> bool:
    """Return whether a statement has bound a name on a line.

    A plain name that a class's body binds counts in that very body alone; read as a member of the class, anywhere.
    """
    if not member and isinstance(one, Definition):
        elsewhere = one.owner and not _contains(one.owner.node, line)
        if "." in one.leaf or elsewhere:
            return False
    return _last_line(one) < line


def _contains(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _gives_value(definition: Definition) -> bool:
    """Return whether a statement assigns a value, and not only an annotation."""
    return not isinstance(definition.node, ast.AnnAssign) or definition.node.value is not None


def _may_be_bound_otherwise(module: Module, symbol: str) -> bool:
    leaf = symbol.rpartition(".")[2].encode()
    lines = filter(_BINDING.search, _lines_with(leaf, module.content))
    if not any(re.search(_OTHERWISE % ((re.escape(leaf),) * 3), line) for line in lines):
        return False  # reading the scopes is slow
    return any(not isinstance(one.node, ast.ImportFrom) for one in module.other_bindings(symbol))


def _lines_with(word: bytes, content: bytes) -> Iterator[bytes]:
    """Yield the lines of a text that contain a word."""
    at = content.find(word)
    while at >= 0:
        end = content.find(b"\n", at)
        yield content[content.rfind(b"\n", 0, at) + 1 : end if end >= 0 else None]
        at = content.find(word, end) if end >= 0 else -1
