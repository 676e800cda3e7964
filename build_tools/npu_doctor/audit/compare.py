"""Compare: an imported module and what its file defines → every name that means something else at run time."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain
from types import FunctionType, ModuleType

from npu_doctor.audit.layers import Home, Homes, accessors, bare, code_of, functions_in, path_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Literal

    from npu_doctor.audit.definitions import SourceBinding, SourceScope

    How = Literal["replaced", "wrapped", "deleted", "added"]


# What the standard library adds to classes (named tuples, data classes) is part of their definition; mocks are not.
_LIBRARY = frozenset(sys.stdlib_module_names) - {"unittest"}
_MISSING = object()

DESCRIPTORS = frozenset({"staticmethod", "classmethod", "property", "setter", "getter", "deleter", "cached_property"})
# Decorators made with these leave functions of theirs on top.
_TOOLS = frozenset({"builtins", "functools", "contextlib"})


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """One name that is not what its file defines."""

    symbol: str  # dotted name inside the module
    how: How  # what happened to it
    by: Home  # where what stands there now was defined; for a deleted one, nothing is known


@dataclass(frozen=True, kw_only=True)
class NamespaceComparison:
    """Compares one module."""

    makers: Makers  # the module as imported, what its file defines, and who may have made what it holds

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield every mismatch of the module and, nested, of its classes."""
        lazy = getattr(self.makers.module, "_class_to_module", None)
        if type(self.makers.module) is not ModuleType and isinstance(lazy, dict):
            yield from self._lazy(lazy)
            return
        yield from self._names(vars(self.makers.module), self.makers.scope, "", frozenset())
        if not self.makers.scope.star:
            yield from self._added(vars(self.makers.module), self.makers.scope, "", self.makers.reachable)

    def _lazy(self, modules: Mapping[str, str]) -> Iterator[Mismatch]:
        """Compare a module that fetches its names on first use: each must be what the module it is from holds."""
        for name, value in list(vars(self.makers.module).items()):
            owner = sys.modules.get(f"{self.makers.module.__name__}.{modules.get(name, '')}")
            held = vars(owner).get(name, _MISSING) if owner is not None else _MISSING
            if held is _MISSING or held is value or not isinstance(value, (type, FunctionType)):
                continue
            # Where a library is missing, the lazy module makes a placeholder by itself.
            if not value.__qualname__.startswith(f"{type(self.makers.module).__qualname__}."):
                yield Mismatch(symbol=name, how=self._how(value, held), by=self.makers.homes.of(value))

    def _names(
        self, namespace: Mapping[str, object], scope: SourceScope, prefix: str, tolerated: frozenset[str]
    ) -> Iterator[Mismatch]:
        for name, bindings in scope.names.items():
            if name in scope.fluid or "*" in scope.fluid or (not prefix and name in self.makers.scope.fluid):
                continue
            symbol = f"{prefix}{name}"
            value = namespace.get(name, _MISSING)
            if value is _MISSING:
                certain = any(one.kind in ("function", "class") and not one.conditional for one in bindings)
                if certain and not tolerated:
                    yield Mismatch(symbol=symbol, how="deleted", by=Home(module="", file="", line=0, name=""))
                continue
            found = [self._mismatch(symbol, value, binding, bindings, tolerated) for binding in bindings]
            if all(found):
                yield next(filter(None, found))
            for binding in bindings:
                if binding.scope is not None and None in found:
                    # `Model = register(Model)` below the class: any code that this file can reach may have made it.
                    rebound = self.makers.reachable if any(one.kind == "value" for one in bindings) else frozenset()
                    makers = rebound | self.makers.packages(binding.decorators)
                    yield from self._class(value, binding.scope, f"{symbol}.", makers)

    def _class(self, value: object, scope: SourceScope, prefix: str, makers: frozenset[str]) -> Iterator[Mismatch]:
        """Compare the content of a class, through what decorators made of it."""
        path = path_to(value, lambda one: isinstance(one, type) and self._is_own(one, prefix[:-1]))
        if path is None:
            return
        real = path[-1]
        makers |= {type(real).__module__.partition(".")[0]} - {"builtins", "abc"}
        yield from self._names(vars(real), scope, prefix, makers)
        bases = {base.__module__.partition(".")[0] for base in getattr(real, "__mro__", ())}
        yield from self._added(vars(real), scope, prefix, makers | bases | self.makers.own)

    def _is_own(self, kind: type, qualname: str) -> bool:
        return kind.__qualname__ == qualname and kind.__module__ == self.makers.module.__name__

    def _mismatch(
        self,
        symbol: str,
        value: object,
        binding: SourceBinding,
        bindings: list[SourceBinding],
        tolerated: frozenset[str],
    ) -> Mismatch | None:
        if binding.kind == "function":
            return self._function(symbol, value, binding, bindings, tolerated)
        if binding.kind == "class":
            return self._replaced_class(symbol, value, binding)
        if binding.kind == "import":
            return self._import(symbol, value, binding, alone=len(bindings) == 1)
        return self._value(symbol, value)

    def _function(
        self,
        symbol: str,
        value: object,
        binding: SourceBinding,
        bindings: list[SourceBinding],
        tolerated: frozenset[str],
    ) -> Mismatch | None:
        codes = [one.code for one in bindings if one.code is not None]
        made = [one for one in binding.decorators if one.rpartition(".")[2] not in DESCRIPTORS]
        allowed = tolerated | (self.makers.packages(binding.decorators) | self.makers.own if made else frozenset())
        for part in accessors(value):
            path = path_to(part, lambda one: code_of(one) in codes)
            outer = path[:-1] if path else functions_in(part) or [part]
            strangers = [one for one in outer if not allowed or not self.makers.made(one, allowed)]
            if strangers:
                return Mismatch(symbol=symbol, how="wrapped" if path else "replaced", by=self.makers.who(strangers))
        return None

    def _replaced_class(self, symbol: str, value: object, binding: SourceBinding) -> Mismatch | None:
        if isinstance(value, type) and self._is_own(value, symbol):
            return None
        if binding.decorators and self.makers.made(value, self.makers.packages(binding.decorators)):
            return None
        return Mismatch(symbol=symbol, how=self._how(value, None), by=self.makers.homes.of(value))

    def _import(self, symbol: str, value: object, binding: SourceBinding, *, alone: bool) -> Mismatch | None:
        module, name = binding.taken
        owner = sys.modules.get(module)
        submodule = sys.modules.get(f"{module}.{name}" if name else module)
        held = getattr(owner, name, submodule) if owner is not None and name else submodule
        if held is None and not alone:
            return self._value(symbol, value)  # the import failed, and another statement gave the name its value
        if held is None or value is held or value is submodule or not isinstance(value, (type, FunctionType)):
            return None
        packages = {module.partition(".")[0], self.makers.homes.of(bare(held)).package}
        if self.makers.homes.of(value).package in packages:
            return None
        return Mismatch(symbol=symbol, how=self._how(value, held), by=self.makers.homes.of(value))

    def _value(self, symbol: str, value: object) -> Mismatch | None:
        """Compare the value of an expression: only whether the file imports its package can be checked."""
        if not isinstance(value, (type, FunctionType)):
            return None
        home = self.makers.homes.of(value)
        if home.package in self.makers.reachable | _LIBRARY or not home.module:
            return None
        return Mismatch(symbol=symbol, how="replaced", by=home)

    def _added(
        self, namespace: Mapping[str, object], scope: SourceScope, prefix: str, allowed: frozenset[str]
    ) -> Iterator[Mismatch]:
        """Yield functions that the file does not define and that come from a package it has nothing to do with."""
        for name, value in list(namespace.items()):
            if name in scope.names or name in scope.fluid or "*" in scope.fluid:
                continue
            for part in accessors(value):
                home = self.makers.homes.of(part) if code_of(part) is not None else None
                if home and home.file and home.module and home.package not in allowed | _LIBRARY:
                    yield Mismatch(symbol=f"{prefix}{name}", how="added", by=home)
                    break

    def _how(self, value: object, original: object) -> How:
        reaches = original is not None and path_to(value, lambda one: one is original) is not None
        return "wrapped" if reaches else "replaced"


