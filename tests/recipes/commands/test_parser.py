"""The command line: help that teaches, exit codes."""

from __future__ import annotations

import pytest

from npu_recipes.cli import main


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    assert "\n    compare " in capsys.readouterr().out


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compair"])
    assert left.value.code == 2
    assert "compair" in capsys.readouterr().err
