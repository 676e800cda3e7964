"""Only the model resolves: no other room of the tool reads where an import leads, or follows bases."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import npu_overlays

TOOL = Path(npu_overlays.__file__).parent
# What writes an import or a class header anew, or compares it as it is written, reads its parts and follows none.
AS_WRITTEN = {
    "level": {
        "authoring/writer/marker_imports.py",
        "changes/equivalence.py",
        "checks/references.py",
        "merge/import_merge.py",
        "overlay/parser/parsed_file.py",
        "overlay/parser/vocabulary.py",
    },
    "bases": {
        "checks/risk_lint/statement_diff.py",
        "overlay/parser/marks.py",
        "contracts/read_places.py",
        "authoring/refresh/differences.py",
        "authoring/refresh/equivalence.py",
    },
}


def _read(part: str) -> Iterator[str]:
    """Yield the files beside the model that read a part of an import or of a class."""
    for file in sorted(TOOL.rglob("*.py")):
        path = file.relative_to(TOOL).as_posix()
        if path.partition("/")[0] != "model":
            nodes = list(ast.walk(ast.parse(file.read_bytes())))
            called = {node.func for node in nodes if isinstance(node, ast.Call)}
            if any(isinstance(one, ast.Attribute) and one.attr == part and one not in called for one in nodes):
                yield path


def test_nothing_but_the_model_follows_imports() -> None:
    assert set(_read("level")) == AS_WRITTEN["level"]


def test_nothing_but_the_model_follows_bases() -> None:
    assert set(_read("bases")) == AS_WRITTEN["bases"]
