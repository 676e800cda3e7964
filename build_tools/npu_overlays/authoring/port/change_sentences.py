"""Differences of upstream that concern a part of an overlay → the sentences of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from npu_overlays.contracts.changed_reads import ChangedRead
from npu_overlays.contracts.contracts import ContractDifference

# Contracts store a digest instead of a long text.
_DIGEST = re.compile("<[0-9a-f]{8}>")
_SAME_TEXTS = re.compile(r"`([^`]*)` → `\1`")


def changed_parts(differences: Iterable[ContractDifference]) -> str:
    """Return the sentence that upstream changed parts of a definition; empty for none."""
    named: list[str] = []
    for one in differences:
        text = _DIGEST.sub("…", str(one))
        named.append(_SAME_TEXTS.sub(r"the arguments of `\1`", text))
    return f"upstream changed its {_enumerated(named)}" if named else ""


def changed_names(reads: Iterable[ChangedRead]) -> list[str]:
    """Return a sentence for each upstream file whose changed names a part reads; several names have a line each."""
    files: dict[str, list[ChangedRead]] = {}
    for one in reads:
        files.setdefault(one.before.path, []).append(one)
    return [_of_file(path, together) for path, together in files.items()]


def _of_file(path: str, reads: Sequence[ChangedRead]) -> str:
    if len(reads) == 1:
        name = f"`{path}:{reads[0].before.symbol}`"
        if reads[0].now is None:
            return f"{name}, which it reads, is gone"
        return f"upstream changed {name}, which it reads: {_enumerated(reads[0].differences)}"
    gone = [f"`{one.before.symbol}`" for one in reads if one.now is None]
    if len(gone) == len(reads):
        return f"it reads {len(gone)} names of `{path}` that are gone: {', '.join(gone)}"
    lines = [f"it reads {len(reads)} names of `{path}` that upstream changed or deleted:"]
    if gone:
        lines.append(f"{_enumerated(gone)} {'is' if len(gone) == 1 else 'are'} gone;")
    for one in reads:
        if one.now is not None:
            lines.append(f"`{one.before.symbol}`: {_enumerated(one.differences)};")
    return "\n".join(lines).removesuffix(";")


def _enumerated(names: Sequence[str]) -> str:
    """Return names with commas, and an "and" before the last."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
