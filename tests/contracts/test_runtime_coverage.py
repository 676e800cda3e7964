"""Operations that are there for an operator of an accelerator's: `check` asks whether a test saw them call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import load, write
from language.pairs import text
from npu_overlays.contracts.overlay_code import called_operators
from npu_overlays.contracts.runtime_coverage import (
    FIRED_FILE,
    RuntimeCoverage,
    load_coverage,
    render_coverage,
    uncovered_operations,
)
from npu_overlays.errors import ConfigError
from npu_overlays.overlay.content import Content

PATH = "pkg/model.py"
KERNELS = """
    import torch
    def can(x): return hasattr(torch.ops.npu, "npu_norm")
    def norm(x): return _norm(x)
    def _norm(x): return torch.ops.npu.npu_norm(x)
"""
OVERLAY = """
    from pkg.kernels import can, norm
    import torch
    @wrapped(why="w")
    def wrap(x): return norm(x) if can(x) else upstream(x)
    @edited(("x + 1", "norm(x) + 1"), why="e")
    def ed(): ...
    @replaced(why="r")
    def rep(x): return _own(x)
    @added(why="a")
    def _own(x): return torch.ops.npu.npu_own.default(x)
    @wrapped(why="w")
    def plain(x): return upstream(x) if can(x) else x
"""


def _content(tmp_path: Path, overlay: str = OVERLAY) -> Content:
    files: dict[str, str | bytes] = {"tree/pkg/kernels.py": text(KERNELS).encode(), f"tree/{PATH}": overlay}
    return load(tmp_path / "o", write(tmp_path / "o", files))


def _told(content: Content, *seen: str, pin: str = "1" * 40) -> list[str]:
    fired = RuntimeCoverage(pin=pin, called={f"{PATH}:{name}": ["npu.npu_norm"] for name in seen})
    return [f"{problem.where.rpartition('/')[2]}: {problem.what}" for problem in uncovered_operations(content, fired)]


def test_what_an_operation_names_is_found_in_all_that_it_calls(tmp_path: Path) -> None:
    found = {one.symbol: sorted(operators) for one, operators in called_operators(_content(tmp_path)).items()}
    assert found == {"wrap": ["npu.npu_norm"], "ed": ["npu.npu_norm"], "rep": ["npu.npu_own"]}


def test_each_that_no_test_saw_call_one_it_names_is_told(tmp_path: Path) -> None:
    content = _content(tmp_path)
    assert _told(content, "wrap", "ed", "rep") == [
        f"model.py:9: no test saw it call npu.npu_own on this pin ({FIRED_FILE})"
    ]
    assert len(_told(content)) == 3


def test_what_was_seen_on_another_pin_shows_nothing(tmp_path: Path) -> None:
    (mistake,) = _told(_content(tmp_path), "wrap", pin="2" * 40)
    assert mistake == f"{FIRED_FILE}: was written for {'2' * 40}, which is not the pin"


def test_what_names_no_operator_has_no_place_in_the_file(tmp_path: Path) -> None:
    assert f"{FIRED_FILE}: lists `{PATH}:plain`, which names no operator" in _told(_content(tmp_path), "plain")


def test_who_says_why_no_test_can_show_it_is_believed_until_one_does(tmp_path: Path) -> None:
    said = OVERLAY.replace('why="w"', 'why="w", unproven="u"').replace('why="r"', 'why="r", unproven="u"')
    content = _content(tmp_path, said)
    assert _told(content, "ed") == ["model.py:13: `unproven` is not needed: it names no operator"]
    assert "model.py:5: `unproven` is not needed: a test saw what it calls" in _told(content, "ed", "wrap")


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    fired = RuntimeCoverage(pin="1", called={"b.py:f": ["npu.b", "npu.a"], "a.py:f": ["npu.c"]})
    assert load_coverage(tmp_path) == RuntimeCoverage(pin="")
    (tmp_path / FIRED_FILE).write_text(render_coverage(fired))
    assert load_coverage(tmp_path) == RuntimeCoverage(
        pin="1", called={"a.py:f": ["npu.c"], "b.py:f": ["npu.a", "npu.b"]}
    )


@pytest.mark.parametrize("damaged", ["", "pin = 1\n[called]", 'pin = "1"\ncalled = []', 'pin = "1"\n[called]\n"a" = 1'])
def test_a_damaged_file_is_refused(tmp_path: Path, damaged: str) -> None:
    (tmp_path / FIRED_FILE).write_text(damaged)
    with pytest.raises(ConfigError, match="damaged"):
        load_coverage(tmp_path)
