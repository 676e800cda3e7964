"""Trees written on the spot: texts that hold several modules, as the model sees them and as Python imports them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import re
import sys
import textwrap
from collections.abc import Mapping
from types import ModuleType

from npu_overlays.model import Model, Symbol, model_of_files

_HEADER = re.compile(r"^# (\S+\.py)\n", re.MULTILINE)


def files(text: str) -> dict[str, bytes]:
    """Return the files of a text in which ``# pkg/a.py`` stands above each; ``pkg/__init__.py`` need not be there."""
    _, *parts = _HEADER.split(textwrap.dedent(text))
    return {"pkg/__init__.py": b"", **dict(zip(parts[::2], (part.encode() for part in parts[1::2]), strict=True))}


def model(text: str) -> Model:
    """Return the model of such a text; what is not in `pkg` is another distribution's."""
    return model_of_files(files(text), ["pkg"])


def order(known: Model, symbol: Symbol) -> str:
    """Return a class and its bases as Python asks them, as ``a.Class``; ``?`` follows an order that is not known."""
    mro = known.classes.mro(symbol)
    shown = [_short(known.classes.dotted(one)) for one in mro.order]
    return f"{' '.join(shown)}{'' if mro.known else ' ?'}"


def pythons_order(text: str, symbol: Symbol) -> str:
    """Return the same as Python has it once the modules are imported; raises what they raise."""
    with_files = files(text)
    modules = imported(with_files)
    found: object = modules[_module(symbol.path)]
    for name in symbol.name.split("."):
        found = getattr(found, name)
    assert isinstance(found, type)
    return " ".join(_short(f"{one.__module__}.{one.__qualname__}") for one in found.__mro__[:-1])


def imported(given: Mapping[str, bytes]) -> dict[str, ModuleType]:
    """Return modules by dotted name as Python imports them out of nowhere, one after the other; it keeps none."""
    finder = _Files({_module(path): (path, content) for path, content in given.items()})
    sys.meta_path.insert(0, finder)
    try:
        return {name: importlib.import_module(name) for name in finder.modules}
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "pkg"]:
            del sys.modules[name]


class _Files(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules that are no files."""

    def __init__(self, modules: Mapping[str, tuple[str, bytes]]) -> None:
        self.modules = modules

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        packages = {one.rpartition(".")[0] for one in self.modules} | {"pkg"}
        if name not in self.modules and name not in packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=self.is_package(name))

    def is_package(self, name: str) -> bool:
        path, _ = self.modules.get(name, ("__init__.py", b""))
        return path.endswith("__init__.py")

    def get_source(self, name: str) -> str:
        return self.modules.get(name, ("", b""))[1].decode()


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _short(dotted: str) -> str:
    return dotted.removeprefix("pkg.").removeprefix("builtins.")
