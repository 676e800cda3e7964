"""Wrapped code does the right thing when it runs."""

from __future__ import annotations

import doctest
import sys
import types
from typing import Any

import pytest

from .pairs import as_bytes, check, merged, refused


def run(before: str | bytes, overlay: str) -> Any:
    """Return the patched module, executed."""
    content, _ = merged(before, overlay)
    module = types.ModuleType("patched")
    sys.modules["patched"] = module  # dataclasses look there
    try:
        exec(compile(content, "patched.py", "exec"), module.__dict__)  # noqa: S102  # the test's own text
    finally:
        del sys.modules["patched"]
    return module


def test_super_and_name_mangling_work_in_wrapper_and_original() -> None:
    module = run(
        """
        class Base:
            def f(self):
                return ["base"]
        class A(Base):
            def __init__(self):
                self.__hidden = "hidden"
            def f(self):
                return [*super().f(), "original", self.__hidden]
        class B(A):
            def f(self):
                return [*super().f(), "derived"]
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self):
                return [*super().f(), "wrapper", self.__hidden, *upstream(self)]
        """,
    )
    wrapped = ["base", "wrapper", "hidden", "base", "original", "hidden"]
    assert module.A().f() == wrapped
    assert module.B().f() == [*wrapped, "derived"]


def test_methods_of_a_named_tuple_are_wrapped() -> None:
    module = run(
        """
        from typing import Generic, NamedTuple, TypeVar
        class Outer:
            class Point(NamedTuple):
                x: int
                y: int = 2
                def total(self, more=0): return self.x + self.y + more
                @property
                def first(self): return self.x
                @classmethod
                def at(cls, x): return cls(x)
                @staticmethod
                def name(): return "point"
                def __add__(self, other): return self._replace(x=self.x + other)
        class Child(Outer.Point):
            def total(self, more=0): return -super().total(more)
        """,
        """
        class Outer:
            class Point:
                @wrapped(why="w")
                def total(self, more=...): return upstream(self, more) * 10
                @wrapped(why="w")
                def first(self): return upstream(self) * 10
                @wrapped(why="w")
                def at(cls, x): return upstream(cls, x * 10)
                @wrapped(why="w")
                def name(): return upstream() * 2
                @wrapped(why="w")
                def __add__(self, other): return upstream(self, other * 10)
        class Child:
            @wrapped(why="w")
            def total(self, more=...): return upstream(self, more) + 1
        """,
    )
    point = module.Outer.Point.at(1)
    assert (point, point._fields, len(point)) == ((10, 2), ("x", "y"), 2)
    assert (point.total(1), point.first, point.name(), point + 1) == (130, 100, "pointpoint", (20, 2))
    assert module.Child(1).total() == -29


def test_methods_are_wrapped_where_a_metaclass_removes_the_cell_of_the_class() -> None:
    module = run(
        """
        class Meta(type):
            def __new__(mcs, name, bases, ns):
                ns.pop("__classcell__", None)
                return super().__new__(mcs, name, bases, ns)
        class A(metaclass=Meta):
            def f(self): return 1
        class B(A):
            class __In(metaclass=Meta):
                def f(self): return 2
            def f(self): return self.__In().f()
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self): return upstream(self) * 10
        class B:
            class __In:
                @wrapped(why="w")
                def f(self): return upstream(self) * 10
            @wrapped(why="w")
            def f(self): return upstream(self) * 10
        """,
    )
    assert (module.A().f(), module.B().f()) == (10, 200)


@pytest.mark.parametrize(
    ("name", "wrapper", "message"),
    [
        ("P", "x(self): return upstream(self)", "`P.x` is a field of the NamedTuple `P`, no function; {}edited(…)"),
        ("P", "f(self, P=1): return upstream(self)", "the wrapper of `P.f` binds `P`, through which it gets at"),
    ],
)
def test_what_a_named_tuple_or_a_wrapper_of_its_cannot_do_is_refused(name: str, wrapper: str, message: str) -> None:
    before = f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: int = 1\n    def f(self): return 1\n"
    overlay = f"class {name}:\n    @wrapped(why='w')\n    def {wrapper}\n"
    tail = " the original; rename the wrapper's own" if "binds" in message else ""
    refused(before, overlay, f"4: {message.format('use @replaced or ')}{tail}")


