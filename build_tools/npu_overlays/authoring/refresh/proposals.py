"""Proposals: a symbol as upstream has it and as it is wanted → operations that could give it, the best first."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.authoring.refresh.token_edits import substitutions
from npu_overlays.merging.actions.wrapping import private_name, without_docstring
from npu_overlays.model import classes_of
from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.texts import names_in, reindent, value_text
from npu_overlays.overlay.operations import Action, ImportedName, Operation, Reason, TargetKind

NEW = "refreshed:0"


@dataclass(frozen=True, kw_only=True)
class SymbolStates:
    """A symbol of a module in two states.

    Args:
        path: of the module.
        symbol: qualified name.
        upstream: the module before any operation.
        wanted: the module as it is to be, without notices.
        known: the operation on it so far, if any.
        imports: what the wanted module imports, by the name it binds.
    """

    path: str
    symbol: str
    upstream: Module
    wanted: Module
    known: Operation | None
    imports: Mapping[str, ImportedName]

    def proposals(self) -> Iterator[Operation]:
        """Yield operations that could give the wanted text; whether they do is to be tried."""
        before, after = only(self.upstream, self.symbol), only(self.wanted, self.symbol)
        if after is None:
            if before is not None and not chosen(self.wanted, self.symbol):
                yield self._operation("deleted", "attribute")
        elif before is None:
            if not chosen(self.upstream, self.symbol):
                yield from self._whole("added", after)
        elif before.kind == after.kind != "import":
            yield from self._changed(before, after)

    def _changed(self, before: Definition, after: Definition) -> Iterator[Operation]:
        whole = self.known is not None and self.known.action == "replaced"
        yield from self._wrapping(after)
        if whole:
            yield from self._whole("replaced", after)
        yield from self._edits(before, after)
        if not whole:
            yield from self._whole("replaced", after)

    def _edits(self, before: Definition, after: Definition) -> Iterator[Operation]:
        kind = before.kind
        if kind == "import":
            return
        for edits in substitutions(text_of(self.upstream, before), text_of(self.wanted, after)):
            used = frozenset(name for edit in edits for name in names_in(edit.replace))
            yield dataclasses.replace(self._operation("edited", kind, used=used), edits=edits)

    def _whole(self, action: Action, after: Definition) -> Iterator[Operation]:
        if after.kind == "attribute":
            yield from self._value(action, after)
        elif after.kind != "import" and self.wanted.begins_line(after.node):
            text = dedented_text(self.wanted, after, comments=action == "added")
            yield dataclasses.replace(self._operation(action, after.kind, used=names_in(text)), text=text)

    def _value(self, action: Action, after: Definition) -> Iterator[Operation]:
        node = after.node
        plain = isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            annotation = self.wanted.text(node.annotation)
        elif plain:
            annotation = ""
        else:
            return
        assert isinstance(node, (ast.Assign, ast.AnnAssign))  # noqa: S101  # both branches above
        assert node.value is not None  # noqa: S101  # likewise
        text = value_text(self.wanted, node.value)
        used = names_in(text) | (names_in(annotation) if annotation else frozenset())
        yield dataclasses.replace(self._operation(action, "attribute", used=used), text=text, annotation=annotation)

    def _wrapping(self, after: Definition) -> Iterator[Operation]:
        """Yield a wrapper, where upstream's function stands beside it under the private name, unchanged."""
        private = only(self.wanted, private_name(classes_of(self.wanted), self.wanted, after))
        original = only(self.upstream, self.symbol)
        if private is None or original is None or not _is_kept(self.upstream, original, self.wanted, private):
            return
        own = private.name.rpartition(".")[2]
        derived = _wrapper(self.wanted, after, own, self.known.upstream_name if self.known else "upstream")
        for text in dict.fromkeys([*self._as_written(derived), derived]):
            yield dataclasses.replace(self._operation("wrapped", "function", used=names_in(text)), text=text)

    def _as_written(self, derived: str) -> Iterator[str]:
        """Yield the wrapper with the head its author wrote, which may leave out what upstream's says."""
        if self.known is not None and self.known.action == "wrapped":
            head, body = _split(self.known.text)[0], _split(derived)[1]
            yield head + body

    def _operation(self, action: Action, kind: TargetKind, *, used: frozenset[str] = frozenset()) -> Operation:
        imports = tuple(one for name, one in self.imports.items() if name in used)
        if self.known is not None:
            return dataclasses.replace(
                self.known, action=action, kind=kind, text="", annotation="", edits=(), imports=imports
            )
        return dataclasses.replace(new_operation(self.path, self.symbol, action, kind), imports=imports)


