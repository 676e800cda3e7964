"""Proposals: a symbol as upstream has it and as it is wanted → operations that could give it, the best first."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.authoring.refresh.token_edits import substitutions
from npu_overlays.merge.actions.wraps import private_name, without_docstring
from npu_overlays.model import classes_of
from npu_overlays.model.code_blocks import names_in, reindent, value_text
from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.operations import Action, ImportedName, Operation, Reason, TargetKind

_NEW = "refreshed:0"


@dataclass(frozen=True, kw_only=True)
class SymbolStates:
    """A symbol of a module as upstream has it, and as it is wanted."""

    path: str
    symbol: str
    # The module before any operation, and as it is wanted, without notices.
    upstream: Module
    wanted: Module
    known: Operation | None  # the operation on it so far, if any
    imports: Mapping[str, ImportedName]  # the imports of the wanted module, by the name that each binds

    def proposals(self) -> Iterator[Operation]:
        """Yield operations that could give the wanted text; whether they do has to be tried."""
        before, after = only(self.upstream, self.symbol), only(self.wanted, self.symbol)
        if after is None:
            if before is not None and not chosen(self.wanted, self.symbol):
                yield self._operation("deleted", "attribute")
        elif before is None:
            if not chosen(self.upstream, self.symbol):
                yield from self._whole("added", after)
        elif before.kind == after.kind != "import":
            is_replaced = self.known is not None and self.known.action == "replaced"
            yield from self._wrapping(after)
            if is_replaced:
                yield from self._whole("replaced", after)
            yield from self._edits(before, after)
            if not is_replaced:
                yield from self._whole("replaced", after)

    def _edits(self, before: Definition, after: Definition) -> Iterator[Operation]:
        if before.kind == "import":
            return
        for edits in substitutions(text_of(self.upstream, before), text_of(self.wanted, after)):
            used = frozenset().union(*(names_in(edit.replace) for edit in edits))
            yield dataclasses.replace(self._operation("edited", before.kind, used=used), edits=edits)

    def _whole(self, action: Action, after: Definition) -> Iterator[Operation]:
        if after.kind == "attribute":
            yield from self._value(action, after)
        elif after.kind != "import" and self.wanted.begins_line(after.node):
            text = dedented_text(self.wanted, after, comments=action == "added")
            yield dataclasses.replace(self._operation(action, after.kind, used=names_in(text)), text=text)

    def _value(self, action: Action, after: Definition) -> Iterator[Operation]:
        """Yield an operation with the value of ``name = value`` or ``name: annotation = value``."""
        node = after.node
        annotation = ""
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotation = self.wanted.text(node.annotation)
        elif not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            return
        if node.value is not None:
            text = value_text(self.wanted, node.value)
            operation = self._operation(action, "attribute", used=names_in(text) | names_in(annotation))
            yield dataclasses.replace(operation, text=text, annotation=annotation)

    def _wrapping(self, after: Definition) -> Iterator[Operation]:
        """Yield a wrapper, if upstream's function is beside it under the private name, unchanged."""
        private = only(self.wanted, private_name(classes_of(self.wanted), self.wanted, after))
        original = only(self.upstream, self.symbol)
        if private is None or original is None or not _is_kept(self.upstream, original, self.wanted, private):
            return
        own = private.name.rpartition(".")[2]
        derived = _wrapper(self.wanted, after, own, self.known.upstream_name if self.known else "upstream")
        texts = [derived]
        if self.known is not None and self.known.action == "wrapped":
            # The head as its author wrote it, which may leave out what upstream's has.
            texts.insert(0, _head_and_body(self.known.text)[0] + _head_and_body(derived)[1])
        for text in dict.fromkeys(texts):
            yield dataclasses.replace(self._operation("wrapped", "function", used=names_in(text)), text=text)

    def _operation(self, action: Action, kind: TargetKind, *, used: frozenset[str] = frozenset()) -> Operation:
        imports = tuple(one for name, one in self.imports.items() if name in used)
        if self.known is None:
            return dataclasses.replace(new_operation(self.path, self.symbol, action, kind), imports=imports)
        blank = dataclasses.replace(self.known, text="", annotation="", edits=())
        return dataclasses.replace(blank, action=action, kind=kind, imports=imports)


def new_operation(path: str, symbol: str, action: Action, kind: TargetKind) -> Operation:
    """Return an operation that no file states yet, and that has no reason."""
    return Operation(
        action=action, path=path, symbol=symbol, kind=kind, reason=Reason(why=""), layer="", where=_NEW, imports=()
    )


def only(module: Module, symbol: str) -> Definition | None:
    """Return the one definition of a symbol; None unless there is exactly one."""
    known = chosen(module, symbol)
    return known[0] if len(known) == 1 else None


def _is_kept(upstream: Module, original: Definition, wanted: Module, private: Definition) -> bool:
    """Return whether upstream's function is unchanged under its private name, except for a docstring taken over."""
    node, kept = original.node, private.node
    if not isinstance(node, FUNCTIONS) or not isinstance(kept, FUNCTIONS):
        return False
    start, end = upstream.span(node)
    texts = [upstream.content[start:end]]
    for first, last, text in without_docstring(upstream, node):
        texts.append(upstream.content[start:first] + text.encode() + upstream.content[last:end])
    leaf, own = node.name.encode(), kept.name.encode()
    first, last = wanted.span(kept)  # without the decorators that note the code of both
    return wanted.content[first:last].replace(own, leaf, 1) in texts


def text_of(module: Module, definition: Definition) -> str:
    """Return the whole lines of a definition, its decorators included."""
    return module.lines(definition.first_line, definition.node.end_lineno or definition.node.lineno)


def dedented_text(module: Module, definition: Definition, *, comments: bool) -> str:
    """Return a definition's text at column 0; with the comments right above it, if wanted."""
    first = definition.first_line
    indentation = module.indentation(definition.node)
    while comments and first > 1 and module.lines(first - 1, first - 1).startswith(f"{indentation}#"):
        first -= 1
    if first == 1:  # a comment at the beginning of a file is about the file
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


def _head_and_body(text: str) -> tuple[str, str]:
    """Return the head of a function, its docstring included, and the rest of its lines."""
    module = Module("", text.encode())
    node = module.tree.body[0]
    assert isinstance(node, FUNCTIONS)  # noqa: S101  # it is a wrapper
    first = node.body[1] if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1 else node.body[0]
    if first.lineno == node.lineno:
        return "", text
    line = min(first.lineno, *(one.lineno for one in getattr(first, "decorator_list", [first])))
    return module.lines(1, line - 1), module.lines(line, len(text.splitlines()))
