"""Lost changes: changes of patches and substitutions → those that an operation or a later substitution undoes.

A summary must not give the reason of a change that is not in the wheel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.changes.module_comparison import SymbolChange
from npu_overlays.errors import MergeError, Problem
from npu_overlays.merging.results import Applied, Declared, PatchedFile
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen

_ONE = "write it with one of the two"
_WORD = re.compile(r"\w+|[^\w\s]")


def lost_changes(applied: Applied, patched: Sequence[tuple[PatchedFile, SymbolChange]]) -> Iterator[Problem]:
    """Yield a problem for every change of a patch that an operation or a substitution undoes.

    Args:
        applied: what was applied, and the tree it left.
        patched: each patch or substitution with each change it makes that stands behind the last patch.
    """
    for number, (one, change) in enumerate(patched):
        rival = _overwriting(applied.declared, one, change)
        if not rival and change.symbol and _is_lost(one, change, applied):
            later = [_declared(other, same) for other, same in patched[number + 1 :] if not other.patch]
            suspects = (other for other in (*later, *applied.declared) if _same_place(other, one, change))
            rival = next(suspects, None)
        if rival:
            yield _problem(one, change, rival)


def _overwriting(declared: Iterable[Declared], one: PatchedFile, change: SymbolChange) -> Declared | None:
    """Return the operation that replaces or deletes what a patch changed; None where there is none."""
    for entry in declared:
        around = f"{change.symbol}.".startswith(f"{entry.symbol}.")
        if around and entry.path == one.path and entry.operation in ("replaced", "deleted"):
            return entry
    return None


def _same_place(entry: Declared, one: PatchedFile, change: SymbolChange) -> bool:
    """Return whether a declaration may have undone what a patch changed; of a wrapped symbol, the original is kept.

    Comments belong to no symbol: any other declaration of the file may have.
    """
    same = change.kind == "text" or entry.symbol == change.symbol
    return same and entry.path == one.path and entry.operation != "wrapped"


def _declared(one: PatchedFile, change: SymbolChange) -> Declared:
    return Declared(
        path=one.path,
        symbol=change.symbol,
        operation=one.operation,
        reason=one.reason,
        layer=one.layer,
        where=one.where,
    )


def _problem(one: PatchedFile, change: SymbolChange, rival: Declared) -> Problem:
    name = f"`{change.symbol}` of {one.path}" if change.symbol != one.path.rpartition("/")[2] else one.path
    what = f"what {_label(one)} changes in {name} is lost: {_label(rival)} says otherwise"
    return Problem(where=rival.where or one.where, what=what, fix=_ONE)


def _label(one: Declared | PatchedFile) -> str:
    return f"the {one.operation} ({one.where})" if one.where else f"the {one.operation}"


def _is_lost(one: PatchedFile, change: SymbolChange, applied: Applied) -> bool:
    """Return whether a change is gone from the tree that was there when all patches had been applied."""
    source, last = applied.tree.before(one.path), applied.tree.after(one.path)
    patched = one.after
    if one.patch:
        later = (other for other in reversed(applied.patched) if other.path == one.path and other.patch)
        patched = next(later).after
    return _is_gone(one, change, source, last) and not _is_gone(one, change, source, patched)


def _is_gone(one: PatchedFile, change: SymbolChange, source: bytes | None, now: bytes | None) -> bool:
    """Return whether a text has none of the words that a patch put into a symbol; if it put in none, all it took out.

    Comments and layout are compared by lines: their words are everywhere.
    """
    texts = [_words(content, one.path, change) for content in (one.before, one.after, source, now)]
    if any(text is None for text in texts):
        return False
    before, after, upstream, left = (text or Counter() for text in texts)
    put_in, taken_out = after - before, before - after
    kept = put_in & (left - upstream) if put_in else taken_out & (upstream - left)
    return bool(put_in or taken_out) and not kept


def _words(content: bytes | None, path: str, change: SymbolChange) -> Counter[str] | None:
    """Return the words of a symbol's definitions, or of a file without symbols; None where there is no such symbol."""
    if content is None:
        return None
    if change.kind == "text":
        return Counter(content.decode(errors="replace").splitlines())
    if change.symbol == path.rpartition("/")[2]:
        return Counter(_WORD.findall(content.decode(errors="replace")))
    try:
        module = Module(path, content)
    except MergeError:
        return None
    known = chosen(module, change.symbol)
    if not known:
        return None
    words: Counter[str] = Counter()
    for one in known:
        words.update(_WORD.findall(module.text(one.node)))
    return words
