"""Patch series: patches and substitutions in their order → the changes that remain at the end, with their authors.

Each patch is compared with the tree that it was applied to. A change that a later patch reverts does not remain. A
change that a later patch renames or moves keeps the reasons of the patches that made it.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from npu_overlays.changes.module_comparison import SymbolChange
from npu_overlays.changes.tree_comparison import ChangedFile, compare_file
from npu_overlays.merge.results import Declared, PatchedFile
from npu_overlays.model.definitions import Definition
from npu_overlays.model.likeness import ENOUGH, TokenPairs, likeness, token_pairs
from npu_overlays.model.module import Module, parsed_module
from npu_overlays.overlay.layer_content import OverlayFile

# Kinds of changes that are about a file, and named after it.
_OF_FILES = ("file", "text")
_Content = bytes | None


class SymbolPlace(NamedTuple):
    """A symbol of a file; for a change of the file as a whole, its name or an empty text."""

    path: str
    symbol: str


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The change of one patch or substitution at one place."""

    number: int  # its position in the series
    one: PatchedFile  # the patch or substitution, with the file before and after it
    change: SymbolChange  # what it did
    # whether that is a class that was added or deleted with members, which have effects of their own
    whole: bool = False

    @property
    def place(self) -> SymbolPlace:
        """Its place."""
        return SymbolPlace(self.one.path, self.change.symbol)


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """An effect that contributes to a place's final difference from upstream."""

    place: SymbolPlace  # that place; another one than the effect's where a later patch renamed or moved it
    effect: Effect  # the effect

    @property
    def declared(self) -> Declared:
        """Its declaration."""
        one = self.effect.one
        path, symbol = self.place
        return Declared(
            path=path, symbol=symbol, operation=one.operation, reason=one.reason, layer=one.layer, where=one.where
        )


def remaining(patched: Sequence[PatchedFile]) -> list[Remaining]:
    """Return the effects that remain, in the order of the series."""
    return _Series(patched).remaining()


def ineffective(given: Iterable[OverlayFile], patched: Sequence[PatchedFile]) -> Iterator[str]:
    """Yield a notice for each patch without an effect that remains, or that a summary lists."""
    effective = {one.where for one in patched}
    for file in given:
        if file.file not in effective:
            yield f"{file.file}: no summary lists what it changes: modes alone, or files that this source lacks"
    patches = dict.fromkeys(one.where for one in patched if one.patch)
    left = {one.effect.one.where for one in remaining(patched)} if len(patches) > 1 else patches
    for where in patches:
        if where not in left:
            yield f"{where}: has no effect in the end: other patches and it cancel out"


