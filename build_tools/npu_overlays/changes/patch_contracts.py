"""Patch contracts: files before and after each patch → a contract with upstream for every symbol that it changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npu_overlays.changes.module_comparison import SymbolChange
from npu_overlays.changes.tree_comparison import compare_file
from npu_overlays.contracts.contracts import Contract, ContractPlace
from npu_overlays.contracts.substitution_context import content_fingerprint
from npu_overlays.merge.results import PatchedFile
from npu_overlays.model.fingerprint import fingerprint_of_all
from npu_overlays.model.module import parsed_module
from npu_overlays.model.selectors import chosen


def patch_contracts(patched: Iterable[PatchedFile]) -> list[Contract]:
    """Return, for each patch, the symbols it changes, with upstream's content.

    A symbol that an earlier patch added is not upstream's, so a patch does not depend on it.
    """
    upstream: dict[str, bytes | None] = {}
    added: set[tuple[str, str]] = set()
    found: dict[ContractPlace, Contract] = {}
    for one in patched:
        if not one.patch:
            continue
        source = upstream.setdefault(one.path, one.before)
        known = frozenset(added)
        for entry in _contracts(one, source):
            if (entry.path, entry.symbol) in known:
                continue
            found[entry.place] = entry
            if entry.change == "added" and not entry.body:
                added.add((entry.path, entry.symbol))
    return list(found.values())


def _contracts(patched: PatchedFile, source: bytes | None) -> Iterator[Contract]:
    """Yield a contract for each symbol that a patch changes in a file, whose upstream content is `source`."""
    difference = compare_file(patched.path, patched.before, patched.after)
    if difference is None:
        return
    for change in difference.symbols():
        yield Contract(
            path=patched.path,
            symbol=change.symbol,
            operation="patch",
            patch=patched.patch,
            change=change.action,
            body=_fingerprint(patched.path, source, change),
        )


def _fingerprint(path: str, content: bytes | None, change: SymbolChange) -> str:
    """Return the fingerprint of a changed symbol in a file, or of the file for a change of it as a whole."""
    if content is None:
        return ""
    if change.kind in ("file", "text"):
        return content_fingerprint(content)
    module = parsed_module(path, content)
    return fingerprint_of_all(one.node for one in chosen(module, change.symbol)) if module else ""
