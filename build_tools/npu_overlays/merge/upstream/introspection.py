"""Introspection: function → upstream's code that can distinguish a wrapper and the kept original from it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from npu_overlays.merge.upstream.early_calls import called_early, is_stub
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.functions import first_parameter, frame_lookers, own_nodes
from npu_overlays.model.instance_attributes import family
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import is_overload_stub
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import all_of, called, children, is_name, last_name

_HARMLESS_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType"})
# What these give is a list of names, or of members; of a namespace one can also ask for a single name.
_LISTING = frozenset({"dir", "getmembers", "getmembers_static"})
_NAMESPACES = frozenset({"vars", "globals", "locals"})
# Without one of these words a text lists nothing: most hold none, and are not walked.
_MENTIONED = re.compile(rb"\b(?:%s)\b" % "|".join(sorted({*_LISTING, *_NAMESPACES, "__dict__"})).encode())
_WALKING = frozenset({"list", "dict", "sorted", "set", "tuple", "frozenset", "iter", "enumerate", "filter", "map"})
_WHOLE = frozenset({"items", "keys", "values", "copy"})
_COMPILING = frozenset({"jit", "njit", "script", "cfunc", "vectorize", "guvectorize"})
_MADE = (ast.Call, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_EQUAL = frozenset({"float", "int", "complex", "str", "bytes", "bool", "tuple", "frozenset", "range", "slice"})


def onlookers(classes: ClassGraph, path: str, definition: Definition) -> list[str]:
    """Return the means by which upstream's code can distinguish a wrapped function from the original.

    Args:
        classes: those of the tree.
        path: of the module that defines the function.
        definition: the function.
    """
    node = definition.node
    module = classes.module(path)
    if not isinstance(node, FUNCTIONS) or module is None:
        return []
    owner = Symbol(path, definition.parent)
    found = [*frame_lookers(node), *_machinery(classes, owner), *_of_protocol(classes, owner, node)]
    found += _of_stub(module, definition)
    found += _listing(classes, module, owner)
    for decorator in map(called, node.decorator_list):
        if last_name(decorator) in _COMPILING:
            found.append(f"@{brief(decorator)}, which compiles its text")
    if called_early(module, definition):  # whose original is a global of the module
        found += _listing(classes, module, Symbol(path, ""))
    return [*found, *_fresh_defaults(node)]


def registers_code(classes: ClassGraph, path: str, decorator: ast.expr) -> bool:
    """Return whether a decorator of the tree notes the code of a function and gives back the function itself.

    Args:
        classes: those of the tree.
        path: of the module in which the decorator is written.
        decorator: an expression; a call never counts.
    """
    for target in classes.resolver.resolve(path, decorator):
        known = classes.definitions(target) if isinstance(target, Symbol) else []
        for one in known:
            if not isinstance(one.node, FUNCTIONS):
                continue
            nodes, own = list(own_nodes(one.node)), first_parameter(one.node)
            read = any(
                isinstance(node, ast.Attribute) and node.attr == "__code__" and is_name(node.value, own)
                for node in nodes
            )
            returned = [node.value for node in nodes if isinstance(node, ast.Return)]
            if read and returned and all(is_name(value, own) for value in returned):
                return True
    return False


def _machinery(classes: ClassGraph, owner: Symbol) -> list[str]:
    """Return what may read every name in a class's body: metaclass, keywords, ``__init_subclass__`` of a base."""
    bases = [one for one in classes.line(owner)[1:] if "__init_subclass__" in classes.members(one)]
    found = [f"{one.name}.__init_subclass__" for one in bases]
    keywords = chain.from_iterable(getattr(known.node, "keywords", []) for known in classes.definitions(owner))
    for keyword in keywords:
        leaves = {name.rpartition(".")[2] for name in classes.names(owner.path, keyword.value)}
        if keyword.arg != "metaclass" or not leaves or leaves - _HARMLESS_METACLASSES:
            found.append(f"{keyword.arg}={ast.unparse(keyword.value)}")
    return sorted(found)


def _of_protocol(classes: ClassGraph, owner: Symbol, node: FunctionNode) -> Iterator[str]:
    """Yield what a wrapper in a Protocol meets: type checkers, and of a stub the classes that do not inherit it."""
    if classes.closed_kind(owner) == "Protocol":
        if is_stub(node):
            yield "the Protocol's implementations, which run it only if they inherit it"
        yield "type checkers, to which the original is a member of the Protocol"


def _of_stub(module: Module, definition: Definition) -> Iterator[str]:
    """Yield why nothing runs a wrapper of what only type checkers read."""
    if definition.node in module.parsed.typing_only:
        yield "`if TYPE_CHECKING`, under which nothing runs it"
    elif is_overload_stub(module, definition):
        yield "`@overload`: nothing runs a stub"


