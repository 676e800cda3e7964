"""Side effects: operations and all of upstream → what they change beyond their symbol, and what upstream undoes.

This reads every module, and the result depends on the pin alone: only `lock` computes it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from npu_overlays.contracts.contracts import Contract
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph, enclosing
from npu_overlays.model.constructors import constructor_signature
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.selectors import leaf_of, owner_of, plain
from npu_overlays.model.signatures import replacement_mismatch
from npu_overlays.model.syntax import nodes_of

# What Python looks up by itself: a class that has it changes code that no operation names.
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
_DIGEST = re.compile("<[0-9a-f]{8}>")
_UNKNOWN = "()"


def with_side_effects(
    contracts: Iterable[Contract], classes: ClassGraph, shipped: ClassGraph, known: Mapping[tuple[str, ...], Contract]
) -> list[Contract]:
    """Return contracts with their side effects.

    Args:
        contracts: of operations.
        classes: upstream's.
        shipped: the classes that the operations leave.
        known: contracts of an earlier lock by their place, used if the source lacks some of upstream.
    """
    listed = list(contracts)
    undone = _undone(classes, {Symbol(one.path, plain(one.symbol)) for one in listed if one.symbol})
    found = []
    for one in listed:
        place = Symbol(one.path, plain(one.symbol))
        effects = _affected(classes, one) if one.operation in ("added", "deleted") else iter(())
        if one.operation == "replaced" and one.kind == "class":
            effects = constructor_changes(classes, shipped, place)
        made = replace(one, affects="; ".join(effects), undone=", ".join(undone.get(place, ())))
        before = known.get(one.place)
        if before and before.operation == one.operation:
            made = replace(made, affects=before.affects, undone=before.undone)
        found.append(made)
    return found


def _affected(classes: ClassGraph, entry: Contract) -> Iterator[str]:
    """Yield the effects of an addition or a deletion on code that no operation names."""
    owner, leaf = owner_of(entry.symbol), leaf_of(entry.symbol)
    place = Symbol(entry.path, owner)
    if owner:
        inherited = next((one for one in classes.line(place)[1:] if leaf in classes.members(one)), None)
        if inherited:
            shown = f"`{inherited.name}.{leaf}` of {inherited.path}"
            yield f"overrides {shown}" if entry.operation == "added" else f"leaves {shown} in its place"
        elif entry.operation == "added" and classes.foreign(place, leaf) and not hasattr(object, leaf):
            yield f"overrides the `{leaf}` of a base that is Python's own"
    if owner and entry.operation == "added":
        for heir, other in _overtaken(classes, place, leaf):
            yield f"comes before `{other.name}.{leaf}` of {other.path} in `{heir.name}` of {heir.path}"
    if leaf in _ASKED and (owner or leaf in ("__getattr__", "__dir__")):
        yield f"changes {_ASKED[leaf]}"


def _overtaken(classes: ClassGraph, place: Symbol, name: str) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield heirs that inherited a member from another class so far, and that class."""
    if not name.startswith("__") or name.endswith("__"):  # private names are each class's own
        for heir in classes.heirs(place):
            owner = classes.owner(heir, name)
            line = classes.line(heir)
            if owner and owner not in classes.line(place) and line.index(owner) > line.index(place):
                yield heir, owner


def _undone(classes: ClassGraph, wanted: set[Symbol]) -> dict[Symbol, list[str]]:
    """Return by operation the places that give its symbol another value: ``C.m = …``, ``module.f = …``, ``setattr``."""
    leaves = set(chain.from_iterable(symbol.split(".") for _, symbol in wanted))
    if not leaves:
        return {}
    either = "|".join(map(re.escape, sorted(leaves)))
    word = re.compile(rf"\.\s*(?:{either})\b[^=\n()]*=(?!=)".encode())
    quoted = re.compile(rf"[\"'](?:{either})[\"']".encode())
    found: dict[Symbol, set[str]] = {}
    for path, content in classes.texts.items():
        sets = word.search(content) or (b"setattr(" in content and quoted.search(content))
        module = classes.module(path) if sets else None
        if module is None:
            continue
        around = None
        for node in nodes_of(module.tree):
            owner, name = _set_by(node)
            if owner is None or name not in leaves:
                continue
            around = around or enclosing(module)
            functions = [one.name for one in around[node] if isinstance(one, (*FUNCTIONS, ast.ClassDef))]
            shown = f"{path}:{'.'.join(functions)}" if functions else path
            for place in _overwritten(classes, path, owner, name, wanted):
                found.setdefault(place, set()).add(shown)
    return {place: sorted(shown) for place, shown in found.items()}


def _set_by(node: ast.AST) -> tuple[ast.expr | None, str]:
    """Return the object and the attribute that a node sets; or nothing."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.value, node.attr
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr" and len(node.args) in _SETTING:
        return node.args[0], str(getattr(node.args[1], "value", ""))
    return None, ""


def _overwritten(classes: ClassGraph, path: str, owner: ast.expr, name: str, wanted: set[Symbol]) -> Iterator[Symbol]:
    """Yield the symbols that an assignment to an attribute overwrites."""
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return
    meant = classes.resolved_class(path, owner)
    full = meant.member(name) if meant else Symbol(classes.resolved_module(path, owner), name)
    for one in sorted(wanted):
        if one.path == full.path and f"{one.name}.".startswith(f"{full.name}."):
            yield one


def constructor_changes(before: ClassGraph, after: ClassGraph, symbol: Symbol) -> Iterator[str]:
    """Yield how a class refuses calls that upstream's accepts, as the rest of a sentence.

    Args:
        before: upstream's classes.
        after: those that are shipped.
        symbol: the class.
    """
    theirs, own = constructor_signature(before, symbol), constructor_signature(after, symbol)
    if _has_init(before, symbol) and _has_init(after, symbol):  # the contract of the two functions says it
        return
    if theirs in (own, _UNKNOWN):
        return
    if own == _UNKNOWN:
        yield f"has nothing that says what it is called with, upstream's is called with `{theirs}`"
    elif differs := _refused(own, theirs):
        yield f"is called with `{own}`, upstream's with `{theirs}`: it {differs}"


def _refused(own: str, theirs: str) -> str:
    mine, wanted = _arguments(own), _arguments(theirs)
    if mine is None or wanted is None:
        return "is made in another way"
    return replacement_mismatch(mine, wanted)


def _arguments(text: str) -> ast.arguments | None:
    """Return the parameters in a text without ``self``; None if it lists several signatures."""
    try:
        (function,) = ast.parse(f"def f{_DIGEST.sub('0', text)}: ...").body
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef)  # noqa: S101  # which it was parsed as
    arguments = function.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
        arguments.defaults = arguments.defaults[-len(arguments.args) :] if arguments.args else []
    return arguments


def _has_init(graph: ClassGraph, symbol: Symbol) -> bool:
    node = graph.node(symbol)
    body = node.body if node else []
    return any(getattr(one, "name", "") == "__init__" for one in body)
