"""A wrapper is as transparent as Python allows: what it leaves out is upstream's, what it does otherwise is refused."""

from __future__ import annotations

import inspect
import typing

import pytest

from .pairs import merged, refused
from .test_wrapped_calls import run


@pytest.mark.parametrize(
    ("wrapper", "after"),
    [
        ("def f(x): return upstream(x)", "def f(x: int) -> int:\n    'D.'\n    return _upstream_f(x)"),
        ("def f(x): \\\n  return upstream(x)", "def f(x: int) -> int:\n    'D.'\n    return _upstream_f(x)"),
        ("def f(x) : y = 1; return upstream(y)", "def f(x: int) -> int :\n    'D.'\n    y = 1; return _upstream_f(y)"),
        ("def f(x,):\n  return upstream(x)", "def f(x: int,) -> int:\n  'D.'\n  return _upstream_f(x)"),
        (
            "def f(x):\n  @cache\n  def g(): return upstream(x)\n  return g",
            "def f(x: int) -> int:\n  'D.'\n  @cache\n  def g(): return _upstream_f(x)\n  return g",
        ),
        (
            "def f( # (\n x  # )\n):  # :\n    return upstream(x)",
            "def f( # (\n x: int  # )\n) -> int:  # :\n    'D.'\n    return _upstream_f(x)",
        ),
    ],
)
def test_a_docstring_and_a_return_annotation_find_their_place(wrapper: str, after: str) -> None:
    original = "def f(x: int) -> int: 'D.'\n"
    content, _ = merged(original, f"@wrapped(why='w')\n{wrapper}\n")
    lines = content.decode().splitlines(keepends=True)
    assert "".join(lines[1:]) == f"{after}\n\n\ndef _upstream_f(x: int) -> int: pass\n"


