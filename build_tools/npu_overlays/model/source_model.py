"""Source model: one tree → the definitions of its Python modules, and what their names mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Protocol

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.forms import Forms
from npu_overlays.model.module import Module
from npu_overlays.model.resolver import Resolver
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree

# A stage that has no model of a tree asks about one module, symbol by symbol.
_KEPT = 16


class Model:
    """The Python modules of one tree: one instance for all stages, which caches its answers.

    Args:
        modules: those that are shipped.
        absent: repository paths that the pin has and the tree lacks; nothing is known of them.
    """

    def __init__(self, modules: ShippedModules, absent: frozenset[str] = frozenset()) -> None:
        self.modules = modules
        self.absent = absent

    def forget(self) -> None:
        """Clear the caches, which take much memory; later calls compute their answers again."""
        self.__dict__.pop("resolver", None)
        self.__dict__.pop("classes", None)
        self.__dict__.pop("symbols", None)
        self.__dict__.pop("forms", None)
        self.modules.forget()

    @cached_property
    def resolver(self) -> Resolver:
        """Resolves the names in its modules."""
        return Resolver(self.modules)

    @cached_property
    def classes(self) -> ClassGraph:
        """Its classes."""
        return ClassGraph(self.resolver)

    @cached_property
    def symbols(self) -> SymbolLookup:
        """Resolves the dotted names of an overlay's text."""
        return SymbolLookup(self.classes, self.absent)

    @cached_property
    def forms(self) -> Forms:
        """The forms of its definitions."""
        return Forms(self.symbols)


class Tree(Protocol):
    """The files of a tree: their paths, and the bytes of each."""

    @property
    def entries(self) -> Mapping[str, object]:
        """What is known of every file, by repository path."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises `KeyError` if there is none."""


def model_of(pin: Pin, tree: Tree, *, absent: frozenset[str] = frozenset()) -> Model:
    """Return the model of a tree of upstream's.

    Args:
        pin: says which of its files are shipped, and where they lie then.
        tree: the tree.
        absent: repository paths that the pin has and the tree lacks.
    """
    return _model(pin, tree.entries, tree.read, absent)


def patched_model(pin: Pin, tree: PatchedTree, before: Model) -> Model:
    """Return the model of a patched tree; unchanged texts come from the model of the tree before.

    Args:
        pin: says which of its files are shipped, and where they lie then.
        tree: the patched tree.
        before: of the tree that was patched.
    """

    def read(path: str) -> bytes:
        content = tree.changed[path] if path in tree.changed else before.modules.read(path)
        if content is None:
            raise KeyError(path)
        return content

    return _model(pin, tree.paths(), read, before.absent)


def _model(pin: Pin, paths: Iterable[str], read: Callable[[str], bytes], absent: frozenset[str]) -> Model:
    places = {place: path for path in paths if (place := pin.place(path))}
    homes = [home for _, home in pin.homes]
    absent_places = filter(None, map(pin.place, absent))
    return Model(ShippedModules(places, homes, read, absent_places), absent)


@lru_cache(maxsize=_KEPT)
def model_of_module(path: str, content: bytes) -> Model:
    """Return the model of one module alone; other modules are unknown."""
    return model_of_files({path: content}, [path])


def classes_of(module: Module) -> ClassGraph:
    """Return the classes of one module alone; other modules are unknown."""
    return model_of_module(module.path, module.file).classes


def model_of_files(
    files: Mapping[str, bytes],
    homes: Iterable[str],
    *,
    absent: frozenset[str] = frozenset(),
) -> Model:
    """Return the model of installed files.

    Args:
        files: their content by path.
        homes: their packages and single modules.
        absent: paths that belong there and are missing.
    """
    places = dict(zip(files, files, strict=True))
    modules = ShippedModules(places, homes, files.__getitem__, absent)
    return Model(modules, absent)