class _Series:
    """The effects at each place, without those that later ones revert."""

    def __init__(self, patched: Sequence[PatchedFile]) -> None:
        self._texts = _Texts()
        self._compared: dict[tuple[str, _Content, _Content], Mapping[str, tuple[SymbolChange, bool]]] = {}
        self._files: dict[str, list[PatchedFile]] = {}
        self._effects: dict[SymbolPlace, tuple[Effect, ...]] = {}
        self._reverted: dict[str, dict[int, Effect]] = {}
        for one in patched:
            self._files.setdefault(one.path, []).append(one)
        for _, group in groupby(enumerate(patched), lambda numbered: numbered[1].where):
            effects: list[Effect] = []
            for number, one in group:
                effects += self._effects_of(number, one)
            self._append(effects)

    def remaining(self) -> list[Remaining]:
        """Return the effects that remain, in the order of the series."""
        found: list[Remaining] = []
        for place in self._effects:
            found += [Remaining(place=place, effect=one) for one in self._remaining_at(place)]
        explained = {one.place for one in found}
        for path in self._files:
            if any(SymbolPlace(path, symbol) not in explained for symbol in self._differences(path)):
                found += [Remaining(place=SymbolPlace(path, ""), effect=one) for one in self._unnamed(path)]
        return sorted(found, key=lambda one: one.effect.number)

    def _effects_of(self, number: int, one: PatchedFile) -> Iterator[Effect]:
        """Yield the effects of a patch on a file; if it has none, the replacement of the file."""
        found = self._changes(one.path, one.before, one.after)
        for change, whole in found.values():
            yield Effect(number=number, one=one, change=change, whole=whole)
        if not found:
            yield Effect(number=number, one=one, change=SymbolChange(action="replaced", kind="file", symbol=""))

    def _append(self, effects: Sequence[Effect]) -> None:
        """Append the effects of one patch on all of its files to the earlier ones at their places."""
        gone = [one for one in effects if one.change.action == "deleted" and self._effects.get(one.place)]
        moved: dict[SymbolPlace, tuple[Effect, ...]] = {}
        for one in effects:
            if gone and one.change.action == "added":
                moved[one.place] = self._moved_to(one, gone)
        for one in effects:
            earlier = _by_number([*moved.get(one.place, ()), *self._effects.get(one.place, ())])
            together = [*earlier.values(), one]
            kept = self._without_reverted(together)
            self._effects[one.place] = kept
            reverted = self._reverted.setdefault(one.place.path, {})
            reverted.update(_by_number(other for other in together if other not in kept))

    def _moved_to(self, new: Effect, gone: Sequence[Effect]) -> tuple[Effect, ...]:
        """Return the earlier effects at the place that a patch renames or moves to a new one; none if it does not.

        Effects that the patch also reverts are left out.
        """
        now = self._texts.shape(new.one.after, new.place)
        likest, best = None, (ENOUGH, False)
        for old in gone:
            if old.change.kind == new.change.kind:
                alike = likeness(now, self._texts.shape(old.one.before, old.place))
                score = (alike, old.place.symbol == new.place.symbol)
                if score > best or (likest is None and score == best):
                    likest, best = old, score
        if likest is None:
            return ()
        earlier = self._effects[likest.place]
        for number, one in enumerate(earlier):
            if self._texts.is_back_renamed(one, new):
                return earlier[:number]
        return earlier

    def _without_reverted(self, effects: Sequence[Effect]) -> tuple[Effect, ...]:
        """Return the effects at a place without those that the last reverts; if it reverts any, it goes too."""
        *earlier, last = effects
        for number, one in enumerate(earlier):
            if one.place != last.place or not last.one.patch:
                continue
            if self._is_back(one, last):
                return tuple(effects[:number])
            if _is_inverse(self._texts.edits(one), self._texts.edits(last)):
                return (*effects[:number], *effects[number + 1 : -1])
        return tuple(effects)

    def _is_back(self, first: Effect, last: Effect) -> bool:
        """Return whether one effect restores what a place was before another."""
        if first.change.kind in _OF_FILES or last.change.kind in _OF_FILES:
            return first.one.before == last.one.after
        return last.change.symbol not in self._changes(last.one.path, first.one.before, last.one.after)

    def _remaining_at(self, place: SymbolPlace) -> tuple[Effect, ...]:
        """Return the effects that remain at a place."""
        effects = self._effects[place]
        if any(not one.one.patch for one in effects):
            return effects
        if difference := self._differences(place.path).get(place.symbol):
            return effects[-1:] if difference[0].action == "deleted" else effects
        of_file = [one for one in effects if one.change.kind in _OF_FILES and not _is_opaque(one)]
        return tuple(filter(self._has_lines, of_file))

    def _has_lines(self, effect: Effect) -> bool:
        """Return whether lines that a patch added to a file remain; if it added none, whether lines are gone."""
        files = self._files[effect.one.path]
        before, after = _lines(effect.one.before), _lines(effect.one.after)
        upstream, now = _lines(files[0].before), _lines(files[-1].after)
        added, deleted = after - before, before - after
        return bool(added & (now - upstream) if added else deleted & (upstream - now))

    def _unnamed(self, path: str) -> list[Effect]:
        """Return the effects on a file that contribute to a difference that no effect names.

        An order that two patches change together is such a difference. These are the effects before or after which the
        text does not parse, and the reverted ones; if there are none, all.
        """
        here: list[Effect] = []
        for place, effects in self._effects.items():
            if place.path == path:
                here += effects
        unnamed = _by_number(filter(_is_opaque, here)) | self._reverted[path]
        return list((unnamed or _by_number(here)).values())

    def _differences(self, path: str) -> Mapping[str, tuple[SymbolChange, bool]]:
        """Return a file's final differences from upstream."""
        files = self._files[path]
        return self._changes(path, files[0].before, files[-1].after)

    def _changes(self, path: str, before: _Content, after: _Content) -> Mapping[str, tuple[SymbolChange, bool]]:
        """Return the changes between two contents of a file by symbol, and whether each is a whole class.

        A name that gains one definition and loses another, as a changed statement does, counts as replaced.
        """
        key = (path, before, after)
        if key not in self._compared:
            difference = compare_file(path, before, after)
            self._compared[key] = _by_symbol(difference) if difference else {}
        return self._compared[key]


