"""Code reads: pieces of a module → the names that they read, as far as their text shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from npu_overlays.model.imports import imported
from npu_overlays.model.shipped_modules import is_package_file, module_name
from npu_overlays.model.texts import dedented, names_in
from npu_overlays.model.tokens import significant

# The names that one thing may have, the most telling one first: dotted ones from the module on, ``.member`` of an
# attribute of which the object is not known, and ``member=`` of what may be a field that a call fills.
Read = tuple[str, ...]
_OWN = ("self", "cls")


def read_by(texts: Sequence[str], place: str, owner: str) -> Iterator[Read]:
    """Yield what pieces of code read.

    Args:
        texts: the pieces; what one imports, all of them name.
        place: of the module that they stand in.
        owner: the class in it that they stand in, or an empty text.
    """
    module, package = module_name(place), is_package_file(place)
    for text in texts:
        yield from ((f"{module}.{name}",) for name in names_in(text))
    nodes = [node for text in texts for node in _nodes(text)]
    bound = {name: full for node in nodes for name, full in _imported(node, module, package=package)}
    yield from ((full,) for full in bound.values())
    own = dict.fromkeys(_OWN, f"{module}.{owner}") if owner else {}
    for node in nodes:
        yield from _read(node, module, {**bound, **own})
    for text in texts:
        yield from ((f".{name}",) for name in _behind_dots(text))


def _nodes(text: str) -> list[ast.AST]:
    """Return all syntax of a piece of code; none of a fragment that does not parse by itself."""
    try:
        return list(ast.walk(ast.parse(dedented(text))))
    except (SyntaxError, ValueError):
        return []


def _behind_dots(text: str) -> Iterator[str]:
    """Yield the attributes of a fragment that does not parse by itself, such as ``if self.x:``."""
    if not _nodes(text):
        yield from (name.text for dot, name in pairwise(significant(text)) if dot.text == "." and name.kind == "name")


def _imported(node: ast.AST, module: str, *, package: bool) -> Iterator[tuple[str, str]]:
    """Yield what an import binds, and the full name of that; a package of which a module is imported as that, too."""
    for one in imported(node, module, package=package):
        whole = one.module if one.name else one.alias.name
        yield from ((whole, whole), (one.local, one.full))


def _read(node: ast.AST, module: str, known: Mapping[str, str]) -> Iterator[Read]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        first, *rest = _chain(node) or [""]
        full = [".".join([known.get(first) or f"{module}.{first}", *rest])] if first else []
        yield (*full, f".{node.attr}")
    elif isinstance(node, ast.Call):
        yield from ((f"{one.arg}=",) for one in node.keywords if one.arg)


def _chain(node: ast.expr) -> list[str]:
    """Return the names of ``a.b.c``; none where it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = _chain(node.value) if isinstance(node, ast.Attribute) else []
    return [*before, node.attr] if isinstance(node, ast.Attribute) and before else []
