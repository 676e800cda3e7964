"""Signatures: two functions' parameters in, which calls of one the other would refuse out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class _Parameter:
    name: str
    by_keyword: bool
    optional: bool


@dataclass(frozen=True, kw_only=True)
class _Signature:
    """How a function can be called: positional parameters in order, keyword-only ones, and the two catch-alls."""

    positional: tuple[_Parameter, ...]
    keyword_only: dict[str, _Parameter]
    rest: str
    keywords: str


def refused_calls(wrapper: ast.arguments, original: ast.arguments) -> str:
    """Return why a wrapper would refuse calls the original accepts, as the rest of a sentence, or an empty text."""
    own, theirs = _signature(wrapper), _signature(original)
    reasons = [
        *(reason for position in range(len(theirs.positional)) for reason in _positional(own, theirs, position)),
        *_keyword_only(own, theirs),
        *_surplus(own, theirs),
    ]
    return reasons[0] if reasons else ""


def _signature(arguments: ast.arguments) -> _Signature:
    listed = [(argument, False) for argument in arguments.posonlyargs] + [(one, True) for one in arguments.args]
    required = len(listed) - len(arguments.defaults)
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return _Signature(
        positional=tuple(
            _Parameter(name=one.arg, by_keyword=by_keyword, optional=number >= required)
            for number, (one, by_keyword) in enumerate(listed)
        ),
        keyword_only={
            one.arg: _Parameter(name=one.arg, by_keyword=True, optional=default is not None)
            for one, default in keyword_only
        },
        rest=arguments.vararg.arg if arguments.vararg else "",
        keywords=arguments.kwarg.arg if arguments.kwarg else "",
    )


def _positional(own: _Signature, theirs: _Signature, position: int) -> Iterator[str]:
    wanted = theirs.positional[position]
    misplaced = f"does not take upstream's parameter `{wanted.name}` in its place"
    if position < len(own.positional):
        mine = own.positional[position]
        if wanted.by_keyword:
            fits = mine.name == wanted.name and mine.by_keyword
        else:  # upstream may give a keyword of that name to another parameter or to its **kwargs
            fits = not (mine.by_keyword and (theirs.keywords or mine.name in theirs.keyword_only))
        if not fits:
            yield misplaced
        elif wanted.optional and not mine.optional:
            yield _required(mine)
        return
    named = own.keyword_only.get(wanted.name)
    elsewhere = any(one.name == wanted.name and one.by_keyword for one in own.positional)
    takes_keyword = named.optional if named else bool(own.keywords) and not elsewhere
    if not own.rest or (wanted.by_keyword and not takes_keyword):
        yield misplaced


def _keyword_only(own: _Signature, theirs: _Signature) -> Iterator[str]:
    further = {one.name: one for one in own.positional[len(theirs.positional) :] if one.by_keyword}
    for wanted in theirs.keyword_only.values():
        mine = own.keyword_only.get(wanted.name) or further.get(wanted.name)
        if (mine is None and not own.keywords) or (wanted.name in further and theirs.rest):
            yield f"does not take upstream's parameter `{wanted.name}` in its place"
        elif mine and wanted.optional and not mine.optional:
            yield _required(mine)


def _surplus(own: _Signature, theirs: _Signature) -> Iterator[str]:
    """Yield what a wrapper asks for beyond upstream's parameters, and the catch-alls it lacks."""
    for one in (*own.positional[len(theirs.positional) :], *own.keyword_only.values()):
        if not one.optional and not (one.by_keyword and one.name in theirs.keyword_only):
            yield _required(one)
    if theirs.rest and not own.rest:
        yield f"does not take upstream's `*{theirs.rest}`"
    if theirs.keywords and not own.keywords:
        yield f"does not take upstream's `**{theirs.keywords}`"


def _required(parameter: _Parameter) -> str:
    return f"requires `{parameter.name}`, which upstream's callers may leave out"
