"""Documents: their tables are what recipes and stacks say."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tables import documents, filled


def test_there_are_documents_with_tables() -> None:
    assert {file.name for file in documents()} >= {
        "memory.md",
        "recipe-list.md",
        "train.md",
        "train.zh-CN.md",
    }


@pytest.mark.parametrize("document", documents(), ids=lambda file: str(file.name))
def test_tables_are_up_to_date(document: Path) -> None:
    assert document.read_text("utf-8") == filled(document), "run: python tests/recipes/tables.py"
