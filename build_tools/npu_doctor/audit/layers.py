"""Layers: an object → the functions and classes it is made of, and where each was defined."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LIMIT = 200


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where a function or class was defined."""

    module: str  # dotted name of the module, empty where unknown
    file: str  # its file, empty for what has none
    line: int  # line, 0 where unknown
    name: str  # qualified name there

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.module.partition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Homes:
    """Finds the module in which code was written, not the one that ``functools.wraps`` copied onto it."""

    modules: Mapping[str, str]  # module name by the real path of its file
    script: str = ""  # the program that was run as ``__main__``; empty where none was

    @classmethod
    def now(cls, script: str = "") -> Homes:
        """Return the origins of the modules that are imported now."""
        found = {os.path.realpath(script): "__main__"} if script else {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
            if isinstance(file, str):
                found.setdefault(os.path.realpath(file), name)
        return cls(modules=found, script=script)

    def of(self, value: object) -> Home:
        """Return where an object's own code lies: of a wrapper the wrapper's, not what it wraps."""
        code = code_of(value)
        if code is not None:
            file = os.path.realpath(code.co_filename) if os.path.isabs(code.co_filename) else ""  # noqa: PTH117
            name = getattr(code, "co_qualname", None) or getattr(value, "__qualname__", code.co_name)
            module = self.modules.get(file, "" if file else str(getattr(value, "__module__", "") or ""))
            return Home(module=module, file=file, line=code.co_firstlineno, name=str(name))
        kind = value if isinstance(value, type) else type(value)
        if isinstance(value, BuiltinFunctionType):
            return Home(module=str(value.__module__ or "builtins"), file="", line=0, name=value.__qualname__)
        return self._of_class(kind)

    def _of_class(self, kind: type) -> Home:
        module = str(getattr(kind, "__module__", "") or "")
        file = self.script if module == "__main__" else getattr(sys.modules.get(module), "__file__", None) or ""
        codes = filter(None, map(code_of, map(bare, vars(kind).values())))
        first = min((code.co_firstlineno for code in codes), default=0)
        line = int(vars(kind).get("__firstlineno__", 0)) or first
        return Home(module=module, file=str(file), line=line, name=kind.__qualname__)


def code_of(value: object) -> CodeType | None:
    """Return the code of a Python function, else None."""
    return value.__code__ if isinstance(value, FunctionType) else None


def bare(value: object) -> object:
    """Return the function inside a ``staticmethod``, ``classmethod`` or bound method."""
    while isinstance(value, (staticmethod, classmethod, MethodType)):
        value = value.__func__
    return value


def accessors(value: object) -> list[object]:
    """Return the functions an attribute consists of: a property's up to three, otherwise one."""
    value = bare(value)
    if isinstance(value, property):
        return [bare(one) for one in (value.fget, value.fset, value.fdel) if one is not None]
    if isinstance(value, functools.cached_property):
        return [bare(value.func)]
    return [value]


def path_to(value: object, wanted: Callable[[object], bool]) -> list[object] | None:
    """Return the layers from an object down to the first for which `wanted` holds, or None where there is none.

    Follows ``__wrapped__``, closures, partials, descriptors and the
    attributes of callable objects (a compiled kernel keeps its function).
    """
    return next((path for path in _paths(value) if wanted(path[-1])), None)


def functions_in(value: object) -> list[object]:
    """Return every Python function an object is made of, outermost first."""
    return [path[-1] for path in _paths(value) if code_of(path[-1]) is not None]


def _paths(value: object) -> Iterator[list[object]]:
    """Yield the way to each layer, breadth first, each layer once."""
    queue: list[list[object]] = [[value]]
    seen = {id(value)}
    while queue and len(seen) < _LIMIT:
        path = queue.pop(0)
        yield path
        for inner in _inside(path[-1]):
            if id(inner) not in seen:
                seen.add(id(inner))
                queue.append([*path, inner])


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, (staticmethod, classmethod, MethodType, property, functools.cached_property)):
        yield from accessors(value)
    elif isinstance(value, functools.partial):
        yield from (value.func, *filter(callable, value.args))
    elif isinstance(value, FunctionType):
        yield from filter(None, [value.__dict__.get("__wrapped__")])
        yield from filter(_is_callable, _cells(value))
    elif not isinstance(value, (type, ModuleType, BuiltinFunctionType)):
        yield from filter(_is_callable, _attributes(value))


def _cells(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _attributes(value: object) -> Iterator[object]:
    with contextlib.suppress(TypeError):  # no __dict__
        yield from vars(value).values()
    wrapped = getattr(type(value), "__wrapped__", None) or getattr(value, "__wrapped__", None)
    if wrapped is not None:
        yield wrapped


def _is_callable(value: object) -> bool:
    return isinstance(value, (FunctionType, MethodType, staticmethod, classmethod, functools.partial, type)) or (
        callable(value) and not isinstance(value, ModuleType)
    )
