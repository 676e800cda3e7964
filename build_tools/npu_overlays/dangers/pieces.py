"""Pieces: an overlay and what applying it gave → each change by itself, with the statements or lines that differ."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays.contracts.overlay_code import Code, Codes, reader_of
from npu_overlays.dangers.bringing import imports_of
from npu_overlays.dangers.statements import Statement, difference
from npu_overlays.dangers.touching import Imports
from npu_overlays.merging.results import Applied, PatchedFile
from npu_overlays.merging.settings_text import ENDINGS, keyed_lines
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of, plain
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, file_reason
from npu_overlays.overlay.operations import Operation

# What people read changes no training.
_PROSE = (".md", ".rst", ".txt")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One change.

    Args:
        layer: which says it.
        said: what says it: the same for all targets of one definition, and all paths of one substitution.
        where: that place, for messages.
        sort: what it is: an operation, a substitution, a patch, or an added file.
        does: what is done, in words.
        target: the symbol, or the path.
        why: its reason.
        accept: the dangers that its author lets stand.
        path: of the file it changes.
        added: the statements that are there now and were not.
        removed: those that were and are not.
        lines: likewise the lines of what is no Python, both added and removed.
        imports: of the module as it is now.
        places: the place of a statement, where that is known better than `where`.
    """

    layer: str
    said: tuple[str, ...]
    where: str
    sort: Literal["operation", "edit", "patch", "file"]
    does: str
    target: str
    why: str
    accept: tuple[Acceptance, ...]
    path: str
    added: tuple[Statement, ...] = ()
    removed: tuple[Statement, ...] = ()
    lines: tuple[str, ...] = ()
    imports: Imports = field(default_factory=dict)
    places: Callable[[ast.AST], str] | None = None


def pieces(content: Content, applied: Applied) -> Iterator[Piece]:
    """Yield every change of an overlay, given what applying it to its upstream gave."""
    modules = _Modules(applied)
    codes = {code.reader: code for code in Codes(content).all}
    for one in content.operations:
        if one.path in modules:
            yield _of_operation(one, codes.get(reader_of(one)), modules)
    for file in content.files:
        yield _of_file(file, codes.get(f"file {file.path}"))
    for patched in applied.patched:
        files = [other for other in applied.patched if other.path == patched.path]
        yield _of_patched(patched, (files[0].before, files[-1].after), modules)


class _Modules:
    """The modules that operations change, as patches left them and as they are shipped; each is parsed once."""

    def __init__(self, applied: Applied) -> None:
        self._after = applied.tree.after
        self._parsed = applied.after.modules.parsed
        self._before: dict[str, bytes | None] = {path: applied.tree.before(path) for path in applied.tree.changed}
        self._before |= {one.path: one.after for one in applied.patched}
        self._imports: dict[str, Imports] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._before

    def before(self, path: str) -> Module | None:
        """Return a module without the overlay's operations."""
        return self.parsed(path, self._before[path])

    def after(self, path: str) -> Module | None:
        """Return a module as it is shipped."""
        return self.parsed(path, self._after(path))

    def parsed(self, path: str, content: bytes | None) -> Module | None:
        """Return a file as a module; None where there is none, or none that this Python can parse."""
        return self._parsed.module(content) if content is not None and path.endswith(".py") else None

    def imports(self, path: str) -> Imports:
        """Return what a shipped module imports."""
        if path not in self._imports:
            module = self.after(path)
            self._imports[path] = imports_of(module.tree) if module else {}
        return self._imports[path]


def _nodes(module: Module | None, symbol: str) -> list[ast.stmt]:
    return [one.node for one in chosen(module, symbol) or chosen(module, plain(symbol))] if module else []


