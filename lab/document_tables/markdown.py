"""Markdown: rows → a table."""

from __future__ import annotations

from collections.abc import Iterable


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown, with its last line end."""
    lines = [tuple(map(_cell, cells)) for cells in (heads, *rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """Return a text as a cell: on one line, and a bar in it ends no cell."""
    return " ".join(text.split()).replace("|", "\\|")
