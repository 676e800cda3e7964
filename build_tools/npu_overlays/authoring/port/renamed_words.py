"""Renamed words: an operation, and names of upstream's that are others now → the operation with the new names.

A name is renamed wherever the text has it. `UnprovenError` is raised if a place may mean something else by it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from npu_overlays.authoring.port.logical_lines import Words, names_bound, syntax_of, words_of_lines
from npu_overlays.authoring.port.renamed_names import CallShape, RenamedName, Role, call_shape
from npu_overlays.errors import listing
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.local_names import FunctionNames
from npu_overlays.model.module import Module
from npu_overlays.model.syntax import all_of, is_name
from npu_overlays.model.token_layout import layout_of
from npu_overlays.model.tokens import Token
from npu_overlays.overlay.operations import Edit, ImportedName, Operation

# Calls that read or write names which the syntax does not show.
INDIRECT = frozenset({"locals", "vars", "eval", "exec"})
# Words of a line that binds a name in another way than by assigning to it.
_BINDING = frozenset({"import", "def", "class", "lambda", "as", "case", "global", "nonlocal"})
_OWN = ("self", "cls")


class UnprovenError(Exception):
    """Syntax alone does not prove how an operation follows; the text is the reason."""


def function_of(text: str) -> tuple[Module, FunctionNode]:
    """Return the function that a text begins with, and the text as a module; raises `UnprovenError` for other code."""
    module = Module("", text.encode())
    node = module.tree.body[0]
    if not isinstance(node, FUNCTIONS):
        raise UnprovenError("it is no function")
    return module, node


def with_names(operation: Operation, names: Iterable[RenamedName]) -> Operation:
    """Return an operation with the new names; raises `UnprovenError`."""
    for name in names:
        if name.role == "import":
            others = [one for one in operation.imports if one.name != name.old]
            wanted = ImportedName(name=name.old, statement=name.new)
            operation = replace(operation, imports=(*others, wanted))
            continue
        edits = tuple(edit_with_name(edit, name) for edit in operation.edits)
        text = _text_with_name(operation.text, name) if operation.text else ""
        operation = replace(operation, edits=edits, text=text)
    return operation


def edit_with_name(edit: Edit, name: RenamedName) -> Edit:
    """Return an edit with a new name in its find and its replacement; raises `UnprovenError`.

    The find has to occur in upstream's definition, so upstream renamed the keywords of its calls and the attributes of
    other objects there, too.
    """
    _check_put_in(edit, name)
    found, put_in = (list(_named(text, name)) for text in (edit.find, edit.replace))
    known = {of for _, of in found}
    if name.role == "attribute":
        known = {*_OWN, *(of for of in known if of and not of.startswith("."))}
    for _, of in put_in:
        if of is not None and of not in known:
            what = f"the keyword `{name.old}`" if name.role == "parameter" else f"`{name.old}` of {_an_object(of)}"
            raise UnprovenError(f"it puts in {what}, which may be another one's")
    find, put = (_with_name(text, named, name) for text, named in ((edit.find, found), (edit.replace, put_in)))
    return replace(edit, find=find, replace=put)


def _check_put_in(edit: Edit, name: RenamedName) -> None:
    """Raise `UnprovenError` if an edit puts in a text that may hold a name, or a line that may bind it."""
    names = {name.old, name.new}
    known, layout = layout_of(edit.find), layout_of(edit.replace)
    for token in layout.tokens:
        is_text = token.kind == "string" and not names.isdisjoint(re.findall(r"\w+", token.text))
        if token.text not in known.texts and (is_text or token.text in INDIRECT):
            raise UnprovenError(f"it may name {_a(name)} by `{token.text}`")
    if name.role == "attribute":
        return
    for words in words_of_lines(layout):
        is_new = words not in words_of_lines(known) and not names.isdisjoint(words)
        if is_new and (_assigns(words, name) or not _BINDING.isdisjoint(words)):
            raise UnprovenError(f"it may have another {_a(name)[2:]}'s name in `{' '.join(words)}`")


def _assigns(words: Words, name: RenamedName) -> bool:
    """Return whether a line may assign a global, which is a local name then."""
    if name.role != "global":
        return False
    is_part = syntax_of(words) is None
    return not {"for", ":="}.isdisjoint(words) or (is_part and "=" in words) or name.old in names_bound(words)


def _a(name: RenamedName) -> str:
    return f"an {name.role}" if name.role == "attribute" else f"a {name.role}"


def _an_object(of: str | None) -> str:
    return f"`{of}`" if of and not of.startswith(".") else "another expression"


def _named(text: str, name: RenamedName) -> Iterator[tuple[Token, str | None]]:
    """Yield the tokens of a piece of code that are a name in its role; some with what they are of.

    That is the called thing for a parameter in a keyword, and the object for an attribute.
    """
    listed = layout_of(text).tokens
    if any(token.text == name.new for token in listed):
        raise UnprovenError(f"it has `{name.new}` already")
    for number in _places_of(listed, name.role):
        token = listed[number]
        if token.text != name.old:
            continue
        if name.role == "attribute":
            yield token, _words_before(listed[: number - 1])
        else:
            yield token, called_before(listed[:number]) if _is_keyword(listed, number) else None


def names_in(text: str, role: Role) -> frozenset[str]:
    """Return the words of a piece of code that may be names of a role."""
    listed = layout_of(text).tokens
    return frozenset(listed[number].text for number in _places_of(listed, role))


def _places_of(listed: Sequence[Token], role: Role) -> Iterator[int]:
    """Yield the numbers of the tokens that may be names of a role; a keyword of a call is no global."""
    for number, token in enumerate(listed):
        is_attribute = bool(number) and listed[number - 1].text == "."
        is_other = role == "global" and _is_keyword(listed, number)
        if token.kind == "name" and is_attribute == (role == "attribute") and not is_other:
            yield number


def _is_keyword(listed: Sequence[Token], number: int) -> bool:
    return bool(listed[number + 1 : number + 2]) and listed[number + 1].text == "="


def called_before(listed: Sequence[Token]) -> str:
    """Return the words in front of the last bracket that tokens leave open; empty if they open none."""
    depth = 0
    for number in reversed(range(len(listed))):
        depth += (listed[number].text in ")]}") - (listed[number].text in "([{")
        if depth < 0:
            return _words_before(listed[:number])
    return ""


def _words_before(listed: Sequence[Token]) -> str:
    """Return the dotted name with which tokens end; it begins with a dot behind another expression."""
    found: list[str] = []
    for token in reversed(listed):
        is_dot = token.text == "."
        if not (is_dot or token.kind == "name") or is_dot != (bool(found) and found[-1] != "."):
            break
        found.append(token.text)
    return "".join(reversed(found))


def _with_name(text: str, named: Iterable[tuple[Token, str | None]], name: RenamedName) -> str:
    return exchanged(text, [(token, name.new) for token, _ in named])


def exchanged(text: str, put: Iterable[tuple[Token, str]]) -> str:
    """Return a text with other texts instead of some of its tokens, which are in their order."""
    parts, at = list[str](), 0
    for token, new in put:
        parts += [text[at : token.start], new]
        at = token.end
    return "".join([*parts, text[at:]])


def _text_with_name(text: str, name: RenamedName) -> str:
    """Return a function's text with another name for an attribute of its object, or for a global."""
    _, node = function_of(text)
    named = list(_named(text, name))
    for reason, holds in _other_meanings(node, named, name):
        if holds:
            raise UnprovenError(reason)
    return _with_name(text, named, name)