@pytest.mark.parametrize("mark", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_pass_through_cannot_be_told_from_upstream(mark: str, newline: str) -> None:
    before = f'''{mark}
import contextlib
import functools
MISSING = object()
class A:
    @staticmethod
    def s(x: "A", y: int = 1) -> int:
        r"""S \\d.

            Indented.
        """
        return y
    @contextlib.contextmanager
    def opened(self, x: list[int] = [1], *, y=MISSING):
        "One" " and two."
        yield x
    @functools.lru_cache(maxsize=None)
    def cached(self, /, x: (int) = -1, **kwargs: int) -> "int":
        return x
    async def fetch(self, *args: int) -> (
        int
    ):
        return args
    async def stream(self, x: int):
        """Streams."""
        yield x
def plain(x=MISSING, y=(lambda: 1)):
    return x
'''.replace("\n", newline)
    overlay = """
        class A:
            @wrapped(why="w")
            def s(x, y=1): return upstream(x, y)
            @wrapped(why="w")
            def opened(self, x=[1], *, y=...): yield from upstream(self, x, y=y)
            @wrapped(why="w")
            def cached(self, /, x=-1, **kwargs): return upstream(self, x, **kwargs)
            @wrapped(why="w")
            async def fetch(self, *args): return await upstream(self, *args)
            @wrapped(why="w")
            async def stream(self, x):
                async for value in upstream(self, x):
                    yield value
        @wrapped(why="w")
        def plain(x=..., y=...): return upstream(x, y)
        """
    patched, upstream = run(before.encode(), overlay), run(before.encode(), "X = added(1, why='w')")
    for own, theirs in [(patched.plain, upstream.plain), *_pairs(patched.A, upstream.A)]:
        assert own.__doc__ == theirs.__doc__
        assert str(inspect.signature(own)).split(" at 0x")[0] == str(inspect.signature(theirs)).split(" at 0x")[0]
        assert [*typing.get_type_hints(own, patched.__dict__)] == [*typing.get_type_hints(theirs, upstream.__dict__)]
        for kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            assert kind(own) == kind(theirs)
    assert patched.plain() is patched.MISSING


def _pairs(own: type, theirs: type) -> list[tuple[typing.Any, typing.Any]]:
    return [(getattr(own, name), getattr(theirs, name)) for name in ("s", "opened", "cached", "fetch", "stream")]


_DECORATED = ": upstream's decorators are on the wrapper; write `with"
_ENTERED = "contextlib.asynccontextmanager"
_PASSED_BY = "iterates upstream(…), which then never sees what is raised inside upstream's `with` block; write"
_UNSENT = "iterates upstream(…), which takes what is sent to it: nothing would reach it"
_GENERATOR = "match it: yield from upstream(…)"
_COROUTINE = "match it: return await upstream(…)"
_ASYNC_GENERATOR = "match it: async with contextlib.aclosing(upstream(…)) as values: …"


@pytest.mark.parametrize(
    ("original", "wrapper", "message"),
    [
        (
            "def f(x): return x",
            "def f(x): yield upstream(x)",
            "is a generator, upstream's is a plain function; match it: return upstream(…)",
        ),
        (
            "def f(x): yield x",
            "def f(x): return upstream(x)",
            f"is a plain function, upstream's is a generator; {_GENERATOR}",
        ),
        (
            "async def f(x): yield x",
            "async def f(x): return await upstream(x)",
            f"is a coroutine, upstream's is an async generator; {_ASYNC_GENERATOR}",
        ),
        (
            "async def f(x): return x",
            "async def f(x):\n    yield await upstream(x)",
            f"is an async generator, upstream's is a coroutine; {_COROUTINE}",
        ),
        (
            "def f(x):\n    def g(): yield x\n    return g",
            "def f(x): yield from upstream(x)",
            "is a generator, upstream's is a plain function; match it: return upstream(…)",
        ),
        (
            "def f(x): y = [(yield)]",
            "def f(x): return upstream(x)",
            f"is a plain function, upstream's is a generator; {_GENERATOR}",
        ),
        (
            "async def f(x): return x",
            "async def f(x): return upstream(x)",
            f"calls upstream(…) and leaves the coroutine it gives alone; {_COROUTINE}",
        ),
        (
            "async def f(x): return x",
            "async def f(x):\n    y = upstream(x)\n    return y",
            f"never awaits what upstream(…) gives; {_COROUTINE}",
        ),
        (
            "async def f(x): return x",
            "async def f(x):\n    upstream(x)\n    await g()",
            f"calls upstream(…) and leaves the coroutine it gives alone; {_COROUTINE}",
        ),
        (
            "def f(x): yield x",
            "def f(x):\n    upstream(x)\n    yield 1",
            f"calls upstream(…) and leaves the generator it gives alone; {_GENERATOR}",
        ),
        (
            "def f(x): yield x",
            "def f(x):\n    yield 1\n    return upstream(x)",
            f"calls upstream(…) and leaves the generator it gives alone; {_GENERATOR}",
        ),
        (
            "async def f(x): yield x",
            "async def f(x):\n    yield await upstream(x)",
            f"awaits upstream(…), which gives an async generator; {_ASYNC_GENERATOR}",
        ),
        (
            "async def f(x):\n    y = yield x\n    yield y",
            "async def f(x):\n    async for y in upstream(x):\n        yield y",
            f"{_UNSENT}; send it on: `given = await generator.asend(sent)`, with `generator = upstream(…)`",
        ),
        (
            "def f(x): return (yield x)",
            "def f(x):\n    yield from [y for y in upstream(x)]",
            f"{_UNSENT}; yield from upstream(…)",
        ),
        (
            "@contextmanager\ndef f(x): yield x",
            "def f(x):\n    with upstream(x) as y:\n        yield y",
            f"enters upstream(…), which gives a generator{_DECORATED} contextlib.contextmanager(upstream)(x) as …`",
        ),
        (
            "@asynccontextmanager\nasync def f(x): yield x",
            "async def f(x):\n    async with upstream(x) as y:\n        yield y",
            (
                "enters upstream(…), which gives an async generator: upstream's decorators are on the wrapper;"
                f" write `async with {_ENTERED}(upstream)(x) as …`"
            ),
        ),
        (
            "@asynccontextmanager\nasync def f(x): yield x",
            "async def f(x):\n    async for y in upstream(x):\n        yield y",
            f"{_PASSED_BY} `async with {_ENTERED}(upstream)(x) as value: yield value`",
        ),
        (
            "@asynccontextmanager\nasync def f(x, y): yield x",
            "async def f(x, y):\n    yield await anext(upstream(x, y=y))",
            f"{_PASSED_BY} `async with {_ENTERED}(upstream)(x, y=y) as value: yield value`",
        ),
        (
            "@asynccontextmanager\nasync def f(x): yield x",
            "async def f(x): return await upstream(x)",
            (
                "is a coroutine, upstream's is an async generator;"
                f" match it: async with {_ENTERED}(upstream)(…) as value: yield value"
            ),
        ),
        (
            "@contextmanager\ndef f(x): yield x",
            "def f(x):\n    for y in upstream(x):\n        yield y",
            f"{_PASSED_BY} `with contextlib.contextmanager(upstream)(x) as value: yield value`",
        ),
    ],
)
def test_a_wrapper_of_another_kind_is_refused(original: str, wrapper: str, message: str) -> None:
    refused(f"{original}\n", f"@wrapped(why='w')\n{wrapper}\n", f"3: the wrapper of `f` {message}")


@pytest.mark.parametrize(
    ("original", "wrapper"),
    [
        ("async def f(x): return x", "async def f(x):\n    y = upstream(x)\n    return await y"),
        ("async def f(x): return x", "async def f(x): return await wait_for(upstream(x), 1)"),
        (
            "async def f(x): return x",
            "async def f(x):\n    async def g(): return upstream(x)\n    return await retry(g)",
        ),
        ("async def f(x): return x", "async def f(x): return [await y for y in [upstream(x)]]"),
        ("def f(x): yield x", "def f(x):\n    y = upstream(x)\n    yield next(y)"),
        (
            "@contextmanager\ndef f(x): yield x",
            "def f(x):\n    with contextmanager(upstream)(x) as y:\n        yield y",
        ),
        (
            "@asynccontextmanager\nasync def f(x): yield x",
            "async def f(x):\n    async with asynccontextmanager(upstream)(x) as y:\n        yield y",
        ),
        ("@contextmanager\ndef f(x): yield x", "def f(x):\n    y = upstream(x)\n    yield from y"),
        ("async def f(x): yield x", "async def f(x):\n    async for y in upstream(x):\n        yield y"),
        ("def f(x): return (yield_ for yield_ in x)", "def f(x): return upstream(x)"),
        ("def f(x): return lambda: (yield)", "def f(x): return upstream(x)"),
        ("def f(x):\n    async def g(): await x\n    return g", "def f(x): return upstream(x)"),
    ],
)
def test_a_wrapper_of_the_same_kind_is_taken(original: str, wrapper: str) -> None:
    merged(f"{original}\n", f"@wrapped(why='w')\n{wrapper}\n")


@pytest.mark.parametrize(
    ("upstream", "overlay", "message"),
    [
        (
            "async def f(x): return x",
            "def f(x): return 1",
            "the replacement of `f` is a plain function, upstream's is a coroutine; keep the kind its callers expect",
        ),
        (
            "@contextmanager\ndef f(x): yield x",
            "@contextmanager\ndef f(x): return 1",
            "the replacement of `f` is a plain function, upstream's is a generator; keep the kind its callers expect",
        ),
    ],
)
def test_a_replacement_of_another_kind_is_refused(upstream: str, overlay: str, message: str) -> None:
    refused(f"{upstream}\n", f"@replaced(why='w')\n{overlay}\n", f"{3 + overlay.count('@')}: {message}")


_AS = "write it under upstream's decorators"
_PARAMETERS = "keep upstream's parameters, {}; where no caller is left that gives them, use @edited"


@pytest.mark.parametrize(
    ("upstream", "overlay", "message"),
    [
        ("@property\n    def f(self): pass", "def f(self): pass", f"is a function, upstream's is a property; {_AS}"),
        (
            "def f(self): pass",
            "@cached_property\n    def f(self): pass",
            f"is a property, upstream's is a function; {_AS}",
        ),
        ("@staticmethod\n    def f(x): pass", "def f(x): pass", f"is a function, upstream's is a static method; {_AS}"),
        (
            "@classmethod\n    def f(c, x): pass",
            "@staticmethod\n    def f(c, x): pass",
            f"is a static method, upstream's is a class method; {_AS}",
        ),
        (
            "@contextmanager\n    def f(self): yield",
            "def f(self): yield",
            "is a generator, upstream's is a context manager; keep the kind its callers expect",
        ),
        (
            "@torch.no_grad()\n    async def f(self): pass",
            "def f(self): pass",
            "is a plain function, upstream's is a coroutine; keep the kind its callers expect",
        ),
        (
            "@lru_cache(None)\n    def f(self, x): pass",
            "def f(self): pass",
            f"does not take upstream's parameter `x` in its place; {_PARAMETERS.format('(self, x)')}",
        ),
    ],
)
def test_a_replacement_under_other_decorators_is_to_callers_what_upstreams_is(
    upstream: str, overlay: str, message: str
) -> None:
    line = 4 + overlay.count("@")
    overlay = f"class A:\n    @replaced(why='w')\n    {overlay}\n"
    refused(f"class A:\n    {upstream}\n", overlay, f"{line}: the replacement of `A.f` {message}")


@pytest.mark.parametrize(
    ("upstream", "overlay"),
    [
        ("@contextmanager\n    def f(self): yield", "def f(self): return Manager()"),
        ("@property\n    def f(self): pass", "@lazily\n    def f(self): pass"),
        ("@property\n    def f(self): pass", "@cached_property\n    def f(self): pass"),
        ("@reg('a')\n    async def f(self, x): pass", "def f(self): pass"),
        ("def f(self, x): pass", "@no_grad()\n    def f(self, x): pass"),
    ],
)
def test_a_replacement_may_reach_its_kind_by_other_decorators(upstream: str, overlay: str) -> None:
    merged(f"class A:\n    {upstream}\n", f"class A:\n    @replaced(why='w')\n    {overlay}\n")


_METHODS = """
class A:
    def f(self, x, y=1): return x
    @classmethod
    def c(cls, x): return x
    @staticmethod
    def s(x, y=1): return x
    def r(*args): return args
    def __new__(cls, x): return x
    def p(self, __x): return __x
"""


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (
            "def p(self, __x): return upstream(self, __x=__x)",
            (
                "calls upstream(self, __x=__x), which gives `__x` by name, which Python renames in a class: "
                "only a position reaches it; (self, __x)"
            ),
        ),
        ("def f(self, x, y=1): return upstream(x)", "calls upstream(x), which lacks `x`; (self, x, y=1)"),
        (
            "def f(self, x, y=1): return upstream(x, y)",
            "calls upstream(x, y), which does not hand on `self` first; (self, x, y=1)",
        ),
        (
            "def f(self, x, y=1): return upstream(x=x, y=y)",
            "calls upstream(x=x, y=y), which lacks `self`; (self, x, y=1)",
        ),
        (
            "def f(self, x, y=1): return upstream(self, x, y, 1)",
            "calls upstream(self, x, y, 1), which gives 4 positional arguments where upstream takes 3; (self, x, y=1)",
        ),
        (
            "def f(self, x, y=1): return upstream(self, x, z=y)",
            "calls upstream(self, x, z=y), which gives `z`, which upstream does not take; (self, x, y=1)",
        ),
        (
            "def f(self, x, y=1): return upstream(self, x, x=1)",
            "calls upstream(self, x, x=1), which gives `x` twice; (self, x, y=1)",
        ),
        ("def c(cls, x): return upstream(x)", "calls upstream(x), which lacks `x`; (cls, x)"),
        ("def c(cls, x): return upstream(x, x)", "calls upstream(x, x), which does not hand on `cls` first; (cls, x)"),
        (
            "def s(x, y=1): return upstream(A, x)",
            "calls upstream(A, x), which hands on `A` to a static method; (x, y=1)",
        ),
        (
            "def s(x, y=1): return upstream(self, x, y)",
            "calls upstream(self, x, y), which gives 3 positional arguments where upstream takes 2; (x, y=1)",
        ),
        (
            "def __new__(cls, x): return upstream(x, cls)",
            "calls upstream(x, cls), which does not hand on `cls` first; (cls, x)",
        ),
    ],
)
def test_a_call_that_does_not_fit_or_forgets_self_is_refused(wrapper: str, message: str) -> None:
    symbol = wrapper.removeprefix("def ").partition("(")[0]
    what, _, shown = message.partition("; ")
    refused(
        _METHODS,
        f"class A:\n    @wrapped(why='w')\n    {wrapper}\n",
        f"4: the wrapper of `A.{symbol}` {what}; upstream's parameters are {shown}",
    )


