"""What messages tell people to type: every command line and option in them is one that the command accepts."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import npu_doctor
import npu_summary
from npu_doctor import arguments
from npu_summary import cli as summary_cli
from npu_summary.cli import DOCTORS

DOCTOR, SUMMARY = (Path(package.__path__[0]) for package in (npu_doctor, npu_summary))
# `python -I -m npu_doctor --stack NAME`, up to what cannot be of a command: two blanks, a backtick, `>`.
COMMAND = re.compile(r"python(?: -[A-Z])* -m (npu_doctor|\w+_summary)((?: [^\s`|>(;,]+)*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Of pip, uv, docker, git, and a program that is audited.
FOREIGN = {
    *("--no-deps", "--find-links", "--extra-index-url", "--force-reinstall", "--reinstall-package", "--target"),
    *("--user", "--upgrade", "--python", "--yes", "--device", "--steps", "--git"),
}


def texts(file: Path) -> Iterator[str]:
    """Yield the strings of a module but for its docstrings, with `NAME` in the places of values."""
    tree = ast.parse(file.read_text("utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    passed |= {id(part) for node in joined for part in node.values}
    for text in joined:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "NAME" for part in text.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.value.replace("{package}", "verl_npu_summary").replace("{stack}", "NAME")


def options(*commands: str) -> set[str]:
    return set(chain.from_iterable(arguments._PARSERS[command]()._option_string_actions for command in commands))


ALL = options(*arguments.COMMANDS)
OF_SUMMARY = {*summary_cli._parser("verl_npu_summary")._option_string_actions, *DOCTORS}
FILES = [*DOCTOR.rglob("*.py"), *SUMMARY.rglob("*.py")]


def known(file: Path) -> set[str]:
    """Return the options of the command that a module belongs to; those of all where it chooses the command."""
    if file.is_relative_to(SUMMARY):
        return OF_SUMMARY
    part = file.relative_to(DOCTOR).parts[0]
    if part in ("arguments.py", "cli.py"):
        return ALL | OF_SUMMARY
    if part == "cluster":
        return options("cluster") | OF_SUMMARY  # what nodes are asked for
    return options("audit" if part == "audit" else "doctor")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SUMMARY.parent)))
def test_what_a_message_names_is_accepted(file: Path) -> None:
    for text in texts(file):
        for module, words in COMMAND.findall(text.replace("npu_doctor NAME", "npu_doctor doctor")):
            given = shlex.split(words)
            for_doctor = module == "npu_doctor" or any(word in DOCTORS for word in given)
            parsed = arguments.parse(given) if for_doctor else summary_cli.parse(given, package=module)
            assert parsed
        assert set(OPTION.findall(text)) <= known(file) | FOREIGN, text


def test_the_search_finds_commands_and_options() -> None:
    found = list(chain.from_iterable(map(COMMAND.findall, chain.from_iterable(map(texts, FILES)))))
    assert {("npu_doctor", " --json"), ("npu_doctor", ""), ("verl_npu_summary", " --verify")} <= set(found)
    assert "--html" not in ALL
