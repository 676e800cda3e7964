"""Signatures: parameters of two functions → how one differs from the other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from npu_overlays.model.fingerprint import dump


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter: its name, kind (``/``, ``|``, ``*``, ``kw`` or ``**``), syntax node and default."""

    name: str
    kind: str
    node: ast.arg
    default: ast.expr | None = None


def parameters(arguments: ast.arguments) -> list[Parameter]:
    """Return every parameter in the order in which they are written."""
    positional = [("/", one) for one in arguments.posonlyargs] + [("|", one) for one in arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    found = [_parameter(kind, one, default) for (kind, one), default in zip(positional, defaults, strict=True)]
    found += [_parameter("*", arguments.vararg)] if arguments.vararg else []
    found += [
        _parameter("kw", one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return found + ([_parameter("**", arguments.kwarg)] if arguments.kwarg else [])


def _parameter(kind: str, node: ast.arg, default: ast.expr | None = None) -> Parameter:
    return Parameter(name=node.arg, kind=kind, node=node, default=default)


def wrapper_mismatch(wrapper: ast.arguments, original: ast.arguments) -> str:
    """Return how a wrapper's parameters differ from the original's, as the rest of a sentence, or an empty text.

    They must be the same in name, kind, order and default; behind them the wrapper may have optional ones of its own.
    ``...`` as the default of a parameter stands for the original's.
    """
    own, theirs = parameters(wrapper), parameters(original)
    reasons = [*_lacking(own, theirs), *_surplus(own, theirs), *_defaults(own, theirs)]
    return reasons[0] if reasons else ""


def replacement_mismatch(replacement: ast.arguments, original: ast.arguments) -> str:
    """Return which of the original's calls a replacement would not take as they are meant, or an empty text.

    It may take more, and have other defaults.
    """
    own, theirs = parameters(replacement), parameters(original)
    kinds = {one.kind for one in own}
    positional = [one for one in own if one.kind in ("/", "|")]
    named = {one.name for one in own if one.kind in ("|", "kw")}
    for place, wanted in enumerate(one for one in theirs if one.kind in ("/", "|")):
        here = positional[place] if place < len(positional) else None
        by_name = wanted.kind == "/" or wanted.name in named or "**" in kinds
        fits = "*" in kinds if here is None else wanted.kind == "/" or here.name == wanted.name
        if not fits or not by_name:
            return f"does not take upstream's parameter `{wanted.name}` in its place"
    for wanted in theirs:
        if wanted.kind == "kw" and wanted.name not in named and "**" not in kinds:
            return f"does not take upstream's parameter `{wanted.name}`"
        if wanted.kind in ("*", "**") and wanted.kind not in kinds:
            return f"does not take upstream's `{wanted.kind}{wanted.name}`"
    required = (one for place, one in enumerate(own) if one.default is None and not _is_given(place, one, theirs))
    return next((_required(one) for one in required if one.kind not in ("*", "**")), "")


def _is_given(place: int, parameter: Parameter, theirs: list[Parameter]) -> bool:
    """Return whether every caller of the original gives a parameter, as far as that can be told of ``*args``."""
    positional = [one for one in theirs if one.kind in ("/", "|")]
    wanted = next((one for one in theirs if one.name == parameter.name), None)
    if place < len(positional) and "/" in (parameter.kind, positional[place].kind):
        wanted = positional[place]
    if wanted is None and parameter.kind != "kw":
        return any(one.kind == "*" for one in theirs)
    return wanted is not None and wanted.default is None


def call_mismatch(call: ast.Call, theirs: list[Parameter]) -> str:
    """Return why Python would refuse a call, or an empty text; what is starred could be anything."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    doubly = any(one.arg is None for one in call.keywords)
    positional = [one for one in theirs if one.kind in ("/", "|")]
    kinds = {one.kind for one in theirs}
    given = sum(not isinstance(one, ast.Starred) for one in call.args)
    named = {one.arg for one in call.keywords if one.arg}
    if given > len(positional) and "*" not in kinds:
        return f"gives {given} positional arguments where upstream takes {len(positional)}"
    known = {one.name for one in theirs if one.kind in ("|", "kw")}
    if (unknown := sorted(named - known)) and "**" not in kinds:
        return f"gives `{unknown[0]}`, which upstream does not take"
    if twice := [one.name for one in positional[:given] if one.kind == "|" and one.name in named]:
        return f"gives `{twice[0]}` twice"
    lacking = [one for one in theirs if one.default is None and one.kind not in ("*", "**") and one.name not in named]
    for one in lacking:
        reached = one in positional[:given] or (starred and one in positional) or (doubly and one.kind != "/")
        if not reached:
            return f"lacks `{one.name}`"
    return ""


def signature_text(arguments: ast.arguments, default: Callable[[ast.expr], str] = ast.unparse) -> str:
    """Return parameters as they can be written, without their annotations: ``(x, y=1, **kwargs)``.

    Args:
        arguments: the parameters.
        default: how a default is written.
    """
    shown: list[str] = []
    before = ""
    for one in parameters(arguments):
        shown += ["/"] if before == "/" and one.kind != "/" else []
        shown += ["*"] if one.kind == "kw" and before not in ("kw", "*") else []
        stars = one.kind if one.kind in ("*", "**") else ""
        shown.append(f"{stars}{one.name}" + (f"={default(one.default)}" if one.default else ""))
        before = one.kind
    shown += ["/"] if before == "/" else []
    return f"({', '.join(shown)})"


def _lacking(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    """Yield what of the original's parameters the wrapper does not have, or has elsewhere."""
    places = {(one.kind, one.name): number for number, one in enumerate(own)}
    gone = [
        one.name for one in own if one.kind not in ("*", "**") and one.name not in {wanted.name for wanted in theirs}
    ]
    but = f"; upstream has no `{'`, `'.join(gone)}`" if gone else ""
    for number, wanted in enumerate(theirs):
        place = places.get((wanted.kind, wanted.name))
        if wanted.kind in ("*", "**") and place is None:
            yield f"does not take upstream's `{wanted.kind}{wanted.name}`"
        elif place is None or (wanted.kind in ("/", "|") and place != number):
            yield f"does not take upstream's parameter `{wanted.name}` in its place{but}"


def _surplus(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    """Yield what the wrapper has beyond the original's parameters and may not have."""
    known = {one.name for one in theirs}
    rest = next((one.name for one in theirs if one.kind == "*"), "")
    for one in own:
        if one.name not in known and one.kind in ("*", "**"):
            yield f"takes `{one.kind}{one.name}`, which hides upstream's parameters"
        elif one.name not in known and one.default is None:
            yield _required(one)
        elif one.name not in known and one.kind != "kw" and rest:
            yield f"takes as `{one.name}` what upstream takes as `*{rest}`"


def _defaults(own: list[Parameter], theirs: list[Parameter]) -> Iterator[str]:
    known = {one.name: one for one in theirs}
    for one in own:
        wanted = known.get(one.name)
        if wanted is None or one.kind in ("*", "**"):
            continue
        if wanted.default is not None and one.default is None:
            yield _required(one)
        elif wanted.default is None and one.default is not None:
            yield f"gives `{one.name}` a default, which upstream's callers must give"
        elif wanted.default is not None and one.default is not None and not _same(one.default, wanted.default):
            yield f"gives `{one.name}` another default than upstream's {ast.unparse(wanted.default)}"


def _same(own: ast.expr, theirs: ast.expr) -> bool:
    return is_upstreams(own) or dump(own) == dump(theirs)


def is_upstreams(default: ast.expr | None) -> bool:
    """Return whether a wrapper's default is written ``...``, that is, stands for the original's."""
    return isinstance(default, ast.Constant) and default.value is ...


def _required(parameter: Parameter) -> str:
    return f"requires `{parameter.name}`, which upstream's callers may leave out"
