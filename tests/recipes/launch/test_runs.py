"""Runs: a folder of several starts."""

from __future__ import annotations

from pathlib import Path

from npu_recipes.launch.run_folder import begin


def test_a_start_that_did_nothing_is_known(tmp_path: Path) -> None:
    first = begin(tmp_path)
    assert not first.idle
    first.metrics.write_text('{"step": 1, "data": {}}\n', "utf-8")

    second = begin(tmp_path)
    assert (second.metrics.name, second.idle) == ("metrics-2.jsonl", True)
    second.metrics.touch()
    assert second.idle
    second.metrics.write_text('{"step": 2, "data": {}}\n', "utf-8")
    assert not second.idle
