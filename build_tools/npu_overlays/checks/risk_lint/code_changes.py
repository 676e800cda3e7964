"""Code changes: an overlay and its result → each change, with the differing statements or lines."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays.checks.risk_lint.risk_signs import Imports, imports_of
from npu_overlays.checks.risk_lint.statement_diff import CodeStatement, difference
from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode, reader_of
from npu_overlays.merge.results import Applied, PatchedFile
from npu_overlays.merge.settings_text import ENDINGS, keyed_lines
from npu_overlays.model.module import parsed_module
from npu_overlays.model.selectors import chosen, leaf_of, plain
from npu_overlays.model.syntax import nodes_of
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, file_reason
from npu_overlays.overlay.operations import Operation

# What people read changes no training.
_PROSE = (".md", ".rst", ".txt")


@dataclass(frozen=True, kw_only=True)
class CodeChange:
    """One change."""

    layer: str  # the layer that makes it
    source: tuple[str, ...]  # what makes it: one for all targets of a definition, and for all paths of a substitution
    where: str  # that place, for messages
    sort: Literal["operation", "edit", "patch", "file"]
    does: str  # what is done, in words
    target: str  # the symbol, or the path
    why: str  # its reason
    accept: tuple[Acceptance, ...]  # the dangers that its author lets stand
    path: str  # of the file it changes
    added: tuple[CodeStatement, ...] = ()  # the statements that are there now and were not
    removed: tuple[CodeStatement, ...] = ()  # those that were and are not
    lines: tuple[str, ...] = ()  # likewise the lines of a file that is no Python, both added and removed
    imports: Imports = field(default_factory=dict)  # of the module as it is now
    places: Callable[[ast.AST], str] | None = None  # the place of a statement, where that is known better than `where`


def code_changes(content: Content, applied: Applied) -> Iterator[CodeChange]:
    """Yield every change of an overlay, given the result of applying it."""
    modules = _ChangedModules(applied)
    codes = {code.reader: code for code in OverlayCode(content).all}
    for one in content.operations:
        if one.path in modules.before:
            yield _of_operation(one, codes.get(reader_of(one)), modules)
    for file in content.files:
        yield _of_file(file, codes.get(f"file {file.path}"))
    for patched in applied.patched:
        files = [other for other in applied.patched if other.path == patched.path]
        yield _of_patched(patched, (files[0].before, files[-1].after))


class _ChangedModules:
    """The modules that operations change, after the patches and as shipped; each is parsed once."""

    def __init__(self, applied: Applied) -> None:
        self.before: dict[str, bytes | None] = {path: applied.tree.before(path) for path in applied.tree.changed}
        for one in applied.patched:
            self.before[one.path] = one.after
        self._after = applied.tree.after
        self._imports: dict[str, Imports] = {}

    def nodes(self, path: str, symbol: str, *, shipped: bool) -> list[ast.stmt]:
        """Return the definitions of a symbol in a module as shipped, or before the overlay's operations."""
        module = parsed_module(path, self._after(path) if shipped else self.before[path])
        if module is None:
            return []
        return [one.node for one in chosen(module, symbol) or chosen(module, plain(symbol))]

    def imports(self, path: str) -> Imports:
        """Return the imports of a shipped module."""
        if path not in self._imports:
            module = parsed_module(path, self._after(path))
            self._imports[path] = imports_of(module.nodes) if module else {}
        return self._imports[path]


def _of_operation(operation: Operation, code: CodePiece | None, modules: _ChangedModules) -> CodeChange:
    path, symbol, action = operation.path, operation.symbol, operation.action
    written = code if action not in ("edited", "deleted") else None
    old = modules.nodes(path, symbol, shipped=False) if action not in ("added", "wrapped") else []
    new = written.tree.body if written else modules.nodes(path, symbol, shipped=True)
    if operation.kind == "attribute" and written:
        new = [_with_name(one, symbol) for one in new]
    # The imports that an operation brings count as if they stood where it is written.
    imports: list[ast.stmt] = []
    for one in operation.imports:
        imports += ast.parse(one.statement).body
    added, removed = difference(old, [*imports, *new])
    return CodeChange(
        layer=operation.layer,
        source=(operation.where,),
        where=operation.where,
        sort="operation",
        does=f"{action} code",
        target=f"{path}:{symbol}",
        why=operation.reason.why,
        accept=operation.accept,
        path=path,
        added=added,
        removed=removed,
        imports=modules.imports(path),
        places=written.where if written else None,
    )


def _with_name(node: ast.stmt, symbol: str) -> ast.stmt:
    """Return an assignment with a symbol's name as its target."""
    if not isinstance(node, ast.Assign):
        return node
    name = ast.Name(leaf_of(symbol), ast.Store())
    return ast.copy_location(ast.Assign(targets=[name], value=node.value), node)


def _of_file(file: OverlayFile, code: CodePiece | None) -> CodeChange:
    return CodeChange(
        layer=file.layer,
        source=(file.file,),
        where=file.file,
        sort="file",
        does="the added file",
        target=file.path,
        why=file_reason(file),
        accept=file.accept,
        path=file.path,
        added=difference([], code.tree.body)[0] if code else (),
        lines=() if code else _changed_lines(file.path, b"", file.content),
        imports=imports_of(nodes_of(code.tree)) if code else {},
        places=code.where if code else None,
    )


def _of_patched(one: PatchedFile, ends: tuple[bytes | None, bytes | None]) -> CodeChange:
    """Return the changes of a patch or a substitution that no later one reverts.

    Args:
        one: its effect on a file.
        ends: that file before the first of them and after the last.
    """
    parsed = [parsed_module(one.path, content) for content in (one.before, one.after, *ends)]
    before, after, first, last = (module.tree.body if module else [] for module in parsed)
    done, net = difference(before, after), difference(first, last)
    added, removed = (tuple(filter(left.__contains__, own)) for own, left in zip(done, net, strict=True))
    lines: tuple[str, ...] = ()
    if not one.path.endswith(".py"):
        left_lines = frozenset(_changed_lines(one.path, ends[0] or b"", ends[1] or b""))
        changed = _changed_lines(one.path, one.before or b"", one.after or b"")
        lines = tuple(line for line in changed if line in left_lines)
    return CodeChange(
        layer=one.layer,
        source=(one.where if one.patch else one.layer, one.reason.why),
        where=one.where,
        sort="patch" if one.patch else "edit",
        does="the patch" if one.patch else "the substitution",
        target=one.path,
        why=one.reason.why,
        accept=one.accept,
        path=one.path,
        added=added,
        removed=removed,
        lines=lines,
        imports=imports_of(parsed[1].nodes) if parsed[1] else {},
    )


def _changed_lines(path: str, before: bytes, after: bytes) -> tuple[str, ...]:
    """Return the lines that only one of two texts has; of YAML with the keys they stand under."""
    if path.endswith(_PROSE):
        return ()
    old, new = (Counter(_lines_with_keys(path, text.decode(errors="replace"))) for text in (before, after))
    return tuple(one for _, one in [*(new - old), *(old - new)])


def _lines_with_keys(path: str, text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys above each line of a text, and the line without its comment."""
    keys: Mapping[int, tuple[str, ...]] = {}
    if path.endswith(ENDINGS):
        keys = {one.number: one.keys for one in keyed_lines(text)}
    for number, line in enumerate(text.split("\n")):
        bare = line.partition("#")[0].strip()
        if bare:
            above = keys.get(number, ())[:-1]
            yield above, " > ".join((*above, bare))
