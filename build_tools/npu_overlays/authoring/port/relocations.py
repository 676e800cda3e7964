"""Relocations: an operation whose target is gone → its new target, and whether it fits there.

A target is found by its likeness (see `matcher`), or because exactly one other definition has every find of an edit.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from npu_overlays.authoring.matcher import COMMON, Matcher
from npu_overlays.authoring.port.callers import Callers
from npu_overlays.authoring.port.changed_definitions import ChangedDefinitions
from npu_overlays.authoring.port.fit import Fitter
from npu_overlays.authoring.port.verdicts import Kind, Verdict
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.contracts.contracts import Contract, differences, needed
from npu_overlays.model import Symbol, model_of
from npu_overlays.model.code_blocks import renamed
from npu_overlays.model.definition_fields import definition_fields
from npu_overlays.model.definitions import Definition, SymbolKind
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.likeness import ENOUGH, SIMILAR
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of, owner_of, symbols
from npu_overlays.model.syntax import has_bases, last_name
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.overlay.operations import Edit, Operation
from npu_overlays.sources.pin import Pin

# Characters of a line that says where it came from.
_TELLING = 12


@dataclass(frozen=True, kw_only=True)
class Relocation:
    """The new target of an operation.

    Args:
        wanted: the operation on its new target.
        likeness: of the new target to the old one.
        problem: why the operation does not fit there; empty if it does.
        by_text: whether it was found by the finds of an edit.
    """

    wanted: Operation
    likeness: float
    problem: str = ""
    by_text: bool = False

    @property
    def target(self) -> str:
        """``path:symbol``."""
        return f"{self.wanted.path}:{self.wanted.symbol}"

    def verdict(self, operation: Operation) -> Verdict:
        """Return the verdict on the operation, with a proposal if it fits there."""
        is_beside = (operation.path, operation.owner) == (self.wanted.path, self.wanted.owner)
        kind: Kind = "renamed" if is_beside and not self.by_text else "moved"
        how = "all it looks for stands there and nowhere else" if self.by_text else "the same parameters"
        evidence = f"alike {self.likeness:.2f}, {how}"
        if self.problem:
            evidence += f"; but it does not fit there: {self.problem}"
        return Verdict(
            kind=kind,
            proposal="" if self.problem else "retarget",
            wanted=self.wanted,
            likeness=self.likeness,
            evidence=evidence,
            change=_move(operation, self.wanted),
            unknown="whether the change is right in the code that stands there",
        )


def _move(operation: Operation, wanted: Operation) -> str:
    """Return the move of an operation's target in words; that of its file or its class where all of it moved so."""
    if operation.symbol == wanted.symbol:
        return f"definitions of `{operation.path}` stand in `{wanted.path}` now"
    old, new = operation.symbol, wanted.symbol
    is_class = operation.owner and wanted.owner and old.removeprefix(operation.owner) == new.removeprefix(wanted.owner)
    if is_class:
        old, new = operation.owner, wanted.owner
    there = "" if wanted.path == operation.path else f"{wanted.path}:"
    return f"`{old}` stands as `{there}{new}` now"


@dataclass(frozen=True, kw_only=True)
class Successors:
    """New definitions that may replace a missing one.

    Args:
        named: what may do its work: files, then definitions.
        is_likely: whether one is so likely that a person has to look.
        files: those among them in which half of its lines are new.
    """

    named: tuple[str, ...]
    is_likely: bool
    files: tuple[str, ...] = ()


@dataclass(kw_only=True)
class _Found:
    """What was found in one snapshot, for the next question about it."""

    now: Snapshot | None = None
    changed: frozenset[str] = frozenset()  # the shipped modules that are new at their paths, or whose content is new
    moved: dict[str, list[str]] = field(default_factory=dict)  # by a missing file, where its definitions stand
    successors: dict[tuple[str, str], Successors] = field(default_factory=dict)  # by path and symbol


