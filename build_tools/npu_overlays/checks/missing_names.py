"""Missing names: patched tree → the names and modules that modules need of one another and that are missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.references import Reference, any_word, nearest_name, references
from npu_overlays.errors import listing
from npu_overlays.merge.authorship import line_at
from npu_overlays.model.definitions import first_line
from npu_overlays.model.lazy_exports import entries, has, looks_lazy, may_hand_on
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.syntax import nodes_of

_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
_KEEP = "keep it, or change those places too"
# `from . import name` does not mention the package whose name it is.
_DOTS_ONLY = re.compile(rb"\bfrom\s*\.[.\s]*import\b")


def report_missing_names(context: CheckContext, report: ProblemReport) -> None:
    """Report missing names that the overlay's own text needs of the shipped modules, or lists in ``__all__``."""
    for module in context.modules:
        for reference in _needs(context, module.path, _own_nodes(context, module.path)):
            offset = context.after.modules.offset(module.path, reference.node)
            own = context.attribution.wrote(module.path, offset)
            missing = own and reference.holds(context.after.modules) is False
            if missing and not context.sets_elsewhere(reference.name):
                line = getattr(reference.node, "lineno", 1)
                culprit = context.attribution.author(module.path, offset, line, _mentions(reference))
                report.add(culprit, *_complaint(context.after.modules, reference))


def _own_nodes(context: CheckContext, path: str) -> list[ast.AST]:
    """Return the nodes of a patched module on lines that the overlay wrote any of, and those around them."""
    module = context.after.modules.module(path)

    def is_own(node: ast.AST) -> bool:
        if module is None or not isinstance(node, (ast.stmt, ast.expr)):
            return True
        first = first_line(node) if isinstance(node, ast.stmt) else node.lineno
        last = node.end_lineno or node.lineno
        return context.attribution.wrote_any(path, module.offset(first), module.line_end(last))

    return nodes_of(module.tree, is_own) if module else []


def _needs(context: CheckContext, path: str, nodes: Sequence[ast.AST] | None = None) -> Iterator[Reference]:
    """Yield what a module, or some nodes, need of the shipped ones, names in ``__all__`` and lazy exports included."""
    modules, name = context.after.modules, context.name(path)
    text = modules.text(path)
    if not text or not name:
        return
    yield from references(text, name, modules, nodes)
    if b"__all__" in text.content:
        listed = text.surface.listed or {}
        for one, node in listed.items():
            yield Reference(module=name, name=one, node=node, text="__all__")
    if looks_lazy(text.content):
        for home, entry in entries(modules, name):
            if modules.owns(home):
                yield Reference(module=home, name=entry.taken, node=entry.node, text=entry.text)


def _mentions(reference: Reference) -> list[str]:
    """Return the names by which the overlay's own text may mention a missing one."""
    aliases: list[ast.alias] = getattr(reference.node, "names", [])
    wanted = [alias for alias in aliases if alias.name in (reference.name, reference.module)] or aliases
    bound = [alias.asname or alias.name.partition(".")[0] for alias in wanted]
    return [*(f"import {alias.name}" for alias in wanted), *bound, reference.text.partition(".")[0]]


def _complaint(modules: ShippedModules, reference: Reference) -> tuple[str, str]:
    """Return what is missing, and what to do."""
    module, name = reference.module, reference.name
    if reference.text == "__all__":
        return f"`__all__` lists `{name}`, which {module} does not have", "take it out of `__all__`, or define it"
    if not module:
        return f"`{reference.text}` leads out of the package", "take dots away from its beginning"
    if not modules.exists(module):
        what = f"`{reference.text}`: no module {module} is shipped"
        return what, nearest_name(module, modules.paths) or "correct the import, or add the module under tree/"
    surface = modules.surface(module)
    what = f"`{reference.text}`: {module} has no `{name}`"
    if name in surface.typing_only:
        return f"{what} at run time, only under `if TYPE_CHECKING:`", "import it from where it is defined"
    return what, nearest_name(name, surface.bound) or "correct the name, or define it there"


def report_lost_names(context: CheckContext, report: ProblemReport) -> None:
    """Report upstream's names and modules that the overlay removes and upstream's own modules still need."""
    lost = _lost_names(context)
    if not lost:
        return
    found: dict[str, list[str]] = {}
    for path in _affected_modules(context, lost):
        for reference in _needs(context, path):
            word = reference.name or reference.module.rpartition(".")[2]
            offset = context.after.modules.offset(path, reference.node)
            if word in lost and not context.attribution.wrote(path, offset) and _is_lost(context, reference):
                place = f"{path}:{getattr(reference.node, 'lineno', 1)} ({reference.text})"
                found.setdefault(word, []).append(place)
        for word, line in _lost_by_star(context, path, lost):
            found.setdefault(word, []).append(f"{path}:{line} (import *)")
    for word, place in _named_in_settings(context, lost):
        found.setdefault(word, []).append(place)
    for word, places in found.items():
        path = lost[word]
        after = context.tree.after(path)
        # What is still bound there is only listed no more.
        bound = after is not None and word in context.after.modules.exports(path).bound
        what = f"`{word}` is taken away from {path}, but needed in {listing(places)}"
        report.add(context.attribution.taker(path, "__all__" if bound else word), what, _KEEP)


