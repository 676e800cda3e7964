"""Open questions: an operation with a possible new target, or with none → what its callers leave open about it.

Equal code shows where a text went, and not what is called in its place: upstream may call something new beside it that
does half of the work, or all of it for most users.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath

from npu_overlays.authoring.port.callers import Caller, Use, words_in
from npu_overlays.authoring.port.logical_lines import names_bound
from npu_overlays.authoring.port.relocations import Relocations
from npu_overlays.authoring.port.renamed_definitions import is_exchanged, is_kept_for_others
from npu_overlays.authoring.port.replacements import Replacements
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.errors import listing
from npu_overlays.model import Model, Symbol, model_of
from npu_overlays.model.fingerprint import fingerprint
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of
from npu_overlays.model.token_layout import layout_of
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

# The most names in a question.
_SHOWN = 6
_WRITTEN_ANEW = "whether anything does its work now: no file that had, used or imported it has anything left"
# A name of several words, unlike a plain word, which any text may have.
_COMPOUND = re.compile(r"[^_]_|[a-z0-9][A-Z]")


class OpenQuestions:
    """Asks whether the callers of an operation's target call something else now.

    Args:
        base: upstream where the overlay was locked.
        relocations: finds what may do the work of a missing definition.
        pin: says which paths are shipped.
    """

    def __init__(self, base: Snapshot, relocations: Relocations, pin: Pin) -> None:
        self._base = base
        self._relocations = relocations
        self._pin = pin
        self._model = relocations.model
        self._callers = relocations.callers
        self._replacements = Replacements(base, relocations.model, relocations.changed)
        self._heirs: dict[Symbol, list[Symbol]] = {}
        self._last_model: tuple[Snapshot | None, Model] = (None, self._model)

    def of_target(self, operation: Operation, wanted: Operation, now: Snapshot, *, is_renamed: bool) -> str:
        """Return the question that the callers leave open about a new target; empty if there is none.

        Where name and code changed, a caller has to show that the new definition replaces the old one.
        """
        module = now.module(operation.path)
        if operation.action == "edited" and module and chosen(module, operation.symbol):
            return ""  # A part of the code moved, and the target calls that.
        old, new = (one.name.partition(".")[0] for one in (operation, wanted))
        if module and is_kept_for_others(module, old, new):
            return f"whether upstream itself uses `{new}`: `{old}` is only handed out to those who still name it"
        if other := next(self._relocations.others(operation, wanted, now), ""):
            return f"whether `{other}`, which may do a part of its work, needs the change, too"
        callers = list(self._callers.of(operation, wanted, now))
        for one in callers:
            if others := self._others(one, operation, wanted, now):
                return (
                    f"whether `{others[0]}`, which its caller `{one.name or one.path}` calls now, needs the change, too"
                )
        before = self._base.definition(operation.path, operation.symbol)
        after = now.definition(wanted.path, wanted.symbol)
        is_same = before and after and is_exchanged(before, after, operation.leaf, wanted.leaf)
        if not is_renamed or is_same or any(one.is_same_but_for(operation.leaf, wanted.leaf) for one in callers):
            return ""
        why = "it is other code, and no caller changed in the name alone"
        return f"whether `{wanted.symbol}` does all of its work: {why}"

    def of_missing(self, operation: Operation, now: Snapshot) -> str:
        """Return the question that a missing definition, or its missing class, leaves open; empty if there is none.

        Its users have another definition of that name now, its heirs have the member from elsewhere, or its callers
        have new code in place of a call; upstream mentions it, or uses a helper of it; or the program was written anew.
        """
        is_in_class = now.has_class(operation.path, operation.owner)
        gone = operation if is_in_class or not operation.owner else replace(operation, symbol=operation.owner)
        found = [*self._namesakes(gone, now), *self._named_alike(gone, now), *self._files_of_its_name(gone, now)]
        replacing = self._replacements.of_missing(Symbol(gone.path, gone.symbol), now)
        found += (f"{one.path}:{one.name}" for one in replacing)
        found += () if is_in_class else self._of_heirs(operation, now)
        if found:
            return f"whether {listing((f'`{one}`' for one in dict.fromkeys(found)), _SHOWN)} needs the change, too"
        if called_by := self._registered_by(operation, now):
            return f"whether what `@{called_by}` has in its place needs the change: nothing else names it"
        known, knowing = set[tuple[str, str]](), {operation.path}
        having = list(dict.fromkeys(self._replacing(operation, now, known, knowing)))
        if is_in_class:
            having += self._callers.losing(operation, now)
        if having:
            return f"whether what {listing(having, _SHOWN)} has in its place needs the change"
        if helpers := list(self._helpers_left(operation, now)):
            return f"whether what uses {listing(helpers, _SHOWN)} now, which only it used, needs the change"
        return "" if self._is_outlived(known, knowing, now) else _WRITTEN_ANEW

    def _registered_by(self, gone: Operation, now: Snapshot) -> str:
        """Return the decorator that called a missing function of a module, if nothing names it; else an empty text."""
        one = self._base.definition(gone.path, gone.symbol)
        calls = [by for by in getattr(one.node, "decorator_list", ()) if isinstance(by, ast.Call)] if one else []
        is_named = gone.owner or not calls or any(self._callers.uses(gone, now))
        return "" if is_named else ast.unparse(calls[0])

    def of_changed(self, operation: Operation, now: Snapshot) -> str:
        """Return the question about new definitions that take what a changed one took; empty if there are none."""
        found = [*self._replacements.of_changed(Symbol(operation.path, operation.symbol), now)]
        named = listing((f"`{one.path}:{one.name}`" for one in found), _SHOWN)
        return f"whether {named}, which takes what it took, needs the change in its place" if named else ""

    def _is_outlived(self, gone: Iterable[tuple[str, str]], knowing: Iterable[str], now: Snapshot) -> bool:
        """Return whether a file that had, used or imported missing code still has something of what it had."""
        paths = set(knowing)
        for path, name in gone:
            paths.update(self._callers.importing(path, name.partition(".")[0]))
        for path in paths:
            before, after = self._base.module(path), now.module(path)
            if before and after and before.definitions.keys() & after.definitions.keys():
                return True
        return False

    def _helpers_left(self, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the private functions that nothing used but a missing definition, and something uses now."""
        module, one = self._base.module(gone.path), self._base.definition(gone.path, gone.symbol)
        body = layout_of(module.whole_text(one.node).decode()).texts if module and one else ()
        changed = self._relocations.changed
        for name in sorted(word for word in {*body} - {gone.leaf} if word.startswith("_")):
            before, after = changed.places_before(name, now), changed.places(name, now)
            if len(before) != 1 or len(after) != 1 or not self._base.definition(before[0], name):
                continue
            is_used = now.read(after[0]).count(name.encode()) > 1 or {*changed.mentioning(name, now)} - {after[0]}
            if is_used and not self._is_used_still(replace(gone, path=before[0], symbol=name), now):
                yield f"`{after[0]}:{name}`"

    def _is_used_still(self, helper: Operation, now: Snapshot) -> bool:
        """Return whether anything that used a helper is still there, or may be."""
        for use in self._callers.uses(helper, now):
            if not use.name or self._callers.now(use, helper, helper, now) or self._callers.merged(use, now):
                return True
        importing = self._callers.importing(helper.path, helper.name)
        return any(now.blob(path) == self._base.blob(path) for path in (helper.path, *importing))

    def _replacing(
        self, operation: Operation, now: Snapshot, known: set[tuple[str, str]], knowing: set[str]
    ) -> Iterator[str]:
        """Yield the callers of a missing definition that have something in its place; of missing callers, theirs.

        Args:
            operation: its target is missing; where its class is, that has callers, too.
            now: upstream now.
            known: the places that need not be looked at again; the missing ones are added.
            knowing: the files that name a missing definition are added, as they are called now.
        """
        is_class_gone = operation.owner and not now.has_class(operation.path, operation.owner)
        missing = [operation]
        if is_class_gone:
            missing.append(replace(operation, symbol=operation.owner))
        for gone in missing:
            known.add((gone.path, gone.name))
            for use in self._callers.uses(gone, now):
                path, name = use.module.path, use.name
                if path == gone.path and name.startswith(f"{gone.name}."):
                    continue
                found = self._callers.now(use, gone, gone, now) or self._callers.merged(use, now)
                knowing.update((path, *(one.path for one in found)))
                yield from self._defined_otherwise(use, gone, now)
                for one in found:
                    # Under that name it calls something else now.
                    if gone.leaf in words_in(one.lines[1]) or self._has_another(one, gone, now):
                        yield str(one)
                    elif name:
                        yield from self._relocations.files_with_lines_lost(Symbol(path, name), one.symbol, now)
                caller = replace(gone, path=path, symbol=name)
                if name and not found and self._relocations.successors(caller, now).is_likely:
                    yield f"{path}:{name}"
                elif name and not found and (path, name) not in known:
                    yield from self._replacing(caller, now, known, knowing)

    def _has_another(self, caller: Caller, gone: Operation, now: Snapshot) -> bool:
        """Return whether a caller has something in place of a call, or names anywhere what upstream had not before."""
        before, after = map(words_in, caller.lines)
        new = self._relocations.changed.new_names(now)
        return caller.calls_otherwise(gone.leaf) or not (after - before).isdisjoint(new)

    def _defined_otherwise(self, use: Use, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield what a module or class bound to a value of a missing definition, and defines or imports now.

        Or it is gone, as a table of functions may be, and what named it may call something else.
        """
        path, name, module = use.module.path, use.name, now.module(use.module.path)
        if module is None or (name and use.module.definitions[name][0].kind != "class"):
            return
        for leaf in sorted(frozenset[str]().union(*(names_bound(line) for line in use.lines if gone.leaf in line))):
            symbol = f"{name}.{leaf}" if name else leaf
            known = module.definitions.get(symbol, ())
            bound = replace(gone, path=path, symbol=symbol)
            is_lost = not known and self._is_named_elsewhere(bound, use, now)
            if is_lost or any(one.kind != "attribute" for one in known):
                yield f"{path}:{symbol}"

    def _is_named_elsewhere(self, symbol: Operation, use: Use, now: Snapshot) -> bool:
        """Return whether another module, or another function of its own, named what a module or class bound."""
        users = self._callers.uses(symbol, now)
        return len(self._callers.naming(symbol.leaf)) > 1 or any(one.name != use.name for one in users)

    def _namesakes(self, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the other definitions for which a missing one's name stands where it stood for that."""
        if gone.owner:
            return
        for there in self._callers.importing(gone.path, gone.name):
            is_possible = there in now and now.blob(there) != self._base.blob(there)
            if is_possible and gone.name.encode() in now.read(there):
                for target in self._model_now(now).resolver.anywhere(there, ast.Name(gone.name, ast.Load())):
                    if isinstance(target, Symbol) and target != Symbol(gone.path, gone.name):
                        yield f"{target.path}:{target.name}"

    def _named_alike(self, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield a missing definition under a name that differs little, and the modules that mention its old name."""
        changed = self._relocations.changed
        if not gone.leaf.startswith("__"):
            yield from (f"{path}:{name}" for path, name in changed.alike(gone.leaf, now))
        # A text with a plain word may mean anything.
        if not gone.owner and not now.defining(gone.leaf) and _COMPOUND.search(gone.leaf):
            yield from changed.mentioning(gone.leaf, now)

    def _files_of_its_name(self, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the new files of the package with the name of a missing one."""
        top, name = gone.path.partition("/")[0], PurePath(gone.path).name
        if gone.path in now or name == "__init__.py":
            return
        for path in now.entries:
            if path not in self._base and path.startswith(f"{top}/") and PurePath(path).name == name:
                yield path

    def _of_heirs(self, operation: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the members that heirs of a missing class have now, themselves or from a base, and had not."""
        gone = Symbol(operation.path, operation.owner)
        if not operation.owner:
            return
        if gone not in self._heirs:
            self._heirs[gone] = list(self._model.classes.heirs(gone))
        for heir in self._heirs[gone]:
            if not now.definition(*heir):
                continue
            known = self._model.classes.line(heir)
            for one in self._model_now(now).classes.line(heir):
                member = one.member(operation.leaf)
                was, there = self._base.definition(*member), now.definition(*member)
                is_known = one in known and was and there and fingerprint(was.node) == fingerprint(there.node)
                if there and not is_known:
                    yield f"{member.path}:{member.name}"

    def _model_now(self, now: Snapshot) -> Model:
        """Return the model of a snapshot; that of the last one is kept."""
        if self._last_model[0] is not now:
            self._last_model = now, model_of(self._pin, now)
        return self._last_model[1]

    def _others(self, caller: Caller, operation: Operation, wanted: Operation, now: Snapshot) -> list[str]:
        """Return what a caller names that is new, beside the new target: functions and classes.

        What only has a new name does not count, nor does what is raised.
        """
        leaves = operation.leaf, wanted.leaf
        added = list(caller.added_for(*leaves))
        named = words_in(added) - {*wanted.name.split(".")}
        if not named:
            return []
        paths = (caller.path, operation.path, wanted.path)
        known: set[str] = set()
        for module in filter(None, map(self._base.module, (caller.was, *paths))):
            known.update(map(leaf_of, module.definitions))
        others = named & _defined(map(now.module, paths))
        called = {word for line in added for word, following in pairwise(line) if following == "("}
        # One of several uses may name something new without a call.
        uses = [sum(line.count(leaf) for line in lines) for lines, leaf in zip(caller.lines, leaves, strict=True)]
        others |= (named if uses[0] > uses[1] else named & called) & self._relocations.changed.new_names(now)
        others -= known
        return sorted(others - self._renamed(operation.path, now)) if others else []

    def _renamed(self, path: str, now: Snapshot) -> set[str]:
        """Return the names that missing definitions of a module have now."""
        module, found = self._base.module(path), set[str]()
        names = module.definitions if module else ()
        for name in names:
            match = self._relocations.matcher.match(path, name, now)
            if match.is_elsewhere:
                found.add(leaf_of(match.symbol))
        return found


def _defined(modules: Iterable[Module | None]) -> set[str]:
    """Return the names of the functions and classes of some modules."""
    found: set[str] = set()
    for module in filter(None, modules):
        for name, known in module.definitions.items():
            if any(one.kind in ("function", "class") for one in known):
                found.add(leaf_of(name))
    return found
