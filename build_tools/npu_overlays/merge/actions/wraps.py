"""Wraps: the wrapper takes upstream's name and decorators; the original follows under a private name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, starmap

from npu_overlays.merge.actions.upstream_calls import Wrapper, entered, misuses
from npu_overlays.merge.sites import Site
from npu_overlays.merge.upstream.caller_frames import callers_seen
from npu_overlays.merge.upstream.early_calls import body, called_early, calling_decorator
from npu_overlays.merge.upstream.introspection import registers_code
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.code_blocks import lines_of, reindent, value_text
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode, first_line
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import is_private
from npu_overlays.model.selectors import accessor, chosen
from npu_overlays.model.signatures import Parameter, is_upstreams, parameters, signature_text, wrapper_mismatch
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.tokens import tokens

PRIVATE_PREFIX = "_upstream_"
# What begins so is no member of a Protocol to `typing`: implementations need not have it.
_HIDDEN_PREFIX = "_abc_upstream_"
_INSTEAD = "use @replaced or @edited"
_LOOPS = frozenset({"For.body", "While.body"})
# Their statements make no class, so that nothing fills `__class__` in a wrapper.
_NO_CLASS = {"Interface": "an Interface of zope.interface", "TypedDict": "a TypedDict"}


def private_name(classes: ClassGraph, module: Module, definition: Definition) -> str:
    """Return the qualified name under which the original of a wrapped definition is kept.

    In a class, Enum reserves names that begin and end with one underscore. Each of several definitions of a name has
    its own private name, by its property decorator or its number in the text. An original kept as a global of the
    module has the names of its classes as a prefix.
    """
    name, parent, leaf = definition.name, definition.parent, definition.leaf
    if chosen(module, name) != [definition]:
        known = module.definitions[name]
        own = accessor(definition.node)
        alone = own and [accessor(one.node) for one in known].count(own) == 1
        leaf += f"_{own.rpartition('.')[2] if alone else known.index(definition) + 1}"
    if is_kept_global(classes, module, definition):
        return f"{parent}.{PRIVATE_PREFIX}{parent.replace('.', '_')}_{leaf}"
    reserved = parent and leaf.endswith("_") and not leaf.endswith("__")
    protocol = parent and classes.closed_kind(Symbol(module.path, parent)) == "Protocol"
    prefix = _HIDDEN_PREFIX if protocol else PRIVATE_PREFIX
    private = f"{prefix}{leaf}{'_' if reserved else ''}"
    return f"{parent}.{private}" if parent else private


def is_kept_global(classes: ClassGraph, module: Module, definition: Definition) -> bool:
    """Return whether the original becomes a global of the module, by ``global`` in its class.

    It does if the wrapper may run before the class exists, or cannot name it.
    """
    parent = definition.parent
    if not parent:
        return False
    nameless = any(map(is_private, parent.split(".")))
    made_anew = nameless and classes.closed_kind(Symbol(module.path, parent)) == "NamedTuple"
    return made_anew or called_early(module, definition)


def splices(site: Site) -> list[Splice]:
    """Return the splices of a `wrapped`: the wrapper above the original, and the original's new name.

    A docstring that the wrapper takes over is removed from the original, so that doctest finds it once.
    """
    definition = site.find()
    node = definition.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        what = "is not a function upstream"
        if site.closed_kind(definition.parent) == "NamedTuple":
            what = f"is a field of the NamedTuple `{definition.parent}`, no function"
        raise site.error(f"{site.named} {what}", "use @replaced or edited(…)")
    private = private_name(site.classes, site.module, definition)
    _check_place(site, definition, private)
    indentation = site.module.indentation(node)
    wrapper = _wrapper(site, definition)
    text = reindent(_wrapper_text(site, wrapper, definition, private), old="", new=indentation)
    gap = "\n" if definition.parent else "\n\n"
    declared, above = _declaration(site, definition, private)
    gap += declared
    for decorator in node.decorator_list:
        if registers_code(site.classes, site.module.path, decorator):  # which is to know the original too
            gap += f"{indentation}@{ast.unparse(decorator)}\n"
    taken = () if _docstring(wrapper.node) else without_docstring(site.module, node)
    return [
        *above,
        site.insertion(site.module.offset(node.lineno), f"{site.notice(indentation)}{text.rstrip()}\n{gap}"),
        site.splice(*site.module.name_span(node), private.rpartition(".")[2]),
        *starmap(site.splice, taken),
    ]


def _declaration(site: Site, definition: Definition, private: str) -> tuple[str, list[Splice]]:
    """Return the ``global`` statement for an original: text above it, or an insertion further up.

    If the original is in a block of the class, such as an ``if``, the statement goes above the block, which otherwise
    would count as changed.
    """
    if not is_kept_global(site.classes, site.module, definition):
        return "", []
    text = f"global {private.rpartition('.')[2]}\n"
    statements = chain.from_iterable(body(owner.node) for owner in site.module.definitions[definition.parent])
    holding = next(one for one in statements if definition.node in ast.walk(one))
    indentation = site.module.indentation(holding)
    if holding is definition.node:
        return f"{indentation}{text}", []
    offset = site.module.offset(first_line(holding))
    return "", [site.insertion(offset, f"{site.notice(indentation)}{indentation}{text}")]


def without_docstring(module: Module, node: FunctionNode) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text) that removes a function's docstring, if it has one."""
    if _docstring(node) is None:
        return
    first, *rest = node.body
    # Another text below would be the docstring then.
    below = getattr(rest[0], "value", None) if rest else None
    is_text = isinstance(below, ast.Constant) and isinstance(below.value, str)
    if rest and not is_text and module.begins_line(first) and module.begins_line(rest[0]):
        yield module.offset(first.lineno), module.line_end(first.end_lineno or first.lineno), ""
    else:
        yield *module.span(first), "pass"


