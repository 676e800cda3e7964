"""Signatures: parameters of two functions → how they differ."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from npu_overlays.model.fingerprint import dump
from npu_overlays.model.scopes import is_private

_DIGEST = re.compile("<[0-9a-f]{8}>")
ParameterKind = Literal["/", "|", "*", "kw", "**"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: ParameterKind  # by position, by position or name, all further positions, by name, all further names
    node: ast.arg
    default: ast.expr | None = None

    @property
    def is_positional(self) -> bool:
        """Whether a call can pass it by position."""
        return self.kind in ("/", "|")

    @property
    def is_starred(self) -> bool:
        """Whether it is ``*args`` or ``**kwargs``."""
        return self.kind in ("*", "**")

    @property
    def shown(self) -> str:
        """Its name, with the stars of ``*args`` and ``**kwargs``."""
        return f"{self.kind}{self.name}" if self.is_starred else self.name

    @property
    def is_required(self) -> bool:
        """Whether every call must pass it."""
        return self.default is None and not self.is_starred


def parameters(arguments: ast.arguments) -> list[Parameter]:
    """Return every parameter, in the order of the text."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    listed: list[tuple[ParameterKind, ast.arg, ast.expr | None]] = []
    for number, (node, default) in enumerate(zip(positional, defaults, strict=True)):
        listed.append(("/" if number < len(arguments.posonlyargs) else "|", node, default))
    if arguments.vararg:
        listed.append(("*", arguments.vararg, None))
    for node, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        listed.append(("kw", node, default))
    if arguments.kwarg:
        listed.append(("**", arguments.kwarg, None))
    return [Parameter(name=node.arg, kind=kind, node=node, default=default) for kind, node, default in listed]


class _Accepted:
    """The calls that a function accepts, by its parameters."""

    def __init__(self, listed: Iterable[Parameter]) -> None:
        self.all = list(listed)
        self.positional = [one for one in self.all if one.is_positional]
        self.kinds = {one.kind for one in self.all}
        self.named = {one.name for one in self.all if one.kind in ("|", "kw")}

    def by_name(self, name: str) -> bool:
        """Return whether a call can pass a keyword of that name."""
        return name in self.named or "**" in self.kinds

    def gives(self, place: int, parameter: Parameter) -> bool:
        """Return whether every call of it passes a parameter of another function; ``*`` counts as possible."""
        wanted = next((one for one in self.all if one.name == parameter.name), None)
        if place < len(self.positional) and "/" in (parameter.kind, self.positional[place].kind):
            wanted = self.positional[place]
        if wanted is None and parameter.kind != "kw":
            return "*" in self.kinds
        return wanted is not None and wanted.default is None


def replacement_mismatch(replacement: ast.arguments, original: ast.arguments) -> str:
    """Return the calls of the original that a replacement would refuse or read differently, in words, or an empty text.

    It may accept more, and have other defaults.
    """
    own, theirs = _Accepted(parameters(replacement)), _Accepted(parameters(original))
    for place, wanted in enumerate(theirs.positional):
        here = own.positional[place] if place < len(own.positional) else None
        fits = "*" in own.kinds if here is None else wanted.kind == "/" or here.name == wanted.name
        if not fits or not (wanted.kind == "/" or own.by_name(wanted.name)):
            return f"does not take upstream's parameter `{wanted.name}` in its place"
    for wanted in theirs.all:
        if wanted.kind == "kw" and not own.by_name(wanted.name):
            return f"does not take upstream's parameter `{wanted.name}`"
        if wanted.is_starred and wanted.kind not in own.kinds:
            return f"does not take upstream's `{wanted.shown}`"
    for place, one in enumerate(own.all):
        if one.is_required and not theirs.gives(place, one):
            return _required(one)
    return ""


def call_mismatch(call: ast.Call, theirs: list[Parameter]) -> str:
    """Return why Python would refuse a call, or an empty text; a starred argument could be anything."""
    accepted = _Accepted(theirs)
    plain = [one for one in call.args if not isinstance(one, ast.Starred)]
    named = {one.arg for one in call.keywords}
    if len(plain) > len(accepted.positional) and "*" not in accepted.kinds:
        return f"gives {len(plain)} positional arguments where upstream takes {len(accepted.positional)}"
    for name in sorted(filter(None, named)):
        if not accepted.by_name(name):
            return f"gives `{name}`, which upstream does not take"
    reached = accepted.positional[: len(plain)]
    for one in reached:
        if one.kind == "|" and one.name in named:
            return f"gives `{one.name}` twice"
    if len(plain) < len(call.args):
        reached = accepted.positional
    for one in theirs:
        starred = None in named and one.kind != "/"
        if one.is_required and one.name not in named and one not in reached and not starred:
            return f"lacks `{one.name}`"
    return ""


