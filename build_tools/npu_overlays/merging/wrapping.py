"""Wrapping: the wrapper stands under upstream's name and decorators, the original under a private name below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merging.sites import Site
from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax.definitions import Definition, FunctionNode
from npu_overlays.syntax.signatures import refused_calls
from npu_overlays.syntax.splices import Splice, splice
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import reindent

PRIVATE_PREFIX = "_upstream_"
# typing.NamedTuple copies methods to another class and never fills __class__; to a Protocol, every name in the class
# is something its implementations must have.
_UNWRAPPABLE = ("NamedTuple", "Protocol")


def private_name(symbol: str) -> str:
    """Return the qualified name under which the original of a wrapped symbol is kept."""
    parent, _, leaf = symbol.rpartition(".")
    return f"{parent}.{PRIVATE_PREFIX}{leaf}" if parent else PRIVATE_PREFIX + leaf


def wrapped(site: Site) -> list[Splice]:
    """Return the splices of a `wrapped`: the wrapper above the original, and the original's new name."""
    definition = site.find()
    node = definition.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise site.error(f"`{site.operation.symbol}` is not a function upstream", "use @replaced or edited(…)")
    _check_place(site, definition)
    indentation = site.module.indentation(node)
    text = reindent(_wrapper_text(site, node, in_class=bool(definition.parent)), old="", new=indentation)
    gap = "\n" if definition.parent else "\n\n"
    return [
        site.insertion(site.module.offset(node.lineno), f"{site.notice(indentation)}{text.rstrip()}\n{gap}"),
        site.insertion(site.module.name_span(node)[0], PRIVATE_PREFIX),
    ]


def _check_place(site: Site, definition: Definition) -> None:
    private = private_name(site.operation.symbol)
    taken = {operation.symbol for operation in site.operations if operation.action == "added"}
    if private in site.module.definitions or private in taken:
        raise site.error(f"`{private}` is already defined", "use @replaced or @edited")
    for owner in site.module.definitions.get(definition.parent, []):
        for base in getattr(owner.node, "bases", []):
            if (kind := _leaf(base)) in _UNWRAPPABLE:
                what = f"`{definition.parent}` is a {kind}, whose methods cannot be wrapped"
                raise site.error(what, "use @replaced")


def _leaf(node: ast.expr) -> str:
    """Return the last name of a base class: of ``typing.Protocol[T]``, ``Protocol``."""
    if isinstance(node, ast.Subscript):
        return _leaf(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _wrapper_text(site: Site, original: FunctionNode, *, in_class: bool) -> str:
    """Return the wrapper's text with ``upstream`` replaced by the way to the original."""
    operation = site.operation
    module = Module(operation.where, operation.text.encode())
    node = module.tree.body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or type(node) is not type(original):
        now, then = ("async" if isinstance(kind, ast.AsyncFunctionDef) else "plain" for kind in (node, original))
        what = f"`{operation.symbol}` is a {then} function upstream, the wrapper a {now} one"
        raise site.error(what, "match it")
    what = f"the wrapper of `{operation.symbol}`"
    if refused := refused_calls(node.args, original.args):
        raise site.error(f"{what} {refused}", "take upstream's parameters, or *args, **kwargs")
    for misuse, fix in _misuses(operation, node, in_class=in_class):
        raise site.error(f"{what} {misuse}", fix)
    # __class__ is the class the method was written in, whatever its module-level name is bound to later.
    callee = f"__class__.{PRIVATE_PREFIX}{original.name}" if in_class else PRIVATE_PREFIX + original.name
    calls = [site.splice(*module.span(name), callee) for name in _references(operation, module.tree)]
    name = site.splice(*module.name_span(node), original.name)
    return splice(module.content, [name, *calls], newline="\n").decode()


def _references(operation: Operation, tree: ast.AST) -> list[ast.Name]:
    return [name for name in ast.walk(tree) if isinstance(name, ast.Name) and name.id == operation.upstream_name]


def _misuses(operation: Operation, wrapper: FunctionNode, *, in_class: bool) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, what to do) for uses of ``upstream`` that cannot be pointed at the original."""
    name = operation.upstream_name
    used = _references(operation, wrapper)
    if any(name in _bound(node) for node in ast.walk(wrapper)):
        yield f"binds `{name}` itself", "use another name for the wrapper's own"
    if not used:
        yield f"never calls {name}(…)", "call it, or use @replaced"
    # Before Python 3.12 the positions of what stands inside an f-string are wrong.
    if _inside(used, wrapper, ast.JoinedStr):
        yield f"calls {name}(…) inside an f-string", "assign its result to a variable first"
    if in_class and _inside(used, wrapper, ast.ClassDef):
        yield f"calls {name}(…) inside a class of its own", "assign it to a variable first"


def _inside(names: list[ast.Name], tree: ast.AST, kind: type[ast.AST]) -> bool:
    inner = {node for outer in ast.walk(tree) if isinstance(outer, kind) for node in ast.walk(outer)}
    return not inner.isdisjoint(names)


def _bound(node: ast.AST) -> tuple[str | None, ...]:
    """Return the names a node binds, other than by being the function looked at."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return tuple(node.names)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0],)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        return (node.name,)
    return ()
