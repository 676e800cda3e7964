"""Reconciliation: changes that the trees show, and what the overlay declared → every change with its declaration."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.changes.equivalence import statement_name
from npu_overlays.changes.lost_changes import lost_changes
from npu_overlays.changes.module_comparison import ChangedClass, SymbolChange
from npu_overlays.changes.patch_series import remaining
from npu_overlays.changes.tree_comparison import ChangedFile
from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.results import Applied, Declared
from npu_overlays.model import fingerprint
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, owner_of, plain
from npu_overlays.sources.tree import PatchedTree

# What a change of the trees is called for each operation.
_SHOWN_AS = {
    "added": "added",
    "replaced": "replaced",
    "wrapped": "replaced",
    "edited": "replaced",
    "deleted": "deleted",
}


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One derived change with the declarations that explain it: the first, and the others."""

    change: SymbolChange
    declared: Declared
    also: tuple[Declared, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExplainedClass:
    """A changed class, its changes, and, if the class was added or deleted, why."""

    entry: ChangedClass
    changes: tuple[Explained, ...]
    whole: Explained | None = None


@dataclass(frozen=True, kw_only=True)
class ExplainedFile:
    """A file that changed, with every change accounted for."""

    file: ChangedFile
    class_changes: tuple[ExplainedClass, ...]
    module_changes: tuple[Explained, ...]


def declarations(applied: Applied) -> tuple[Declared, ...]:
    """Return every declared change, in the order of application.

    A patch or a substitution declares the symbols that differ between the file it found and the one it left, unless a
    later patch reverts that.

    Raises:
        MergeError: a change of one of them is not in the patched tree, because an operation or a substitution undoes
            it.
    """
    left = remaining(applied.patched)
    unmoved = [one for one in left if one.place == one.effect.place and not one.effect.whole]
    MergeError.raise_for(lost_changes(applied, unmoved))
    return (*(one.declared for one in left), *applied.declared)


def reconcile(
    tree: PatchedTree, changes: tuple[ChangedFile, ...], declared: tuple[Declared, ...], *, overlay: str
) -> tuple[ExplainedFile, ...]:
    """Pair every derived change with its declaration.

    Raises:
        MergeError: a change was not declared, a declaration changed nothing, or the kept original of a wrapped symbol
            is not upstream's.
    """
    ledger = _Ledger(declared)
    files = tuple(_explain_file(ledger, change) for change in changes)
    undeclared, ineffective = ledger.undeclared(overlay), ledger.ineffective(overlay)
    MergeError.raise_for([*undeclared, *ineffective, *_lost_originals(tree, declared, overlay)])
    return files


class _Ledger:
    """The declarations by place, those that explained a change, and unexplained changes."""

    def __init__(self, declared: tuple[Declared, ...]) -> None:
        self._declared = declared
        self._by_place: dict[tuple[str, str], list[Declared]] = {}
        self._private: set[tuple[str, str]] = set()
        for entry in declared:
            self._by_place.setdefault((entry.path, entry.symbol), []).append(entry)
            self._private.update((entry.path, name) for name in _kept(entry))
        self._seen: set[int] = set()
        self._unexplained: list[tuple[str, SymbolChange]] = []

    def undeclared(self, overlay: str) -> Iterator[Problem]:
        """Yield a problem for each change that no declaration explained."""
        for path, change in self._unexplained:
            yield Problem(
                where=self._where(path, change.symbol) or f"{overlay}: {path}",
                what=f"`{change.symbol}` was {change.action} but no operation says so",
                fix="add an operation for it, or correct the one beside it, which changes more than it names",
                targets=(path,),
            )

    def _where(self, path: str, symbol: str) -> str:
        """Return the place of a declaration for a file, preferably in the same class, or an empty text."""
        in_file = ""
        for entry in self._declared:
            if entry.path == path and entry.where:
                if entry.symbol.partition(".")[0] == symbol.partition(".")[0]:
                    return entry.where
                in_file = in_file or entry.where
        return in_file

    def explain_all(self, path: str, changes: Iterable[SymbolChange]) -> tuple[Explained, ...]:
        """Return the declared changes of a module or class, without the originals that wrapped symbols keep."""
        found = []
        for change in changes:
            if change.action == "added" and (path, plain(change.symbol)) in self._private:
                continue
            if explained := self.explain(path, change):
                found.append(explained)
        return tuple(found)

    def explain(self, path: str, change: SymbolChange) -> Explained | None:
        """Return the change with the declarations for the innermost of its places, if any."""
        innermost: list[Declared] = []
        for place in _places(change.symbol):
            fitting = self._fitting(path, place, change)
            self._seen.update(map(id, fitting))
            innermost = innermost or fitting
        if not innermost:
            self._unexplained.append((path, change))
            return None
        first, *also = innermost
        return Explained(change=change, declared=first, also=tuple(also))

    def _fitting(self, path: str, place: str, change: SymbolChange) -> list[Declared]:
        """Return the declarations for a place that can explain a change there."""
        parts = change.parts if place == change.symbol else ()
        entries: list[Declared] = []
        for one in dict.fromkeys((place, *parts)):
            entries += self._by_place.get((path, one), [])
        # What a patch adds may be edited further, and is added then.
        patched = change.action == "added" and any(entry.operation == "patch" for entry in entries)
        return [one for one in entries if _fits(one, change) or (patched and one.operation == "edited")]

    def formatting(self, file: ChangedFile) -> Iterator[SymbolChange]:
        """Yield a patch's change of comments or layout beside its changes of symbols."""
        name = file.path.rpartition("/")[2]
        known = {change.symbol for change in file.module_changes}
        if name not in known and (file.path, name) in self._by_place:
            yield SymbolChange(action="replaced", kind="text", symbol=name)

    def ineffective(self, overlay: str) -> Iterator[Problem]:
        """Yield a problem for each declaration that explained no change."""
        for entry in self._declared:
            if id(entry) in self._seen:
                continue
            name = f"`{entry.symbol}` is" if entry.symbol else "the file is"
            what = f"{entry.operation}, but {name} the same as upstream"
            fix = "delete the operation"
            rivals = {other.operation for other in self._by_place[entry.path, entry.symbol]} - {entry.operation}
            if "patch" in rivals:
                what = f"{entry.operation}, but a patch changes `{entry.symbol}`"
                fix = "keep one of the two, and write the whole change there"
            where = entry.where or f"{entry.layer or overlay}: {entry.path}"
            yield Problem(where=where, what=what, fix=fix, targets=(entry.path,))


def _places(symbol: str) -> Iterator[str]:
    """Yield a symbol, then the classes around it, then the whole file."""
    while symbol:
        yield symbol
        symbol = owner_of(symbol)
    yield ""


def _fits(entry: Declared, change: SymbolChange) -> bool:
    if entry.operation == "deleted" and not entry.symbol:
        return change.action == "deleted"  # what an emptied module holds goes, nothing comes
    if entry.symbol != change.symbol or entry.operation not in _SHOWN_AS:
        return True
    return change.action in (_SHOWN_AS[entry.operation], "updated")


def _explain_file(ledger: _Ledger, file: ChangedFile) -> ExplainedFile:
    classes = []
    for entry in file.class_changes:
        explained = ledger.explain_all(file.path, entry.changes)
        whole = None
        if entry.action != "updated":
            whole = ledger.explain(file.path, entry.as_a_whole())
        classes.append(ExplainedClass(entry=entry, changes=explained, whole=whole))
    module = ledger.explain_all(file.path, [*file.module_changes, *ledger.formatting(file)])
    return ExplainedFile(file=file, class_changes=tuple(classes), module_changes=module)


def _kept(entry: Declared) -> tuple[str, ...]:
    """Return the names under which a change shows the original of a wrapped symbol; a class may declare it global."""
    owner, _, leaf = entry.private.rpartition(".")
    return (entry.private, f"{owner}.{statement_name(f'global {leaf}')}") if entry.private else ()


def _lost_originals(tree: PatchedTree, declared: tuple[Declared, ...], overlay: str) -> Iterator[Problem]:
    """Yield a problem for every wrapped symbol whose kept original differs from upstream's definition."""
    modules: dict[str, tuple[Module, Module]] = {}
    for entry in declared:
        if not entry.private:
            continue
        if entry.path not in modules:
            before, after = tree.before(entry.path), tree.after(entry.path)
            modules[entry.path] = (Module(entry.path, before or b""), Module(entry.path, after or b""))
        old, new = modules[entry.path]
        kept = new.definitions.get(entry.private, [])
        if [_body(one.node) for one in kept] != [_body(one.node) for one in chosen(old, entry.symbol)]:
            what = f"the original of `{entry.symbol}` was not kept as upstream has it"
            fix = "keep the wrapper or the patch that changes it too, not both"
            where = entry.where or f"{overlay}: {entry.path}"
            yield Problem(where=where, what=what, fix=fix, targets=(entry.path,))


def _body(node: ast.stmt) -> str:
    """Return a function's meaning without its name, decorators and docstring."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ""
    body = fingerprint.without_docstring(node, node.body)
    # A `pass` stands for a docstring that cannot be left out.
    body = body[1:] if isinstance(body, list) and body and isinstance(body[0], ast.Pass) else body
    bare = type(node)(**{**dict(ast.iter_fields(node)), "decorator_list": [], "name": "", "body": body})
    return fingerprint.dump(bare)