def _fresh_defaults(node: FunctionNode) -> Iterator[str]:
    """Yield the defaults that each evaluation creates, so that the wrapper and the original do not share them."""
    for one in parameters(node.args):
        if one.default is None:
            continue
        made = all_of(one.default, _MADE)
        if any(not (isinstance(inner, ast.Call) and brief(inner.func) in _EQUAL) for inner in made):
            yield f"the default {one.name}={brief(one.default)}, made twice"


def _listing(classes: ClassGraph, module: Module, owner: Symbol) -> list[str]:
    """Return the code that lists the names of the module, or the members of one of its classes."""
    return sorted(set(_of_class(classes, module, owner) if owner.name else _of_module(module)))


def _of_module(module: Module) -> Iterator[str]:
    """Yield the code that lists the names of the module itself."""
    for one in _listings(module, module.tree):
        of_itself = one.asked is not None and "__name__" in ast.unparse(one.asked)
        if one.name == "globals" or of_itself or (one.asked is None and not one.deferred):
            yield brief(one.node)


def _of_class(classes: ClassGraph, module: Module, owner: Symbol) -> Iterator[str]:
    """Yield the code that lists the members of a class: in itself, its bases, heirs or decorators, or by its name."""
    heirs = [one for one in classes.classes(owner.path) if owner in classes.line(one)[1:]]
    for one, node in chain.from_iterable(family(classes, each) for each in (owner, *heirs)):
        home = classes.module(one.path)
        for method in node.body:
            if home and isinstance(method, FUNCTIONS) and _mentions(home, method):
                yield from _member_listings(home, method, {"cls", *_first(method)})
    decorators = chain.from_iterable(getattr(one.node, "decorator_list", []) for one in classes.definitions(owner))
    for decorator in decorators:
        for known in module.definitions.get(last_name(called(decorator)), []):
            inside: list[FunctionNode] = all_of(known.node, FUNCTIONS)
            yield from _member_listings(module, known.node, set(chain.from_iterable(map(_first, inside))))
    yield from _member_listings(module, module.tree, {owner.name})


def _mentions(module: Module, statement: ast.stmt) -> bool:
    """Return whether the text of a statement may list names."""
    start, end = module.whole_span(statement)
    places = _mentioned_at(module.content)
    return bisect_left(places, start) < bisect_left(places, end)


@lru_cache(maxsize=256)
def _mentioned_at(content: bytes) -> list[int]:
    """Return where a text has a word without which nothing lists names."""
    return [match.start() for match in _MENTIONED.finditer(content)]


def _first(method: FunctionNode) -> list[str]:
    return [one.arg for one in (*method.args.posonlyargs, *method.args.args)][:1]


def _member_listings(module: Module, tree: ast.AST, names: Iterable[str]) -> Iterator[str]:
    """Yield the code in a part of a module that lists the members of some classes, or of an object's class."""
    for one in _listings(module, tree):
        asked = ast.unparse(one.asked) if one.asked else ""
        of_object = asked == "self" and one.name not in _LISTING  # which holds nothing of its class
        if asked.removesuffix(".__class__").removeprefix("type(").removesuffix(")") in names and not of_object:
            yield brief(one.node)


@dataclass(frozen=True, kw_only=True)
class _Listing:
    """An expression that lists names: its function, its object, and whether only a nested function runs it."""

    node: ast.expr
    name: str
    asked: ast.expr | None
    deferred: bool


def _listings(module: Module, tree: ast.AST) -> Iterator[_Listing]:
    pending: list[tuple[ast.AST, ast.AST, bool]] = [(tree, tree, False)]
    while pending:
        node, outer, deferred = pending.pop()
        if isinstance(node, ast.Call):
            name, asked = last_name(node.func), next(iter(node.args), None)
            single = isinstance(outer, ast.Compare) and outer.left is not node
            if (name in _LISTING and not single) or (name in _NAMESPACES and _walks(outer, node)):
                yield _Listing(node=node, name=name, asked=asked, deferred=deferred)
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__" and _walks(outer, node):
            yield _Listing(node=node, name="vars", asked=node.value, deferred=deferred)
        inner = deferred or isinstance(node, (*FUNCTIONS, ast.Lambda))
        for child in children(node):
            if not isinstance(child, (*FUNCTIONS, ast.ClassDef)) or _mentions(module, child):
                pending.append((child, node, inner))


def _walks(outer: ast.AST, namespace: ast.expr) -> bool:
    """Return whether the code around a namespace reads all of it."""
    if isinstance(outer, ast.Call):
        return last_name(outer.func) in _WALKING and namespace in outer.args
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is namespace
    return isinstance(outer, (ast.keyword, ast.Dict)) or (isinstance(outer, ast.Attribute) and outer.attr in _WHOLE)