def test_a_default_method_of_a_protocol_is_wrapped_and_no_implementation_needs_more() -> None:
    module = run(
        """
        from typing import Protocol, runtime_checkable
        @runtime_checkable
        class Closer(Protocol):
            def close(self): ...
            def shut(self): return ["shut", *self.close()]
        class Own(Closer):
            def close(self): return ["own"]
        class Other:
            def close(self): return []
            def shut(self): return []
        """,
        """
        class Closer:
            @wrapped(why="w")
            def shut(self): return ["wrapper", *upstream(self)]
        """,
    )
    assert module.Own().shut() == ["wrapper", "shut", "own"]
    assert isinstance(module.Other(), module.Closer)
    assert not isinstance(object(), module.Closer)


def test_a_stub_of_a_protocol_is_wrapped_for_the_classes_that_inherit_it() -> None:
    module = run(
        """
        from abc import abstractmethod
        from typing import Protocol, overload, runtime_checkable
        @runtime_checkable
        class Closer(Protocol):
            def close(self) -> list[str]: ...
            @property
            def name(self) -> str: "Its name."
            @abstractmethod
            async def wait(self) -> None: pass
        class Inheriting(Closer):
            async def wait(self): pass
        class Calling(Inheriting):
            def close(self): return ["own", *super().close()]
        class Other:
            name = "other"
            def close(self): return ["other"]
            async def wait(self): pass
        """,
        """
        class Closer:
            @wrapped(why="w")
            def close(self): return ["wrapper", upstream(self)]
            @wrapped(why="w")
            def name(self): return ["wrapper", upstream(self)]
            @wrapped(why="w")
            async def wait(self): return await upstream(self)
        """,
    )
    assert (module.Inheriting().close(), module.Inheriting().name) == (["wrapper", None], ["wrapper", None])
    assert module.Calling().close() == ["own", "wrapper", None]
    assert module.Closer.__abstractmethods__ == {"wait"}
    assert (module.Closer.name.__doc__, module.Other().close()) == ("Its name.", ["other"])
    assert isinstance(module.Other(), module.Closer)
    assert not isinstance(object(), module.Closer)


def test_doctests_of_a_wrapped_function_run_once() -> None:
    before = '''
        def f(x):
            """Double.

            >>> f(2)
            4
            """
            return x * 2
        def g():
            "Documented."
            "And told."
        class A:
            def h(self):
                \'\'\'Three.\'\'\' ; return 3
        '''
    module = run(
        before,
        """
        @wrapped(why="w")
        def f(x): return upstream(x)
        @wrapped(why="w")
        def g(): return upstream()
        class A:
            @wrapped(why="w")
            def h(self): return upstream(self)
        """,
    )
    tests = doctest.DocTestFinder().find(module, "m", module=False)
    assert [one.name for one in tests if one.examples] == ["m.f"]
    kept = (module._upstream_f, module._upstream_g, module.A._upstream_h)
    assert [one.__doc__ for one in kept] == [None, None, None]
    assert (module.f.__doc__[:7], module.g.__doc__, module.A.h.__doc__) == ("Double.", "Documented.", "Three.")
    assert (module.f(2), module.g(), module.A().h()) == (4, None, 3)


def test_mangled_and_special_methods_are_wrapped() -> None:
    module = run(
        """
        class A:
            def __call__(self, x):
                return self.__private(x)
            def __private(self, x):
                return [x]
        """,
        """
        class A:
            @wrapped(why="w")
            def __call__(self, x):
                return ["call", *upstream(self, x)]
            @wrapped(why="w")
            def __private(self, x):
                return ["private", *upstream(self, x)]
        """,
    )
    assert module.A()(1) == ["call", "private", 1]


def test_a_derived_class_that_overrides_the_private_name_is_not_reached() -> None:
    module = run(
        """
        class A:
            def f(self): return "A"
        class B(A):
            def _upstream_f(self): return "B"
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self): return upstream(self) * 2
        """,
    )
    assert module.B().f() == "AA"


def test_both_of_a_class_and_its_base_can_be_wrapped() -> None:
    module = run(
        """
        class A:
            def f(self): return ["A"]
        class B(A):
            def f(self): return [*super().f(), "B"]
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self): return ["(", *upstream(self), ")"]
        class B:
            @wrapped(why="w")
            def f(self): return ["<", *upstream(self), ">"]
        """,
    )
    assert module.B().f() == ["<", "(", "A", ")", "B", ">"]