def _check_place(site: Site, definition: Definition, private: str) -> None:
    if _is_taken(site, definition, private):
        raise site.error(f"`{private}` is already defined", _INSTEAD)
    if decorator := calling_decorator(site.module, definition):
        what = f"upstream's decorator `{decorator}` calls {site.named} at once, where no wrapper can work yet"
        raise site.error(what, _INSTEAD)
    if callers_seen(site.classes, site.module.path, definition):
        raise site.error(f"{site.named} looks at its caller's frame, which would be the wrapper's", _INSTEAD)
    if (kind := site.closed_kind(definition.parent)) in _NO_CLASS:
        what = f"`{definition.parent}` is {_NO_CLASS[kind]}, whose methods cannot be wrapped"
        raise site.error(what, "use @replaced")


def _is_taken(site: Site, definition: Definition, private: str) -> bool:
    """Return whether an original's private name is taken: by upstream, an addition, or another original."""
    module, added = site.module, site.companions.symbols("added")
    if private in module.definitions or private in added:
        return True
    if not is_kept_global(site.classes, module, definition):
        return False
    leaf = private.rpartition(".")[2]
    if leaf in added or leaf in module.scopes.global_loads or module.scopes.bound(leaf):
        return True
    for symbol in site.companions.symbols("wrapped"):
        for other in chosen(module, symbol):
            if other is not definition and private_name(site.classes, module, other).rpartition(".")[2] == leaf:
                return True
    return False


def _wrapper(site: Site, definition: Definition) -> Wrapper:
    """Return an operation's wrapper with its original; raises `MergeError` if it cannot replace that."""
    operation, original = site.operation, definition.node
    module = Module(operation.where, operation.text.encode())
    node = module.tree.body[0]
    assert isinstance(node, FUNCTIONS)  # noqa: S101  # the overlay's reader saw to it
    assert isinstance(original, FUNCTIONS)  # noqa: S101  # which was asked before
    wrapper = Wrapper(
        name=operation.upstream_name,
        module=module,
        node=node,
        original=original,
        owner=definition.parent,
        entered=entered(site.classes, site.module.path, original),
        in_loop=not _LOOPS.isdisjoint(definition.branch),
    )
    what = f"the wrapper of {site.named}"
    known = set(map(dump, original.decorator_list))
    for decorator in node.decorator_list:
        if dump(decorator) not in known:
            text = ast.unparse(decorator)
            stays = f"upstream's decorators stay on the wrapped {site.named}; `@{text}` is none of them"
            raise site.error(stays, "take the decorator out, or use @replaced")
    if differs := wrapper_mismatch(node.args, original.args):
        raise site.error(f"{what} {differs}", f"write upstream's parameters: {signature_text(original.args)}")
    for misuse, fix in misuses(wrapper):
        raise site.error(f"{what} {misuse}", fix)
    if misused := _misused_types(module, wrapper):
        raise site.error(f"{what} {misused[0]}", misused[1])
    return wrapper


