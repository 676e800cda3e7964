"""Followed names: parts of a port, and upstream's renamed names → the proposals to use the new names.

A part is open if it names what upstream no longer has. If syntax proves what its name is now, the proposal is the
operation with the new name, wherever it has the old one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from npu_overlays.authoring.port.changed_values import said_of, with_values
from npu_overlays.authoring.port.classifier import Classifier
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.renamed_names import RenamedName, RenamedNames, Role
from npu_overlays.authoring.port.renamed_words import UnprovenError, calls_of, names_in, with_names
from npu_overlays.authoring.port.verdicts import Proposal, Verdict
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.contracts.overlay_code import reader_of
from npu_overlays.contracts.reads import Read
from npu_overlays.errors import listing
from npu_overlays.model.code_blocks import renamed
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.local_names import FunctionNames
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of, owner_of
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Edit, Operation, imported_names

# Of the verdicts without a proposal, those that a name or a value may explain.
_KINDS = frozenset({"reads changed", "find gone", "body changed"})
_MEANING = "whether the new name means the same: syntax shows only that upstream uses it alike"
_ROLES: tuple[Role, ...] = ("global", "attribute")


@dataclass(frozen=True, kw_only=True)
class FollowedNames:
    """Finds the names that operations have to follow.

    Args:
        classifier: of the operations, with upstream where they were locked.
        now: upstream now.
        symbols: the same, to look names up.
        reads: of the old pin's lock.
        content: of the new pin.
    """

    classifier: Classifier
    now: Snapshot
    symbols: SymbolLookup
    reads: Sequence[Read]
    content: Content
    _known: dict[str, RenamedNames] = field(default_factory=dict)

    def judged(self, found: Iterable[PortedPart]) -> Iterator[PortedPart]:
        """Yield parts with proposals for those that name what has another name now, and open where it is gone."""
        for part in found:
            operation, verdict = part.statement, part.verdict
            is_candidate = verdict.applies or (verdict.kind in _KINDS and not verdict.proposal)
            if isinstance(operation, Operation) and operation.action != "deleted" and is_candidate:
                verdict = self._verdict(operation, verdict)
            yield replace(part, verdict=verdict)

    def _verdict(self, operation: Operation, verdict: Verdict) -> Verdict:
        path, fit = operation.path, self.classifier.fitter.fit(operation, self.now)
        if verdict.applies and not fit.unbound:
            return verdict
        before, after = self.classifier.base.module(path), self.now.module(path)
        if before is None or after is None:
            return verdict
        lost = sorted(fit.unbound & before.definitions.keys())
        if verdict.applies and lost and operation.edits:
            loaded = self.classifier.fitter.result(operation, after).scopes.global_loads
            lost = [one for one in lost if one in loaded]
        if verdict.applies and lost:
            gone = f"{path} has no {listing(f'`{one}`' for one in lost)} any more"
            evidence = "; ".join(filter(None, [verdict.evidence, gone]))
            verdict = replace(verdict, kind="reads changed", applies=False, evidence=evidence, change=gone)
        return verdict if verdict.applies else self._followed(operation, verdict, lost, before, after)

    def _renamed(self, before: Module, after: Module) -> RenamedNames:
        if before.path not in self._known:
            self._known[before.path] = RenamedNames(before, after)
        return self._known[before.path]

    def _followed(
        self, operation: Operation, verdict: Verdict, lost: Iterable[str], before: Module, after: Module
    ) -> Verdict:
        """Return the verdict on an operation with the new names or values as its proposal, if syntax proves them."""
        renames = self._renamed(before, after)
        names = [
            *_names(operation, lost, renames, _locals(operation, before, after)),
            *self._imports(operation, before, after),
        ]
        if verdict.kind == "body changed":
            explaining = [] if names else renames.explaining(operation.symbol)
            proposal: Proposal = "keep" if explaining else ""
            said = "; ".join(map(str, explaining))
            return replace(verdict, proposal=proposal, change=said, unknown=_MEANING if explaining else "")
        try:
            if names:
                said, wanted = "; ".join(map(str, names)), self._with_names(operation, names, renames)
                unknown = _MEANING
            else:
                said, wanted = _with_values(operation, before, after)
                unknown = "whether what is put in is right for the new value"
            if wanted == operation:
                return verdict
            if problem := self.classifier.fitter.problem(wanted, after):
                raise UnprovenError(f"{said}, and {problem}")
            if changed := self._changed(operation, names):
                raise UnprovenError(f"{said}, and what it reads is another now: {changed}")
        except UnprovenError as error:
            return replace(verdict, unknown=str(error))
        return replace(verdict, proposal="follow", wanted=wanted, change=said, unknown=unknown)

    def _imports(self, operation: Operation, before: Module, after: Module) -> Iterator[RenamedName]:
        """Yield the names that an operation imports from where they are gone, as upstream's module did and does not."""
        gone: set[str] = set()
        for read, entry in self._entries(operation):
            if self.symbols.find(read.path, read.symbol) is None:
                gone.add(entry.rpartition(" ")[2].partition(".")[0])
        was, now = _import_statements(before), _import_statements(after)
        for one in operation.imports:
            statement = now.get(one.name, "")
            if one.name in gone and statement and one.statement == was.get(one.name) != statement:
                yield RenamedName(old=one.name, new=statement, role="import")

    def _with_names(self, operation: Operation, names: Sequence[RenamedName], renames: RenamedNames) -> Operation:
        """Return an operation with the new names; raises `UnprovenError`."""
        for one in names:
            if one.problem:
                raise UnprovenError(f"whether `{one.old}` is `{one.new}` now: {one.problem}")
        breaking = {one.part for one in self.classifier.fitter.fit(operation, self.now).breaking}
        if breaking and not (breaking == {"body"} and renames.explaining(operation.symbol)):
            said = "; ".join(map(str, names))
            raise UnprovenError(f"{said}, and upstream changed more than that in what this is written for")
        wanted = with_names(operation, names)
        self._check_known(operation, names)
        self._check_gone(operation, names)
        text = renamed(wanted.text, operation.leaf) if wanted.text else ""
        return replace(wanted, text=text, shared="")

    def _check_known(self, operation: Operation, names: Iterable[RenamedName]) -> None:
        """Raise `UnprovenError` if nothing shows which attribute an operation reads, or how a global is called."""
        chains = [entry.rpartition(" ")[2].split(".") for _, entry in self._entries(operation)]
        known = {"global": {chain[0] for chain in chains}, "attribute": {chain[-1] for chain in chains}}
        for name in names:
            if name.old in known.get(name.role, {name.old}):
                continue
            shapes = set(calls_of(operation, name.old)) if name.role == "global" else frozenset()
            if None in shapes or not shapes <= name.shapes:
                raise UnprovenError(f"it calls `{name.old}` with other arguments than upstream does")
            is_found = all(name.old in names_in(one.find, "attribute") for one in operation.edits)
            if name.role == "attribute" and (operation.text or not is_found):
                raise UnprovenError(f"{name}, and what gives `{operation.owner}` it is not known")

    def _check_gone(self, operation: Operation, names: Iterable[RenamedName]) -> None:
        """Raise `UnprovenError` if upstream still has what it used: its module only uses something else now."""
        news = {one.old: one.new for one in names if one.role == "global"}
        for read, entry in self._entries(operation):
            old = entry.rpartition(" ")[2]
            if old in news and self.symbols.find(read.path, read.symbol):
                raise UnprovenError(f"whether `{old}` is `{news[old]}` now: {read.path} still has `{read.symbol}`")

    def _entries(self, operation: Operation) -> Iterator[tuple[Read, str]]:
        """Yield what the lock says that an operation reads, with the name by which it reads that."""
        reader = reader_of(operation)
        for read in self.reads:
            yield from ((read, entry) for entry in read.read_by([reader]).by)

    def _changed(self, operation: Operation, names: Sequence[RenamedName]) -> str:
        """Return what an operation reads and what changed, looked up by the new names; empty if nothing did."""
        reader = reader_of(operation)
        reads = [one for one in (read.read_by([reader]) for read in self.reads) if one.by]

        def there(read: Read) -> ResolvedSymbol | None:
            return self._found(operation, read, names)

        changed = changed_reads(reads, self.symbols, self.content, there)
        return listing(dict.fromkeys(map(str, changed)))

    def _found(self, operation: Operation, read: Read, names: Iterable[RenamedName]) -> ResolvedSymbol | None:
        """Return what a symbol that an operation reads is now."""
        path, symbol = read.path, read.symbol
        chains = [entry.rpartition(" ")[2].split(".") for entry in read.by]
        for name in names:
            first, _, rest = symbol.partition(".")
            chain = next((one for one in chains if one[0] == name.old), [])
            if name.role == "attribute" and owner_of(symbol) and leaf_of(symbol) == name.old:
                symbol = f"{owner_of(symbol)}.{name.new}"
            elif name.role == "global" and (path, first) == (operation.path, name.old):
                symbol = f"{name.new}.{rest}".rstrip(".")
            elif name.role != "attribute" and chain:
                first = name.new if name.role == "global" else name.old
                found = self.symbols.chain(operation.path, [first, *chain[1:]])
                return found[-1] if len(found) == len(chain) else None
        return self.symbols.find(path, symbol)


