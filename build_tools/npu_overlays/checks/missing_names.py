"""Missing names: patched tree → what modules need of one another that is not there."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from npu_overlays.checks.affected_modules import concerned
from npu_overlays.checks.attribution import Culprit, ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.references import Reference, references
from npu_overlays.errors import listing
from npu_overlays.model.lazy_exports import entries, has, looks_lazy
from npu_overlays.model.shipped_modules import ShippedModules

_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
_KEEP = "keep it, or change those places too"


def report_missing(context: CheckContext, report: ProblemReport) -> None:
    """Report what the overlay's own text needs of the shipped modules, or lists in ``__all__``, and is not there."""
    for module in context.modules:
        for reference in _needs(context, module.path, module.after):
            offset = context.parsed.offset(module.after, reference.node)
            if (
                not context.attribution.wrote(module.path, offset)
                or reference.holds(context.after.modules) is not False
            ):
                continue
            if not context.sets_elsewhere(reference.name):
                line = getattr(reference.node, "lineno", 1)
                culprit = context.attribution.author(module.path, offset, line, _mentioned(reference))
                report.add(culprit, *_complaint(context, reference))


def _needs(context: CheckContext, path: str, content: bytes) -> Iterator[Reference]:
    """Yield what a module needs of the shipped ones, what it lists in ``__all__`` or hands on lazily included."""
    tree, name = context.parsed.tree(content), context.name(path)
    if tree is None or not name:
        return
    yield from references(tree, name, context.after.modules)
    for entry, node in (context.parsed.surface(content).listed or {}).items() if b"__all__" in content else ():
        yield Reference(module=name, name=entry, node=node, text="__all__")
    yield from _handed_on(context.after.modules, name) if looks_lazy(content) else ()


def _mentioned(reference: Reference) -> list[str]:
    """Return the names by which the overlay's own text may mention what is missing."""
    aliases: list[ast.alias] = getattr(reference.node, "names", [])
    wanted = [alias for alias in aliases if alias.name in (reference.name, reference.module)] or aliases
    bound = [alias.asname or alias.name.partition(".")[0] for alias in wanted]
    return [*(f"import {alias.name}" for alias in wanted), *bound, reference.text.partition(".")[0]]


def _complaint(context: CheckContext, reference: Reference) -> tuple[str, str]:
    module, name, after = reference.module, reference.name, context.after.modules
    if reference.text == "__all__":
        return f"`__all__` lists `{name}`, which {module} does not have", "take it out, or define it"
    if not module:
        return f"`{reference.text}` leads out of the package", "count its dots"
    if not after.exists(module):
        known = [*after.paths]
        what = f"`{reference.text}`: no module {module} is shipped"
        return what, _nearest(module, known) or "correct the import, or add the module under tree/"
    surface = after.surface(module)
    what = f"`{reference.text}`: {module} has no `{name}`"
    if name in surface.typing_only:
        return f"{what} at run time, only under `if TYPE_CHECKING:`", "import it from where it is defined"
    return what, _nearest(name, surface.bound) or "correct the name, or define it there"


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, [*known], n=1, cutoff=0.6)
    return f"nearest: `{close[0]}`" if close else ""


def report_losses(context: CheckContext, report: ProblemReport) -> None:
    """Report names and modules of upstream's that the overlay takes away, and upstream's own modules still need."""
    lost = _lost_names(context)
    if not lost:
        return
    found: dict[str, list[str]] = {}
    for path, content in concerned(context, lost):
        for reference in _needs(context, path, content):
            word = reference.name or reference.module.rpartition(".")[2]
            offset = context.parsed.offset(content, reference.node)
            if word in lost and not context.attribution.wrote(path, offset) and _is_lost(context, reference):
                place = f"{path}:{getattr(reference.node, 'lineno', 1)} ({reference.text})"
                found.setdefault(word, []).append(place)
        for word, line in _lost_by_star(context, path, content, lost):
            found.setdefault(word, []).append(f"{path}:{line} (import *)")
    for word, place in _configured(context, lost):
        found.setdefault(word, []).append(place)
    for word, places in found.items():
        what = f"`{word}` is taken away from {lost[word]}, but needed in {listing(places)}"
        report.add(_taker(context, lost[word], word), what, _KEEP)


