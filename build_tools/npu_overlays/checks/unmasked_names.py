"""Unmasked names: patched tree → names with another binding for upstream's text, because a patch removed one.

The merge checks removals by operations.
"""

from __future__ import annotations

import builtins

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext, PatchedModule
from npu_overlays.errors import listing
from npu_overlays.merge.remaining_text import bindings_of, redirected_reads
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Load, Scope


def report_unmasked_names(context: CheckContext, report: ProblemReport) -> None:
    """Report names that a patch removes and that upstream's own text then resolves to another binding."""
    for one in context.modules:
        if one.before is None or not context.attribution.is_patched(one.path):
            continue
        before, after = context.before.modules.module(one.path), context.after.modules.module(one.path)
        if before is None or after is None:  # which is reported as a syntax error
            continue
        found: dict[str, set[int]] = {}
        taken = _taken(one, before)
        if not taken:
            continue
        now = after.scopes_naming(taken)
        for scope, load, line in redirected_reads(before, after, now, one.authorship, taken):
            if _is_there(context, one, after, scope, load):
                found.setdefault(load.name, set()).add(line)
        for name, lines in found.items():
            shown = f"{one.path}:{listing(map(str, sorted(lines)))}"
            what = f"`{name}` is taken away, and upstream's own text would read another object of that name ({shown})"
            report.add(context.attribution.taker(one.path, name), what, "keep it, or change that text too")


def _taken(one: PatchedModule, before: Module) -> set[str]:
    """Return the names that lost an upstream binding."""
    kept: list[range] = []
    for part in one.authorship.stretches:
        if part.origin is not None:
            kept.append(range(part.origin, part.origin + part.end - part.start))
    found: set[str] = set()
    for _, name, binding in bindings_of(before.scopes):
        offset = before.span(binding.node)[0]
        if not any(offset in stretch for stretch in kept):
            found.add(name)
    return found


def _is_there(context: CheckContext, one: PatchedModule, after: Module, scope: Scope, load: Load) -> bool:
    """Return whether a name has bindings, and the overlay wrote none of them."""
    bindings = scope.owner(load.name).bindings.get(load.name, [])
    if bindings:
        return all(one.authorship.origin(after.span(binding.node)[0]) is not None for binding in bindings)
    stars = context.after.modules.stars(context.name(one.path))
    return hasattr(builtins, load.name) or any(context.after.modules.star_brings(star, load.name) for star in stars)
