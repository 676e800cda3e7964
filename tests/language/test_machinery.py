"""Classes whose machinery meets the name a wrapped original is kept under."""

from __future__ import annotations

import pytest

from .pairs import check, merged, refused
from .test_wrapped_calls import run


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


_APPLY = "def apply(f, *given): return f(*given)\n"


@pytest.mark.parametrize(
    ("members", "value"),
    [
        ("def f(x): return x\n    T = f(3)", -3),
        ("def f(x): return x\n    T = [1, f(3)]", [1, -3]),
        ("def f(x): return 7\n    @f\n    def T(self): pass", -7),
        ("def f(x): return lambda g: x\n    @f(3)\n    def T(self): pass", -3),
        ("def f(x): return x\n    def g(self, y=f(3)): pass\n    T = g.__defaults__", (-3,)),
        ("def f(x): return x\n    if f(3): T = 4", 4),
        ("def f(x): return x\n    T = list(map(f, [1]))", [-1]),
        ("def f(x): return x\n    T = sorted([1, 2], key=f)", [2, 1]),
        ("def f(x): return x\n    T = apply(f, 3)", -3),
        ("@staticmethod\n    def f(x): return x\n    T = f.__func__(3)", -3),
        ("def f(x): return x\n    g = f\n    T = g(3)", -3),
        ("def f(x): return x\n    g = staticmethod(f)\n    h = g.__func__\n    T = h(3)", -3),
    ],
)
def test_a_function_that_its_class_body_calls_is_wrapped(members: str, value: object) -> None:
    negated = "lambda one: -upstream(x)(one)" if "lambda" in members else "-upstream(x)"
    overlay = f"class A:\n    @wrapped(why='w')\n    def f(x): return {negated}\n"
    assert value == run(f"{_APPLY}class A:\n    {members}\n", overlay).A.T


def test_the_original_of_what_a_class_body_calls_is_a_global_that_still_sees_the_class() -> None:
    before = """
        class Base:
            def f(self): return "base"
        class A(Base):
            class Inner:
                def double(x):
                    "Doc."
                    return 2 * x
                FOUR = double(2)
            def f(self, early=False):
                return "early" if early else super().f() + self.__own
            __own = "own"
            T = f(None, early=True)
        """
    overlay = """
        class A:
            class Inner:
                @wrapped(why="w")
                def double(x): return upstream(x) + 1
            @wrapped(why="w")
            def f(self, early=...): return upstream(self, early) + "!"
        """
    module = run(before, overlay)
    assert (module.A.Inner.FOUR, module.A.Inner.double(3), module.A.T, module.A().f()) == (5, 7, "early!", "baseown!")
    check(
        "class A:\n    def f(x):\n        return x\n\n    T = f(3)\n",
        "class A:\n    @wrapped(why='w')\n    def f(x): return upstream(x)\n",
        """
        class A:
            # wrapped: w
            def f(x): return _upstream_A_f(x)

            global _upstream_A_f
            def _upstream_A_f(x):
                return x

            T = f(3)
        """,
    )


def test_under_a_condition_the_global_of_an_original_stands_above_all_that_is_under_it() -> None:
    before = """
        class A:
            if 1:
                @staticmethod
                def f(x): return x
                def g(x): return x
                T = f.__func__(3), g(4)
            else:
                T = 0
        """
    overlay = """
        class A:
            @wrapped(why="w", where="if 1")
            def f(x): return -upstream(x)
            @wrapped(why="w", where="if 1")
            def g(x): return -upstream(x)
        """
    check(
        before,
        overlay,
        """
        class A:
            # wrapped: w
            global _upstream_A_f
            # wrapped: w
            global _upstream_A_g
            if 1:
                @staticmethod
                # wrapped: w
                def f(x): return -_upstream_A_f(x)

                def _upstream_A_f(x): return x
                # wrapped: w
                def g(x): return -_upstream_A_g(x)

                def _upstream_A_g(x): return x
                T = f.__func__(3), g(4)
            else:
                T = 0
        """,
    )
    assert run(before, overlay).A.T == (-3, -4)


@pytest.mark.parametrize(
    ("more", "overlay"),
    [
        ("_upstream_A_f = 1\n", ""),
        ("def g(): return _upstream_A_f\n", ""),
        ("class A_f:\n    def g(): return 1\n", "_upstream_A_f = added(1, why='w')\n"),
        ("def A_f(): return 1\n", "@wrapped(why='w')\ndef A_f(): return upstream()\n"),
    ],
)
def test_the_global_of_an_original_takes_no_name_of_the_modules(more: str, overlay: str) -> None:
    overlay = "class A:\n    @wrapped(why='w')\n    def f(x): return upstream(x)\n" + overlay
    what = "4: `A._upstream_A_f` is already defined; use @replaced or @edited"
    refused(f"class A:\n    def f(x): return x\n    T = f(3)\n{more}", overlay, what)


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


