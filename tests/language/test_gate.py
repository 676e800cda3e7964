"""The gate: patched modules parse on the lowest Python, bring in no undefined name and nothing of the tool."""

from __future__ import annotations

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.merging.gate import check_modules


def _messages(after: str, before: str | None = "") -> list[str]:
    try:
        upstream = None if before is None else before.encode()
        check_modules({"a.py": (upstream, after.encode())}, where="o")
    except MergeError as error:
        return [f"{problem.where}: {problem.what}" for problem in error.problems]
    return []


def test_no_modules_are_fine() -> None:
    check_modules({}, where="o")


@pytest.mark.parametrize("before", ["", None])
def test_a_sound_module_passes(before: str | None) -> None:
    assert _messages("import os\nclass A:\n    def f(self): return __class__, os, __file__\n", before) == []


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def f(:\n", "line 1"),
        ("x = f'{'a'}'\n", "Python 3.10"),
        ("try: pass\nexcept* A: pass\n".replace("A", "ValueError"), "Python 3.10"),
        ("def f[T](x: T): pass\n", "Python 3.10"),
        ("type X = int\n", "Python 3.10"),
    ],
)
def test_syntax_the_lowest_python_lacks_is_refused(source: str, what: str) -> None:
    found = _messages(source)
    assert found
    assert any(what in message for message in found), found
    assert all(message.startswith("o: a.py: line ") for message in found)


def test_only_new_undefined_names_are_refused() -> None:
    assert _messages("x\ny = 1\n", "x\n") == []
    assert _messages("x\nx\n", "x\n") == ["o: a.py: line 2 of the patched module: Undefined name `x`"]
    assert _messages("def f(): return z  # noqa\n", "x\n") == [
        "o: a.py: line 1 of the patched module: Undefined name `z`"
    ]
    assert _messages("def f(x: 'Missing'): pass\n") == [
        "o: a.py: line 1 of the patched module: Undefined name `Missing`"
    ]


def test_upstreams_own_syntax_is_upstreams_business() -> None:
    newer = "try: pass\nexcept* ValueError: pass\n"
    assert _messages(f"{newer}y = 1\n", newer) == []


@pytest.mark.parametrize(
    "source",
    [
        "from npu_overlays.markers import added\n",
        "from npu_overlays import markers\n",
        "import npu_overlays\n",
        "def f():\n    import npu_overlays.markers as m\n    return m\n",
        "import importlib\nimportlib.import_module('npu_overlays.markers')\n",
    ],
)
def test_nothing_of_the_tool_may_be_left(source: str) -> None:
    assert _messages(source) == ["o: a.py: the patched module imports npu_overlays.markers"]


def test_every_mistake_of_every_module_is_reported() -> None:
    modules = {
        "a.py": (b"", b"x\ny\n"),
        "b.py": (None, b"import npu_overlays\nz\n"),
        "c.py": (b"ok = 1\n", b"ok = 2\n"),
    }
    with pytest.raises(MergeError) as caught:
        check_modules(modules, where="o")
    assert sorted(problem.what for problem in caught.value.problems) == [
        "line 1 of the patched module: Undefined name `x`",
        "line 2 of the patched module: Undefined name `y`",
        "line 2 of the patched module: Undefined name `z`",
        "the patched module imports npu_overlays.markers",
    ]
