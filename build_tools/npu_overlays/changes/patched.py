"""Patched symbols: what patches did to files → a contract for every symbol they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npu_overlays.changes.compare import compare_file
from npu_overlays.changes.modules import Change
from npu_overlays.errors import MergeError
from npu_overlays.lock.contracts import Contract
from npu_overlays.lock.surroundings import content_fingerprint
from npu_overlays.merging.results import PatchedFile
from npu_overlays.syntax.fingerprint import fingerprint_of_all
from npu_overlays.syntax.selectors import chosen
from npu_overlays.syntax.symbols import Module


def patch_contracts(patched: Iterable[PatchedFile]) -> list[Contract]:
    """Return what each patch found, by symbol."""
    found = [entry for one in patched if one.patch for entry in _symbols(one)]
    return list({entry.place: entry for entry in found}.values())


def _symbols(patched: PatchedFile) -> Iterator[Contract]:
    difference = compare_file(patched.path, patched.before, patched.after)
    for change in difference.symbols() if difference else ():
        yield Contract(
            path=patched.path,
            symbol=change.symbol,
            operation="patch",
            patch=patched.patch,
            change=change.action,
            body=_fingerprint(patched.path, patched.before, change),
        )


def _fingerprint(path: str, content: bytes | None, change: Change) -> str:
    """Return the fingerprint of a changed symbol in one state of a file; of no symbol, that of the file."""
    if content is None:
        return ""
    if change.kind in ("file", "text"):
        return content_fingerprint(content)
    try:
        definitions = chosen(Module(path, content), change.symbol)
    except MergeError:
        return ""
    return fingerprint_of_all(definition.node for definition in definitions)
