"""The command line: help that teaches, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_recipes.cli import main
from npu_recipes.commands.parser import parser


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    assert "\n    compare " in capsys.readouterr().out


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compair"])
    assert left.value.code == 2
    said = "error: did you mean compare? there is no command 'compair'; npu-recipes --help lists all\n"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["--versio"], "--version"), (["run", "smoke-grpo", "--dry"], "--dry-run"), (["run", "--dry=1"], "--dry-run")],
)
def test_a_shortened_option_is_refused(words: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert (
        f"error: did you mean {meant}? unrecognized arguments: {words[-1].partition('=')[0]}" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("run", "smoke-sft", "--output=~/a"), "output"),
        (("data", "gsm8k", "--output=~/a"), "output"),
        (("compare", "a", "b", "--html=~/a"), "html"),
        (("compare", "a", "b", "--limits=~/a"), "limits"),
    ],
)
def test_a_home_is_known_where_a_shell_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], option: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert getattr(parser(words).parse_args(words), option) == tmp_path / "a"
