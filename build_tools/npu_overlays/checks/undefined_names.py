"""Undefined names: patched modules → names that nothing binds, and syntax errors.

What upstream's own text leaves undefined is upstream's business: each place is compared with its place upstream, so the
same name elsewhere, or in the overlay's text, is found.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from npu_overlays.checks.attribution import Culprit, ProblemReport
from npu_overlays.checks.context import CheckContext, PatchedModule
from npu_overlays.checks.ruff import LOWEST_PYTHON, FindingKind, RuffFinding, findings
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.exports import local_annotations, unevaluated
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.signatures import is_upstreams, parameters
from npu_overlays.model.syntax import statements_of
from npu_overlays.overlay.operations import Operation

_LOWEST = f"{LOWEST_PYTHON[2]}.{LOWEST_PYTHON[3:]}"
_BY_NAME = "import it by name; where upstream's module reads that name too, under another one"
_GLOBAL = re.compile(rb"^[ \t]*global\s|[;:][ \t]*global\s", re.MULTILINE)

# Bound for type checkers only; declared ``global`` and bound nowhere.
ConditionalKind: TypeAlias = Literal["typing", "global"]


@dataclass(frozen=True, kw_only=True)
class UndefinedName:
    """One read of an undefined name."""

    module: PatchedModule
    kind: FindingKind | ConditionalKind  # why; "syntax" where the text is no Python of the lowest version
    name: str  # or the message of a syntax error
    offset: int  # in bytes without the byte order mark
    line: int  # 1-based
    upstreams: tuple[int, ...] = ()  # where upstream's text of the module leaves the name undefined, in bytes likewise


def report_undefined_names(context: CheckContext, report: ProblemReport) -> None:
    """Report undefined names of patched modules, and text that the lowest supported Python cannot parse."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in _undefined_names(context):
        path, stars = one.module.path, list[str]()
        if one.kind == "star":
            stars = list(context.after.modules.stars(context.name(path)))
        brought = {context.after.modules.star_brings(star, one.name) for star in stars}
        if _is_left_by_upstream(context, one, counts) or True in brought:
            continue
        if context.attribution.wrote(path, one.offset):
            culprit = context.attribution.author(path, one.offset, one.line, [one.name])
            report.add(culprit, *_complaint(one, culprit, stars if None in brought else []))
        else:
            what = f"`{one.name}` is taken away, but upstream's own text in {path} names it"
            report.add(context.attribution.taker(path, one.name), what, "keep it, or change that text too")


def _complaint(one: UndefinedName, culprit: Culprit, stars: list[str]) -> tuple[str, str]:
    """Return the problem of an undefined name in the overlay's text, and what to do."""
    place = "" if culprit.kind == "file" else f" in {one.module.path}"
    if one.kind == "syntax":
        return f"line {one.line} of the patched {one.module.path}: {one.name}", f"write what Python {_LOWEST} reads"
    if one.kind == "typing":
        fix = "import it under another name, or where it is used; an annotation can be quoted"
        return f"`{one.name}` is bound{place} under `if TYPE_CHECKING:` only, and read at run time", fix
    if one.kind == "global":
        return f"`{one.name}` is declared global, but nothing{place} binds it", "bind it at module level"
    if stars:
        return f"`{one.name}` can only come from `from {', '.join(stars)} import *`{place}, if at all", _BY_NAME
    fixes = {"file": "import or define it there", "patch": "import or define it in the patch"}
    fix = fixes.get(culprit.kind, "import it in the merge module, or add it")
    if one.name == "upstream":
        fix = "it is the original of a @wrapped; elsewhere there is none"
    return f"`{one.name}` is not defined{place}", fix


def _undefined_names(context: CheckContext) -> list[UndefinedName]:
    """Return every undefined name and syntax error of patched modules that upstream's text does not have there."""
    now = findings([(one.path.rpartition("/")[2], one.after) for one in context.modules])
    # Upstream's text need not be read where the patched one has nothing.
    named = [(module, after) for module, after in zip(context.modules, now, strict=True) if after]
    then = findings([(one.path.rpartition("/")[2], one.before or b"") for one, _ in named])
    found: list[UndefinedName] = []
    for (module, after), before in zip(named, then, strict=True):
        names = _named_by_ruff(module, before, after)
        found += [one for one in names if one.kind != "undefined" or not _is_excused(one, context)]
    for module in context.modules:
        found += _conditionally_bound(module, context)
    return sorted(found, key=lambda one: (one.module.path, one.offset))


def _named_by_ruff(
    module: PatchedModule, before: list[RuffFinding], after: list[RuffFinding]
) -> Iterator[UndefinedName]:
    """Yield ruff's findings in the patched module that are not at the same places upstream."""
    known: dict[str, list[int]] = {}
    for one in before:
        known.setdefault(one.name, []).append(one.offset)
    syntax = {one.name for one in before if one.kind == "syntax"}
    for one in after:
        upstreams = tuple(known.get(one.name, []))
        if one.kind == "syntax":
            if one.name not in syntax:
                yield UndefinedName(module=module, kind="syntax", name=one.name, offset=one.offset, line=one.line)
        elif not one.quoted and module.authorship.origin(one.offset) not in upstreams:
            yield UndefinedName(
                module=module, kind=one.kind, name=one.name, offset=one.offset, line=one.line, upstreams=upstreams
            )


