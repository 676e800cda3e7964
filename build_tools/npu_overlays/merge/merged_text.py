"""Merged text: merged text of a module → names whose meaning in an operation's code is not the author's."""

from __future__ import annotations

import builtins
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, starmap

from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.authorship import spliced
from npu_overlays.merge.import_merge import RENAME, binds_the_same, first_users
from npu_overlays.merge.results import AppliedOperation
from npu_overlays.merge.targets import problem
from npu_overlays.merge.upstream.early_calls import running_early
from npu_overlays.model.encodings import as_declared
from npu_overlays.model.import_order import ImportOrder
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Load, Scope, Scopes, is_private
from npu_overlays.model.splices import Splice, placed, splice
from npu_overlays.overlay.operations import ImportedName, Operation


class MergedText:
    """A merged module, with the author of each byte.

    Args:
        module: upstream's.
        imports: the merged imports.
        changes: the operations with their splices.
        inserted: the splice of the imports, if there are any.
    """

    def __init__(
        self,
        module: Module,
        imports: Iterable[ImportedName],
        changes: Sequence[AppliedOperation],
        inserted: Sequence[Splice],
    ) -> None:
        self.imports = tuple(imports)
        self._operations = [change.operation for change in changes]
        owners: dict[int, Operation] = {}
        splices = list(inserted)
        for change in changes:
            splices += change.splices
            owners |= dict.fromkeys(map(id, change.splices), change.operation)
        self._spans: list[tuple[int, int, Operation | None]] = []
        for start, end, one in placed(splices, newline=module.newline):
            if start < end:
                self._spans.append((start, end, owners.get(id(one))))
        self._starts = [start for start, _, _ in self._spans]
        self._upstream = module
        self.content = splice(module.content, splices, newline=module.newline)
        self.authorship = spliced(module.content, splices, newline=module.newline)

    @cached_property
    def is_python(self) -> bool:
        """Whether the merged text parses; if not, this finds nothing, and another check reports the error."""
        try:
            return bool(self.module)
        except MergeError:
            return False

    @cached_property
    def module(self) -> Module:
        """The merged text, parsed; raises `MergeError` if it does not parse."""
        return Module(self._upstream.path, as_declared(self.content, self._upstream.file))

    @cached_property
    def scopes(self) -> Scopes:
        """Those of the merged module, as far as an operation's text is concerned."""
        return self.module.scopes_around([(start, end) for start, end, operation in self._spans if operation])

    @cached_property
    def _order(self) -> ImportOrder:
        return ImportOrder(self.module, running_early)

    def late_imports(self) -> list[ImportedName]:
        """Return upstream's imports that come too late for the definitions that need them."""
        wanted = first_users(self._operations).keys() - set(self.imports)
        late = [one for one in wanted if self._is_late(one.name, wary=True)]
        return sorted(late, key=lambda one: one.statement)

    def problems(self) -> Iterator[Problem]:
        """Yield a problem for every name with another meaning in an operation's text than its author's."""
        added = {one.name: one for one in self._operations if one.action == "added" and not one.owner}
        builtin = self._bound_builtins(added)
        for scope in self.scopes.all:
            for load in scope.loads:
                operation = self._operation(load)
                if operation is None:
                    continue
                own = load.name in added or any(load.name == one.name for one in operation.imports)
                yield from (self._captured if own else self._mangled)(scope, load, operation)
                if load.name not in added:
                    yield from self._unbound(scope, load, operation)
                other = builtin.get(load.name)
                if other and scope.owner(load.name).parent is None:
                    yield from self._another_files(load, operation, other)
        for operation in self._operations:
            for one in operation.imports:
                yield from self._rebound(operation, one)
        for name, operation in added.items():
            if self._is_late(name, wary=False):
                what = f"`{name}` may be needed while the module is imported, before it is defined"
                fix = "move it in front of the first operation that needs it"
                yield problem(operation, what, fix)

    def _bound_builtins(self, added: Mapping[str, Operation]) -> dict[str, Operation]:
        """Return the builtin names that operations bind in the module, each with the operation."""
        bound, users = dict(added), first_users(self._operations)
        for imported in self.imports:
            bound[imported.name] = users[imported]
        return {name: operation for name, operation in bound.items() if hasattr(builtins, name)}

    def _operation(self, load: Load) -> Operation | None:
        """Return the operation that wrote a read."""
        return self._owner(self.module.offset(load.at.lineno, load.at.col_offset))

    def _owner(self, offset: int) -> Operation | None:
        number = bisect_right(self._starts, offset) - 1
        return self._spans[number][2] if number >= 0 and offset < self._spans[number][1] else None

    def _captured(self, scope: Scope, load: Load, operation: Operation) -> Iterator[Problem]:
        """Yield a problem for each read that upstream's function or class around captures."""
        if is_private(load.name) and scope.is_in_class:
            what = f"`{load.name}` is renamed by Python inside a class, as in `{operation.symbol}`"
            yield Problem(where=operation.where, what=what, fix="rename it, with at most one leading underscore")
        owner = scope.owner(load.name)
        if owner.parent is None:
            return
        for binding in owner.bindings.get(load.name, []):
            # In a class body a name is the module's until the class has bound it.
            earlier = owner.kind != "class" or binding.line < load.at.lineno
            if earlier and self._owner(self.module.span(binding.node)[0]) is not operation:
                what = (
                    f"`{load.name}` would be another object: upstream binds that name around or in `{operation.symbol}`"
                )
                yield problem(operation, what, "use another name for what you mean")
                return

    def _mangled(self, scope: Scope, load: Load, operation: Operation) -> Iterator[Problem]:
        """Yield a problem for each read of a module's name that Python mangles, because it is in a class."""
        outer = is_private(load.name) and scope.is_in_class and scope.owner(load.name).parent is None
        if outer and self.scopes.bound(load.name) and not self._reads_upstream(load.name, operation):
            what = f"`{load.name}` is renamed by Python inside a class, as in `{operation.symbol}`"
            yield Problem(where=operation.where, what=what, fix="read it in an added function, outside of the class")

    def _reads_upstream(self, name: str, operation: Operation) -> bool:
        """Return whether upstream's text of a symbol reads a name in a class too: its meaning there is upstream's."""
        spans = [self._upstream.span(one.node) for one in self._upstream.definitions.get(operation.name, [])]
        loads = chain.from_iterable(scope.loads for scope in self._upstream.scopes.all if scope.is_in_class)
        offsets = [self._upstream.span(load.at)[0] for load in loads if load.name == name]
        return not set(chain.from_iterable(starmap(range, spans))).isdisjoint(offsets)

    def _unbound(self, scope: Scope, load: Load, operation: Operation) -> Iterator[Problem]:
        """Yield a problem for each read, during the import, of a name that the module binds later."""
        outer = scope.owner(load.name).parent is None and not hasattr(builtins, load.name)
        known = self.scopes.bound(load.name) if outer else []
        if not known or load.annotation:
            return
        runs = self._order.is_early(load, known[0], wary=False) and self._order.runs_on_import(load)
        if not runs and not self._order.is_called_early(scope, load, known[0]):
            return
        if load.eager or operation.action == "wrapped" or not self._reads_upstream(load.name, operation):
            what = f"`{load.name}` is read while the module is imported, before it is bound"
            later = "look it up in `globals()`, where it may be missing"
            fix = "move it in front of an operation further down" if load.eager else later
            yield Problem(where=operation.where, what=what, fix=fix)

    def _another_files(self, load: Load, operation: Operation, other: Operation) -> Iterator[Problem]:
        """Yield a problem for each builtin of one overlay file that another one binds."""
        if operation.file != other.file and load.name not in {one.name for one in operation.imports}:
            what = f"`{load.name}` is Python's built-in here, but {other.where} binds that name in {operation.path}"
            yield Problem(where=operation.where, what=what, fix="rename that one")

    def _rebound(self, operation: Operation, imported: ImportedName) -> Iterator[Problem]:
        """Yield a problem for each import whose name something else binds, or may bind, after it."""
        scopes = self.scopes
        known = scopes.bound(imported.name)
        other = [binding for binding in known if not binds_the_same(binding, imported)]
        first = min((binding.line for binding in known if binding.direct), default=0)
        stars = [star for star in scopes.stars if star.line > first and not star.typing_only]
        if other or stars:
            what = "an operation" if other else f"`{self.module.text(stars[0].node)}`"
            what = f"`{imported.statement}` may be rebound by {what}"
            yield problem(operation, what, RENAME)

    def _is_late(self, name: str, *, wary: bool) -> bool:
        """Return whether the overlay's code may read a name before the module has bound it."""
        known = self.scopes.bound(name)
        binding = next((one for one in known if one.direct), known[0])
        loads = [one for one in self.scopes.global_loads.get(name, []) if self._operation(one)]
        return any(self._order.is_early(load, binding, wary=wary) for load in loads)
