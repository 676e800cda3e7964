"""Equivalence: whether two texts of a module are one program, wherever imports and additions stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from npu_overlays.authoring.refresh.outline import imported, is_plain, outline


def same_program(one: bytes, other: bytes, known: Set[str]) -> bool:
    """Return whether two modules are the same program.

    Comments and layout do not count; nor does where an import stands among others, or where what upstream does not
    define stands, as far as that makes no difference: see `outline`.

    Args:
        one: a module.
        other: another.
        known: what upstream's module defines, by qualified name.
    """
    return one == other or outline(ast.parse(one).body, known) == outline(ast.parse(other).body, known)


def plain_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the statement of each import that stands in a module under no condition."""
    for node in tree.body:
        if is_plain(node):
            yield from imported(node)