def _wrapper_text(site: Site, wrapper: Wrapper, definition: Definition, private: str) -> str:
    """Return the wrapper's text: ``upstream`` becomes the original, and omitted parts are upstream's."""
    module, node = wrapper.module, wrapper.node
    callee, known_by = _callee(site, definition, private)
    if any(known_by in scope.bindings for scope in module.scopes.all):
        bound = "the name of the original" if known_by == callee else "through which it gets at the original"
        what = f"the wrapper of {site.named} binds `{known_by}`, {bound}"
        raise site.error(what, "rename the wrapper's own")
    splices = [site.splice(*module.span(name), callee) for name in wrapper.references()]
    splices += starmap(site.splice, _taken_over(site.module, module, wrapper))
    splices.append(site.splice(*module.name_span(node), wrapper.original.name))
    text = splice(module.content, splices, newline="\n").decode()
    lines = lines_of(text)
    return "".join([*lines[: first_line(node) - 1], *lines[node.lineno - 1 :]])


def _callee(site: Site, definition: Definition, private: str) -> tuple[str, str]:
    """Return the expression for the original in a wrapper, and the name that the wrapper must not bind."""
    if not definition.parent:
        return private, private
    if is_kept_global(site.classes, site.module, definition):
        return private.rpartition(".")[2], private.rpartition(".")[2]
    if site.closed_kind(definition.parent) == "NamedTuple":  # which is created again, so that there is no __class__
        return private, definition.parent.partition(".")[0]
    # __class__ is the class around the method, even if its module-level name is bound to something else later.
    return f"__class__.{private.rpartition('.')[2]}", "__class__"


def _taken_over(theirs: Module, own: Module, wrapper: Wrapper) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text) for the parts of upstream's signature that the wrapper omits."""
    if (typed := _type_parameters(theirs, wrapper.original)) and not _type_parameters(own, wrapper.node):
        end = own.name_span(wrapper.node)[1]
        yield end, end, typed
    known = {one.name: one for one in parameters(wrapper.original.args)}
    for parameter in parameters(wrapper.node.args):
        if parameter.name in known:
            yield from _parameter(theirs, own, parameter, known[parameter.name])
    returns = wrapper.original.returns
    if returns and not wrapper.node.returns:
        end = end_of_parameters(own, wrapper.node)
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
    """Return the text of a function's type parameters, ``[T: int]``, a syntax of Python 3.12, or an empty text."""
    listed: list[ast.AST] = getattr(node, "type_params", [])
    if not listed:
        return ""
    start, end = module.span(listed[0])[0], module.span(listed[-1])[1]
    return f"[{module.content[start:end].decode()}]"


def _type_parameter_names(node: FunctionNode) -> set[str]:
    return {one.name for one in getattr(node, "type_params", [])}


def _misused_types(own: Module, wrapper: Wrapper) -> tuple[str, str] | None:
    """Return what is wrong with a wrapper's type parameters, or with its reads of upstream's."""
    theirs, mine = _type_parameter_names(wrapper.original), _type_parameter_names(wrapper.node)
    if not mine:
        inside = set(chain.from_iterable(map(ast.walk, wrapper.node.body)))
        for name in sorted(theirs):
            if any(load.at in inside for load in own.scopes.global_loads.get(name, [])):
                return f"reads `{name}`, which is a type parameter of upstream's", "use another name for what you mean"
        return None
    known = {one.name: one.node.annotation for one in parameters(wrapper.original.args)}
    taken = [] if wrapper.node.returns else [wrapper.original.returns]
    taken += [known.get(one.name) for one in parameters(wrapper.node.args) if not one.node.annotation]
    nodes = chain.from_iterable(map(ast.walk, filter(None, taken)))
    lacking = (theirs - mine) & {one.id for one in nodes if isinstance(one, ast.Name)}
    if lacking:
        fix = f"write upstream's type parameters, `[{', '.join(sorted(theirs))}]`"
        return f"leaves out annotations that name `{min(lacking)}`", fix
    return None


def _expression(module: Module, node: ast.expr) -> str:
    """Return an annotation's text; in ``*args: *Ts`` it is no expression."""
    return module.text(node) if isinstance(node, ast.Starred) else value_text(module, node)


def end_of_parameters(module: Module, node: FunctionNode) -> int:
    """Return the byte offset after the parenthesis that closes a function's parameters."""
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
    """Return the insertion of a statement at the beginning of a function's body."""
    first = node.body[0]
    start = module.offset(first_line(first))
    if module.begins_line(first) and not module.content[:start].endswith(b"\\\n"):
        return start, start, f"{module.indentation(first)}{text}\n"
    start = module.span(first)[0]
    colon = len(module.content[:start].rstrip(b" \t\f\\\n"))
    return colon, start, f"\n    {text}\n    "
