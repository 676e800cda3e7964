"""Patched symbols: what patches did to files → a contract with upstream for every symbol they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npu_overlays.changes.compare import compare_file
from npu_overlays.changes.modules import Change
from npu_overlays.contracts.contracts import Contract, ContractPlace
from npu_overlays.contracts.surroundings import content_fingerprint
from npu_overlays.errors import MergeError
from npu_overlays.merge.results import PatchedFile
from npu_overlays.model.fingerprint import fingerprint_of_all
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen


def patch_contracts(patched: Iterable[PatchedFile]) -> list[Contract]:
    """Return what each patch changes, by symbol, and what upstream has there.

    What an earlier patch added is not upstream's: of that, a patch depends on nothing there.
    """
    upstream: dict[str, bytes | None] = {}
    added: set[tuple[str, str]] = set()
    found: dict[ContractPlace, Contract] = {}
    for one in patched:
        if not one.patch:
            continue
        source = upstream.setdefault(one.path, one.before)
        entries = [entry for entry in _symbols(one, source) if (entry.path, entry.symbol) not in added]
        found |= {entry.place: entry for entry in entries}
        added |= {(entry.path, entry.symbol) for entry in entries if entry.change == "added" and not entry.body}
    return list(found.values())


def _symbols(patched: PatchedFile, source: bytes | None) -> Iterator[Contract]:
    difference = compare_file(patched.path, patched.before, patched.after)
    for change in difference.symbols() if difference else ():
        yield Contract(
            path=patched.path,
            symbol=change.symbol,
            operation="patch",
            patch=patched.patch,
            change=change.action,
            body=_fingerprint(patched.path, source, change),
        )


def _fingerprint(path: str, content: bytes | None, change: Change) -> str:
    """Return the fingerprint of a changed symbol in a file, or of the file for a change of it as a whole."""
    if content is None:
        return ""
    if change.kind in ("file", "text"):
        return content_fingerprint(content)
    try:
        definitions = chosen(Module(path, content), change.symbol)
    except MergeError:
        return ""
    return fingerprint_of_all(definition.node for definition in definitions)
