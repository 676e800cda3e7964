"""`drop_when` as a condition: what is one, what is refused, and what has come true."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import load, write
from language.pairs import refused, source_tree
from npu_overlays.contracts.expiry import met_drop_conditions
from npu_overlays.overlay.conditions import Condition, condition, fault

UPSTREAM = (
    b"def run(value, *, fast=False):\n    return value\n\n\nclass Engine:\n    def start(self):\n        return 1\n"
    b"\n\nclass Loop(Engine):\n    steps: int\n\n    def __init__(self, config):\n        self.steps = config\n"
    b"\n\nclass Options:\n    steps: int = 1\n    names = ()\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version 0.7.0", Condition(kind="version", value="0.7.0")),
        ("commit 14b89fed24", Condition(kind="commit", value="14b89fed24")),
        ("symbol pkg/a.py:Engine.start", Condition(kind="symbol", path="pkg/a.py", symbol="Engine.start")),
        ("symbol pkg/a.py:run(fast)", Condition(kind="symbol", path="pkg/a.py", symbol="run", parameter="fast")),
        ("no symbol pkg/a.py:run", Condition(kind="no symbol", path="pkg/a.py", symbol="run")),
        ("upstream stops at once", None),
        ("tensordict 0.10 or newer is required", None),
        ("", None),
    ],
)
def test_what_is_a_condition(text: str, expected: Condition | None) -> None:
    assert condition(text) == expected
    assert fault(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "version of verl that does it",
        "commit fix lands",
        "symbol pkg/a:run",
        "symbol pkg/a.py",
        "no symbol pkg/a.py:run(fast)",
        "symbol pkg/a.py:run(fast, slow)",
    ],
)
def test_what_begins_as_one_and_is_none_is_refused(text: str) -> None:
    what = f"`{text}` begins like a condition, and cannot be read as one"
    fix = (
        "write `version 0.7.0`, `commit` and an id, `symbol path.py:Class.method`, `symbol path.py:function(parameter)`"
        " or `no symbol path.py:NAME`; begin a sentence for people with another word"
    )
    refused(
        UPSTREAM, f"@wrapped(why='x', drop_when={text!r})\ndef run(value, *, fast=False): ...\n", f"2: {what}; {fix}"
    )


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("version 1.0", True),
        ("version 1.0.1", False),
        ("symbol pkg/a.py:run", True),
        ("symbol pkg/a.py:run(fast)", True),
        ("symbol pkg/a.py:run(slow)", False),
        ("symbol pkg/a.py:Loop(config)", True),
        ("symbol pkg/a.py:Loop(steps)", False),
        ("symbol pkg/a.py:Options(steps)", True),
        ("symbol pkg/a.py:Options(names)", False),
        ("symbol pkg/a.py:Engine.stop", False),
        ("symbol pkg/b.py:run", False),
        ("no symbol pkg/a.py:Engine.stop", True),
        ("no symbol pkg/a.py:run", False),
        ("commit aaaaaaa", True),
        ("commit bbbbbbb", False),
        ("some day", False),
    ],
)
def test_what_has_come_true(tmp_path: Path, text: str, met: bool) -> None:
    overlay = f"@wrapped(why='x', drop_when={text!r})\ndef run(value, *, fast=False):\n    return upstream(value)\n"
    content = load(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/a.py": overlay}))
    found = list(
        met_drop_conditions(content, "1.0", source_tree({"pkg/a.py": UPSTREAM}), lambda commit: commit == "aaaaaaa")
    )
    assert [one.what for one in found] == ([f"can be dropped: `{text}` holds in upstream 1.0"] if met else [])
    assert all(one.where.endswith("tree/pkg/a.py:3") for one in found)


def test_a_patch_can_go_too(tmp_path: Path) -> None:
    patch = (
        b"Why: because\nDrop-when: version 0.9\n\ndiff --git a/pkg/n.txt b/pkg/n.txt\n--- a/pkg/n.txt\n"
        b"+++ b/pkg/n.txt\n@@ -1 +1 @@\n-a\n+b\n"
    )
    content = load(tmp_path / "o", write(tmp_path / "o", {"patches/n.patch": patch}))
    (found,) = met_drop_conditions(content, "1.0", source_tree({"pkg/n.txt": b"a\n"}))
    assert found.where.endswith("patches/n.patch")
