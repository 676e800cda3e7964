"""Tables of the documents: as the recipes, the stacks and the parsers of the command lines are."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_tables.documents import documents, filled
from document_tables.recipes import tables


def test_there_are_documents_with_tables() -> None:
    assert {file.name for file in documents()} >= {"commands.md", "commands.zh-CN.md", "memory.md", "train.zh-CN.md"}


@pytest.mark.parametrize("document", documents(), ids=lambda file: str(file.name))
def test_tables_are_up_to_date(document: Path) -> None:
    assert document.read_text("utf-8") == filled(document), "run: make format"


def test_a_stack_is_shown_with_the_versions_of_both_projects_and_the_commits_that_its_overlays_pin() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tables("en")["stacks"].splitlines()]
    assert rows[0][:4] == ["stack", "verl", "transformers", "Python"]
    shown = {row[0]: row[1:3] for row in rows}
    assert shown["`verl-0.9.1`"] == ["0.9.1", "5.10.4"]
    assert shown["`verl-0.7.1`"] == ["0.7.1 (`bec9ef7`)", "4.57.6"]
