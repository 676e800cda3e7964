"""Changed reads: the reads in a lock, and another tree → the symbols that differ there, and their readers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.contracts.contracts import exchanged
from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode
from npu_overlays.contracts.reads import Read
from npu_overlays.contracts.symbol_descriptions import described
from npu_overlays.model.attribute_chains import chains
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.selectors import plain
from npu_overlays.model.signatures import parameters, parsed_signature, replacement_mismatch
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.model.syntax import names_import
from npu_overlays.overlay.content import Content

_TEXTS = ("kind", "signature", "called", "decorators", "returns", "value")
_ACCESS = re.compile(r"@(?:\w+\.)*(?:cached_property|property|staticmethod|classmethod)\b")
_DIGEST = re.compile("<[0-9a-f]{8}>")
_CALLED = {"returns": "result", "called": "constructor"}


@dataclass(frozen=True, kw_only=True)
class ReaderPlace:
    """One place of an overlay that reads a symbol."""

    reader: str  # ``wrapped path:symbol`` or ``file path``
    written: str  # how the overlay names what leads to the symbol
    where: str  # file and line in the overlay
    is_written: bool = True  # whether it still names it


@dataclass(frozen=True, kw_only=True)
class ChangedRead:
    """One changed symbol, and the places that read it."""

    before: Read
    now: Read | None  # None where it is gone
    differences: tuple[str, ...]  # in words, ``value (`a` → `b`)``; that it is gone, where it is
    places: tuple[ReaderPlace, ...]  # what reads it
    is_of_itself: bool = False  # whether these wrap the symbol

    @property
    def breaks(self) -> bool:
        """Whether what reads it may be wrong: it is gone, called otherwise, or returns another number of values."""
        if self.now is None or (not self.is_of_itself and _is_called_otherwise(self.before, self.now)):
            return True
        before, now = (set(one.returns.split(" or ")) - {"None", ""} for one in (self.before, self.now))
        return bool(before) and (not now <= before or not now)

    def __str__(self) -> str:
        return f"`{self.before.path}:{self.before.symbol}`: {', '.join(self.differences)}"

    def shown_places(self) -> str:
        """Return the places in words; the targets of one shared definition are grouped."""
        shown: dict[tuple[str, str], list[str]] = {}
        for one in self.places:
            shown.setdefault((one.where, one.written), []).append(one.reader.partition(" ")[2].rpartition("/")[2])
        return "; ".join(f"{where}, `{text}` ({', '.join(those)})" for (where, text), those in shown.items())


def _is_called_otherwise(before: Read, now: Read) -> bool:
    """Return whether a symbol is of another kind, or a call by its old parameters may mean something else.

    The signature of a class names its bases, which its callers do not give.
    """
    if before.kind != now.kind or _ACCESS.findall(before.decorators) != _ACCESS.findall(now.decorators):
        return True
    pairs = [(before.called, now.called)]
    if now.kind != "class":
        pairs.append((before.signature, now.signature))
    return any(old and new and not _takes_as_much(old, new) for old, new in pairs)


def _takes_as_much(old: str, new: str) -> bool:
    """Return whether every call by the parameters in one text means the same by those in another one.

    Several definitions have several texts; what cannot be read as parameters takes nothing.
    """
    before, now = ([parsed_signature(one) for one in text.split(" or ")] for text in (old, new))
    return all(was and other and _means_the_same(was, other) for was in before for other in now)


def _means_the_same(before: ast.arguments, now: ast.arguments) -> bool:
    listed, known = parameters(before), {one.name: one for one in parameters(now)}
    for one in listed:
        other = known.get(one.name)
        if one.default and not (other and other.default and dump(one.default) == dump(other.default)):
            return False
    # Where the rest is taken by position, a further argument was the first of it.
    counts = [sum(one.is_positional for one in some) for some in (listed, known.values())]
    is_same_place = counts[0] == counts[1] or before.vararg is None
    return is_same_place and not replacement_mismatch(now, before)


def changed_reads(
    before: Iterable[Read],
    upstream: SymbolLookup,
    content: Content,
    renamed: Callable[[Read], ResolvedSymbol | None] | None = None,
) -> tuple[ChangedRead, ...]:
    """Return the symbols read by operations and added files that differ in another tree.

    Args:
        before: of a lock.
        upstream: the other tree.
        content: the overlay to apply there; other readers do not count.
        renamed: returns what a symbol is in the other tree, if it may have another name there.
    """
    codes = {code.reader: code for code in OverlayCode(content).all}
    found: list[ChangedRead] = []
    for read in before:
        if read.path in upstream.absent:
            continue
        if places := list(filter(None, (_place(entry, codes) for entry in read.by))):
            there = renamed(read) if renamed else upstream.find(read.path, read.symbol)
            now = described(there, upstream, whole=bool(read.body)) if there else None
            found += _changed(read, now, places)
    return tuple(found)


def _changed(before: Read, now: Read | None, places: list[ReaderPlace]) -> Iterator[ChangedRead]:
    """Yield a change with the places that depend on it; a wrapper of the symbol depends only on what that returns."""
    sides: dict[bool, list[ReaderPlace]] = {True: [], False: []}
    for one in places:
        sides[plain(one.reader).endswith(f" {before.path}:{before.symbol}")].append(one)
    for of_itself, those in sides.items():
        differences = tuple(_differences(before, now, of_itself=of_itself))
        if those and differences:
            yield ChangedRead(
                before=before, now=now, differences=differences, places=tuple(those), is_of_itself=of_itself
            )


def _differences(before: Read, now: Read | None, *, of_itself: bool) -> Iterator[str]:
    if now is None:
        if not of_itself:  # a wrapper's own contract says it
            yield "it is gone"
        return
    parts = ("returns",) if of_itself else _TEXTS
    for part in parts:
        old, new = getattr(before, part), getattr(now, part)
        unknown = part == "called" and not (old and new)  # of what was no class, or locked before this was recorded
        if old != new and not unknown and not (before.entries and now.entries and part == "value"):
            called = "bases" if part == "signature" and now.kind == "class" else _CALLED.get(part, part)
            yield f"its {called}{_exchanged(old, new)}"
    if not of_itself and before.entries and now.entries:
        yield from _of_entries(before, now)
    if before.body != now.body and not of_itself:
        yield "its text"


def _of_entries(before: Read, now: Read) -> Iterator[str]:
    """Yield the entries of a dictionary that changed or are gone; no reader of others depends on a new one."""
    known = dict(map(_key_and_value, now.entries))
    for key, old in map(_key_and_value, before.entries):
        if known.get(key) != old:
            yield f"its entry {key}{_exchanged(old, known.get(key, ''))}"


def _key_and_value(entry: str) -> tuple[str, str]:
    key, _, value = entry.partition(": ")
    return key, value


def _exchanged(old: str, new: str) -> str:
    """Return two texts side by side, or an empty text if only their digests differ."""
    old, new = _DIGEST.sub("…", old), _DIGEST.sub("…", new)
    return f" ({exchanged(old, new)})" if old != new else ""


def _place(entry: str, codes: dict[str, CodePiece]) -> ReaderPlace | None:
    """Return the current place of a reader in the overlay; None if it is gone."""
    reader, _, written = entry.rpartition(" ")
    code = codes.get(reader)
    if code is None:
        return None
    where = code.operation.where if code.operation else f"{code.file}:1"
    found = next(_written(code, written), "")
    return ReaderPlace(reader=reader, written=written, where=found or where, is_written=bool(found))


def _written(code: CodePiece, written: str) -> Iterator[str]:
    names = tuple(written.split("."))
    for chain, node in chains(code.tree):
        if chain[: len(names)] == names:
            yield code.where(node)
    for other in ast.walk(code.tree):
        if getattr(other, "name", "") == names[-1] or names_import(other, names[-1]):
            yield code.where(other)