def _taker(context: CheckContext, path: str, word: str) -> Culprit:
    """Return who took a name away from a module: what is still bound there is only listed no more."""
    after = context.tree.after(path)
    bound = after is not None and word in context.parsed.surface(after).bound
    return context.attribution.taker(path, "__all__" if bound else word)


def _configured(context: CheckContext, lost: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is lost and the shipped settings that name it in full."""
    for path in sorted(context.after.modules.places.values()):
        content = context.tree.after(path) if path.endswith(_SETTINGS) else None
        for word, home in lost.items() if content else ():
            module = context.name(home)
            full = module if module.rpartition(".")[2] == word else f"{module}.{word}"
            match = re.search(rb"(?<![\w.])%s(?!\w)" % re.escape(full.encode()), content or b"")
            if match and content:
                yield word, f"{path}:{content.count(bytes([10]), 0, match.start()) + 1} ({full})"


def _lost_names(context: CheckContext) -> dict[str, str]:
    """Return the names and modules that upstream's tree has and the patched one has not, each with its path."""
    lost: dict[str, str] = {}
    keeping = _only_adding(context)
    for path in sorted(context.tree.changed):
        before, after = context.tree.before(path), context.tree.after(path)
        name = context.name(path)
        if not name or not path.endswith(".py") or before is None or path in keeping:
            continue
        if after is None:
            lost[name.rpartition(".")[2]] = path
            lost |= dict.fromkeys(_plain(context.parsed.surface(before).bound), path)
            continue
        old, new = context.parsed.surface(before), context.parsed.surface(after)
        lost |= dict.fromkeys([*_plain(old.bound - new.bound), *(old.starred - new.starred)], path)
    return lost


def _plain(names: Iterable[str]) -> list[str]:
    """Return the names without those of attributes, which are bound as ``Class.name``."""
    return [name for name in names if "." not in name]


def _only_adding(context: CheckContext) -> set[str]:
    """Return the paths whose operations leave every name of the module bound."""
    actions: dict[str, set[str]] = {}
    for operation in context.content.operations:
        action = "edited" if operation.symbol == "__all__" else operation.action
        actions.setdefault(operation.path, set()).add(action)
    patched = {path for path in context.tree.changed if context.attribution.is_patched(path)}
    return {path for path, those in actions.items() if not those & {"deleted", "edited"}} - patched


def _is_lost(context: CheckContext, reference: Reference) -> bool:
    before, after = context.before.modules, context.after.modules
    gone = _is_taken_out(context, reference.module)
    return _holds(before, reference) is True and (gone or _holds(after, reference) is False)


def _is_taken_out(context: CheckContext, module: str) -> bool:
    """Return whether a module's file is gone, and its package is as it was: that makes up none of its name."""
    before, after = context.before.modules, context.after.modules
    home = after.paths.get(module.rpartition(".")[0], "")
    return before.holds(module) and not after.holds(module) and home not in context.tree.changed


def _handed_on(modules: ShippedModules, module: str) -> Iterator[Reference]:
    """Yield what a lazy package says it has from modules of the tree; nothing of any other module."""
    for home, entry in entries(modules, module):
        if modules.owns(home):
            yield Reference(module=home, name=entry.taken, node=entry.node, text=entry.text)


def _holds(modules: ShippedModules, reference: Reference) -> bool | None:
    """Return whether a tree has what is needed, lazy packages followed; None where that cannot be told."""
    known = reference.holds(modules)
    return has(modules, reference.module, reference.name) if known is None and reference.name else known


def _lost_by_star(context: CheckContext, path: str, content: bytes, lost: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the lost names that an unchanged module has by a star import, with the lines that read them."""
    tree, name = context.parsed.tree(content), context.name(path)
    if tree is None or path in context.tree.changed or not context.parsed.surface(content).stars:
        return
    surface = context.parsed.surface(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in lost and node.id not in surface.bound:
            before = context.before.modules.offers(name, node.id)
            if before and context.after.modules.offers(name, node.id) is False:
                yield node.id, node.lineno
