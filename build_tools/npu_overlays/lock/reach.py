"""Reach: operations and all of upstream → what they change beyond their own symbol, and what of upstream's undoes them.

It takes a look at every module, and on one pin it is always the same: it is found when a lock is made, and not again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from npu_overlays.lock.callers import called_otherwise
from npu_overlays.lock.contracts import Contract
from npu_overlays.merging.gate.kin import Kin, enclosing
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.shipped import Shipped, Sources
from npu_overlays.pin import Pin
from npu_overlays.syntax.definitions import FUNCTIONS
from npu_overlays.tree import PatchedTree

# What Python asks for by itself: with it, code that nobody operates on does something else.
_MAKING = "how every object of it is made"
_TEXTS = "its texts, also in logs"
_PICKLES = "how it is pickled and copied"
_ATTRIBUTES = "every attribute of its objects"
_IN_CLASSES = "objects of it that stand in classes"
_ASKED = {
    "__bool__": "`if x`",
    "__len__": "`if x`",
    "__eq__": "`==` and `in`",
    "__ne__": "`!=`",
    "__hash__": "sets of it, and keys",
    "__iter__": "loops and `in`",
    "__getitem__": "loops and `in`",
    "__contains__": "`in`",
    "__call__": "`callable(x)`",
    "__del__": "what happens when its objects go",
    "__getattr__": "`hasattr`, and what is missing",
    "__init_subclass__": "every class that derives from it",
    "__class_getitem__": "`[…]` behind the class",
    "__set_name__": _IN_CLASSES,
    "__get__": _IN_CLASSES,
    "__set__": _IN_CLASSES,
    "__delete__": _IN_CLASSES,
    "__getattribute__": _ATTRIBUTES,
    "__setattr__": _ATTRIBUTES,
    "__delattr__": _ATTRIBUTES,
    "__dir__": "`dir(x)`",
    "__new__": _MAKING,
    "__init__": _MAKING,
    "__post_init__": _MAKING,
    "__repr__": _TEXTS,
    "__str__": _TEXTS,
    "__format__": _TEXTS,
    "__reduce__": _PICKLES,
    "__reduce_ex__": _PICKLES,
    "__getstate__": _PICKLES,
    "__setstate__": _PICKLES,
    "__getnewargs__": _PICKLES,
    "__copy__": _PICKLES,
    "__deepcopy__": _PICKLES,
    "__instancecheck__": "`isinstance`",
    "__subclasscheck__": "`issubclass`",
    "__subclasshook__": "`isinstance` and `issubclass`",
    "__match_args__": "`case` with the class",
    "__torch_function__": "what torch does with it",
    "__array__": "what numpy makes of it",
    "__array_ufunc__": "what numpy does with it",
}
_SETTING = (2, 3)


def reaching(
    contracts: Iterable[Contract], kin: Kin, shipped: Kin, known: Mapping[tuple[str, ...], Contract]
) -> list[Contract]:
    """Return contracts with what they reach.

    Args:
        contracts: of operations.
        kin: upstream's classes.
        shipped: the classes that the operations leave.
        known: contracts of an earlier lock by their place, to be believed where the source lacks some of upstream.
    """
    listed = list(contracts)
    undone = _undone(kin, {(one.path, one.symbol) for one in listed if one.symbol})
    found = []
    for one in listed:
        place = (one.path, one.symbol)
        effects = _affected(kin, one) if one.operation in ("added", "deleted") else iter(())
        if one.operation == "replaced" and one.kind == "class":
            effects = called_otherwise(kin, shipped, place)
        made = replace(one, affects="; ".join(effects), undone=", ".join(undone.get(place, ())))
        before = known.get(one.place)
        if before and before.operation == one.operation:
            made = replace(made, affects=before.affects, undone=before.undone)
        found.append(made)
    return found


def shipped_kin(pin: Pin, tree: PatchedTree) -> Kin:
    """Return the classes of a patched tree, as they are shipped."""
    places = {place: path for path in tree.paths() if (place := pin.place(path))}
    return Kin(Shipped(places, [home for _, home in pin.homes], lambda path: tree.after(path) or b"", Sources()))


def _affected(kin: Kin, entry: Contract) -> Iterator[str]:
    """Yield what an addition or a deletion changes for code that nobody operates on."""
    owner, _, leaf = entry.symbol.rpartition(".")
    place = (entry.path, owner)
    if owner:
        inherited = next((one for one in kin.line(place)[1:] if leaf in kin.members(one)), None)
        if inherited:
            shown = f"`{inherited[1]}.{leaf}` of {inherited[0]}"
            yield f"overrides {shown}" if entry.operation == "added" else f"leaves {shown} in its place"
        elif entry.operation == "added" and kin.foreign(place, leaf) and not hasattr(object, leaf):
            yield f"overrides the `{leaf}` of a base that is Python's own"
    for heir, other in _overtaken(kin, place, leaf) if owner and entry.operation == "added" else ():
        yield f"comes before `{other[1]}.{leaf}` of {other[0]} in `{heir[1]}` of {heir[0]}"
    if leaf in _ASKED and (owner or leaf in ("__getattr__", "__dir__")):
        yield f"changes {_ASKED[leaf]}"


def _overtaken(kin: Kin, place: Place, name: str) -> Iterator[tuple[Place, Place]]:
    """Yield heirs whose member of a name came from another class until now, and that class."""
    if not name.startswith("__") or name.endswith("__"):  # private names are each class's own
        for heir in kin.heirs(place):
            owner = kin.owner(heir, name)
            line = kin.line(heir)
            if owner and owner not in kin.line(place) and line.index(owner) > line.index(place):
                yield heir, owner


def _undone(kin: Kin, wanted: set[Place]) -> dict[Place, list[str]]:
    """Return by operation the places that give its symbol another value: ``C.m = …``, ``module.f = …``, ``setattr``."""
    leaves = {part for _, symbol in wanted for part in symbol.split(".")}
    if not leaves:
        return {}
    either = "|".join(map(re.escape, sorted(leaves)))
    word = re.compile(rf"\.\s*(?:{either})\b[^=\n()]*=(?!=)|\bsetattr\(".encode())
    found: dict[Place, list[str]] = {}
    for path, content in kin.texts.items():
        module = kin.lineage.module(path) if word.search(content) else None
        around = enclosing(module) if module else {}
        for node, outer in around.items():
            owner, name = _set_by(node)
            for place in _meant(kin, path, owner, name, wanted) if owner is not None and name in leaves else ():
                functions = [one.name for one in outer if isinstance(one, (*FUNCTIONS, ast.ClassDef))]
                shown = f"{path}:{'.'.join(functions)}" if functions else path
                if shown not in found.setdefault(place, []):
                    found[place].append(shown)
    return {place: sorted(shown) for place, shown in found.items()}


def _set_by(node: ast.AST) -> tuple[ast.expr | None, str]:
    """Return what gets an attribute by a node, and which; or nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.value, node.attr
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr" and len(node.args) in _SETTING:
        return node.args[0], str(getattr(node.args[1], "value", ""))
    return None, ""


def _meant(kin: Kin, path: str, owner: ast.expr, name: str, wanted: set[Place]) -> Iterator[Place]:
    """Yield the symbols that an assignment to an attribute gives another value."""
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return
    if meant := kin.meant(path, owner):
        full = (meant[0], f"{meant[1]}.{name}")
    else:
        full = (kin.meant_module(path, owner), name)
    yield from (
        one for one in sorted(wanted) if one == full or (one[0] == full[0] and one[1].startswith(f"{full[1]}."))
    )
