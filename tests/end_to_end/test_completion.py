"""Completion, asked for as a shell asks."""

from __future__ import annotations

from typing import Any

import pytest

from .sample import Sample


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("npu-overlays verify", {"verify-wheel"}),
        ("npu-overlays check lib@", {"lib"}),
        ("npu-overlays show ", {"lib", "app"}),
        ("npu-overlays build --stack p", {"pair"}),
        ("npu-overlays build --sou", {"--source"}),
        ("npu-overlays list --overlays /nowhere --j", {"--json"}),
        ("npu-overlays show --overlays /nowhere ", set()),
    ],
)
def test_what_can_come_next_is_offered(locked: Sample, line: str, words: set[str]) -> None:
    environment = locked.environment
    answer = environment.folder / f"completion-{abs(hash(line))}"
    asked: dict[str, Any] = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "63",
    }
    done = environment.cli(**asked)
    assert (done.code, done.out) == (0, "")
    offered = {word.strip().partition("@")[0] for word in answer.read_text().splitlines()}
    assert {word for word in offered if not word.startswith("-") or word in words} == words
