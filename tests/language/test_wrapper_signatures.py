"""What a wrapper may do with ``upstream`` and which signature it may have."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_overlays.merge.module_merge import merge
from npu_overlays.model.signatures import signature_text, wrapper_mismatch
from npu_overlays.overlay.merge_modules import read_operations

from .pairs import PATH, check, merged, refused


def test_upstream_may_have_another_name_in_the_overlay() -> None:
    overlay = b"from npu_overlays.markers import upstream as original, wrapped\n@wrapped(why='w')\ndef f(x):\n"
    (operation,) = read_operations("o.py", overlay + b"    return original(upstream(x))\n", layer="o", target=PATH)
    content, _ = merge(PATH, b"def f(x): pass\n", [operation], distribution="pkg-npu", purpose="NPU")
    assert b"    return _upstream_f(upstream(x))\n" in content


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return x", "never calls upstream(…); call it, or use @replaced"),
        ("return 'upstream(x)', x.upstream", "never calls upstream(…); call it, or use @replaced"),
        ("upstream = g; return upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("upstream(x); del upstream", "binds `upstream` itself; use another name for the wrapper's own"),
        ("from a import upstream; upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("from a import b as upstream; upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("import upstream.b; upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("global upstream; upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("return lambda upstream: upstream(x)", "binds `upstream` itself; use another name for the wrapper's own"),
        ("return [upstream(x) for upstream in x]", "binds `upstream` itself; use another name for the wrapper's own"),
        ("return f'{upstream(x)}'", "calls upstream(…) inside an f-string; assign its result to a variable first"),
    ],
)
def test_uses_of_upstream_that_cannot_mean_the_original_are_refused(body: str, message: str) -> None:
    refused(
        "def f(x): return x\n",
        f"@wrapped(why='w')\ndef f(x):\n    {body}\n",
        f"3: the wrapper of `f` {message}",
    )


@pytest.mark.parametrize(
    "body",
    [
        "_upstream_f = upstream(x)",
        "for _upstream_f in x: upstream(x)",
        "return [upstream(x) for _upstream_f in x]",
        "return lambda _upstream_f=1: upstream(x)",
    ],
)
def test_a_wrapper_that_binds_the_name_of_the_original_is_refused(body: str) -> None:
    overlay = f"@wrapped(why='w')\ndef f(x):\n    {body}\n"
    what = "binds `_upstream_f`, the name of the original; rename the wrapper's own"
    refused("def f(x): return x\n", overlay, f"3: the wrapper of `f` {what}")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are Python 3.12's")
def test_upstreams_type_parameters_are_taken_over() -> None:
    check(
        """
        def f[T: int, *Ts](x: T, *y: *Ts) -> T: return x
        class A:
            async def g[S](self, x: S): return x
        """,
        """
        @wrapped(why="1")
        def f(x, *y): return upstream(x, *y)
        class A:
            @wrapped(why="2")
            async def g[R](self, x: R): return await upstream(self, x)
        """,
        """
        # wrapped: 1
        def f[T: int, *Ts](x: T, *y: *Ts) -> T: return _upstream_f(x, *y)


        def _upstream_f[T: int, *Ts](x: T, *y: *Ts) -> T: return x
        class A:
            # wrapped: 2
            async def g[R](self, x: R): return await __class__._upstream_g(self, x)

            async def _upstream_g[S](self, x: S): return x
        """,
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are Python 3.12's")
@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (
            "def f[U](x: U, y): return upstream(x, y)",
            "leaves out annotations that name `T`; write upstream's type parameters, `[T]`",
        ),
        (
            "def f(x, y): return upstream(T(x), y)",
            "reads `T`, which is a type parameter of upstream's; use another name for what you mean",
        ),
    ],
)
def test_a_wrappers_own_type_parameters_leave_nothing_unnamed(wrapper: str, message: str) -> None:
    upstream = "def f[T](x: T, y: list[T]): return x\n"
    refused(upstream, f"@wrapped(why='w')\n{wrapper}\n", f"3: the wrapper of `f` {message}")
    whole = "def f[U](x: U, y: list[U]): return upstream(x, y)"
    assert (
        b"def f[U](x: U, y: list[U]): return _upstream_f(x, y)" in merged(upstream, f"@wrapped(why='w')\n{whole}\n")[0]
    )


@pytest.mark.parametrize(
    ("original", "wrapper", "message"),
    [
        ("x", "y", "does not take upstream's parameter `x` in its place; upstream has no `y`"),
        ("x, y", "x", "does not take upstream's parameter `y` in its place"),
        ("x, y", "y, x", "does not take upstream's parameter `x` in its place"),
        ("x", "x, /", "does not take upstream's parameter `x` in its place"),
        ("x, /", "x", "does not take upstream's parameter `x` in its place"),
        ("x, /", "y, /", "does not take upstream's parameter `x` in its place; upstream has no `y`"),
        ("x, y=1", "x, *, y=1", "does not take upstream's parameter `y` in its place"),
        ("x, *, y=1", "x, y=1", "does not take upstream's parameter `y` in its place"),
        ("x, z=1", "x, y=None, z=1", "does not take upstream's parameter `z` in its place; upstream has no `y`"),
        ("*, x", "", "does not take upstream's parameter `x` in its place"),
        ("x, y=1", "*args, **kwargs", "does not take upstream's parameter `x` in its place"),
        ("x, y=1", "x, *args", "does not take upstream's parameter `y` in its place"),
        ("x, y=1", "x, y=1, *args", "takes `*args`, which hides upstream's parameters"),
        ("x, *, y", "x, **kwargs", "does not take upstream's parameter `y` in its place"),
        ("*args, **kwargs", "*a, **k", "does not take upstream's `*args`"),
        ("x=1", "x", "requires `x`, which upstream's callers may leave out"),
        ("*, x=1", "*, x", "requires `x`, which upstream's callers may leave out"),
        ("x", "x, y", "requires `y`, which upstream's callers may leave out"),
        ("x", "x, *, y", "requires `y`, which upstream's callers may leave out"),
        ("x", "x=1", "gives `x` a default, which upstream's callers must give"),
        ("x=1", "x=2", "gives `x` another default than upstream's 1"),
        ("*, x=1", "*, x=1.0", "gives `x` another default than upstream's 1"),
        ("x=A.b", "x=None", "gives `x` another default than upstream's A.b"),
        ("*args", "", "does not take upstream's `*args`"),
        ("x, *args", "x, y=1, *args", "takes as `y` what upstream takes as `*args`"),
        ("**kwargs", "*args", "does not take upstream's `**kwargs`"),
    ],
)
def test_a_wrapper_with_other_parameters_than_upstreams_is_refused(original: str, wrapper: str, message: str) -> None:
    refused(
        f"def f({original}): pass\n",
        f"@wrapped(why='w')\ndef f({wrapper}): return upstream()\n",
        f"3: the wrapper of `f` {message}; write upstream's parameters: ({original})",
    )


@pytest.mark.parametrize(
    ("original", "wrapper"),
    [
        ("x, y=1, *args, z, w=2, **kwargs", "x, y=1, *args, z, w=2, **kwargs"),
        ("x, *args, y, z=1, **kwargs", "x, *args, z=1, y, **kwargs"),
        ("x", "x, y=2, *, z=3"),
        ("x, *args", "x, *args, y=1"),
        ("x=(1, 'a')", 'x=(1,   "a")'),
        ("x=lambda: 1, *, y=_MISSING", "x=..., *, y=..."),
        ("x=...", "x=..."),
    ],
)
def test_a_wrapper_with_upstreams_parameters_and_optional_ones_is_taken(original: str, wrapper: str) -> None:
    assert wrapper_mismatch(_arguments(wrapper), _arguments(original)) == ""


def _arguments(parameters: str) -> ast.arguments:
    node = ast.parse(f"def f({parameters}): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node.args


@st.composite
def _parameters(draw: st.DrawFn) -> str:
    """Draw the parameters of a function, of at most three names."""
    names = draw(st.permutations(["x", "y", "z"]))[: draw(st.integers(0, 3))]
    first, second = sorted(draw(st.tuples(st.integers(0, len(names)), st.integers(0, len(names)))))
    optional_from = draw(st.integers(0, second))
    positional = [name if number < optional_from else f"{name}=0" for number, name in enumerate(names[:second])]
    rest = draw(st.booleans())
    keyword_only = [name + draw(st.sampled_from(["", "=0"])) for name in names[second:]]
    star = ["*args"] if rest else ["*"] if keyword_only else []
    slash = ["/"] if first else []
    keywords = ["**kwargs"] if draw(st.booleans()) else []
    return ", ".join([*positional[:first], *slash, *positional[first:], *star, *keyword_only, *keywords])


def _function(parameters: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(f"def f({parameters}): pass", namespace)  # noqa: S102  # the test's own text
    made: Callable[..., Any] = namespace["f"]
    return made


_KEYWORDS = itertools.chain.from_iterable(itertools.combinations("xyzw", number) for number in range(4))
_CALLS = list(itertools.product(range(5), _KEYWORDS))


def _accepted(parameters: str) -> list[tuple[int, tuple[str, ...]]]:
    function = _function(parameters)
    accepted = []
    for positional, keywords in _CALLS:
        try:
            function(*range(positional), **dict.fromkeys(keywords))
        except TypeError:
            continue
        accepted.append((positional, keywords))
    return accepted


@settings(max_examples=300, deadline=None)
@given(wrapper=_parameters(), original=_parameters())
def test_a_signature_is_taken_only_if_it_is_upstreams_and_takes_every_call_of_it(wrapper: str, original: str) -> None:
    """Except f(1, x=1), where upstream has only catch-alls and the wrapper gives x its place and name."""
    if not wrapper_mismatch(_arguments(wrapper), _arguments(original)):
        own, theirs = (inspect.signature(_function(text)).parameters for text in (wrapper, original))
        assert [own[name] for name in theirs if name in own] == list(theirs.values())
        refused_ones = set(_accepted(original)) - set(_accepted(wrapper))
        assert not [call for call in refused_ones if not {*own} & {*call[1]} - {*theirs}], (wrapper, original)


@settings(max_examples=100, deadline=None)
@given(parameters=_parameters())
def test_upstreams_own_signature_is_always_taken(parameters: str) -> None:
    assert wrapper_mismatch(_arguments(parameters), _arguments(parameters)) == ""
    shown = signature_text(_arguments(parameters))
    assert wrapper_mismatch(_arguments(shown[1:-1]), _arguments(parameters)) == ""