def _lost_names(context: CheckContext) -> dict[str, str]:
    """Return the names and modules that the patched tree lacks and upstream's has, each with its path."""
    lost: dict[str, str] = {}
    keeping = _only_adding(context)
    for path in sorted(context.tree.changed):
        before, after = context.tree.before(path), context.tree.after(path)
        name = context.name(path)
        if not name or not path.endswith(".py") or before is None or path in keeping:
            continue
        old = context.before.modules.exports(path)
        gone, starred = old.bound, frozenset[str]()
        if after is None:
            lost[name.rpartition(".")[2]] = path
        else:
            new = context.after.modules.exports(path)
            gone, starred = old.bound - new.bound, old.starred - new.starred
        # Attributes are bound as ``Class.name``.
        lost |= dict.fromkeys([*(one for one in gone if "." not in one), *starred], path)
    return lost


def _only_adding(context: CheckContext) -> set[str]:
    """Return the paths whose operations keep every name of the module bound."""
    actions: dict[str, set[str]] = {}
    for operation in context.content.operations:
        action = "edited" if operation.symbol == "__all__" else operation.action
        actions.setdefault(operation.path, set()).add(action)
    found: set[str] = set()
    for path, those in actions.items():
        if not those & {"deleted", "edited"} and not context.attribution.is_patched(path):
            found.add(path)
    return found


def _affected_modules(context: CheckContext, lost: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of the shipped modules that may need something lost; the others are not parsed.

    They mention it, and also the module that had it, or one that re-exports it by ``import *`` or lazily.
    """
    modules = context.after.modules
    homes, word = set(lost.values()), any_word(lost)
    for path in lost.values():
        package = context.name(path)
        while package := package.rpartition(".")[0]:
            home = modules.paths.get(package, "")
            if looks_lazy(modules.texts.get(home, b"")):
                homes.add(home)
    pending = {path: text for path, text in modules.texts.items() if path not in homes and may_hand_on(text)}
    while found := {path for path, text in pending.items() if _mentions_one_of(context, homes, text)}:
        homes |= found
        pending = {path: text for path, text in pending.items() if path not in found}
    for path, text in sorted(modules.texts.items()):
        if word.search(text) and (path in homes or _mentions_one_of(context, homes, text)):
            yield path


def _mentions_one_of(context: CheckContext, paths: set[str], content: bytes) -> bool:
    """Return whether a module's text may import one of some modules."""
    names = {context.name(path) for path in paths}
    if any(context.before.modules.is_package(name) for name in names) and _DOTS_ONLY.search(content):
        return True
    return bool(any_word(name.rpartition(".")[2] for name in names).search(content))


def _is_lost(context: CheckContext, reference: Reference) -> bool:
    before, after = context.before.modules, context.after.modules
    home = after.paths.get(reference.module.rpartition(".")[0], "")
    # A package that is as it was makes up no module whose file is gone.
    gone = before.holds(reference.module) and not after.holds(reference.module) and home not in context.tree.changed
    return _holds(before, reference) is True and (gone or _holds(after, reference) is False)


def _holds(modules: ShippedModules, reference: Reference) -> bool | None:
    """Return whether a tree has what is needed, lazy packages followed; None if unknown."""
    known = reference.holds(modules)
    return has(modules, reference.module, reference.name) if known is None and reference.name else known


def _lost_by_star(context: CheckContext, path: str, lost: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the lost names that an unchanged module gets by a star import, with the lines that read them."""
    name, text = context.name(path), context.after.modules.text(path)
    if path in context.tree.changed or text is None or not text.surface.stars:
        return
    for node in text.nodes:
        if isinstance(node, ast.Name) and node.id in lost and node.id not in text.surface.bound:
            before = context.before.modules.offers(name, node.id)
            if before and context.after.modules.offers(name, node.id) is False:
                yield node.id, node.lineno


def _named_in_settings(context: CheckContext, lost: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield lost names, with the places in shipped settings that name them in full."""
    for path in sorted(context.after.modules.places.values()):
        content = context.tree.after(path) if path.endswith(_SETTINGS) else None
        if not content:
            continue
        for word, home in lost.items():
            module = context.name(home)
            full = module if module.rpartition(".")[2] == word else f"{module}.{word}"
            match = re.search(rb"(?<![\w.])%s(?!\w)" % re.escape(full.encode()), content)
            if match:
                yield word, f"{path}:{line_at(content, match.start())} ({full})"
