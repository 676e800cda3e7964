"""Symbol descriptions: upstream symbol → the properties that its readers depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.contracts.reads import Read
from npu_overlays.model.constructors import constructor_signature
from npu_overlays.model.definition_fields import definition_fields
from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.fingerprint import brief, fingerprint_of_all
from npu_overlays.model.functions import own_nodes
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup

# A dictionary of more entries is a table of data: a digest of it is enough.
_MANY = 64
_PARTS = ("kind", "signature", "decorators")


def described(found: ResolvedSymbol, upstream: SymbolLookup, *, whole: bool = False) -> Read:
    """Return the description of a symbol, for comparing two versions of it.

    Args:
        found: the symbol.
        upstream: where it was found.
        whole: whether all of it counts, function bodies included, and not only what readers of its name see.
    """
    try:
        entries = _entries(found)
        values = {} if entries else dict.fromkeys(map(str, found.values))
        shown = _parts(found)
        shapes: dict[str, None] = {}
        for node in found.nodes:
            shapes.update(dict.fromkeys(_shapes(node)))
        return Read(
            path=found.path,
            symbol=found.symbol,
            kind=shown.get("kind", "attribute"),
            signature=shown.get("signature", ""),
            called=constructor_signature(upstream.classes, found.origin) if found.classes else "",
            decorators=shown.get("decorators", ""),
            returns=" or ".join(shapes),
            value=" or ".join(values),
            entries=entries,
            body=fingerprint_of_all([*found.nodes, *(one.node for one in found.values)]) if whole else "",
        )
    except RecursionError:  # nested too deeply for Python; its text is unknown
        return Read(path=found.path, symbol=found.symbol, kind="attribute", value="<deep>")


def _parts(found: ResolvedSymbol) -> dict[str, str]:
    """Return the description of definitions; if branches differ, of all."""
    shown: dict[str, dict[str, None]] = {}
    for node in found.nodes:
        fields = definition_fields(Definition(name=found.symbol, kind="attribute", node=node))
        for name in _PARTS:
            if name in fields:
                shown.setdefault(name, {})[fields[name]] = None
    return {name: " or ".join(texts) for name, texts in shown.items()}


def _entries(found: ResolvedSymbol) -> tuple[str, ...]:
    """Return the entries of a literal dictionary, sorted by their keys."""
    only = found.values[0].node if len(found.values) == 1 else None
    if not isinstance(only, ast.Dict) or not 0 < len(only.keys) <= _MANY:
        return ()
    pairs = zip(only.keys, only.values, strict=True)
    return tuple(sorted(f"{brief(key) if key else '**'}: {brief(value)}" for key, value in pairs))


def _shapes(node: ast.stmt) -> Iterator[str]:
    """Yield the shapes of a function's results: nothing, one value, or a number of values."""
    if not isinstance(node, FUNCTIONS):
        return
    returned = [one for one in own_nodes(node) if isinstance(one, ast.Return)]
    for value in sorted(returned, key=lambda one: (one.lineno, one.col_offset)):
        for one in _alternatives(value.value):
            if one is None or (isinstance(one, ast.Constant) and one.value is None):
                yield "None"
            elif isinstance(one, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in one.elts):
                yield f"{len(one.elts)} values"
            else:
                yield "a value"


def _alternatives(value: ast.expr | None) -> Iterator[ast.expr | None]:
    if isinstance(value, ast.IfExp):
        yield from (*_alternatives(value.body), *_alternatives(value.orelse))
    else:
        yield value
