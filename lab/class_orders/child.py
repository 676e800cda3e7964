"""Child: package → every class of its modules with its ``__mro__``, as Python has them; standard library only."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import sys
import warnings
from abc import ABCMeta
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class StubMeta(ABCMeta):
    """Makes classes that have what they are asked for, take what they are given, and leave what they decorate."""

    def __getattr__(cls, name: str) -> type:
        """Return another of them."""
        if name.startswith("_"):
            raise AttributeError(name)
        return made(name, cls.__module__)

    def __iter__(cls) -> Iterator[object]:
        """Yield nothing."""
        return iter(())


def made(name: str, module: str) -> type:
    """Return a class that is made up."""
    body = {
        "__module__": module,
        "__init__": lambda self, *given, **named: None,  # noqa: ARG005  # it takes all
        "__call__": lambda self, *given, **named: given[0] if given else self,  # noqa: ARG005  # likewise
        "__class_getitem__": classmethod(lambda cls, _: cls),
    }
    return StubMeta(name, (), body)


class Stub(ModuleType):
    """A module that is not installed: whatever it is asked for is a class."""

    __path__: list[str] = []  # noqa: RUF012  # as every package has one
    __version__ = "9999"

    def __getattr__(self, name: str) -> type:
        """Return a class of that name, the same each time."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = made(name, self.__name__)
        setattr(self, name, found)
        return found


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that nothing else finds and that one package imports."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Return a module that is made up."""
        own = name.partition(".")[0] == self._package
        return None if own or not self._asks() else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _asks(self) -> bool:
        """Return whether a module of the package is what imports."""
        frame = sys._getframe()
        while frame and (frame.f_globals.get("__name__") == __name__ or "importlib" in frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
        return bool(frame) and str(frame.f_globals.get("__name__")).partition(".")[0] == self._package

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return it."""
        return Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing more."""


def main(package: str, *options: str) -> None:
    """Import all modules of a package; print its classes, its folder, and how many modules failed, as JSON."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if "--stubs" in options:
            sys.meta_path.append(Stubs(package))
        root = Path(str(importlib.import_module(package).__file__)).parent
        names = [*_modules(root)]
        imported = {name: module for name in names if (module := _imported(name))}
    classes: dict[str, list[str]] = {}
    for name, module in imported.items():
        for value in list(vars(module).values()):
            classes |= _classes(value, name)
    print(json.dumps({"classes": classes, "root": str(root), "failed": len(names) - len(imported)}))  # noqa: T201


def _modules(root: Path) -> Iterator[str]:
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root.parent).with_suffix("").parts
        if all(map(str.isidentifier, parts)) and parts[-1] != "__main__":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str) -> ModuleType | None:
    """Return a module, also where it put another one in its place; None where it cannot be imported here."""
    try:
        importlib.import_module(name)
    except BaseException:  # whatever it raises, also to end the process
        return None
    return sys.modules.get(name)


def _classes(value: Any, module: str) -> dict[str, list[str]]:  # whatever a module holds
    """Return a class of a module, and those in it, by ``module:name``; nothing for anything else."""
    if not isinstance(value, type) or value.__module__ != module or "<" in value.__qualname__:
        return {}
    found = {_name(value): [_name(one) for one in value.__mro__]}
    for inner in list(vars(value).values()):
        if isinstance(inner, type) and inner.__qualname__.startswith(f"{value.__qualname__}."):
            found |= _classes(inner, module)
    return found


def _name(value: type) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _arguments() -> Sequence[str]:
    return sys.argv[1:]


if __name__ == "__main__":
    main(*_arguments())
