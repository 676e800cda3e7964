"""Tables of the documents: as the recipes, the stacks and the parsers of the command lines are."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from document_tables.documents import documents, filled
from document_tables.markdown import table
from document_tables.parsers import explained, typed


def test_there_are_documents_with_tables() -> None:
    assert {file.name for file in documents()} >= {"commands.md", "commands.zh-CN.md", "memory.md", "train.zh-CN.md"}


@pytest.mark.parametrize("document", documents(), ids=lambda file: str(file.name))
def test_tables_are_up_to_date(document: Path) -> None:
    assert document.read_text("utf-8") == filled(document), "run: make format"


def test_a_cell_stays_one_cell_on_one_line() -> None:
    assert table(("option", "meaning"), [("`--commit ID|TAG`", "a tag,\nor an id\n")]) == (
        "| option | meaning |\n| --- | --- |\n| `--commit ID\\|TAG` | a tag, or an id |\n"
    )


def test_an_argument_is_written_as_you_type_it_and_explained_as_the_help_prints_it() -> None:
    parser = ArgumentParser()
    limit = parser.add_argument("--limit", metavar="VALUE", help="the limit: 4%% (default: %(default)s)", default="2%")
    seed = parser.add_argument("--seed", nargs="?", metavar="=SEED")
    quiet = parser.add_argument("--quiet", action="store_true")
    assert [typed(one) for one in (limit, seed, quiet)] == ["--limit VALUE", "--seed[=SEED]", "--quiet"]
    assert [explained(one) for one in (limit, seed, quiet)] == ["the limit: 4% (default: 2%)", "", ""]
