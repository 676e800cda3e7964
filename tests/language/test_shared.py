"""One definition that serves several targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import MergeError

from .overlays import apply_files, mistakes
from .pairs import merged, operations, refused


def test_targets_lie_in_several_files() -> None:
    found = operations(
        """
        import re
        @replaced(why="w", targets=("a.py:f", "b/c.py:A.g"))
        def f(x): return re
        deleted("name", why="w", targets=["a.py:old"])
        """,
        target="",
    )
    assert [(one.action, one.path, one.symbol) for one in found] == [
        ("replaced", "a.py", "f"),
        ("replaced", "b/c.py", "A.g"),
        ("deleted", "a.py", "old"),
    ]
    assert [imported.statement for imported in found[1].imports] == ["import re"]


@pytest.mark.parametrize(
    ("definition", "name", "called"),
    [
        ("def f(self): return g(self)", "g", "no name of the module"),
        ("def f(self): return f(self)", "f", "no name of the module"),
        ("def f(self): return f'{h}'", "h", "called `k`"),
        ("def f(self) -> 'h': pass", "h", "called `k`"),
        ("def f(self):\n    global h\n    h = 1", "h", "called `k`"),
        ("def f(self): return two()", "two", "no name of the module"),
    ],
)
def test_a_reference_that_cannot_follow_is_refused(definition: str, name: str, called: str) -> None:
    fix = "call it `k` here" if "`" in called else "pass it as an argument, or import it under another name"
    refused(
        "class A:\n    def f(self): pass\n",
        f"""
@replaced(why="w", targets=["pkg/module.py:A.f"])
{definition}
@added(why="w", targets=["pkg/other.py:g"])
def g(): pass
@added(why="w", targets=["pkg/module.py:k"])
def h(): pass
@added(why="w", targets=["pkg/module.py:one", "pkg/module.py:three"])
def two(): pass
""",
        f"3: refers to `{name}` of this file, which in pkg/module.py is {called}; {fix}",
        target="",
    )


@pytest.mark.parametrize(
    "definition",
    [
        "def f(x, k=None): return h(x)",
        "def f(x): return [h(k) for k in x]",
        "def f(k):\n    def inner(x): return h(x)\n    return inner",
        "def f(x):\n    import k\n    return lambda: h(x)",
        "def f(x):\n    class B:\n        k = h(x)\n    return B",
    ],
)
def test_a_reference_that_would_become_a_name_of_the_definitions_own_is_refused(definition: str) -> None:
    what = "refers to `h` of this file, which in pkg/module.py is called `k`, and binds `k` itself"
    overlay = f"""
@replaced(why="w", targets=["pkg/module.py:f"])
{definition}
@added(why="w", targets=["pkg/module.py:k"])
def h(x): return x
"""
    refused("def f(x): pass\n", overlay, f"3: {what}; rename its own `k`", target="")


@pytest.mark.parametrize("written", ["self._A__g", "getattr(self, '_A__g')"])
def test_a_private_name_that_is_written_out_cannot_follow_its_class(written: str) -> None:
    overlay = f"""
@replaced(why="w", targets=["pkg/module.py:B"])
class A:
    def f(self, A=1): return {written}
"""
    what = "names `_A__g`, of a class that in pkg/module.py is not called `A`"
    refused("class B: ...\n", overlay, f"3: {what}; rename it, with one leading underscore", target="")
    prose = overlay.replace(f"return {written}", "return '_A__g is private'")
    assert b"is private" in merged("class B: pass\n", prose, target="")[0]


def test_a_mistake_is_told_once_with_every_target_it_strikes(tmp_path: Path) -> None:
    upstream = {
        "pkg/a.py": b"def rotate(q, k, unsqueeze_dim=1): return q\ndef half(x): return x\n",
        "pkg/b.py": b"class A:\n    def turn(q, k, unsqueeze_dim=1): return q\n",
    }
    shared = """
        @wrapped(why="w", targets=["pkg/a.py:rotate", "pkg/b.py:A.turn"])
        def rotary(q, k, position_ids=None, unsqueeze_dim=1): return upstream(q, k, unsqueeze_dim)
        @edited(("y", "z"), why="w", targets=["pkg/a.py:half", "pkg/b.py:A"])
        def other(): ...
    """
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, upstream, {"shared/s.py": shared})
    first = mistakes(caught.value)[0]
    assert first == (
        "pkg@1111111/shared/s.py:3: the wrapper of `rotary` does not take upstream's parameter `unsqueeze_dim` in its "
        "place; upstream has no `position_ids`\n    in pkg/a.py:rotate\n    in pkg/b.py:A.turn; "
        "write upstream's parameters: (q, k, unsqueeze_dim=1)"
    )
    assert [problem.targets for problem in caught.value.problems if "occurs nowhere" in problem.what] == [
        ("pkg/a.py:half",),
        ("pkg/b.py:A",),
    ]