class Relocations:
    """Finds the new targets of operations.

    Args:
        base: upstream where the overlay was locked.
        fitter: tries operations in their new places.
        pin: says which paths are shipped.
    """

    def __init__(self, base: Snapshot, fitter: Fitter, pin: Pin) -> None:
        self._base = base
        self._fitter = fitter
        self._shipped = pin.place
        self.matcher = Matcher(base)
        self.changed = ChangedDefinitions(base, pin)
        self.model = model_of(pin, base)
        self.callers = Callers(base, self.model, self.matcher, self.changed, pin)
        self._blobs_before = frozenset(base.entries.values())
        self._counts: dict[tuple[str, str], int] = {}
        self._lines_of: dict[str, Counter[bytes]] = {}
        self._has_lines: dict[tuple[str, ...], bool] = {}
        self._last = _Found()

    def of_definition(self, operation: Operation, now: Snapshot) -> Relocation | None:
        """Return the new place of an operation's definition; None if there is none."""
        match = self.matcher.match(operation.path, operation.symbol, now)
        if not match.is_elsewhere:
            return None
        return self._judged(operation, match.path, match.symbol, match.likeness, now)

    def of_shim(self, operation: Operation, now: Snapshot) -> Relocation | None:
        """Return the new place of the code of a definition that only calls it now; None if others call that still."""
        path, symbol, module = operation.path, operation.symbol, now.module(operation.path)
        if module is None or self.matcher.likeness(path, symbol, now, symbol) >= ENOUGH:
            return None
        if not self._names_new(module, symbol):
            return None
        match = self.matcher.successor(path, symbol, now)
        if match is None or not _names(module, symbol, leaf_of(match.symbol)):
            return None
        found = self._judged(operation, match.path, match.symbol, match.likeness, now)
        return found if self.callers.are_gone_to(operation, found.wanted, now) else None

    def _names_new(self, module: Module, symbol: str) -> bool:
        """Return whether a definition names what its module did not have, or its own name: of another module then.

        Looking for its code costs far more.
        """
        before = self._base.module(module.path)
        new = module.definitions.keys() - (before.definitions.keys() if before else frozenset())
        leaves, own = frozenset(map(leaf_of, new)), leaf_of(symbol)
        for one in chosen(module, symbol):
            texts = layout_of(module.whole_text(one.node).decode()).texts
            if not leaves.isdisjoint(texts) or texts.count(own) > 1:
                return True
        return False

    def of_member(self, operation: Operation, now: Snapshot) -> Relocation | None:
        """Return the target of an added member in its class's new place; None if the class has none."""
        match = self.matcher.match(operation.path, operation.owner, now) if operation.owner else None
        module = now.module(match.path) if match and match.is_elsewhere else None
        if match is None or module is None:
            return None
        symbol = operation.symbol.replace(operation.owner, match.symbol, 1)
        wanted = replace(operation, path=match.path, symbol=symbol, shared="")
        problem = self._fitter.problem(wanted, module)
        return Relocation(wanted=wanted, likeness=match.likeness, problem=problem)

    def of_file(self, operation: Operation, path: str, now: Snapshot) -> Relocation | None:
        """Return the target of the same name in another file; None if there is none, or it is not alike."""
        module, symbol = now.module(path), operation.symbol
        alike = self.matcher.likeness(operation.path, symbol, now, symbol, there=path)
        if module is None or len(chosen(module, symbol)) != 1 or alike < ENOUGH:
            return None
        return self._judged(operation, path, symbol, alike, now)

    def successors(self, operation: Operation, now: Snapshot) -> Successors:
        """Return what may do the work of a missing definition.

        That is a new definition with its name or like it, a file that has half of its lines now, or what its class
        inherits. If there is none, the result names every new definition beside it.
        """
        known, key = self._found(now).successors, (operation.path, operation.symbol)
        if key not in known:
            known[key] = self._successors(operation, now)
        return known[key]

    def _found(self, now: Snapshot) -> _Found:
        if self._last.now is not now:
            self._last = _Found(now=now, changed=frozenset(self._changed(now)))
        return self._last

    def _changed(self, now: Snapshot) -> Iterator[str]:
        for path in filter(self._shipped, now.modules_unlike(self._base)):
            if now.blob(path) not in self._blobs_before or path not in self._base:
                yield path

    def _successors(self, operation: Operation, now: Snapshot) -> Successors:
        path, leaf, beside = operation.path, operation.leaf, list[str]()
        files = self._files_with_its_lines(operation, now)
        named = [*files, *self._in_its_class(operation, now), *self._under_its_name(operation, now)]
        named += [there for there in self._moved_to(path, now) if there in self._base and there not in files]
        is_likely = bool(named)
        for there, name in self._new(operation, now):
            alike = self.matcher.likeness(path, operation.symbol, now, name, there=there)
            is_beside = path in self._base and (there, owner_of(name)) == (path, operation.owner)
            is_namesake = leaf_of(name).strip("_") == leaf.strip("_")
            is_namesake |= is_beside and not _words(leaf).isdisjoint(_words(leaf_of(name)))
            is_likely |= is_namesake or alike >= ENOUGH
            if is_namesake or alike >= SIMILAR:
                named.append(f"{there}:{name}")
            elif is_beside:
                beside.append(f"{there}:{name}")
        place = self.matcher.match(path, operation.owner, now)
        around = now.definition(place.path, place.symbol) if operation.owner else None
        if around and has_bases(around.node):
            return Successors(named=(*named, f"the inherited {leaf}"), is_likely=True, files=tuple(files))
        if made_by := self._new_decorator(operation, around):
            return Successors(named=(*named, f"@{made_by}"), is_likely=True, files=tuple(files))
        return Successors(named=tuple(named or beside), is_likely=is_likely, files=tuple(files))

    def _new_decorator(self, operation: Operation, around: Definition | None) -> str:
        """Return the decorator that the class of a missing member has now and had not: it may make the member."""
        before = self._base.definition(operation.path, operation.owner) if operation.owner else None
        if not (before and around and isinstance(around.node, ast.ClassDef)):
            return ""
        known = set(map(dump, getattr(before.node, "decorator_list", ())))
        new = [one for one in around.node.decorator_list if dump(one) not in known]
        return ast.unparse(new[0]) if new else ""

    def _moved_to(self, path: str, now: Snapshot) -> list[str]:
        """Return the files in which definitions of a missing file stand now under their names."""
        known = self._found(now).moved
        if path not in known:
            known[path] = self._places_of(path, now)
        return known[path]

    def _places_of(self, path: str, now: Snapshot) -> list[str]:
        module = self._base.module(path) if path not in now else None
        names = module.definitions if module else ()
        found: list[str] = []
        for name in names:
            for there in self.changed.places(name, now)[:COMMON]:
                is_new = not self._base.definition(there, name)
                if is_new and self.matcher.likeness(path, name, now, name, there=there) >= ENOUGH:
                    found.append(there)
        return list(dict.fromkeys(found))

    def _files_with_its_lines(self, operation: Operation, now: Snapshot) -> list[str]:
        """Return the files in which at least half of a missing definition's lines stand that did not before.

        What so many files define is copied from one to the other, so of that only the own file is searched; a member
        of a missing class is where the class is, then.
        """
        path, symbol = operation.path, operation.symbol
        is_common = len(self._base.defining(operation.leaf)) > COMMON
        if is_common and operation.owner and not now.has_class(path, operation.owner):
            symbol = operation.owner
            is_common = len(self._base.defining(leaf_of(symbol))) > COMMON
        searched = {path} & now.entries.keys()
        if not is_common:
            searched |= self._found(now).changed
        key = (path, symbol, "")
        return list(self._files_with(key, self._lines_in(Symbol(path, symbol), self._base), searched, now))

    def files_with_lines_lost(self, was: Symbol, there: Symbol, now: Snapshot) -> list[str]:
        """Return the files in which at least half of the lines came that a definition had and has no more."""
        its = self._lines_in(was, self._base) - self._lines_in(there, now)
        searched = self._found(now).changed | {there.path}
        return list(self._files_with((*was, now.blob(there.path)), its, searched, now))

    def _lines_in(self, symbol: Symbol, snapshot: Snapshot) -> Counter[bytes]:
        """Return the telling lines of a definition; none if it is not there."""
        module, one = snapshot.module(symbol.path), snapshot.definition(*symbol)
        return _telling_lines(module.whole_text(one.node)) if module and one else Counter()

    def _files_with(
        self, key: tuple[str, str, str], its: Counter[bytes], searched: Iterable[str], now: Snapshot
    ) -> Iterator[str]:
        """Yield the files in which at least half of some lines stand that did not before.

        Args:
            key: path and name of the definition that had the lines, and the blob that it lost some in.
            its: the lines.
            searched: the files.
            now: upstream now.
        """
        if not its:
            return
        for there in sorted(searched):
            place = (*key, there, now.blob(there))
            if place not in self._has_lines:
                self._has_lines[place] = self._has_half(its, there, now, is_own=there == key[0])
            if self._has_lines[place]:
                yield there

    def _has_half(self, its: Counter[bytes], there: str, now: Snapshot, *, is_own: bool) -> bool:
        """Return whether at least half of a definition's lines came to a file, perhaps its own."""
        known, before, came = self._lines(there, now), self._lines(there, self._base), 0
        for line, count in its.items():
            if line in known:
                others = max(before[line] - count, 0) if is_own else before[line]
                came += min(count, max(known[line] - others, 0))
        return 2 * came >= its.total()

    def _lines(self, path: str, snapshot: Snapshot) -> Counter[bytes]:
        """Return the telling lines of a file; none if there is no such file."""
        blob = snapshot.blob(path)
        if blob not in self._lines_of:
            self._lines_of[blob] = _telling_lines(snapshot.read(path)) if blob else Counter()
        return self._lines_of[blob]

    def others(self, operation: Operation, wanted: Operation, now: Snapshot) -> Iterator[str]:
        """Yield what else may have code of a definition that has a new place: a copy, or a class of its old name.

        Or the definition of its name in another file to which those beside it went.
        """
        for there in self._moved_to(operation.path, now):
            if there != wanted.path and now.definition(there, operation.symbol):
                yield f"{there}:{operation.symbol}"
        for one in self.matcher.namesakes(operation.path, operation.symbol, now):
            if (one.path, one.symbol) != (wanted.path, wanted.symbol):
                yield f"{one.path}:{one.symbol}"
        if operation.owner == wanted.owner:
            return
        for target in self._in_its_class(operation, now):
            around = now.definition(*target.split(":"))
            bases = getattr(around.node, "bases", ()) if around else ()
            # What inherits from the new class has the change.
            if leaf_of(wanted.owner) not in map(last_name, bases):
                yield target

    def _in_its_class(self, operation: Operation, now: Snapshot) -> Iterator[str]:
        """Yield what may have replaced a missing class: a new one of its name."""
        path, owner = operation.path, operation.owner
        if not owner or path not in self._base or now.has_class(path, owner):
            return
        defining = now.defining(owner)
        if len(defining) > COMMON:
            return
        for there in defining:
            is_near = there.partition("/")[0] == path.partition("/")[0]
            if is_near and now.has_class(there, owner) and not self._base.has_class(there, owner):
                yield f"{there}:{owner}"

    def _under_its_name(self, operation: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the name of a missing definition, or of a class around it, that stands for something else now."""
        path, module = operation.path, now.module(operation.path)
        for name in accumulate(operation.name.split("."), "{}.{}".format):
            kinds = {one.kind for one in chosen(module, name)} if module else set[SymbolKind]()
            is_other = kinds and "class" not in kinds
            if "import" in kinds or (is_other and not self.matcher.match(path, name, now).is_elsewhere):
                yield f"{path}:{name}"

    def _new(self, operation: Operation, now: Snapshot) -> Iterator[tuple[str, str]]:
        """Yield the new definitions of a file or what it became, and those of its package with the symbol's name."""
        path, leaf = operation.path, operation.leaf
        defining, own = now.defining(leaf), (path, *self._moved_to(path, now))
        for there in dict.fromkeys([*own, *(defining if len(defining) <= COMMON else ())]):
            module = now.module(there)
            if module is None or there.partition("/")[0] != path.partition("/")[0]:
                continue
            for name in symbols(module):
                is_sought = there in own or leaf_of(name).strip("_") == leaf.strip("_")
                if is_sought and self.matcher.is_new(path, operation.symbol, now, name, there=there):
                    yield there, name

    def of_edit(self, operation: Operation, now: Snapshot) -> Relocation | None:
        """Return the new function of the file that only the target calls, now that lines of an edit stand there.

        It has every find, and no other definition has it; the target itself has none of them any more.
        """
        module, before = now.module(operation.path), self._base.module(operation.path)
        if module is None or before is None or _has_any_find(operation, module):
            return None
        holding = [name for name in symbols(module) if name != operation.symbol and _has_finds(operation, module, name)]
        # A class contains its methods: the innermost definition is meant.
        innermost: list[str] = []
        for name in holding:
            if not any(other.startswith(f"{name}.") for other in holding):
                innermost.append(name)
        # A definition that had the finds before is not the new place.
        if len(innermost) != 1 or _has_finds(operation, before, innermost[0]):
            return None
        (symbol,) = innermost
        is_near = owner_of(symbol) in ("", operation.owner) and leaf_of(symbol) != operation.leaf
        is_called = is_near and not chosen(before, symbol) and _names_alone(module, operation.symbol, symbol)
        if chosen(module, operation.symbol) and not is_called:
            return None
        alike = self.matcher.likeness(operation.path, operation.symbol, now, symbol)
        judged = self._judged(operation, operation.path, symbol, alike, now, is_part=True)
        return None if judged.problem else replace(judged, by_text=True)

    def files_with_new_finds(self, operation: Operation, now: Snapshot) -> list[str]:
        """Return the other modules in which a find of an edit occurs more often than before, called ones first.

        A module that was only renamed does not count.
        """
        found: list[str] = []
        for path, blob in now.entries.items():
            is_other = path != operation.path and blob not in self._blobs_before and path in self._found(now).changed
            if is_other and any(self._has_more(one, path, now) for one in operation.edits):
                found.append(path)
        return sorted(found, key=lambda path: (not self._is_called(operation, path, now), path))

    def _has_more(self, edit: Edit, path: str, now: Snapshot) -> bool:
        return self._count(edit.find, path, now) > self._count(edit.find, path, self._base)

    def _count(self, find: str, path: str, snapshot: Snapshot) -> int:
        key = (find, snapshot.blob(path))
        if path not in snapshot:
            return 0
        if key not in self._counts:
            sought, content = layout_of(find), snapshot.read(path)
            rarest = max(sought.texts, key=len).encode()
            # Tokenizing a module takes a thousand times as long.
            is_possible = all(line in content for line in rarest.split(b"\n"))
            text = content.decode("utf-8", "replace") if is_possible else ""
            self._counts[key] = len(TokenLayout(text).occurrences(sought)) if is_possible else 0
        return self._counts[key]

    def _is_called(self, operation: Operation, path: str, now: Snapshot) -> bool:
        """Return whether the edited definition names something that a module defines."""
        own, module = now.module(operation.path), now.module(path)
        if own is None or module is None:
            return False
        words: set[str] = set()
        for one in chosen(own, operation.symbol):
            words.update(layout_of(own.whole_text(one.node).decode()).texts)
        return not words.isdisjoint(map(leaf_of, module.definitions))

    def _judged(  # noqa: PLR0913  # the operation and its new target
        self, operation: Operation, path: str, symbol: str, alike: float, now: Snapshot, *, is_part: bool = False
    ) -> Relocation:
        """Return an operation on another target, with the reason if it does not fit there.

        Args:
            operation: the operation.
            path: of the new target.
            symbol: of the new target.
            alike: how alike that is to the old one.
            now: upstream now.
            is_part: whether only a part of the definition went there, which may be decorated otherwise.
        """
        module, text = now.module(path), operation.text
        assert module is not None  # noqa: S101  # the target was found there
        if text and operation.kind != "attribute":
            text = renamed(text, leaf_of(symbol))
        there = replace(operation, path=path, symbol=symbol, text=text, shared="")
        problem = self._fitter.problem(there, module)
        problem = problem or self._breaking(operation, chosen(module, symbol)[0], is_part=is_part)
        if operation.owner != there.owner and path != operation.path and path in self._base:
            problem = problem or f"`{there.owner}`, in a file that was there, may be a copy of another class"
        return Relocation(wanted=there, likeness=alike, problem=problem)

    def _breaking(self, operation: Operation, there: Definition, *, is_part: bool) -> str:
        """Return the parts of the new target that break the operation, as a sentence; empty if none does.

        A definition with another decorator may be there for other cases.
        """
        module = self._base.module(operation.path)
        known = chosen(module, operation.symbol) if module is not None else []
        bare = Contract(path=operation.path, operation=operation.action)
        was = replace(bare, **definition_fields(known[0] if known else there))
        now = replace(bare, **definition_fields(there))
        # A decorator by the function's own name, as `@value.setter`, is renamed with it.
        own = was.decorators.replace(f"@{operation.leaf}.", f"@{leaf_of(there.name)}.")
        parts = needed(now) | ({"decorators"} if not is_part else frozenset())
        changed = differences(replace(was, decorators=own), now)
        listed = ", ".join(str(one) for one in changed if one.part in parts)
        return f"its {listed} changed" if listed else ""


def _words(name: str) -> set[str]:
    """Return the words of a name in snake case; of a special name none."""
    return set() if name.startswith("__") else set(name.strip("_").split("_"))


def _telling_lines(content: bytes) -> Counter[bytes]:
    """Return the lines that say more than a name or a bracket."""
    return Counter(line for line in map(bytes.strip, content.splitlines()) if len(line) >= _TELLING)


def _has_any_find(operation: Operation, module: Module) -> bool:
    """Return whether an edit's own target still has a find of it."""
    known = chosen(module, operation.symbol)
    layouts = [layout_of(module.whole_text(one.node).decode()) for one in known]
    return any(layout.occurrences(layout_of(edit.find)) for layout in layouts for edit in operation.edits)


def _names(module: Module, symbol: str, leaf: str) -> bool:
    """Return whether a definition names something."""
    known = chosen(module, symbol)
    return any(leaf in layout_of(module.whole_text(one.node).decode()).texts for one in known)


def _names_alone(module: Module, symbol: str, other: str) -> bool:
    """Return whether a definition names another one, and nothing else in their module does, which would change too."""
    leaf, known = leaf_of(other), [*chosen(module, symbol), *chosen(module, other)]
    own = sum(layout_of(module.whole_text(one.node).decode()).texts.count(leaf) for one in known)
    return _names(module, symbol, leaf) and layout_of(module.content.decode()).texts.count(leaf) == own


def _has_finds(operation: Operation, module: Module, name: str) -> bool:
    """Return whether a definition has every find of an edit, as often as the edit says."""
    known = chosen(module, name)
    if len(known) != 1 or known[0].kind == "import":
        return False
    layout = layout_of(module.whole_text(known[0].node).decode())
    return all(len(layout.occurrences(layout_of(edit.find))) == edit.count for edit in operation.edits)