def test_what_enum_calls_while_the_class_body_runs_is_wrapped() -> None:
    module = run(
        """
        from enum import Enum, auto
        class A(Enum):
            def _generate_next_value_(name, start, count, last): return name.lower()
            X = auto()
        """,
        """
        class A:
            @wrapped(why="w")
            def _generate_next_value_(name, start, count, last): return upstream(name, start, count, last) + "!"
        """,
    )
    assert [one.value for one in module.A] == ["x!"]


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


_WRAPPED_MEMBER = "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n"


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
def test_an_original_in_a_protocol_has_a_name_that_is_no_member(imports: str, base: str) -> None:
    result, _ = merged(f"{imports}\nclass A({base}):\n    def f(self): ...\n", _WRAPPED_MEMBER)
    assert b"def _abc_upstream_f(self): ...\n" in result


def test_a_class_of_the_modules_own_is_no_typing_protocol() -> None:
    result, _ = merged("class Protocol: pass\nclass A(Protocol):\n    def f(self): ...\n", _WRAPPED_MEMBER)
    assert b"def _upstream_f(self): ...\n" in result


def test_a_typed_dict_gets_keys_and_nothing_else() -> None:
    before = "from typing import TypedDict\nclass A(TypedDict):\n    x: int\n"
    refused(
        before,
        "class A:\n    y = added(1, why='w')\n    @added(why='w')\n    def f(self): return 1\n",
        "3: `A` is a TypedDict, whose objects are plain dicts: none would have `y`; add a function at module level",
        "5: `A` is a TypedDict, whose objects are plain dicts: none would have `f`; add a function at module level",
    )
    assert "z" in run(before, "class A:\n    z: int = added(1, why='w')\n").A.__annotations__


_SEES = "looks at its caller's frame, which would be the wrapper's; " + _INSTEAD


@pytest.mark.parametrize(
    "before",
    [
        "def f(x): return sys._getframe(1)",
        "def f(x): return _getframe(x)",
        "def f(x): return inspect.currentframe().f_back.f_globals",
        "def f(x): return inspect.stack()[1]",
        "def f(x):\n    frame = sys._getframe()\n    while x(frame): frame = frame.f_back",
        "def f(x): return name()\ndef name(): return sys._getframe(2)",
        "def f(x): return name(2)\ndef name(n): return sys._getframe(n)",
        "def f(x): return name()\ndef name(): return other()\ndef other(): return sys._getframe(3)",
    ],
)
def test_a_function_that_looks_at_its_caller_cannot_be_wrapped(before: str) -> None:
    refused(before, "@wrapped(why='w')\ndef f(x): return upstream(x)\n", f"3: `f` {_SEES}")


def test_a_method_that_looks_at_its_caller_by_another_cannot_be_wrapped() -> None:
    before = "class A:\n    def f(self): return self.up(2)\n    def up(self, n): return sys._getframe(n)\n"
    refused(before, "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n", f"4: `A.f` {_SEES}")


@pytest.mark.parametrize(
    "before",
    [
        "def f(x): return sys._getframe()",
        "def f(x): return inspect.currentframe().f_lineno",
        "def f(x): return name()\ndef name(): return sys._getframe(1)",
        "def f(x): return name()\ndef name(): return inspect.currentframe().f_back",
        "def f(x): return x.f_back.f_back",
        "def f(x): return f(x - 1) if x else 0",
        "def f(x): return x.name()\ndef name(): return sys._getframe(2)",
        "def f(x):\n    def g(): return sys._getframe(1)\n    return g",
    ],
)
def test_a_function_that_looks_at_no_caller_of_its_own_is_wrapped(before: str) -> None:
    merged(before, "@wrapped(why='w')\ndef f(x): return upstream(x)\n")


def test_what_notes_the_code_of_a_function_notes_that_of_its_original_too() -> None:
    before = """
        known = []
        def noted(function):
            known.append(function.__code__)
            return function
        class A:
            @staticmethod
            @noted
            def f(x):
                return x
        """
    overlay = "class A:\n    @wrapped(why='w')\n    def f(x): return upstream(x) + 1\n"
    check(
        before,
        overlay,
        """
        known = []
        def noted(function):
            known.append(function.__code__)
            return function
        class A:
            @staticmethod
            @noted
            # wrapped: w
            def f(x): return __class__._upstream_f(x) + 1

            @noted
            def _upstream_f(x):
                return x
        """,
    )
    module = run(before, overlay)
    assert (module.A.f(1), len(module.known)) == (2, 2)


@pytest.mark.parametrize(
    "decorator",
    [
        "def noted(function):\n    print(function.__code__)\n    return lambda x: function(x)\n",
        "def noted(function):\n    print(len.__code__)\n    return function\n",
        "def noted(function): print(function.__code__)\n",
    ],
)
def test_what_gives_another_function_decorates_the_wrapper_alone(decorator: str) -> None:
    content, _ = merged(f"{decorator}@noted\ndef f(x): return x\n", "@wrapped(why='w')\ndef f(x): return upstream(x)\n")
    assert content.count(b"@noted") == 1
