"""Changes: two trees in, what differs between them out, by syntax.

Reads only the trees, never the overlay, so that it is an independent witness
of what an overlay says about itself.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays import fingerprint
from npu_overlays.symbols import Definition, Module, blocks
from npu_overlays.tree import PatchedTree

ChangeAction = Literal["added", "replaced", "updated", "deleted"]
ChangeKind = Literal["class", "method", "attribute", "statement", "text", "file"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One symbol that differs.

    Args:
        action: ``added``, ``replaced`` or ``deleted``; ``updated`` for a class or file of which parts differ.
        kind: ``method`` for any function, as in the layout users know; ``statement`` for code at module or
            class level that binds no name; ``text`` where only comments or formatting differ; ``file`` where
            there is no syntax to compare.
        symbol: qualified name, or the statement's first line, or the file's name.
        line: 1-based line in the patched file; None for what is no longer there.
    """

    action: ChangeAction
    kind: ChangeKind
    symbol: str
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ClassChange:
    """A class that differs, with its members that differ."""

    action: ChangeAction
    name: str
    line: int | None = None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """A file that differs.

    Args:
        path: repository path.
        action: ``added``, ``updated`` or ``deleted``.
        before: sha256 of upstream's content, hex; None where upstream has no such file.
        after: sha256 of the shipped content, hex; None where none is shipped.
        class_changes: in order of the patched file.
        module_changes: likewise.
    """

    path: str
    action: ChangeAction
    before: str | None
    after: str | None
    class_changes: tuple[ClassChange, ...] = ()
    module_changes: tuple[Change, ...] = ()

    def symbols(self) -> Iterator[Change]:
        """Yield every change once, a class without differing members as a change of kind ``class``."""
        for entry in self.class_changes:
            if entry.changes:
                yield from entry.changes
            else:
                yield Change(action=entry.action, kind="class", symbol=entry.name, line=entry.line)
        yield from self.module_changes


@dataclass(kw_only=True)
class _Comparison:
    before: Module
    after: Module
    classes: dict[str, list[Change]] = field(default_factory=dict)
    module: list[Change] = field(default_factory=list)

    def note(self, parent: str, change: Change) -> None:
        if parent:
            self.classes.setdefault(parent, []).append(change)
        else:
            self.module.append(change)


def compare_trees(tree: PatchedTree) -> tuple[FileChange, ...]:
    """Return what differs between upstream and the patched tree, by path."""
    found = (compare_file(path, tree.before(path), tree.after(path)) for path in sorted(tree.changed))
    return tuple(change for change in found if change is not None)


def compare_file(path: str, before: bytes | None, after: bytes | None) -> FileChange | None:
    """Return what differs between two contents of one file, None for a file that is absent; None where nothing does."""
    if before == after:
        return None
    action: ChangeAction = "added" if before is None else "deleted" if after is None else "updated"
    classes: tuple[ClassChange, ...] = ()
    module: tuple[Change, ...] = ()
    if path.endswith(".py"):
        classes, module = compare_modules(Module(path, before or b""), Module(path, after or b""))
    if not classes and not module:
        name = path.rpartition("/")[2]
        kind: ChangeKind = "text" if path.endswith(".py") and action == "updated" else "file"
        module = (Change(action="replaced" if action == "updated" else action, kind=kind, symbol=name),)
    return FileChange(
        path=path,
        action=action,
        before=_sha256(before),
        after=_sha256(after),
        class_changes=classes,
        module_changes=module,
    )


def compare_modules(before: Module, after: Module) -> tuple[tuple[ClassChange, ...], tuple[Change, ...]]:
    """Return the class changes and the module changes between two modules."""
    comparison = _Comparison(before=before, after=after)
    names = [*after.definitions, *(name for name in before.definitions if name not in after.definitions)]
    for name in names:
        _compare_name(comparison, name)
    # Of a file that came or went as a whole, the definitions say enough.
    if before.tree.body and after.tree.body:
        for scope in ("", *_class_names(before, after)):
            _compare_statements(comparison, scope)
    return tuple(_class_changes(comparison)), tuple(comparison.module)


def _compare_name(comparison: _Comparison, name: str) -> None:
    old = comparison.before.definitions.get(name, [])
    new = comparison.after.definitions.get(name, [])
    latest = (new or old)[-1]
    if latest.kind == "class" and all(definition.kind == "class" for definition in (*old, *new)):
        _compare_class_headers(comparison, name, old, new)
        return
    if _meaning(old) != _meaning(new):
        action: ChangeAction = "added" if not old else "deleted" if not new else "replaced"
        kind: ChangeKind = {"function": "method", "class": "class"}.get(latest.kind, "attribute")  # type: ignore[assignment]  # all three are kinds
        comparison.note(latest.parent, Change(action=action, kind=kind, symbol=name, line=_line(new)))