def _is_excused(one: UndefinedName, context: CheckContext) -> bool:
    """Return whether a name is in a local variable's annotation, which nothing evaluates, or is closed over."""
    module = context.after.modules.module(one.module.path)
    if module is None:
        return False
    for node in local_annotations(module.nodes):
        if one.offset in range(*module.span(node.annotation)):
            return True
    return _is_closed_over(one, module)


def _is_closed_over(one: UndefinedName, module: Module) -> bool:
    """Return whether an enclosing function binds a name: ruff takes a `del` there for its end."""
    for scope in module.scopes.all:
        for load in scope.loads:
            if load.name == one.name and module.span(load.at)[0] == one.offset:
                owner = scope.owner(one.name)
                if owner is scope or owner.kind != "function":
                    return False
                return any(binding.how != "del" for binding in owner.bindings.get(one.name, []))
    return False


def _conditionally_bound(module: PatchedModule, context: CheckContext) -> Iterator[UndefinedName]:
    """Yield names that are bound for type checkers only, or declared ``global`` and bound nowhere."""
    after = context.after.modules.module(module.path)
    before = context.before.modules.module(module.path) if module.before is not None else None
    if after is None:
        return
    for kind, name in _seemingly_bound(after):
        reads = _reads(after, name)
        if not before or name not in before.parsed.surface.bound:
            reads = [at for at in reads if module.authorship.at(after.span(at)[0]).origin is None]
        upstreams: tuple[int, ...] = ()
        if before and reads and (kind, name) in _seemingly_bound(before):
            upstreams = tuple(before.span(at)[0] for at in _running(before, _reads(before, name)))
        for at in _running(after, reads):
            offset = after.span(at)[0]
            yield UndefinedName(module=module, kind=kind, name=name, offset=offset, line=at.lineno, upstreams=upstreams)


def _seemingly_bound(module: Module) -> list[tuple[ConditionalKind, str]]:
    """Return the names that a module only seems to bind, each with the reason."""
    content = module.content  # to look for a word first takes a sixth of the time
    if b"TYPE_CHECKING" not in content and not (b"global" in content and _GLOBAL.search(content)):
        return []
    typing = module.parsed.surface.typing_only
    names: list[tuple[ConditionalKind, str]] = [("typing", name) for name in sorted(typing)]
    return names + [("global", name) for name in sorted(_global_only(module) - typing)]


def _reads(module: Module, name: str) -> list[ast.expr]:
    """Return the reads of a global."""
    loads = module.scopes.global_loads.get(name, [])
    return [load.at for load in loads if not isinstance(load.at, ast.Constant)]


def _running(module: Module, reads: Sequence[ast.expr]) -> list[ast.expr]:
    """Return those reads that are in code that runs."""
    never = unevaluated(module.nodes) if reads else set()  # slow, so only where something is read
    return [at for at in reads if at not in never]


def _global_only(module: Module) -> set[str]:
    """Return the names declared ``global`` that nothing else binds."""
    scopes = module.outer_scopes
    declared: set[str] = set()
    extended: set[ast.expr] = set()
    for node in statements_of(module.tree):
        if isinstance(node, ast.Global):
            declared.update(node.names)
        elif isinstance(node, ast.AugAssign):
            extended.add(node.target)
    if scopes.stars:
        return set()
    bound: set[str] = set()
    for name in declared:
        bindings = scopes.module.bindings.get(name, [])
        if any(one.how != "del" and one.node not in extended for one in bindings):
            bound.add(name)
    return declared - bound - set(dir(builtins))


def _is_left_by_upstream(context: CheckContext, one: UndefinedName, counts: Counter[tuple[str, str]]) -> bool:
    """Return whether upstream's text of the operation's symbol leaves a name undefined too.

    An operation may leave as many undefined places as it found, and none elsewhere.

    Args:
        context: what is checked.
        one: the name.
        counts: the places found so far by operation and name.
    """
    path, before = one.module.path, one.module.before
    if before is None or one.kind == "syntax" or not context.attribution.wrote(path, one.offset):
        return False
    for operation in context.attribution.operations_at(path, one.offset):
        if operation.action == "wrapped":
            spans = _taken_over(context.after.modules.module(path), operation)
            allowed = any(start <= one.offset < end for start, end in spans)
        else:
            places = 0
            for start, end in _changed_spans(context.before.modules.module(path), operation):
                places += sum(start <= offset < end for offset in one.upstreams)
            counts[operation.where, one.name] += 1
            allowed = bool(places) and (one.kind != "undefined" or counts[operation.where, one.name] <= places)
        if allowed:
            return True
    return False


def _changed_spans(module: Module | None, operation: Operation) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of upstream's definitions that an operation changes."""
    if module is not None:
        for one in chosen(module, operation.symbol):
            yield module.offset(one.first_line), module.span(one.node)[1]


def _taken_over(module: Module | None, operation: Operation) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of upstream's text that a wrapper takes over."""
    own = ast.parse(operation.text).body[0]
    if module is None or not isinstance(own, FUNCTIONS):
        return
    written = {one.name: one for one in parameters(own.args)}
    for known in chosen(module, operation.symbol):
        if not isinstance(known.node, FUNCTIONS):
            continue
        for one in parameters(known.node.args):
            mine = written.get(one.name)
            if mine and one.node.annotation and not mine.node.annotation:
                yield module.span(one.node.annotation)
            if mine and one.default and is_upstreams(mine.default):
                yield module.span(one.default)
        if known.node.returns and not own.returns:
            yield module.span(known.node.returns)
