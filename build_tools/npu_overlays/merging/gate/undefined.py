"""Undefined names: patched modules → names used in them that nothing binds.

What upstream's own text left undefined is upstream's business: each place is compared with the place it was at there,
so that the same name at another place, or in the overlay's text, is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from npu_overlays.merging.gate.examined import PatchedModule
from npu_overlays.merging.gate.half_bound import HalfKind, half_bound
from npu_overlays.merging.gate.ruff import Finding, FindingKind, findings
from npu_overlays.model.exports import local_annotations
from npu_overlays.model.parsed_modules import ParsedModules

Kind: TypeAlias = FindingKind | HalfKind


@dataclass(frozen=True, kw_only=True)
class Undefined:
    """One place that names what nothing binds.

    Args:
        module: the module it is in.
        kind: why: no binding, only perhaps a star import, only under ``if TYPE_CHECKING:``, only ``global``; or the
            text is no Python of the lowest version.
        name: the name, or the message of a syntax error.
        offset: where, in bytes without the byte order mark.
        line: its 1-based line.
        upstreams: where upstream's text of the module leaves the same name undefined, in bytes likewise.
    """

    module: PatchedModule
    kind: Kind
    name: str
    offset: int
    line: int
    upstreams: tuple[int, ...] = ()


def undefined_names(modules: Iterable[PatchedModule], parsed: ParsedModules) -> list[Undefined]:
    """Return every undefined name and syntax error of patched modules that upstream's text does not have there."""
    listed = tuple(modules)
    texts = [(one.path.rpartition("/")[2], side or b"") for one in listed for side in (one.before, one.after)]
    said = findings(texts)
    found = [one for module, *sides in zip(listed, said[::2], said[1::2], strict=True) for one in _new(module, *sides)]
    found = [one for one in found if one.kind != "undefined" or not _is_excused(one, parsed)]
    for module in listed:
        found += _unbound(module, parsed)
    return sorted(found, key=lambda one: (one.module.path, one.offset))


def _new(module: PatchedModule, before: list[Finding], after: list[Finding]) -> Iterator[Undefined]:
    """Yield what ruff says of the patched module, less what it says of the same places of upstream's."""
    known: dict[str, list[int]] = {}
    for one in before:
        known.setdefault(one.name, []).append(one.offset)
    syntax = {one.name for one in before if one.kind == "syntax"}
    for one in after:
        upstreams = tuple(known.get(one.name, []))
        if one.kind == "syntax":
            if one.name not in syntax:
                yield Undefined(module=module, kind="syntax", name=one.name, offset=one.offset, line=one.line)
        elif not one.quoted and module.authorship.origin(one.offset) not in upstreams:
            yield Undefined(
                module=module, kind=one.kind, name=one.name, offset=one.offset, line=one.line, upstreams=upstreams
            )


def _is_excused(one: Undefined, parsed: ParsedModules) -> bool:
    """Return whether nothing ever reads the name there, or a function around binds it."""
    return _is_local_annotation(one, parsed) or _is_closed_over(one, parsed)


def _is_local_annotation(one: Undefined, parsed: ParsedModules) -> bool:
    """Return whether a name stands in the annotation of a local variable."""
    module = parsed.module(one.module.after)
    spans = [module.span(node.annotation) for node in local_annotations(module.tree)] if module else []
    return any(start <= one.offset < end for start, end in spans)


def _is_closed_over(one: Undefined, parsed: ParsedModules) -> bool:
    """Return whether a function around the one that reads a name binds it; of a `del` there ruff makes too much."""
    for scope in parsed.scopes(one.module.after).all:
        for load in scope.loads:
            if load.name == one.name and parsed.offset(one.module.after, load.at) == one.offset:
                owner = scope.owner(one.name)
                bindings = owner.bindings.get(one.name, []) if owner is not scope and owner.kind == "function" else []
                return any(binding.how != "del" for binding in bindings)
    return False


def _unbound(module: PatchedModule, parsed: ParsedModules) -> Iterator[Undefined]:
    """Yield names that only type checkers see bound, and names declared ``global`` that nothing binds."""
    before = half_bound(module.before, parsed) if module.before is not None else {}
    for (kind, name), places in half_bound(module.after, parsed).items():
        was_bound = module.before is not None and name in parsed.surface(module.before).bound
        upstreams = tuple(offset for offset, _ in before.get((kind, name), []))
        for offset, line in places:
            if was_bound or module.authorship.at(offset).origin is None:
                yield Undefined(module=module, kind=kind, name=name, offset=offset, line=line, upstreams=upstreams)