@pytest.mark.parametrize(
    "wrapper",
    [
        "def f(self, x, y=1): return upstream(self, x, y)",
        "def f(self, x, y=1): return upstream(self, y=y, x=x)",
        "def f(self, x, y=1): return upstream(y=y, x=x, self=self)",
        "def f(self, x, y=1): return upstream(self, *x)",
        "def f(self, x, y=1): return upstream(*(self, x))",
        "def f(self, x, y=1): return upstream(**dict(self=self, x=x))",
        "def f(self, x, y=1): return partial(upstream, self)(x)",
        "def c(cls, x): return upstream(cls, x)",
        "def s(x, y=1): return upstream(x + 1)",
        "def r(*args): return upstream(*args)",
        "def __new__(cls, x): return upstream(cls, x)",
    ],
)
def test_a_call_that_fits_is_taken(wrapper: str) -> None:
    merged(_METHODS, f"class A:\n    @wrapped(why='w')\n    {wrapper}\n")


@pytest.mark.parametrize("original", ["sent = yield 1", "yield 1"])
def test_a_generator_that_is_closed_with_its_wrapper_is_still_not_looped_over_where_it_takes_values(
    original: str,
) -> None:
    overlay = """
        import contextlib
        @wrapped(why="w")
        async def f():
            async with contextlib.aclosing(upstream()) as values:
                async for value in values: yield value
        """
    before = f"async def f():\n    {original}\n"
    if "sent" in original:
        fix = "send it on: `given = await generator.asend(sent)`, with `generator = upstream(…)`"
        refused(before, overlay, f"4: the wrapper of `f` {_UNSENT}; {fix}")
    else:
        assert b"aclosing(_upstream_f())" in merged(before, overlay)[0]