def _by_symbol(difference: ChangedFile) -> dict[str, tuple[SymbolChange, bool]]:
    found: dict[str, tuple[SymbolChange, bool]] = {}
    for change in difference.symbols():
        known = found.get(change.symbol)
        mixed = known and known[0].action != change.action
        found[change.symbol] = (replace(change, action="replaced") if mixed else change, False)
    for entry in difference.class_changes:
        if entry.changes and entry.action != "updated":
            found[entry.name] = (entry.as_a_whole(), True)
    return found


def _lines(content: _Content) -> Counter[bytes]:
    return Counter((content or b"").splitlines())


def _by_number(effects: Iterable[Effect]) -> dict[int, Effect]:
    return {one.number: one for one in effects}


@dataclass(frozen=True, kw_only=True)
class _Edit:
    """Exchanged lines, with the lines above and below."""

    beside: tuple[str, str]
    removed: Sequence[str]
    added: Sequence[str]

    def reverts(self, other: _Edit) -> bool:
        """Return whether this restores the lines that another edit exchanged."""
        same_place = self.beside[0] == other.beside[0] or self.beside[1] == other.beside[1]
        return same_place and (self.removed, self.added) == (other.added, other.removed)


class _Texts:
    """The text of places in contents of files; each content is parsed once."""

    def __init__(self) -> None:
        self._modules: dict[tuple[str, _Content], Module | None] = {}
        self._shapes: dict[tuple[_Content, SymbolPlace], TokenPairs] = {}

    def edits(self, effect: Effect) -> list[_Edit]:
        """Return the edits of an effect in the text of its place, or of the file if the place has no definition."""
        old, new = self._text(effect.one.before, effect.place), self._text(effect.one.after, effect.place)
        around = ["", *old, ""]
        edits = []
        for tag, start, end, first, behind in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                beside = (around[start], around[end + 1])
                edits.append(_Edit(beside=beside, removed=old[start:end], added=new[first:behind]))
        return edits

    def is_back_renamed(self, first: Effect, last: Effect) -> bool:
        """Return whether one effect restores, except for the name, the text of another place before an effect there."""
        old, new = first.place.symbol.rpartition(".")[2], last.place.symbol.rpartition(".")[2]
        named = re.compile(rf"(?<!\w){re.escape(new)}(?!\w)")
        after = self._text(last.one.after, last.place)
        return self._text(first.one.before, first.place) == [named.sub(lambda _: old, line) for line in after]

    def shape(self, content: _Content, place: SymbolPlace) -> TokenPairs:
        """Return the shape of a definition, or of the file if the place has none."""
        key = (content, place)
        if key not in self._shapes:
            module, known = self._definitions(content, place)
            lines = Counter((line, "") for line in self._text(content, place))
            self._shapes[key] = token_pairs(module, known[-1]) if module and known else lines
        return self._shapes[key]

    def _text(self, content: _Content, place: SymbolPlace) -> list[str]:
        module, known = self._definitions(content, place)
        if module and known:
            return "\n".join(module.text(one.node) for one in known).splitlines()
        return (content or b"").decode(errors="replace").splitlines()

    def _definitions(self, content: _Content, place: SymbolPlace) -> tuple[Module | None, list[Definition]]:
        """Return a module and the definitions at a place of it; None if it is no module, or cannot be parsed."""
        key = (place.path, content)
        if key not in self._modules:
            self._modules[key] = parsed_module(place.path, content)
        module = self._modules[key]
        return module, module.definitions.get(place.symbol, []) if module else []


def _is_inverse(first: Sequence[_Edit], last: Sequence[_Edit]) -> bool:
    pairs = zip(last, first, strict=False)
    return bool(first) and len(first) == len(last) and all(one.reverts(other) for one, other in pairs)


def _is_opaque(effect: Effect) -> bool:
    """Return whether a text of a module before or after an effect cannot be parsed, so that it names no symbols."""
    return effect.change.kind == "file" and effect.change.action == "replaced" and effect.one.path.endswith(".py")
