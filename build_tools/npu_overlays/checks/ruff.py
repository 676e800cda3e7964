"""Ruff: texts of modules → unbound names, and syntax errors for the lowest supported Python."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from npu_overlays import process
from npu_overlays.model.encodings import as_utf8
from npu_overlays.model.syntax import line_starts

LOWEST_PYTHON = "py310"
FindingKind: TypeAlias = Literal["syntax", "undefined", "star"]
# Undefined names, and names that only a star import can bring. A syntax error has no such code and is always reported.
_RULES: dict[str, FindingKind] = {"F821": "undefined", "F405": "star"}
_NAME = re.compile("`([^`]+)`")


@dataclass(frozen=True, kw_only=True)
class RuffFinding:
    """One finding of ruff."""

    kind: FindingKind  # what is wrong there
    name: str  # the name, or the message of a syntax error
    offset: int  # where, in bytes without the byte order mark
    line: int  # its 1-based line
    quoted: bool  # whether a string stands there: a name listed in ``__all__``, which is looked at elsewhere


def findings(texts: Sequence[tuple[str, bytes]]) -> list[list[RuffFinding]]:
    """Return ruff's findings for each text, given its file name and its bytes."""
    if not texts:
        return []
    entries: list[list[dict[str, Any]]] = [[] for _ in texts]
    with tempfile.TemporaryDirectory(prefix="npu-overlays-gate-") as folder:
        for number, (name, content) in enumerate(texts):
            file = Path(folder, f"{number}.py")
            if name == "__init__.py":  # in which __path__ is no undefined name
                file = Path(folder, str(number), name)
                file.parent.mkdir()
            file.write_bytes(as_utf8(content))
        for entry in _entries(folder):
            place = Path(os.path.relpath(entry["filename"], os.path.realpath(folder)))
            entries[int(Path(place.parts[0]).stem)].append(entry)
    return [_at_offsets(content, listed) for (_, content), listed in zip(texts, entries, strict=True)]


def _entries(folder: str) -> list[dict[str, Any]]:
    """Run ruff on a folder and return its raw findings."""
    options = ["--isolated", "--no-cache", "--exit-zero", "--ignore-noqa", "--output-format=json"]
    rules = [f"--select={','.join(_RULES)}", f"--target-version={LOWEST_PYTHON}"]
    output = process.run([sys.executable, "-m", "ruff", "check", *options, *rules, folder])
    entries: list[dict[str, Any]] = json.loads(output)
    return entries


def _at_offsets(content: bytes, entries: list[dict[str, Any]]) -> list[RuffFinding]:
    """Return findings with byte offsets instead of ruff's lines and columns."""
    text = as_utf8(content)
    lines = text.splitlines(keepends=True) or [b""]
    starts = line_starts(lines)
    found = []
    for entry in entries:
        row, column = int(entry["location"]["row"]), int(entry["location"]["column"])
        before = lines[min(row, len(lines)) - 1].decode("utf-8", errors="replace")[: column - 1]
        offset = starts[min(row, len(lines)) - 1] + len(before.encode())
        kind = _RULES.get(entry["code"], "syntax")
        named = _NAME.search(entry["message"]) if kind != "syntax" else None
        name = named.group(1) if named else str(entry["message"])
        quoted = text[offset : offset + 1] in (b"'", b'"')
        found.append(RuffFinding(kind=kind, name=name, offset=offset, line=row, quoted=quoted))
    return found
