"""How many callers up a function reads frames, through functions of other modules and of base classes too."""

from __future__ import annotations

from math import inf

import pytest

from npu_overlays.merge.upstream.caller_frames import callers_seen
from npu_overlays.model import model_of_files

_FRAMES = b"""import sys
def up(n=2): return sys._getframe(n)
def here(): return up()
def keyword(*, n=3): return sys._getframe(n)
def second(x, n=3): return sys._getframe(n)
def counting(n):
    n += 1
    return sys._getframe(n)
class Base:
    def of(self, n=1): return sys._getframe(n)
    @staticmethod
    def static(n): return sys._getframe(n)
"""


@pytest.mark.parametrize(
    ("source", "callers"),
    [
        ("from pkg.frames import up\ndef f(x): return up()", 1),
        ("from pkg import frames\ndef f(x): return frames.up(4)", 3),
        ("from pkg.frames import up as higher\ndef f(x): return higher(n=3)", 2),
        ("from pkg.frames import up\ndef f(x): return up(1)", 0),
        ("from pkg.frames import here\ndef f(x): return here()", 0),
        ("from pkg.frames import keyword\ndef f(x): return keyword()", 2),
        ("from pkg.frames import up\ndef f(x, n=4): return up(n)", 3),
        ("from pkg.frames import up\ndef f(x, n): return up(n)", 0),  # who calls it says how many
        ("def f(x, n=0): return sys._getframe(n)", inf),
        ("from pkg.frames import second\ndef f(x): return second(x)", 2),
        ("from pkg.frames import second\ndef f(x): return second(*x)", 0),
        ("from pkg.frames import second\ndef f(x): return second(x, **x)", 0),
        ("from pkg.frames import counting\ndef f(x): return counting(1)", 0),
        ("def f(x): return up(1)\ndef up(n=2): return sys._getframe(n)", 0),
        ("def f(x): return up()\ndef up(n=2): return sys._getframe(n)", 1),
        ("def f(x): return g(3)\ndef g(n): return up(n)\ndef up(n): return sys._getframe(n)", 1),
        ("def f(x): return up(1)\ndef up(n):\n    n += x\n    return sys._getframe(n)", inf),
        ("def f(x): return up(x)\ndef up(n): return sys._getframe(n)", inf),
    ],
)
def test_functions_of_other_modules_count_if_the_text_shows_how_many(source: str, callers: float) -> None:
    assert _seen(source, "f") == callers


@pytest.mark.parametrize(
    ("body", "callers"),
    [
        ("def f(self): return self.of(2)", 1),
        ("def f(self): return self.of()", 0),
        ("def f(self): return self.static(3)", 2),
        ("def f(self): return A.static(2)", 1),
        ("def of(self): return 1\n    def f(self): return super().of(2)", 1),
        ("def of(self): return 1\n    def f(self): return self.of(2)", 0),
        ("def f(self): return x.of(2)", 0),
    ],
)
def test_methods_of_base_classes_count(body: str, callers: float) -> None:
    assert _seen(f"from pkg.frames import Base\nclass A(Base):\n    {body}", "A.f") == callers


@pytest.mark.parametrize(
    ("body", "callers"),
    [
        ("assert frame.f_back is not None\n    return getframeinfo(frame.f_back)", 1),
        ("return frame.f_back.f_lineno if frame.f_back else 0", 1),
        ("return frame.f_back.f_back", 2),
        ("frame = frame.f_back\n    frame = frame.f_back\n    return frame", 2),
        ("caller = frame.f_back\n    return caller.f_back, caller.f_lineno", 2),
        ("frame: Any = frame.f_back\n    return frame.f_back", 2),
        ("return x and (caller := frame.f_back) and caller.f_back", 2),
        ("x.frame = frame.f_back\n    return x.frame.f_back", 2),
        ("held = [frame, frame.f_back]\n    return held[1].f_back", 2),
        ("held['up'], y = frame.f_back, 1\n    return held['up'].f_back", 2),
        ("for _ in range(x): frame = frame.f_back\n    return frame", inf),
        ("return frame.f_code", 0),
    ],
)
def test_each_f_back_of_one_frame_counts_once(body: str, callers: float) -> None:
    assert _seen(f"def f(x):\n    frame = currentframe()\n    {body}", "f") == callers


def _seen(source: str, symbol: str) -> float:
    files = {"pkg/__init__.py": b"", "pkg/frames.py": _FRAMES, "pkg/a.py": source.encode()}
    classes = model_of_files(files, ["pkg"]).classes
    module = classes.module("pkg/a.py")
    assert module
    (definition,) = module.definitions[symbol]
    return callers_seen(classes, "pkg/a.py", definition)


@pytest.mark.parametrize(
    ("body", "callers"),
    [
        ("return here().f_back", 0),
        ("return here().f_back.f_back", 1),
        ("frame = here()\n    while frame: frame = frame.f_back", inf),
        ("return there().f_back.f_back.f_back", 1),
        ("return here()", 0),
    ],
)
def test_a_frame_that_a_function_returns_is_followed_up(body: str, callers: float) -> None:
    helpers = "def here(): return currentframe()\ndef there(): return here()\n"
    assert _seen(f"{helpers}def f():\n    {body}", "f") == callers
