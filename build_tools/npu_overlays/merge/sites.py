"""Sites: one operation and the upstream module it changes, with what every kind of operation needs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Set
from dataclasses import dataclass

from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.targets import find, problem
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.code_blocks import naming_no_encoding
from npu_overlays.model.definitions import Definition, first_line
from npu_overlays.model.instance_attributes import overriding_methods
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice
from npu_overlays.overlay.operations import Action, Operation

_WIDTH = 119


class Companions:
    """The operations on one module, by kind.

    Args:
        operations: all of them.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._first: dict[str, Operation] = {}
        self._symbols: dict[Action, set[str]] = {}
        self._replaced: dict[str, Operation] = {}
        self._emptying: Operation | None = None
        for operation in operations:
            self._first.setdefault(operation.owner, operation)
            self._symbols.setdefault(operation.action, set()).add(operation.symbol)
            if operation.action == "replaced":
                self._replaced[operation.symbol] = operation
            if operation.emptying and self._emptying is None:
                self._emptying = operation

    def symbols(self, action: Action) -> Set[str]:
        """Return the symbols of one kind of operation."""
        return self._symbols.get(action, set())

    def replacement(self, symbol: str) -> Operation | None:
        """Return the operation that replaces a symbol."""
        return self._replaced.get(symbol)

    def starts_emptying(self, operation: Operation) -> bool:
        """Return whether an operation is the first deletion of a module that is emptied."""
        return operation is self._emptying

    def is_first(self, operation: Operation) -> bool:
        """Return whether an operation is the first on a member of its class."""
        return self._first[operation.owner] is operation


@dataclass(frozen=True, kw_only=True)
class Site:
    """The place at which an operation is applied."""

    module: Module  # upstream's module
    operation: Operation  # the operation
    companions: Companions  # all operations on this module
    distribution: str  # name of the distribution built, written into the notices; empty to leave these out
    purpose: str = ""  # what the changes are for, likewise; may be empty
    classes: ClassGraph  # those of the tree

    def find(self) -> Definition:
        """Return upstream's definition of the operation's symbol.

        Raises:
            MergeError: as `find`, or because every object would hide the result.
        """
        definition = find(self.module, self.operation)
        if self.operation.action == "deleted":
            return definition
        for one in overriding_methods(self.classes, self.module.path, definition):
            if one.always:
                leaf = self.operation.leaf
                what = (
                    f"{self.named} never runs: `{one.method}` sets another `{leaf}` on every object (line {one.line})"
                )
                raise self.error(what, f"change `{one.method}`, or what that sets")
        return definition

    def closed_kind(self, owner: str) -> str:
        """Return what makes a class of the module, as `ClassGraph.closed_kind`; an empty text for a module's own names.

        A NamedTuple copies methods to another class and never fills ``__class__``; a TypedDict is a plain dict when it
        runs, and an Interface of zope.interface an object that describes; nearly every name in an Interface or a
        Protocol becomes a requirement on its implementations.
        """
        return self.classes.closed_kind(Symbol(self.module.path, owner)) if owner else ""

    @property
    def named(self) -> str:
        """What a message calls the symbol: a shared definition has one name, with its targets listed."""
        return f"`{self.operation.shared or self.operation.symbol}`"

    def problem(self, what: str, fix: str) -> Problem:
        """Return the problem of an operation that does not fit."""
        return problem(self.operation, what, fix)

    def error(self, what: str, fix: str) -> MergeError:
        """Return the error for an operation that does not fit."""
        return MergeError(self.problem(what, fix))

    def splice(self, start: int, end: int, text: str) -> Splice:
        """Return a replacement of bytes on behalf of the operation."""
        return Splice(start=start, end=end, text=text, where=self.operation.where)

    def insertion(self, offset: int, text: str, *, ends: int = 0) -> Splice:
        """Return an insertion on behalf of the operation; `ends` as in `Splice`."""
        return Splice(start=offset, end=offset, text=text, where=self.operation.where, ends=ends)

    def notice(self, indentation: str) -> str:
        """Return the comment that marks a changed place, as the Apache licence (section 4b) requires.

        It is empty if no distribution is named.
        """
        if not self.distribution:
            return ""
        why = naming_no_encoding(" ".join(self.operation.reason.why.split()))
        why = why.encode(self.module.encoding, "backslashreplace").decode(self.module.encoding)
        name = "everything" if self.operation.emptying else self.operation.leaf
        gone = f" {name}" if self.operation.action == "deleted" else ""
        purpose = f" for {self.purpose}" if self.purpose else ""
        prefix = f"{indentation}# "
        lines = textwrap.wrap(
            f"Changed{purpose} by {self.distribution} ({self.operation.action}{gone}): {why}",
            _WIDTH,
            initial_indent=prefix,
            subsequent_indent=prefix,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "".join(f"{line}\n" for line in lines)

    def notice_above(self, definition: Definition) -> Splice:
        """Return the insertion of the notice above a definition that keeps its place."""
        line = self.module.comment_line(definition.node)
        return self.insertion(self.module.offset(line), self.notice(self.module.line_indentation(line)))

    def alone(self, definition: Definition) -> tuple[int, int]:
        """Return the byte offsets of a definition's whole lines; raises `MergeError` if it shares one."""
        node = definition.node
        start, (_, end) = first_line(node), self.module.span(node)
        line_end = self.module.line_end(node.end_lineno or node.lineno)
        rest = self.module.content[end:line_end].strip()
        shared = rest and not rest.startswith(b"#")
        if shared or not self.module.begins_line(node) or self.module.comment_line(node) != start:
            raise self.error(f"{self.named} shares its line with other code", "use a patch")
        return self.module.offset(start), line_end