def _of_operation(operation: Operation, code: Code | None, modules: _Modules) -> Piece:
    path, symbol = operation.path, operation.symbol
    old = _nodes(modules.before(path), symbol) if operation.action not in ("added", "wrapped") else []
    written = code is not None and operation.action not in ("edited", "deleted")
    new = code.tree.body if code and written else _nodes(modules.after(path), symbol)
    if operation.kind == "attribute" and written:
        new = [_with_name(one, symbol) for one in new]
    added, removed = difference(old, [*_imported(operation), *new])
    return Piece(
        layer=operation.layer,
        said=(operation.where,),
        where=operation.where,
        sort="operation",
        does=f"{operation.action} code",
        target=f"{path}:{symbol}",
        why=operation.reason.why,
        accept=operation.accept,
        path=path,
        added=added,
        removed=removed,
        imports=modules.imports(path),
        places=code.where if code and written else None,
    )


def _with_name(node: ast.stmt, symbol: str) -> ast.stmt:
    """Return what gives a value to a nameless target with the name that it has."""
    if not isinstance(node, ast.Assign):
        return node
    name = ast.Name(leaf_of(symbol), ast.Store())
    return ast.copy_location(ast.Assign(targets=[name], value=node.value), node)


def _imported(operation: Operation) -> list[ast.stmt]:
    """Return the imports that an operation brings with it, as if they stood where it is written."""
    return [node for one in operation.imports for node in ast.parse(one.statement).body]


def _of_file(file: OverlayFile, code: Code | None) -> Piece:
    added = difference([], code.tree.body)[0] if code else ()
    return Piece(
        layer=file.layer,
        said=(file.file,),
        where=file.file,
        sort="file",
        does="the added file",
        target=file.path,
        why=file_reason(file),
        accept=file.accept,
        path=file.path,
        added=added,
        lines=() if code else _lines(file.path, b"", file.content),
        imports=imports_of(code.tree) if code else {},
        places=code.where if code else None,
    )


def _of_patched(one: PatchedFile, ends: tuple[bytes | None, bytes | None], modules: _Modules) -> Piece:
    """Return what a patch or a substitution changes, without what later ones revert.

    Args:
        one: what it did to a file.
        ends: that file before the first of them and after the last.
        modules: parses them.
    """
    python = one.path.endswith(".py")
    before, after, first, last = (modules.parsed(one.path, content) for content in (one.before, one.after, *ends))
    done, net = difference(_body(before), _body(after)), difference(_body(first), _body(last))
    added, removed = (tuple(filter(left.__contains__, own)) for own, left in zip(done, net, strict=True))
    lines = _lines(one.path, one.before or b"", one.after or b"") if not python else ()
    left_lines = frozenset(_lines(one.path, ends[0] or b"", ends[1] or b"")) if lines else frozenset()
    return Piece(
        layer=one.layer,
        said=(one.where if one.patch else one.layer, one.reason.why),
        where=one.where,
        sort="patch" if one.patch else "edit",
        does="the patch" if one.patch else "the substitution",
        target=one.path,
        why=one.reason.why,
        accept=one.accept,
        path=one.path,
        added=added,
        removed=removed,
        lines=tuple(line for line in lines if line in left_lines),
        imports=imports_of(after.tree) if after else {},
    )


def _body(module: Module | None) -> Iterable[ast.stmt]:
    return module.tree.body if module else ()


def _lines(path: str, before: bytes, after: bytes) -> tuple[str, ...]:
    """Return the lines that only one of two texts has; of YAML with the keys they stand under."""
    if path.endswith(_PROSE):
        return ()
    old, new = (Counter(_told_lines(path, text.decode(errors="replace"))) for text in (before, after))
    return tuple(one for _, one in [*(new - old), *(old - new)])


def _told_lines(path: str, text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the lines of a text without comments, each with the keys above it."""
    lines = text.split("\n")
    keys: Mapping[int, tuple[str, ...]] = {}
    if path.endswith(ENDINGS):
        keys = {one.number: one.keys for one in keyed_lines(text)}
    for number, line in enumerate(lines):
        bare = line.partition("#")[0].strip()
        if bare:
            yield keys.get(number, ())[:-1], " > ".join((*keys.get(number, ())[:-1], bare))
