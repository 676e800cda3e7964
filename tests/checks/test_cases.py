"""Patched trees that are refused, and that pass: the cases of the files in ``cases``, one file a check."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import FileCase, read_cases

from .gate import CheckedOverlay

CASES = read_cases(Path(__file__).parent / "cases")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(gate: CheckedOverlay, case: FileCase) -> None:
    """Upstream's files below ``pkg/`` with the overlay's below ``o/`` are refused with these mistakes, or pass."""
    sections = dict(case.sections)
    expected = sections.pop("refused", "").splitlines()
    assert bool(expected) != (sections.pop("passes", None) == "")
    upstream = {name.removeprefix("pkg/"): text for name, text in sections.items() if name.startswith("pkg/")}
    overlay = {name.removeprefix("o/"): text for name, text in sections.items() if name.startswith("o/")}
    assert sections.keys() == {f"pkg/{name}" for name in upstream} | {f"o/{name}" for name in overlay}
    assert gate(upstream, {name: _written(name, text, upstream) for name, text in overlay.items()}) == expected


def _written(name: str, text: str, upstream: dict[str, str]) -> str | bytes:
    """Return a file of the overlay; one that merges has the import of the markers put above it."""
    is_merged = name.startswith("shared/") or name.removeprefix("tree/pkg/") in upstream
    return text if is_merged else text.encode()
