"""Wrapping: the wrapper stands under upstream's name and decorators, the original under a private name below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merging.actions.upstream_calls import misuses
from npu_overlays.merging.actions.wrappers import Wrapper, entered
from npu_overlays.merging.sites import Site
from npu_overlays.merging.upstream.classes import called_early, calling_decorator, closed_kind
from npu_overlays.merging.upstream.signatures import Parameter, is_upstreams, mismatch, parameters, written
from npu_overlays.syntax.definitions import Definition, FunctionNode, first_line
from npu_overlays.syntax.splices import Splice, splice
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import reindent, value_text
from npu_overlays.syntax.tokens import tokens

PRIVATE_PREFIX = "_upstream_"
_INSTEAD = "use @replaced or @edited"


def private_name(symbol: str) -> str:
    """Return the qualified name under which the original of a wrapped symbol is kept.

    In a class, a name that begins and ends with one underscore is one that Enum reserves for itself.
    """
    parent, _, leaf = symbol.rpartition(".")
    reserved = parent and leaf.endswith("_") and not leaf.endswith("__")
    private = f"{PRIVATE_PREFIX}{leaf}{'_' if reserved else ''}"
    return f"{parent}.{private}" if parent else private


def splices(site: Site) -> list[Splice]:
    """Return the splices of a `wrapped`: the wrapper above the original, and the original's new name."""
    definition = site.find()
    node = definition.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise site.error(f"{site.named} is not a function upstream", "use @replaced or edited(…)")
    _check_place(site, definition)
    indentation = site.module.indentation(node)
    text = reindent(_wrapper_text(site, node, definition.parent), old="", new=indentation)
    gap = "\n" if definition.parent else "\n\n"
    private = private_name(site.operation.symbol).rpartition(".")[2]
    return [
        site.insertion(site.module.offset(node.lineno), f"{site.notice(indentation)}{text.rstrip()}\n{gap}"),
        site.splice(*site.module.name_span(node), private),
    ]


def _check_place(site: Site, definition: Definition) -> None:
    private = private_name(site.operation.symbol)
    if private in site.module.definitions or private in site.companions.symbols("added"):
        raise site.error(f"`{private}` is already defined", _INSTEAD)
    if decorator := calling_decorator(site.module, definition):
        what = f"upstream's decorator `{decorator}` calls {site.named} at once, where no wrapper can work yet"
        raise site.error(what, _INSTEAD)
    if not definition.parent:
        return
    if kind := closed_kind(site.module, definition.parent):
        raise site.error(f"`{definition.parent}` is a {kind}, whose methods cannot be wrapped", "use @replaced")
    if line := called_early(site.module, definition):
        what = f"`{definition.parent}` calls {site.named} in its own body (line {line}), where no wrapper can work yet"
        raise site.error(what, _INSTEAD)


def _wrapper_text(site: Site, original: FunctionNode, owner: str) -> str:
    """Return the wrapper's text: ``upstream`` points at the original, whatever is left out is as upstream has it."""
    operation = site.operation
    module = Module(operation.where, operation.text.encode())
    node = module.tree.body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))  # noqa: S101  # the overlay's reader saw to it
    wrapper = Wrapper(
        name=operation.upstream_name, node=node, original=original, owner=owner, entered=entered(site.module, original)
    )
    what = f"the wrapper of {site.named}"
    if differs := mismatch(node.args, original.args):
        raise site.error(f"{what} {differs}", f"write upstream's parameters: {written(original.args)}")
    for misuse, fix in misuses(wrapper):
        raise site.error(f"{what} {misuse}", fix)
    # __class__ is the class the method was written in, whatever its module-level name is bound to later.
    private = private_name(operation.symbol).rpartition(".")[2]
    callee = f"__class__.{private}" if owner else private
    if not owner and any(private in scope.bindings for scope in module.scopes.all):
        raise site.error(f"{what} binds `{private}`, the name of the original", "give the wrapper's own another name")
    if misused := _misused_types(module, wrapper):
        raise site.error(f"{what} {misused[0]}", misused[1])
    splices = [site.splice(*module.span(name), callee) for name in wrapper.references()]
    splices += [site.splice(*place) for place in _taken_over(site.module, module, wrapper)]
    splices.append(site.splice(*module.name_span(node), original.name))
    return splice(module.content, splices, newline="\n").decode()


