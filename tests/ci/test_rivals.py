"""The pages and the picture of `make rivals` say what was measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json
from rivals.chart import pictures
from rivals.page import NodeCost, WayCost, PageFacts, pages

rows = [
    WayCost(name="ours", making=2.0, installing=3.0, differing=0),
    WayCost(name="theirs", making=5.0, installing=5.0, differing=7),
    WayCost(name="unpatched", making=1.0, installing=1.5, differing=None),
]
setting = PageFacts(
    overlay="one@1",
    distribution="one",
    version="1",
    fromager="9.9",
    lines=2053,
    repeats=4,
    cores=2,
    python="3.11.7",
    date="2026-11-25",
)
nodes = [NodeCost(what="loading", patched=0.02, upstream=0.01)]
print(json.dumps({**pages(setting, rows, nodes), **pictures(rows), "again": pictures(rows)}))
"""


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    path = os.pathsep.join((str(ROOT / "lab"), str(ROOT / "bench")))
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("page", ["rivals.md", "rivals.zh-CN.md"])
def test_each_way_stands_beside_the_first(made: dict[str, Any], page: str) -> None:
    text = made[page]
    assert "| ours | 2.0 s | 1.0 | 5.0 s | 1.0 | 0 |" in text
    assert "| theirs | 5.0 s | 2.5 | 10.0 s | 2.0 | 7 |" in text
    assert "| unpatched | 1.0 s | 0.5 | 2.5 s | 0.5 |  |" in text
    assert "| loading | 0.020 s | 0.010 s | 2.00 |" in text
    assert "2,053" in text
    assert "2026-11-25" in text
    assert f"]({page.removesuffix('.md')}.svg)" in text
    assert "{" not in text


@pytest.mark.parametrize("picture", ["rivals.svg", "rivals.zh-CN.svg"])
def test_the_picture_names_each_way_and_its_seconds_and_does_not_change(made: dict[str, Any], picture: str) -> None:
    texts = re.findall(r">([^<>]+)</text>", made[picture])
    assert {"ours", "theirs", "unpatched", "5.0 s", "10.0 s", "2.5 s"} <= set(texts)
    assert made[picture] == made["again"][picture]


def test_the_chinese_picture_has_chinese_labels(made: dict[str, Any]) -> None:
    texts = re.findall(r">([^<>]+)</text>", made["rivals.zh-CN.svg"])
    assert {"秒", "得到 wheel"} <= set(texts)
    assert not {"seconds", "to the wheel"} & set(texts)


def test_the_pages_of_the_documents_have_the_same_numbers_and_names_in_their_language() -> None:
    def tables(name: str) -> dict[str, str]:
        rows = re.findall(r"^\| (.*?) (\|.*\d.*)$", (ROOT / "docs" / name).read_text("utf-8"), flags=re.MULTILINE)
        return dict(rows)

    english, chinese = tables("rivals.md"), tables("rivals.zh-CN.md")
    assert len(english) == 8
    assert list(english.values()) == list(chinese.values())
    assert not re.findall(r"merged|unpatched|starting|importing", " ".join(chinese))


WITHOUT = """
import sys
from rivals import preparation
from rivals.__main__ import main

preparation.find_python = lambda version: None
sys.exit(main())
"""


def test_without_a_python_for_fromager_nothing_is_begun(tmp_path: Path) -> None:
    path = os.pathsep.join((str(ROOT / "lab"), str(ROOT / "bench")))
    variables = {**os.environ, "PYTHONPATH": path, "NPU_OVERLAYS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=variables, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "Fromager asks for one of Python 3.11, 3.12, 3.13, and none of them is here" in done.stderr
    assert "fix: install one" in done.stderr
    assert not (tmp_path / "cache").exists()
