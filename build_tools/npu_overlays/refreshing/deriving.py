"""Deriving: one module of upstream, its operations and the text that is wanted → the operations that give it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.errors import MergeError
from npu_overlays.merging.actions.wrapping import private_name
from npu_overlays.merging.authorship import kept
from npu_overlays.merging.merge import merged_module
from npu_overlays.merging.results import MergedModule
from npu_overlays.overlay.operations import ImportedName, Operation
from npu_overlays.refreshing.below import carried_below
from npu_overlays.refreshing.meaning import plain_imports, same_program
from npu_overlays.refreshing.proposing import Place, dedented_text, only, text_of
from npu_overlays.syntax.definitions import Definition
from npu_overlays.syntax.symbols import Module


@dataclass(frozen=True, kw_only=True)
class Change:
    """What becomes of one symbol: the operation there was, and the one there is to be; None for none."""

    symbol: str
    known: Operation | None
    wanted: Operation | None

    @property
    def target(self) -> str:
        """The symbol with its file, ``path:Symbol``."""
        one = self.wanted or self.known
        return f"{one.path}:{self.symbol}" if one else self.symbol


@dataclass(frozen=True, kw_only=True)
class Derived:
    """What gives a module.

    Args:
        changes: what becomes of its operations.
        before: what a patch has to make of upstream's file first; None where it needs none.
        result: the module they give, without notices.
    """

    changes: tuple[Change, ...]
    before: bytes | None
    result: bytes


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One module.

    Args:
        path: its repository path.
        upstream: its bytes before any operation.
        operations: those on it.
        now: what they give, without notices.
        wanted: what is wanted, likewise.
    """

    path: str
    upstream: bytes
    operations: tuple[Operation, ...]
    now: bytes
    wanted: bytes


def derive(subject: Subject) -> Derived:
    """Return the operations that give a module, and where they cannot, a patch below them.

    Raises:
        MergeError: the wanted text is no Python, or neither operations nor a patch give it.
    """
    modules = [Module(subject.path, content) for content in (subject.upstream, subject.now, subject.wanted)]
    changes = _changes(subject, *modules)
    operations = _applied(subject.operations, changes)
    merged = _merged(subject, operations)
    known = modules[0].definitions.keys()
    if merged is not None and same_program(merged.content, subject.wanted, known):
        return Derived(changes=tuple(changes), before=None, result=merged.content)
    if merged is not None:
        below = carried_below(subject.upstream, merged.content, merged.authorship, subject.wanted)
        above = _merged(subject, operations, below) if below is not None else None
        if above is not None and same_program(above.content, subject.wanted, known):
            return Derived(changes=tuple(changes), before=below, result=above.content)
    gone = tuple(Change(symbol=one.symbol, known=one, wanted=None) for one in subject.operations)
    return Derived(changes=gone, before=subject.wanted, result=subject.wanted)


def _merged(subject: Subject, operations: Sequence[Operation], upstream: bytes | None = None) -> MergedModule | None:
    before = subject.upstream if upstream is None else upstream
    if not operations:
        return MergedModule(content=before, declared=(), authorship=kept(before))
    try:
        return merged_module(subject.path, before, operations, distribution="")
    except MergeError:
        return None


def _changes(subject: Subject, upstream: Module, now: Module, wanted: Module) -> list[Change]:
    """Return what becomes of each symbol that differs from what the operations give."""
    by_symbol = {one.symbol: one for one in subject.operations}
    imports = _imports(wanted)
    changes: list[Change] = []
    for symbol in _differing(now, wanted, by_symbol):
        known = by_symbol.get(symbol)
        place = Place(path=subject.path, symbol=symbol, upstream=upstream, wanted=wanted, known=known, imports=imports)
        found = _chosen(subject, place, _applied(subject.operations, changes))
        if found is not None:
            changes.append(found)
    return changes


def _imports(wanted: Module) -> Mapping[str, ImportedName]:
    return {name: ImportedName(name=name, statement=text) for name, text in plain_imports(wanted.tree)}


def _applied(operations: Sequence[Operation], changes: Sequence[Change]) -> list[Operation]:
    """Return operations with some exchanged in their places, and the new ones behind them."""
    by_symbol = {one.symbol: one.wanted for one in changes}
    kept = [by_symbol.pop(one.symbol, one) if one.symbol in by_symbol else one for one in operations]
    return [one for one in (*kept, *by_symbol.values()) if one is not None]


def _chosen(subject: Subject, place: Place, operations: Sequence[Operation]) -> Change | None:
    """Return the first proposal that gives the wanted text, or else one that gives the wanted program."""
    others = [one for one in operations if one.symbol != place.symbol]
    theirs, wanted = only(place.upstream, place.symbol), only(place.wanted, place.symbol)
    if place.known and _says(theirs) == _says(wanted):
        return Change(symbol=place.symbol, known=place.known, wanted=None)
    fallback: Change | None = None
    for proposal in place.proposals():
        result = _merged(subject, [*others, proposal])
        if result is None:
            continue
        module = Module(subject.path, result.content)
        made = only(module, place.symbol)
        change = Change(symbol=place.symbol, known=place.known, wanted=proposal)
        if _text(module, made) == _text(place.wanted, wanted):
            return change
        if fallback is None and _says(made) == _says(wanted):
            fallback = change
    return fallback


def _text(module: Module, definition: Definition | None) -> str:
    return dedented_text(module, definition, comments=False) if definition else ""


def _says(definition: Definition | None) -> str:
    """Return what a definition says, without comments and layout; an empty text for none."""
    return ast.dump(definition.node) if definition else ""


def _differing(now: Module, wanted: Module, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Yield the symbols that differ, in the wanted order: of a class that stays, its members."""
    private = {private_name(symbol) for symbol, one in operations.items() if one.action == "wrapped"}
    private |= {private_name(symbol) for symbol in wanted.definitions}
    private -= {symbol for symbol, one in operations.items()}
    names = [*wanted.definitions, *(name for name in now.definitions if name not in wanted.definitions)]
    whole: set[str] = set()
    for name in names:
        if name in private or any(name.startswith(f"{one}.") for one in whole):
            continue
        old, new = only(now, name), only(wanted, name)
        if old is None and new is None:
            continue
        if old is None or new is None or not _goes_inside(old, new, operations):
            whole.add(name)
            if _differs(now, wanted, old, new):
                yield name


def _goes_inside(old: Definition, new: Definition, operations: Mapping[str, Operation]) -> bool:
    """Return whether a class is to be looked at member by member."""
    if not isinstance(old.node, ast.ClassDef) or not isinstance(new.node, ast.ClassDef):
        return False
    if (known := operations.get(old.name)) is not None and known.action != "edited":
        return False
    if any(name.startswith(f"{old.name}.") for name in operations):
        return True
    return _frame(old.node) == _frame(new.node)


def _frame(node: ast.ClassDef) -> tuple[object, ...]:
    """Return what of a class no operation on a member says: its head, and statements that bind nothing."""
    head = [ast.dump(one) for one in (*node.bases, *node.keywords, *node.decorator_list)]
    bare = (ast.Expr, ast.If, ast.For, ast.With, ast.Try)
    return head, [ast.dump(one) for one in node.body if isinstance(one, bare)]


def _differs(now: Module, wanted: Module, old: Definition | None, new: Definition | None) -> bool:
    if old is None or new is None:
        kind = (old or new).kind if old or new else ""  # type: ignore[union-attr]  # one of them is there
        return kind != "import" or new is None
    return text_of(now, old) != text_of(wanted, new) and (
        _says(old) != _says(new) or _text(now, old) != _text(wanted, new)
    )
