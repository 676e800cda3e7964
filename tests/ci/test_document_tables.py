"""Tables of the documents: as the recipes, the stacks and the parsers of the command lines are."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_tables.documents import documents, filled


def test_there_are_documents_with_tables() -> None:
    assert {file.name for file in documents()} >= {"commands.md", "commands.zh-CN.md", "memory.md", "train.zh-CN.md"}


@pytest.mark.parametrize("document", documents(), ids=lambda file: str(file.name))
def test_tables_are_up_to_date(document: Path) -> None:
    assert document.read_text("utf-8") == filled(document), "run: make format"
