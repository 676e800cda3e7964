"""Tables of the documents: as the recipes, the stacks and the parsers of the command lines are."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from document_tables.documents import documents, filled
from document_tables.markdown import table
from document_tables.parsers import explained, typed
from document_tables.recipes import tables


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


def test_a_stack_is_shown_with_the_versions_of_both_projects_and_the_commits_that_its_overlays_pin() -> None:
    rows = rows_of("stacks", "en")
    assert rows["stack"][:3] == ["verl", "transformers", "Python"]
    assert rows["`verl-0.9.1`"][:2] == ["0.9.1", "5.10.4"]
    assert rows["`verl-0.7.1`"][:2] == ["0.7.1 (`bec9ef7`)", "4.57.6"]


def test_fine_tuning_is_shown_with_what_it_trains() -> None:
    recipes = rows_of("recipes", "en")
    assert recipes["`sft-qwen3-8b`"][0] == "SFT by LoRA, Qwen3-8B"
    assert recipes["`sft-qwen3-30b-a3b`"][0] == "SFT of all weights, Qwen3-30B-A3B"
    assert rows_of("recipes", "zh")["`sft-qwen3-8b`"][0] == "LoRA SFT，Qwen3-8B"
    matrix = rows_of("matrix", "en")
    assert matrix["Qwen3-8B"][0] == "LoRA: 0.9.1, 0.7.1, 0.6.1, 0.5.0.dev0"
    assert matrix["Qwen3-30B-A3B"][0] == "0.9.1, 0.7.1"


def rows_of(name: str, language: str) -> dict[str, list[str]]:
    """Return the cells of each row of a table, by the first cell."""
    rows = {}
    for line in tables(language)[name].splitlines():
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        rows[first] = others
    return rows
