"""Lost changes: changes of patches and substitutions → those that an operation or a later substitution undoes.

A summary must not give a reason for a change that is not in the wheel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.changes.module_comparison import SymbolChange
from npu_overlays.changes.patch_series import Remaining, SymbolPlace
from npu_overlays.errors import Problem
from npu_overlays.merge.results import Applied, Declared, PatchedFile
from npu_overlays.model.module import parsed_module
from npu_overlays.model.selectors import chosen

_WORD = re.compile(r"\w+|[^\w\s]")


def lost_changes(applied: Applied, left: Sequence[Remaining]) -> Iterator[Problem]:
    """Yield a problem for every change of a patch that an operation or a substitution undoes.

    Args:
        applied: the applied overlay, with its tree.
        left: the remaining effects of each patch or substitution after the last patch.
    """
    for number, one in enumerate(left):
        patched, change = one.effect.one, one.effect.change
        rival = _overwriting(applied.declared, one.place)
        if not rival and change.symbol and _is_lost(patched, change, applied):
            later = [other.declared for other in left[number + 1 :] if not other.effect.one.patch]
            rival = _suspect([*later, *applied.declared], one)
        if rival:
            name = f"`{change.symbol}` of {patched.path}"
            if change.symbol == patched.path.rpartition("/")[2]:
                name = patched.path
            what = f"what {_label(one.declared)} changes in {name} is lost: {_label(rival)} changes it too"
            yield Problem(
                where=rival.where or patched.where,
                what=what,
                fix="keep one of the two, and write the whole change there",
            )


def _overwriting(declared: Iterable[Declared], place: SymbolPlace) -> Declared | None:
    """Return the operation that replaces or deletes a symbol or what is around it, or None."""
    for entry in declared:
        around = f"{place.symbol}.".startswith(f"{entry.symbol}.")
        if around and entry.path == place.path and entry.operation in ("replaced", "deleted"):
            return entry
    return None


def _suspect(declared: Iterable[Declared], lost: Remaining) -> Declared | None:
    """Return the first declaration that may have undone a change, or None.

    A wrapped symbol keeps the original. Comments belong to no symbol: any declaration of the file may have.
    """
    path, symbol = lost.place
    for entry in declared:
        same = entry.symbol == symbol or lost.effect.change.kind == "text"
        if same and entry.path == path and entry.operation != "wrapped":
            return entry
    return None


def _label(one: Declared) -> str:
    return f"the {one.operation} ({one.where})" if one.where else f"the {one.operation}"


def _is_lost(one: PatchedFile, change: SymbolChange, applied: Applied) -> bool:
    """Return whether a change is gone from the tree, compared with the tree after all patches."""
    source, last = applied.tree.before(one.path), applied.tree.after(one.path)
    patched = one.after
    if one.patch:
        later = (other for other in reversed(applied.patched) if other.path == one.path and other.patch)
        patched = next(later).after
    return _is_gone(one, change, source, last) and not _is_gone(one, change, source, patched)


def _is_gone(one: PatchedFile, change: SymbolChange, source: bytes | None, now: bytes | None) -> bool:
    """Return whether a text has none of the words that a patch added to a symbol; if it added none, all it removed.

    Comments and layout are compared by lines: their words are everywhere.
    """
    texts: list[Counter[str]] = []
    for content in (one.before, one.after, source, now):
        words = _words(content, one.path, change)
        if words is None:
            return False
        texts.append(words)
    before, after, upstream, left = texts
    put_in, taken_out = after - before, before - after
    kept = put_in & (left - upstream) if put_in else taken_out & (upstream - left)
    return bool(put_in or taken_out) and not kept


def _words(content: bytes | None, path: str, change: SymbolChange) -> Counter[str] | None:
    """Return the words of a symbol's definitions, or of a file without symbols; None if there is no such symbol."""
    if content is None:
        return None
    if change.kind == "text":
        return Counter(content.decode(errors="replace").splitlines())
    if change.symbol == path.rpartition("/")[2]:
        return Counter(_WORD.findall(content.decode(errors="replace")))
    module = parsed_module(path, content)
    if module is None:
        return None
    words: Counter[str] = Counter()
    known = chosen(module, change.symbol)
    for one in known:
        words.update(_WORD.findall(module.text(one.node)))
    return words if known else None
