"""Classes whose machinery meets the name a wrapped original is kept under."""

from __future__ import annotations

import pytest

from .pairs import merged, refused
from .test_running import run


def test_methods_of_an_enum_are_wrapped() -> None:
    module = run(
        """
        import enum
        class Color(enum.Enum):
            RED = 1
            @classmethod
            def _missing_(cls, value): return cls.RED
            def import_(self): return self.name
            def _private(self): return self.value
            def __str__(self): return "red"
            @property
            def shown(self): return "shown"
        """,
        """
        class Color:
            @wrapped(why="w")
            def _missing_(cls, value): return upstream(cls, value)
            @wrapped(why="w")
            def import_(self): return upstream(self) + "!"
            @wrapped(why="w")
            def _private(self): return upstream(self) + 1
            @wrapped(why="w")
            def __str__(self): return upstream(self) + "!"
            @wrapped(why="w")
            def shown(self): return upstream(self) + "!"
        """,
    )
    color = module.Color(7)
    assert (color, color.import_(), color._private(), str(color), color.shown) == (
        module.Color.RED,
        "RED!",
        2,
        "red!",
        "shown!",
    )
    assert len(module.Color) == 1


_INSTEAD = "use @replaced or @edited"


@pytest.mark.parametrize(
    ("members", "line"),
    [
        ("def f(x): return x\n    T = f(3)", 3),
        ("def f(x): return x\n    T = [1, f(3)]", 3),
        ("def f(x): return x\n    @f\n    def g(self): pass", 3),
        ("def f(x): return x\n    @f(3)\n    def g(self): pass", 3),
        ("def f(x): return x\n    def g(self, y=f(3)): pass", 3),
        ("def f(x): return x\n    class B(f(3)): pass", 3),
        ("def f(x): return x\n    if f(3): pass", 3),
        ("def f(x): return x\n    T = list(map(f, [1]))", 3),
        ("def f(x): return x\n    T = sorted([1], key=f)", 3),
        ("@staticmethod\n    def f(x): return x\n    T = f.__func__(3)", 4),
        ("def f(x): return x\n    g = f\n    T = g(3)", 4),
        ("def f(x): return x\n    g = staticmethod(f)\n    h = g\n    T = h(3)", 5),
    ],
)
def test_a_function_that_its_class_body_calls_cannot_be_wrapped(members: str, line: int) -> None:
    what = f"`A` calls `A.f` in its own body (line {line}), where no wrapper can work yet"
    overlay = "class A:\n    @wrapped(why='w')\n    def f(x): return upstream(x)\n"
    refused(f"class A:\n    {members}\n", overlay, f"4: {what}; {_INSTEAD}")


@pytest.mark.parametrize(
    "decorators",
    [
        "def call(f): return f()\n@call\n",
        "def call(f):\n    if f(): return f\n@call\n",
        "def call(name):\n    def calling(f):\n        f()\n        return f\n    return calling\n@call('x')\n",
    ],
)
def test_a_function_that_its_decorator_calls_at_once_cannot_be_wrapped(decorators: str) -> None:
    refused(
        f"{decorators}def f(): return 1\n",
        "@wrapped(why='w')\ndef f(): return upstream()\n",
        f"3: upstream's decorator `call` calls `f` at once, where no wrapper can work yet; {_INSTEAD}",
    )


def test_a_decorator_that_calls_later_or_another_function_stays_on_the_wrapper() -> None:
    module = run(
        """
        def later(f):
            def called(x): return f(x)
            return called
        def named(name):
            str(name)
            def decorated(f): return later(f)
            return decorated
        @named("f")
        @later
        def f(x): return x
        """,
        "@wrapped(why='w')\ndef f(x): return -upstream(x)\n",
    )
    assert module.f(1) == -1


def test_what_the_machinery_calls_while_the_class_body_runs_cannot_be_wrapped() -> None:
    refused(
        "class A(Enum):\n    def _generate_next_value_(name, start, count, last): return name\n    X = auto()\n",
        "class A:\n    @wrapped(why='w')\n    def _generate_next_value_(name, start, count, last):\n"
        "        return upstream(name, start, count, last)\n",
        "4: `A` calls `A._generate_next_value_` in its own body (line 2), where no wrapper can work yet; " + _INSTEAD,
    )


@pytest.mark.parametrize(
    "members",
    [
        "def f(x): return x\n    g = f",
        "def f(x): return x\n    g = property(f)",
        "def f(x): return x\n    def g(self): return f(3)",
        "def f(x): return x\n    g = lambda self: f(3)",
        "def f(x): return x\n    class B:\n        f = 1\n        g = f",
        "@singledispatchmethod\n    def f(x): return x\n    @f.register\n    def g(self): pass",
    ],
)
def test_a_function_that_its_class_body_only_names_is_wrapped(members: str) -> None:
    merged(f"class A:\n    {members}\n", "class A:\n    @wrapped(why='w')\n    def f(x): return upstream(x)\n")


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("from typing import Protocol as P", "P[T]"),
        ("import typing as t", "t.Protocol"),
        ("from typing import Protocol\nP = Protocol", "P"),
        ("try:\n    from typing import Protocol as P\nexcept E:\n    from a import P", "P"),
        ("from a import *", "Protocol"),
    ],
)
@pytest.mark.parametrize("body", ["...", "pass", "'Doc.'", "'Doc.'; ..."])
def test_a_stub_of_a_protocol_is_refused_by_whatever_name_that_was_imported(imports: str, base: str, body: str) -> None:
    refused(
        f"{imports}\nclass A({base}):\n    def f(self): {body}\n",
        "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n",
        "4: `A.f` is a stub of the Protocol `A`, which never runs; wrap what implements it",
    )


def test_methods_of_a_typed_dict_cannot_be_wrapped() -> None:
    refused(
        "from typing_extensions import TypedDict as D\nclass A(D):\n    def f(self): return 1\n",
        "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n",
        "4: `A` is a TypedDict, whose methods cannot be wrapped; use @replaced",
    )


def test_a_class_of_the_modules_own_is_no_typing_protocol() -> None:
    merged(
        "class Protocol: pass\nclass A(Protocol):\n    def f(self): ...\n",
        "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n",
    )


def test_nothing_is_added_to_a_protocol() -> None:
    refused(
        "import typing as t\n@t.runtime_checkable\nclass A(t.Protocol):\n    x: int\n",
        "class A:\n    y = added(1, why='w')\n    @added(why='w')\n    def f(self): ...\n",
        "3: `A` is a Protocol: whatever it holds, its implementations must have; add it to those",
        "5: `A` is a Protocol: whatever it holds, its implementations must have; add it to those",
    )
