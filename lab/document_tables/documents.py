"""Documents with marks → the same with their tables."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from document_tables import commands, recipes

_FOLDER = Path(__file__).resolve().parents[2] / "docs"
_MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def documents() -> list[Path]:
    """Return the documents that have tables."""
    return [file for file in sorted(_FOLDER.glob("*.md")) if _MARK.search(file.read_text("utf-8"))]


def filled(document: Path) -> str:
    """Return the text of a document with its tables written again."""
    tables = _tables("zh" if document.name.endswith(".zh-CN.md") else "en")
    return _MARK.sub(lambda found: found[1] + tables[found[2]] + found[3], document.read_text("utf-8"))


@cache
def _tables(language: str) -> dict[str, str]:
    return commands.tables(language) | recipes.tables(language)
