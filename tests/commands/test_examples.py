"""Help of every command: it has examples, and the command line accepts each."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from document_tables.parsers import commands_of
from npu_doctor import arguments as doctor
from npu_overlays.commands.parser import parser
from npu_overlays.overlay.pin_faults import url_fault
from npu_recipes.commands.parser import parser as recipes_parser
from npu_summary import cli as summary
from support.examples import arguments, examples

PROGRAMS = {"npu-overlays": parser(), "npu-recipes": recipes_parser()}
COMMANDS: list[tuple[str, str]] = []
for _program, _root in PROGRAMS.items():
    COMMANDS += [(_program, name) for name in commands_of(_root)]
DOCTOR = "python -m npu_doctor"
SUMMARY = "python -m verl_npu_summary"
WIDTH = 100


def help_of(root: ArgumentParser, name: str) -> str:
    return commands_of(root)[name].format_help()


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_a_command_has_examples_that_it_accepts(program: str, name: str) -> None:
    shown = [arguments(one, program) for one in examples(help_of(PROGRAMS[program], name))]
    own = [words for words in shown if words]
    assert name in [words[0] for words in own]
    for words in own:
        parsed = PROGRAMS[program].parse_args(words)
        assert parsed.command.name == words[0]
        assert not url_fault(getattr(parsed, "repository", None) or "https://example.com/lib")


def test_an_example_reads_the_file_that_it_wrote() -> None:
    (example,) = (one for one in examples(help_of(PROGRAMS["npu-overlays"], "diff")) if "&&" in one)
    words = example.split()
    assert words[words.index(">") + 1] == words[-1]


def test_the_words_of_a_command_stand_behind_one_sign() -> None:
    usage = commands_of(PROGRAMS["npu-overlays"])["bisect"].format_usage()
    assert usage.endswith("OVERLAY -- COMMAND [ARGUMENT ...]\n")


def test_the_help_of_lock_says_once_what_verbose_does() -> None:
    shown = help_of(PROGRAMS["npu-overlays"], "lock")
    assert "print every notice, and the traceback of an error" in shown
    assert "show the traceback" not in shown


@pytest.mark.parametrize("command", doctor.COMMANDS)
def test_the_doctor_has_examples_of_each_command_that_it_accepts(command: str) -> None:
    shown = [arguments(one, DOCTOR) for one in examples(doctor.parse([command, "--help"]).help)]
    assert {doctor.parse(words).command for words in shown if words is not None} == {command}


@pytest.mark.parametrize(
    ("help_text", "program"),
    [
        (PROGRAMS["npu-overlays"].format_help(), "npu-overlays"),
        (PROGRAMS["npu-recipes"].format_help(), "npu-recipes"),
        (doctor.parse(["--help"]).help, DOCTOR),
    ],
)
def test_the_help_of_a_program_begins_with_the_three_most_common_tasks(help_text: str, program: str) -> None:
    tasks = examples(help_text, "the three most common tasks")
    assert len(tasks) == 3
    for task in tasks:
        words = arguments(task, program)
        assert words is not None
        if program == DOCTOR:
            assert doctor.parse(words).command in {*words, "doctor"}
        else:
            assert PROGRAMS[program].parse_args(words).command.name == words[0]
    assert help_text.index(tasks[0]) < help_text.index("\noptions:\n")


def test_the_summary_has_examples_that_it_accepts() -> None:
    shown = [arguments(one, SUMMARY) for one in examples(summary.usage("verl_npu_summary"))]
    assert len(shown) > 5
    for words in shown:
        assert words is not None
        assert not summary.parse(words, package="verl_npu_summary").help


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_help_is_not_wider_than_a_screen(program: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert [line for line in help_of(PROGRAMS[program], name).splitlines() if len(line) > WIDTH] == []


def test_other_help_is_not_wider_than_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    texts = [root.format_help() for root in PROGRAMS.values()]
    texts += [doctor.parse([command, "--help"]).help for command in doctor.COMMANDS]
    texts.append(summary.usage("verl_npu_summary"))
    assert [line for line in "\n".join(texts).splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n\nexamples:\n  x one          what it does\n  x 'a b'\n\nmore:\n  x two\n", ["x one", "x 'a b'"]),
        ("a\n\nexamples:\n  A=1 \\\n    x three | less\n", ["A=1 x three | less"]),
        ("a\n", []),
    ],
)
def test_examples_are_read_without_remarks(text: str, found: list[str]) -> None:
    assert examples(text) == found


def test_the_arguments_of_an_example_end_where_its_command_does() -> None:
    assert arguments("x y 'a | b' | less", "x") == ["y", "a | b"]
    assert arguments("z y", "x") is None
