"""The gate: what a patched module must satisfy before it may be shipped.

It parses on the lowest supported Python, and it uses no undefined name that
upstream's own text did not use. Both answers come from ruff.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npu_overlays import proc
from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.marks import MARKERS_MODULE, uses_markers

LOWEST_PYTHON = "py310"
# F821: undefined name. A syntax error has no code of this form and is always reported.
_RULES = "F821"
_LEAVE_MARKERS = "leave markers to merge modules"


def check_modules(modules: Mapping[str, tuple[bytes | None, bytes]], *, where: str) -> None:
    """Check patched Python modules.

    Args:
        modules: by repository path, upstream's content (None for an added file) and the patched one.
        where: name of the overlay, for messages.

    Raises:
        MergeError: with every new mistake of every module.
    """
    problems = [
        Problem(where=f"{where}: {path}", what=f"the patched module imports {MARKERS_MODULE}", fix=_LEAVE_MARKERS)
        for path, (_, after) in modules.items()
        if MARKERS_MODULE.encode() in after or uses_markers(after)
    ]
    for path, messages in _new_messages(modules).items():
        for message, line in messages:
            what = f"line {line} of the patched module: {message}"
            problems.append(Problem(where=f"{where}: {path}", what=what, fix="mend the overlay's definition"))
    if problems:
        raise MergeError(problems)


def _new_messages(modules: Mapping[str, tuple[bytes | None, bytes]]) -> dict[str, list[tuple[str, int]]]:
    """Return by path what ruff says of the patched modules and did not say of upstream's."""
    if not modules:
        return {}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-gate-") as folder:
        names: dict[str, tuple[str, int]] = {}
        for number, (path, pair) in enumerate(modules.items()):
            for side, content in enumerate(pair):
                file = Path(folder, f"m{number}_{side}.py")
                file.write_bytes(content or b"")
                names[file.name] = (path, side)
        found: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for entry in _ruff(folder):
            place = names[Path(entry["filename"]).name]
            found.setdefault(place, []).append((entry["message"], entry["location"]["row"]))
    new: dict[str, list[tuple[str, int]]] = {}
    for (path, side), messages in found.items():
        known = Counter(message for message, _ in found.get((path, 0), [])) if side else Counter()
        for message, line in messages if side else ():
            if known[message] == 0:
                new.setdefault(path, []).append((message, line))
            known[message] = max(0, known[message] - 1)
    return new


def _ruff(folder: str) -> list[dict[str, Any]]:
    """Run ruff on every file of a folder and return its findings."""
    options = ["--isolated", "--no-cache", "--exit-zero", "--ignore-noqa", "--output-format=json"]
    rules = [f"--select={_RULES}", f"--target-version={LOWEST_PYTHON}"]
    output = proc.run([sys.executable, "-m", "ruff", "check", *options, *rules, folder])
    findings: list[dict[str, Any]] = json.loads(output)
    return findings