def _import_statements(module: Module) -> dict[str, str]:
    """Return the statements that import the names of a module, without those that something else binds, too."""
    found: dict[str, str] = {}
    for name, (definition, *others) in module.definitions.items():
        if isinstance(definition.node, ast.ImportFrom) and definition.is_certain and not others:
            found |= {one.name: one.statement for one in imported_names(definition.node) if one.name == name}
    return found


def _locals(operation: Operation, *modules: Module) -> frozenset[str]:
    """Return the names that a function binds which an edit changes."""
    if not operation.edits:
        return frozenset()
    found: set[str] = set()
    for module in modules:
        for one in chosen(module, operation.symbol):
            found |= FunctionNames(one.node).bound if isinstance(one.node, FUNCTIONS) else frozenset()
    return frozenset(found)


def _names(
    operation: Operation, lost: Iterable[str], renames: RenamedNames, local: frozenset[str]
) -> list[RenamedName]:
    """Return the renamed names that an operation has, those of its module that it lacks now first."""
    texts = [operation.text]
    for edit in operation.edits:
        texts += [edit.find, edit.replace]
    found = [renames.of(name, "global") for name in lost if name not in local]
    for role in _ROLES:
        used = frozenset().union(*(names_in(text, role) for text in texts)) - (local if role == "global" else set())
        found += [renames.of(name, role) for name in sorted(used) if (role, name) in renames.gone]
    return list(dict.fromkeys(filter(None, found)))


def _with_values(operation: Operation, before: Module, after: Module) -> tuple[str, Operation]:
    """Return in words which values in the finds of an edit changed, and the edit with the new ones.

    Raises `UnprovenError`.
    """
    known = [chosen(module, operation.symbol) for module in (before, after)]
    if operation.action != "edited" or not all(len(one) == 1 for one in known):
        return "", operation
    texts = [module.whole_text(one.node).decode() for module, (one,) in zip((before, after), known, strict=True)]
    edits: list[Edit] = []
    values: dict[str, str] = {}
    for edit in operation.edits:
        made, new = with_values(edit, *texts)
        edits.append(made)
        values |= new
    return said_of(values), replace(operation, edits=tuple(edits))
