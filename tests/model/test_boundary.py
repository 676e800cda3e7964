"""Only the model resolves: no other room of the tool reads where an import leads, or follows bases."""

from __future__ import annotations

import ast
from pathlib import Path

import npu_overlays

TOOL = Path(npu_overlays.__file__).parent
# What writes an import or a class header anew, or compares it as it is written, reads its parts and follows none.
AS_WRITTEN = {
    "level": {
        "authoring/writer/marker_imports.py",
        "changes/equivalence.py",
        "checks/references.py",
        "overlay/operations.py",
        "overlay/parser/parsed_file.py",
        "overlay/parser/vocabulary.py",
    },
    "bases": {
        "authoring/port/callers.py",
        "checks/risk_lint/statement_diff.py",
        "overlay/parser/marks.py",
        "contracts/read_occurrences.py",
        "authoring/refresh/module_derivation.py",
        "authoring/refresh/equivalence.py",
    },
}


def _readers() -> dict[str, set[str]]:
    """Return the files beside the model that read each part of an import or of a class."""
    readers: dict[str, set[str]] = {part: set() for part in AS_WRITTEN}
    for file in sorted(TOOL.rglob("*.py")):
        path = file.relative_to(TOOL).as_posix()
        if path.partition("/")[0] != "model":
            for part in readers.keys() & _attributes(file):
                readers[part].add(path)
    return readers


def _attributes(file: Path) -> set[str]:
    """Return the attributes that a file reads, other than to call them."""
    nodes = list(ast.walk(ast.parse(file.read_bytes())))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    return {one.attr for one in nodes if isinstance(one, ast.Attribute) and one not in called}


def test_nothing_but_the_model_follows_imports_or_bases() -> None:
    assert _readers() == AS_WRITTEN
