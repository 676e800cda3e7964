"""Makers: a module and what its file defines → the packages that may have made a value it holds."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from npu_doctor.audit.layers import Home, Homes, bare, functions_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from npu_doctor.audit.definitions import Scope

DESCRIPTORS = frozenset({"staticmethod", "classmethod", "property", "setter", "getter", "deleter", "cached_property"})
# Decorators made with these leave functions of theirs on top.
_TOOLS = frozenset({"builtins", "functools", "contextlib"})
_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class Makers:
    """Says of one module who may make its functions and classes.

    Args:
        module: the module as imported.
        scope: what its file defines.
        homes: finds where code comes from.
    """

    module: ModuleType
    scope: Scope
    homes: Homes

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
        deeper = [inner for one in strangers for inner in functions_in(one)]
        homes = [self.homes.of(one) for one in (*strangers, *deeper)]
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