def _other_meanings(
    node: FunctionNode, named: Sequence[tuple[Token, str | None]], name: RenamedName
) -> Iterator[tuple[str, object]]:
    """Yield the reasons why a function may mean something else by a name than upstream, each with whether it holds."""
    known, own = FunctionNames(node), first_parameter(node)
    texts = {word for text in _texts(node) for word in re.findall(r"\w+", text)}
    yield f"it may name {_a(name)} by texts", {name.old, name.new} & texts or known.all & INDIRECT
    if name.role == "global":
        bound = [one for one in (name.old, name.new) if one in known.bound]
        yield f"it has another `{listing(bound)}` in it", bound
        count = sum(one.id == name.old for one in all_of(node, ast.Name))
    else:
        others = sorted({_an_object(of) for _, of in named if of != own})
        yield f"it has `{name.old}` of {listing(others)}, which may be another one's", others
        is_bound = any(is_name(one, own) and not isinstance(one.ctx, ast.Load) for one in all_of(node, ast.Name))
        yield f"it has another `{own}` in it", is_bound or not known.is_only_parameter(own)
        count = sum(one.attr == name.old for one in all_of(node, ast.Attribute))
    yield f"it has `{name.old}` in a formatted text", count != len(named)


def _texts(node: FunctionNode) -> Iterator[str]:
    """Yield the strings of a function but its docstring."""
    strings = [one for one in all_of(node, ast.Constant) if isinstance(one.value, str)]
    first = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
    yield from (str(one.value) for one in strings if one is not first)


def calls_of(operation: Operation, name: str) -> Iterator[CallShape]:
    """Yield the shapes of an operation's calls of a global; raises `UnprovenError` for any other use of it."""
    trees = [function_of(operation.text)[0].tree] if operation.text else []
    for edit in operation.edits:
        for words in words_of_lines(layout_of(edit.replace)):
            statement = syntax_of(words)
            if name in words and statement is None:
                raise UnprovenError(f"`{' '.join(words)}` is only part of a statement")
            trees += [ast.Module(body=[statement], type_ignores=[])] if statement else []
    for tree in trees:
        calls = [one for one in all_of(tree, ast.Call) if is_name(one.func, name)]
        if len(calls) != sum(is_name(one, name) for one in all_of(tree, ast.Name)):
            raise UnprovenError(f"it does more with `{name}` than to call it")
        yield from map(call_shape, calls)