def _taken_over(theirs: Module, own: Module, wrapper: Wrapper) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text) in the wrapper for what it leaves out of all that stands around a body."""
    if (typed := _type_parameters(theirs, wrapper.original)) and not _type_parameters(own, wrapper.node):
        end = own.name_span(wrapper.node)[1]
        yield end, end, typed
    known = {one.name: one for one in parameters(wrapper.original.args)}
    for parameter in parameters(wrapper.node.args):
        if parameter.name in known:
            yield from _parameter(theirs, own, parameter, known[parameter.name])
    returns = wrapper.original.returns
    if returns and not wrapper.node.returns:
        end = _end_of_parameters(own, wrapper.node)
        yield end, end, f" -> {value_text(theirs, returns)}"
    docstring = _docstring(wrapper.original)
    if docstring and not _docstring(wrapper.node):
        yield _first_statement(own, wrapper.node, value_text(theirs, docstring))


def _parameter(theirs: Module, own: Module, parameter: Parameter, wanted: Parameter) -> Iterator[tuple[int, int, str]]:
    end = own.span(parameter.node)[1]
    if wanted.node.annotation and not parameter.node.annotation:
        text = f": {_expression(theirs, wanted.node.annotation)}"
        tight = parameter.default and own.content[end : end + 1] == b"="
        yield (end, end + 1, f"{text} = ") if tight else (end, end, text)
    if is_upstreams(parameter.default) and wanted.default and parameter.default:
        yield *own.span(parameter.default), value_text(theirs, wanted.default)


def _type_parameters(module: Module, node: FunctionNode) -> str:
    """Return the text of a function's type parameters, ``[T: int]``, which Python 3.12 knows, or an empty text."""
    listed: list[ast.AST] = getattr(node, "type_params", [])
    spans = [module.span(one) for one in listed]
    return f"[{module.content[spans[0][0] : spans[-1][1]].decode()}]" if spans else ""


def _misused_types(own: Module, wrapper: Wrapper) -> tuple[str, str] | None:
    """Return what is wrong with a wrapper's own type parameters, or with what it reads by the name of upstream's."""
    theirs, mine = ({one.name for one in getattr(node, "type_params", [])} for node in (wrapper.original, wrapper.node))
    named = ", ".join(sorted(theirs))
    inside = {id(one) for node in wrapper.node.body for one in ast.walk(node)}
    loads = (load for name in theirs for load in own.scopes.global_loads.get(name, []))
    reads = {load.name for load in loads if id(load.at) in inside}
    if not mine and reads:
        return f"reads `{min(reads)}`, which is a type parameter of upstream's", "give what is meant another name"
    known = {one.name: one.node.annotation for one in parameters(wrapper.original.args)}
    taken = [known.get(one.name) for one in parameters(wrapper.node.args) if not one.node.annotation]
    taken += [] if wrapper.node.returns else [wrapper.original.returns]
    named_there = {one.id for node in taken if node for one in ast.walk(node) if isinstance(one, ast.Name)}
    lacking = named_there & (theirs - mine)
    if mine and lacking:
        return f"leaves out annotations that name `{min(lacking)}`", f"write upstream's type parameters, `[{named}]`"
    return None


def _expression(module: Module, node: ast.expr) -> str:
    """Return an annotation's text; ``*args: *Ts`` is the one that is no value."""
    return module.text(node) if isinstance(node, ast.Starred) else value_text(module, node)


def _end_of_parameters(module: Module, node: FunctionNode) -> int:
    """Return the byte offset behind the parenthesis that closes a function's parameters."""
    start = module.name_span(node)[1]
    text = module.content[start:].decode()
    depth = 0
    for token in tokens(text):
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.text == ")" and depth == 0:
            return start + len(text[: token.end].encode())
    raise AssertionError(text)  # pragma: no cover  # the parser found a function there


def _docstring(node: FunctionNode) -> ast.expr | None:
    has_one = ast.get_docstring(node, clean=False) is not None
    return node.body[0].value if has_one and isinstance(node.body[0], ast.Expr) else None


def _first_statement(module: Module, node: FunctionNode, text: str) -> tuple[int, int, str]:
    """Return the insertion of a statement in front of a function's body."""
    first = node.body[0]
    start = module.offset(first_line(first))
    if module.begins_line(first) and not module.content[:start].endswith(b"\\\n"):
        return start, start, f"{module.indentation(first)}{text}\n"
    start = module.span(first)[0]
    colon = len(module.content[:start].rstrip(b" \t\f\\\n"))
    return colon, start, f"\n    {text}\n    "
