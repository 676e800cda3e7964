"""Prose of documents, help and code avoids turns that hide who does what: subject, verb, object reads faster."""

from __future__ import annotations

import ast
import re
import tokenize
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path

import pytest

from document_tables.parsers import commands_of
from npu_doctor import arguments as doctor
from npu_overlays.commands.parser import parser
from npu_recipes.commands.parser import parser as recipes_parser
from npu_summary.cli import usage

from .conftest import ROOT

FOLDERS = (
    *(ROOT / "overlays").iterdir(),
    ROOT,
    ROOT / "docs",
    ROOT / "recipes",
    ROOT / "stacks",
    ROOT / "build_tools" / "npu_doctor",
)
TOOL = ROOT / "build_tools" / "npu_overlays"
OTHERS = (ROOT / "build_tools" / "npu_doctor", ROOT / "build_tools" / "npu_summary", ROOT / "recipes" / "npu_recipes")
_PAGES = chain.from_iterable(folder.glob("*.md") for folder in FOLDERS)
DOCUMENTS = sorted(file for file in _PAGES if ".zh-CN" not in file.name)

# Each turn, and what to write instead.
TURNS = {
    r"(?:became|becomes?|came) of": "say what happened: the result, the verdict, the table of results",
    r"of which": "begin a sentence with the thing",
    r"(?:is|are|was|were) told(?: of)?|told of": "say which command reports or prints it",
    r"(?:is|are|was|were) said": "say which command or page says it",
    r"said otherwise": "say what it says",
    r"without a word": "say that nothing reports it",
    r"who asks for|who has to|(?-i:Who) (?:names|does not|wants)": "address the reader as you",
    r"whoever": "name the person, or say you",
    r"whatever": "name the thing, or leave it out",
    r"be it": "list the cases",
    r"all that": "everything, or name it",
    r"otherwise than": "differ from, in another way than",
    r"unasked": "say what the user does first",
    r"as ever": "as before",
    r"(?:to|can|cannot|could|could not) be had|not had|had by": "fetch, find or install",
}
# Turns of docstrings and comments, beside those.
TURNS_OF_CODE = {
    r"at hand": "this source, this Python, or the thing itself",
    r"says? of": "name the facts, the settings or the text",
    r"(?:go|goes) on": "still, continue, stay",
    r"in the place of": "instead of, or replace",
    r"made anew": "made again, replaced, rewritten",
    r"makes? of": "the result of",
    r"for what is no|none of (?:this|the|a) tree": "any other, or from outside the tree",
    r"takes long": "is slow, or what is avoided",
    r"in the order in which Python asks": "MRO",
}


def found_turns(text: str, turns: Mapping[str, str] = TURNS) -> list[str]:
    """Return every turn in a text, each with the words around it and what to write instead."""
    flat = " ".join(text.split())
    found: list[str] = []
    for turn, advice in turns.items():
        for hit in re.finditer(rf"(?i)\b(?:{turn})\b", flat):
            found.append(f"…{flat[max(hit.start() - 40, 0) : hit.end() + 40]}… → {advice}")
    return found


def helps(root: ArgumentParser) -> Iterator[str]:
    """Yield the help of a command line and of its commands."""
    yield root.format_help()
    yield from (command.format_help() for command in commands_of(root).values())


def prose(file: Path) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions, and its comments."""
    content = file.read_bytes()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""
    for token in tokenize.tokenize(BytesIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def messages(file: Path) -> Iterator[str]:
    """Yield the texts in a module's code that are not docstrings, with an ellipsis for each value that is filled in."""
    for node in ast.walk(_Texts().visit(ast.parse(file.read_bytes()))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


class _Texts(ast.NodeTransformer):
    """Deletes docstrings, and joins the parts of formatted texts."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_document_says_who_does_what(document: Path) -> None:
    assert found_turns(document.read_text("utf-8")) == []


def test_help_says_who_does_what() -> None:
    texts = [*helps(parser()), *helps(recipes_parser()), usage("verl_npu_summary")]
    texts += [doctor.parse([command, "--help"]).help for command in doctor.COMMANDS]
    assert len(texts) > 30
    assert found_turns("\n".join(texts)) == []


def test_docstrings_comments_and_messages_of_the_tool_say_who_does_what() -> None:
    turns = TURNS | TURNS_OF_CODE
    found: dict[str, list[str]] = {}
    for file in TOOL.rglob("*.py"):
        hits = found_turns("\n".join(prose(file)), turns)
        found[file.relative_to(TOOL).as_posix()] = [*hits, *chain.from_iterable(map(found_turns, messages(file)))]
    assert len(found) > 300
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_docstrings_comments_and_messages_of_the_other_packages_say_who_does_what() -> None:
    found: dict[str, list[str]] = {}
    for file in chain.from_iterable(folder.rglob("*.py") for folder in OTHERS):
        hits = found_turns("\n".join(prose(file)), TURNS | TURNS_OF_CODE)
        found[file.relative_to(ROOT).as_posix()] = [*hits, *chain.from_iterable(map(found_turns, messages(file)))]
    assert len(found) > 130
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_prose_is_found_in_every_part_of_a_module(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""One."""\n\nclass C:\n    """Two."""\n\n    async def f(self):\n        """Three."""  # Four.\n')
    assert list(prose(file)) == ["One.", "Two.", "Three.", "# Four."]


def test_messages_are_the_texts_of_a_module_without_its_docstrings(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""One."""\n\ndef f(x):\n    """Two."""\n    return "Three.", f"four {x} five"\n')
    assert list(messages(file)) == ["Three.", "four … five"]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("It prints what\nbecame of each file.", 1),
        ("Two runs, of which one failed; that is said.", 2),
        ("It stood there without\n  a word, whatever it was.", 2),
        ("The overall thatch, a maybe item.", 0),
        ("You get upstream's code, and pip does not report it.", 0),
    ],
)
def test_a_turn_is_found_across_lines_and_as_whole_words(text: str, turns: int) -> None:
    assert len(found_turns(text)) == turns
