"""The page of a drift: whatever is on it, it is written, is no markup, and shows something."""

from __future__ import annotations

import os
import re

from npu_overlays.authoring.port.drift import Drift, Survival
from npu_overlays.authoring.port.drift_report import curves, page
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.overlay.operations import Operation, Reason

HOSTILE = "</title><script>document.title='taken'</script>"


def drawn(commits: int, *, text: str = "harmless", operations: int = 1) -> str:
    listed = tuple(UpstreamCommit(id=f"{number:040x}", date="2025-01-01", subject=text) for number in range(commits))
    there = Operation(
        action="deleted", path="a.py", symbol=text, kind="function", reason=Reason(why="w"), layer="", where="a.py:1"
    )
    verdicts = tuple(Verdict(kind="retired", wanted=there) for _ in listed)
    change = Survival(action="edited", name=f"{text}:f", where="", verdicts=verdicts)
    made = Drift(
        commits=listed,
        operations=(change,) * operations,
        edits=(),
        states=tuple({} for _ in listed),
    )
    return page(text, made, curves(made, None, ()))


def test_bytes_of_no_encoding_are_shown_as_they_can_be() -> None:
    assert "caf\\udce9" in drawn(2, text=os.fsdecode(b"caf\xe9")).encode().decode()


def test_nothing_is_taken_for_markup() -> None:
    text = drawn(2, text=HOSTILE)
    assert "<script" not in text
    assert text.count("</title>") == 1 + text.count("<title>operations")


def test_of_one_commit_and_of_no_operation_lines_are_drawn() -> None:
    for text in (drawn(1), drawn(1, operations=0), drawn(3, operations=0)):
        lines = re.findall(r'points="([^"]*)"', text)
        assert lines
        assert all(len(line.split()) > 1 for line in lines)