def private_mismatch(call: ast.Call) -> str:
    """Return why Python would refuse a call in a class: it renames such a parameter there, and no argument's name."""
    for one in call.keywords:
        if one.arg and is_private(one.arg):
            return f"gives `{one.arg}` by name, which Python renames in a class: only a position reaches it"
    return ""


def signature_text(arguments: ast.arguments, default: Callable[[ast.expr], str] = ast.unparse) -> str:
    """Return parameters as source text, without annotations: ``(x, y=1, **kwargs)``.

    Args:
        arguments: the parameters.
        default: returns the text of a default.
    """
    return parameter_list(
        parameters(arguments), lambda one: f"{one.shown}={default(one.default)}" if one.default else one.shown
    )


def parameter_list(listed: Iterable[Parameter], text: Callable[[Parameter], str]) -> str:
    """Return parameters in brackets, with the marks of their kinds; a function returns the text of each."""
    shown: list[str] = []
    before = ""
    for one in listed:
        if before == "/" != one.kind:
            shown.append("/")
        if one.kind == "kw" and before not in ("kw", "*"):
            shown.append("*")
        shown.append(text(one))
        before = one.kind
    if before == "/":
        shown.append("/")
    return f"({', '.join(shown)})"


def parsed_signature(text: str) -> ast.arguments | None:
    """Return parameters from their text, in which digests may stand for defaults; None if it is no such text."""
    readable = _DIGEST.sub(r"'\g<0>'", text)
    try:
        (definition,) = ast.parse(f"def f{readable}: ...").body
    except (SyntaxError, ValueError):
        return None
    return definition.args if isinstance(definition, ast.FunctionDef) else None


def wrapper_mismatch(wrapper: ast.arguments, original: ast.arguments) -> str:
    """Return how a wrapper's parameters differ from the original's, as the rest of a sentence, or an empty text.

    Names, kinds, order and defaults must be the same; the wrapper may add optional parameters at the end. The default
    ``...`` stands for the original's.
    """
    own, theirs = parameters(wrapper), parameters(original)
    for differences in (_lacking(own, theirs), _surplus(own, theirs), _defaults(own, theirs)):
        for text in differences:
            return text
    return ""


def _lacking(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    """Yield the original's parameters that the wrapper lacks or moves."""
    places = {(one.kind, one.name): number for number, one in enumerate(own)}
    known = {wanted.name for wanted in theirs}
    gone = [one.name for one in own if not one.is_starred and one.name not in known]
    but = f"; upstream has no `{'`, `'.join(gone)}`" if gone else ""
    for number, wanted in enumerate(theirs):
        place = places.get((wanted.kind, wanted.name))
        if wanted.is_starred and place is None:
            yield f"does not take upstream's `{wanted.shown}`"
        elif place is None or (wanted.is_positional and place != number):
            yield f"does not take upstream's parameter `{wanted.name}` in its place{but}"


def _surplus(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    """Yield the wrapper's own parameters that it may not have."""
    known = {one.name for one in theirs}
    rest = next((one.name for one in theirs if one.kind == "*"), "")
    for one in own:
        if one.name in known:
            continue
        if one.is_starred:
            yield f"takes `{one.shown}`, which hides upstream's parameters"
        elif one.default is None:
            yield _required(one)
        elif one.kind != "kw" and rest:
            yield f"takes as `{one.name}` what upstream takes as `*{rest}`"


def _defaults(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    """Yield the parameters with a default that the original lacks or has differently."""
    known = {one.name: one for one in theirs}
    for one in own:
        wanted = known.get(one.name)
        if wanted is None or one.is_starred:
            continue
        if wanted.default is None and one.default is not None:
            yield f"gives `{one.name}` a default, which upstream's callers must give"
        elif wanted.default is not None and one.default is None:
            yield _required(one)
        elif wanted.default and one.default and not _is_same(one.default, wanted.default):
            yield f"gives `{one.name}` another default than upstream's {ast.unparse(wanted.default)}"


def _is_same(own: ast.expr, theirs: ast.expr) -> bool:
    return is_upstreams(own) or dump(own) == dump(theirs)


def is_upstreams(default: ast.expr | None) -> bool:
    """Return whether a wrapper's default is ``...``, which stands for the original's."""
    return isinstance(default, ast.Constant) and default.value is ...


def _required(parameter: Parameter) -> str:
    return f"requires `{parameter.name}`, which upstream's callers may leave out"