@dataclass(frozen=True, kw_only=True)
class Makers:
    """Knows which code may make the functions and classes of one module."""

    module: ModuleType  # the module as imported
    scope: SourceScope  # what its file defines
    homes: Homes  # finds where code comes from

    @property
    def own(self) -> frozenset[str]:
        """The package the module belongs to."""
        return frozenset({self.module.__name__.partition(".")[0]})

    @property
    def reachable(self) -> frozenset[str]:
        """The packages that this file's own code can have taken something from."""
        return self.own | self.scope.packages

    def who(self, strangers: list[object]) -> Home:
        """Return the outermost stranger with code of its own; a partial, a cache or a descriptor says little."""
        deeper = chain.from_iterable(map(functions_in, strangers))
        homes = list(map(self.homes.of, (*strangers, *deeper)))
        return next((one for one in homes if one.file and one.package not in _TOOLS), homes[0])

    def made(self, value: object, packages: frozenset[str]) -> bool:
        """Return whether a value may come from one of the packages; ``?`` among them stands for any."""
        home = self.homes.of(bare(value))
        return "?" in packages or home.package in packages or home.package in _TOOLS or not home.module

    def packages(self, decorators: tuple[str, ...]) -> frozenset[str]:
        """Return the packages that decorators and what they return may come from; ``?`` where one cannot be told."""
        found: set[str] = set()
        for dotted in decorators:
            head, *rest = dotted.split(".")
            value: object = vars(self.module).get(head, _MISSING)
            if value is _MISSING:
                found |= set() if head in DESCRIPTORS or rest[-1:] in (["setter"], ["deleter"], ["getter"]) else {"?"}
                continue
            names = {head if isinstance(value, ModuleType) else ""}
            for name in rest:
                value = getattr(value, name, value)
            home = self.homes.of(bare(value))
            names |= {home.package, str(getattr(value, "__module__", "") or "").partition(".")[0]}
            found |= names - {""}
        return frozenset(found)
