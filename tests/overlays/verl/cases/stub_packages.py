"""Stubs of packages that are not installed: modules with every name, and some with the functions a test needs."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import tempfile
import types
from collections.abc import Collection
from pathlib import Path
from typing import Any


def accept(*_: Any, **__: Any) -> None:
    """Accept any arguments."""


class _AnyClass(type):
    """A class that has every attribute, so that enumerations can be read too: each is a class like it."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _AnyClass(name, (), {"__init__": accept})
        setattr(cls, name, value)
        return value


class Anything(types.ModuleType):
    """A module that has every name: each is a class of its own, or one of the `modules` below this one."""

    __path__: tuple[str, ...] = ()

    def __init__(self, name: str, modules: Collection[str] = ()) -> None:
        super().__init__(name)
        self.__dict__["_modules"] = modules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if (module := f"{self.__name__}.{name}") in self.__dict__["_modules"]:
            return importlib.import_module(module)
        value = _AnyClass(name, (), {"__init__": accept})
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, package: str, given: dict[str, dict[str, Any]]) -> None:
        self.package = package
        self.given = given

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002  # the protocol
        known = name.partition(".")[0] == self.package
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> Any:
        return Anything(spec.name, self.given)

    def exec_module(self, module: Any) -> None:
        module.__dict__.update(self.given.get("*", {}), **self.given.get(module.__name__, {}))


def install(package: str, given: dict[str, dict[str, Any]] | None = None, *, version: str = "") -> None:
    """Let `import package`, and the import of any module in it, succeed in this process.

    Args:
        package: a package that is not installed.
        given: what modules hold, by their absolute names; ``*`` stands for all of them.
        version: with one, the package also looks installed.
    """
    sys.meta_path.append(_Finder(package, given or {}))
    if version:
        metadata = Path(tempfile.mkdtemp()) / f"{package}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        sys.path.append(str(metadata.parent))