def _compare_class_headers(comparison: _Comparison, name: str, old: list[Definition], new: list[Definition]) -> None:
    """Note the class itself where it came, went, or has other bases, keywords or decorators."""
    if not old or not new:
        comparison.classes.setdefault(name, [])
    for attribute, part in (("__bases__", _bases), ("__decorators__", _decorators)):
        if old and new and [part(entry.node) for entry in old] != [part(entry.node) for entry in new]:
            comparison.note(
                name, Change(action="replaced", kind="attribute", symbol=f"{name}.{attribute}", line=_line(new))
            )


def _compare_statements(comparison: _Comparison, scope: str) -> None:
    """Note the statements of a module or class body that bind nothing and are new or gone."""
    old = _statements(comparison.before, scope)
    new = _statements(comparison.after, scope)
    for action, mine, other in (("added", new, old), ("deleted", old, new)):
        surplus = Counter(text for text, _, _ in mine) - Counter(text for text, _, _ in other)
        for text, line, first in mine:
            if surplus[text] > 0:
                surplus[text] -= 1
                at = line if action == "added" else None
                symbol = f"{scope}.{first}" if scope else first
                comparison.note(scope, Change(action=action, kind="statement", symbol=symbol, line=at))  # type: ignore[arg-type]  # two of the actions


def _class_changes(comparison: _Comparison) -> Iterator[ClassChange]:
    before, after = comparison.before.definitions, comparison.after.definitions
    lines = {name: _line(after.get(name, [])) for name in comparison.classes}
    for name in sorted(comparison.classes, key=lambda name: (lines[name] is None, lines[name] or 0, name)):
        action: ChangeAction = (
            "updated" if name in before and name in after else "added" if name in after else "deleted"
        )
        yield ClassChange(action=action, name=name, line=lines[name], changes=tuple(comparison.classes[name]))


def _class_names(*modules: Module) -> list[str]:
    return sorted(
        {name for module in modules for name, known in module.definitions.items() if known[-1].kind == "class"}
    )


def _meaning(definitions: list[Definition]) -> list[tuple[str, str]]:
    return [(definition.kind, _definition_dump(definition)) for definition in definitions]


def _definition_dump(definition: Definition) -> str:
    """Return what a definition means; of an import, only the name in question."""
    node = definition.node
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        leaf = definition.name.rpartition(".")[2]
        names = [alias for alias in node.names if leaf in (alias.asname, alias.name, alias.name.partition(".")[0])]
        module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else "import"
        return module + "".join(fingerprint.dump(alias) for alias in names)
    return fingerprint.dump(node)


def _line(definitions: list[Definition]) -> int | None:
    return definitions[-1].node.lineno if definitions else None


def _bases(node: ast.stmt) -> str:
    fields = [*getattr(node, "bases", []), *getattr(node, "keywords", []), *getattr(node, "type_params", [])]
    return "".join(map(fingerprint.dump, fields))


def _decorators(node: ast.stmt) -> str:
    return "".join(map(fingerprint.dump, getattr(node, "decorator_list", [])))


def _statements(module: Module, scope: str) -> list[tuple[str, int, str]]:
    """Return (meaning, line, first line of source) of the statements in a scope that bind no name."""
    if not scope:
        body = module.tree.body
    else:
        body = [node for known in module.definitions.get(scope, []) for node in getattr(known.node, "body", [])]
    found = []
    for node in body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        skeleton = "" if is_text else _skeleton(node)
        if skeleton:
            first = " ".join(module.lines(node.lineno, node.lineno).split())
            found.append((skeleton, node.lineno, first[:60]))
    return found


def _skeleton(node: ast.stmt) -> str:
    """Return the meaning of a statement less the definitions in it; empty for a definition."""
    inner = [block for block in blocks(node) if block]
    if inner:
        header = [
            fingerprint.dump(value)
            for name, value in ast.iter_fields(node)
            if isinstance(value, ast.AST) and name not in ("body", "orelse", "finalbody")
        ]
        types = [fingerprint.dump(handler.type) for handler in getattr(node, "handlers", []) if handler.type]
        return "".join(
            [type(node).__name__, *header, *types, *(_skeleton(child) for block in inner for child in block)]
        )
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return fingerprint.dump(node)
    binds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    if isinstance(node, (*binds, ast.AnnAssign, ast.AugAssign, ast.Pass)):
        names = isinstance(node, (ast.AnnAssign, ast.AugAssign)) and not isinstance(node.target, ast.Name)
        return fingerprint.dump(node) if names else ""
    if isinstance(node, ast.Assign):
        stores = any(isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) for name in ast.walk(node))
        return "" if stores else fingerprint.dump(node)
    return fingerprint.dump(node)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