def new_operation(path: str, symbol: str, action: Action, kind: TargetKind) -> Operation:
    """Return an operation that is nowhere written yet, and has no reason."""
    return Operation(
        action=action, path=path, symbol=symbol, kind=kind, reason=Reason(why=""), layer="", where=NEW, imports=()
    )


def only(module: Module, symbol: str) -> Definition | None:
    """Return the one definition of a symbol; None where there is none, or several."""
    known = chosen(module, symbol)
    return known[0] if len(known) == 1 else None


def _is_kept(upstream: Module, original: Definition, wanted: Module, private: Definition) -> bool:
    """Return whether upstream's function stands unchanged under its private name, but for a docstring taken over."""
    node, kept = original.node, private.node
    if not isinstance(node, FUNCTIONS) or not isinstance(kept, FUNCTIONS):
        return False
    start, end = upstream.span(node)
    texts = [upstream.content[start:end]]
    for first, last, text in without_docstring(upstream, node):
        texts.append(upstream.content[start:first] + text.encode() + upstream.content[last:end])
    leaf, own = (one.name.encode() for one in (node, kept))
    return wanted.whole_text(kept).replace(own, leaf, 1) in texts


def text_of(module: Module, definition: Definition) -> str:
    """Return the whole lines of a definition, its decorators included."""
    return module.lines(definition.first_line, definition.node.end_lineno or definition.node.lineno)


def dedented_text(module: Module, definition: Definition, *, comments: bool) -> str:
    """Return a definition's text at column 0; with the comments right above it, if wanted."""
    first = definition.first_line
    indentation = module.indentation(definition.node)
    while comments and first > 1 and module.lines(first - 1, first - 1).startswith(f"{indentation}#"):
        first -= 1
    if first == 1:  # what begins a file speaks of the file
        first = definition.first_line
    text = module.lines(first, definition.node.end_lineno or definition.node.lineno)
    return reindent(text, old=indentation, new="").rstrip("\n") + "\n"


def _wrapper(module: Module, definition: Definition, private: str, name: str) -> str:
    """Return a wrapper's text as an overlay has it: without decorators, and `upstream` for the original."""
    node = definition.node
    text = module.lines(node.lineno, node.end_lineno or node.lineno)
    text = reindent(text, old=module.indentation(node), new="").rstrip("\n") + "\n"
    own = Module("", text.encode())
    names = {f"{owner}.{private}" for owner in ("__class__", definition.parent)}
    splices = []
    for one in ast.walk(own.tree):
        bare = isinstance(one, ast.Name) and one.id == private
        if bare or (isinstance(one, ast.Attribute) and ast.unparse(one) in names):
            start, end = own.span(one)
            splices.append(Splice(start=start, end=end, text=name, where=""))
    return splice(own.content, splices, newline="\n").decode()


def _split(text: str) -> tuple[str, str]:
    """Return the head of a function, its docstring included, and the rest of its lines."""
    module = Module("", text.encode())
    node = module.tree.body[0]
    assert isinstance(node, FUNCTIONS)  # noqa: S101  # it is a wrapper
    first = node.body[1] if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1 else node.body[0]
    if first.lineno == node.lineno:
        return "", text
    line = min(first.lineno, *(one.lineno for one in getattr(first, "decorator_list", [first])))
    return module.lines(1, line - 1), module.lines(line, len(text.splitlines()))
