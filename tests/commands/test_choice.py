"""The choice of sources: what variables and options ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.commands.command import Selection
from npu_overlays.commands.parser import parser
from npu_overlays.errors import UsageError
from npu_overlays.overlay.source_choice import Choice, choice_from


def asked(*arguments: str) -> Choice:
    """Return what a command line asks for, in the environment of the test."""
    parsed = parser().parse_args(["diff", *arguments])
    selection = parsed.command.read(parsed)
    assert isinstance(selection, Selection)
    return selection.choice


def test_a_clone_is_named_by_a_variable_called_after_the_project() -> None:
    choice = choice_from({"VERL_PATH": "clones/verl", "HUGGING_FACE_PATH": "hf", "EMPTY_PATH": ""})
    assert choice.clone("verl") == Path("clones/verl")
    assert choice.clone("hugging-face") == Path("hf")
    assert choice.clone("empty") is None
    assert choice.clone("transformers") is None


def test_options_win_over_the_variables_that_stand_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_SOURCE", "archive")
    monkeypatch.setenv("VERL_PATH", "/there")
    monkeypatch.setenv("LIB_PATH", "/lib")
    choice = asked("--upstream", "verl=/here", "--source", "git")
    assert (choice.mode, choice.where) == ("git", "--source")
    assert (choice.clone("verl"), choice.clone("lib")) == (Path("/here"), Path("/lib"))
    choice = asked()
    assert (choice.mode, choice.where, choice.clone("verl")) == ("archive", "NPU_OVERLAYS_SOURCE", Path("/there"))


def test_a_variable_that_is_not_asked_is_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_SOURCE", "ftp")
    assert asked("--source", "archive").mode == "archive"
    with pytest.raises(UsageError, match="`ftp` is not a source"):
        asked()