def test_static_class_and_property_methods() -> None:
    module = run(
        """
        class A:
            n = 1
            @staticmethod
            def s(x): return x
            @classmethod
            def c(cls, x): return cls.n + x
            @property
            def p(self): return self.n
        class B(A):
            n = 10
        """,
        """
        class A:
            @wrapped(why="w")
            def s(x): return upstream(x) * 2
            @wrapped(why="w")
            def c(cls, x): return upstream(cls, x) * 2
            @wrapped(why="w")
            def p(self): return upstream(self) * 2
        """,
    )
    assert [module.A.s(2), module.A().s(2), module.A.c(2), module.B.c(2), module.B().p] == [4, 4, 6, 24, 20]


def test_generators_and_async_functions() -> None:
    module = run(
        """
        import contextlib
        def numbers(n):
            yield from range(n)
        @contextlib.contextmanager
        def opened(x):
            yield x
        async def fetch(x):
            return x
        """,
        """
        @wrapped(why="w")
        def numbers(n):
            for number in upstream(n):
                yield -number
        @wrapped(why="w")
        def opened(x):
            yield from upstream(x * 2)
        @wrapped(why="w")
        async def fetch(x):
            return await upstream(x) * 2
        """,
    )
    assert list(module.numbers(3)) == [0, -1, -2]
    with module.opened(2) as value:
        assert value == 4
    with pytest.raises(StopIteration, match="6"):
        module.fetch(3).send(None)


def test_decorators_stay_on_the_wrapper_alone() -> None:
    module = run(
        """
        import functools
        registry = {}
        def register(name):
            return lambda function: registry.setdefault(name, function)
        @functools.lru_cache(maxsize=None)
        def f(x):
            return [x]
        @register("g")
        def g(x):
            return [x]
        """,
        """
        @wrapped(why="w")
        def f(x):
            return ["wrapper", *upstream(x)]
        @wrapped(why="w")
        def g(x):
            return ["wrapper", *upstream(x)]
        """,
    )
    assert module.f(1) == ["wrapper", 1]
    assert module.f(1) is module.f(1)
    assert not hasattr(module._upstream_f, "cache_info")
    assert module.registry == {"g": module.g}
    assert module.g(1) == ["wrapper", 1]


def test_a_class_whose_name_is_bound_to_something_else_later() -> None:
    module = run(
        """
        import dataclasses
        def proxied(cls):
            return type("Proxy", (), {"make": staticmethod(cls)})
        @proxied
        class A:
            def f(self): return 1
        @dataclasses.dataclass(slots=True)
        class B:
            x: int
            def f(self): return self.x
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self): return -upstream(self)
        class B:
            @wrapped(why="w")
            def f(self): return -upstream(self)
        """,
    )
    assert module.A.make().f() == -1
    assert module.B(x=2).f() == -2


def test_a_nested_class() -> None:
    module = run(
        """
        with open("/dev/null"):
            class A:
                class B:
                    def f(self): return 1
        """,
        """
        class A:
            class B:
                @wrapped(why="w")
                def f(self): return -upstream(self)
        """,
    )
    assert module.A.B().f() == -1


def test_a_module_with_every_operation_runs() -> None:
    before = """
        from __future__ import annotations
        LIMIT = 3
        def double(x):
            return x * 2
        def limited(x):
            return min(double(x), LIMIT)
        def gone():
            pass
        class A:
            def f(self):
                return limited(1)
        """
    overlay = """
        import math
        LIMIT = replaced(math.inf, why="1")
        @wrapped(why="2")
        def double(x):
            return upstream(offset(x))
        @edited(("min(", "max("), ("LIMIT", "-LIMIT"), why="3")
        def limited(x): ...
        deleted("gone", why="4")
        class A:
            @added(why="5")
            def g(self):
                return self.f() + 1
        @added(why="6")
        def offset(x):
            return x + 1
        """
    module = run(before, overlay)
    assert module.A().g() == 5
    assert not hasattr(module, "gone")
    check(before, overlay, _AFTER)


_AFTER = as_bytes("""
    from __future__ import annotations
    import math
    # replaced: 1
    LIMIT = math.inf
    # wrapped: 2
    def double(x):
        return _upstream_double(offset(x))


    def _upstream_double(x):
        return x * 2
    # edited: 3
    def limited(x):
        return max(double(x), -LIMIT)
    # deleted: 4
    class A:
        def f(self):
            return limited(1)

        # added: 5
        def g(self):
            return self.f() + 1


    # added: 6
    def offset(x):
        return x + 1
    """)
