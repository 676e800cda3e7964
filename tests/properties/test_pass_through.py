"""Functions wrapped by what only hands on are, when they run, what they are without a wrapper."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_overlays.merge.module_merge import merge
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.module import Module
from npu_overlays.overlay.merge_modules import read_operations

from .checks import pass_through
from .often import examples

PATH = "pkg/a.py"
_MARKERS = "from npu_overlays.markers import upstream, wrapped\n"
_HEAD = "import contextlib, functools\nMISSING = ['missing']\n"
_DEFAULTS = ["", "", "=1", "=MISSING", "=(lambda: 2)", "=(1, 'é')", "=...", "='''a\n b'''"]
_ANNOTATIONS = ["", "", ": int", ": 'str | None'", ": dict[str,  # c\n  int]", ": (list[int])"]
_DOCSTRINGS = ["", "'One.'", '"""Two.\n\n      More.\n    """', "r'''\\d\n\tx'''", "('A' \" b.\")", "'é' 'f'"]
_BODIES = [  # of the function's kind, its decorators where it is in a class and where it is not
    ("def", "return [values]", ["staticmethod", "classmethod", "property", "functools.cache"], ["functools.cache"]),
    ("def", "yield values\n    return 1", ["contextlib.contextmanager"], ["contextlib.contextmanager"]),
    ("async def", "return values", [], []),
    ("async def", "yield values", [], ["contextlib.asynccontextmanager"]),
]


@st.composite
def _modules(draw: st.DrawFn) -> str:
    """Draw a module with one function `f`, or with one method of that name."""
    word, body, decorators_in_class, decorators = draw(st.sampled_from(_BODIES))
    in_class = draw(st.booleans())
    chosen = draw(st.sampled_from([None, *(decorators_in_class if in_class else decorators)]))
    bound = in_class and chosen != "staticmethod"
    names = [] if chosen == "property" else ["x", "y"][: draw(st.integers(0, 2))]
    shown = _parameters(draw, names, star=chosen != "property")
    annotation = draw(st.sampled_from(["", " -> int", " -> (\n  int | None\n)", " -> 'x'"]))
    docstring = draw(st.sampled_from(_DOCSTRINGS))
    lines = [f"@{chosen}"] if chosen else []
    lines += [f"{word} f({', '.join([*(['self'] if bound else []), *shown])}){annotation}:"]
    lines += [f"    {docstring}"] if docstring else []
    given = (one.partition(":")[0].partition("=")[0].lstrip("*") for one in shown)
    lines += [f"    values = [{', '.join(given)}]"]
    text = "\n".join([*lines, f"    {body}"]) + "\n"
    future = draw(st.sampled_from(["", "from __future__ import annotations\n"]))
    return future + _HEAD + (_in_class(text) if in_class else text)


def _parameters(draw: st.DrawFn, names: list[str], *, star: bool) -> list[str]:
    shown: list[str] = []
    for name in names:
        default = draw(st.sampled_from(_DEFAULTS))
        default = default or ("=0" if any("=" in one for one in shown) else "")
        shown.append(f"{name}{draw(st.sampled_from(_ANNOTATIONS))}{default}")
    if star and draw(st.booleans()):
        shown += [draw(st.sampled_from(["*args", "*args: int"])), f"z{draw(st.sampled_from(_ANNOTATIONS))}=3"]
    return shown + (["**kwargs"] if star and draw(st.booleans()) else [])


def _in_class(text: str) -> str:
    # Lines inside string literals keep their place, as the parser sees to it that the rest fits.
    return "class A:\n" + "".join(f"  {line}\n" for line in text.splitlines())


def _overlay(content: str) -> str:
    module = Module(PATH, content.encode())
    symbol = "A.f" if "A.f" in module.definitions else "f"
    (definition,) = module.definitions[symbol]
    assert isinstance(definition.node, FUNCTIONS)
    wrapper = f"@wrapped(why='w')\n{pass_through(definition.node)}"
    return _MARKERS + (
        "class A:\n" + "".join(f"  {line}\n" for line in wrapper.splitlines()) if "." in symbol else wrapper
    )


def _function(content: bytes) -> tuple[Mapping[str, Any], Any]:
    """Return a module's names and its function as its class or itself has it."""
    names: dict[str, Any] = {"__name__": "pkg"}
    exec(compile(content, PATH, "exec", dont_inherit=True), names)  # noqa: S102  # the test's own text
    return names, inspect.getattr_static(names["A"], "f") if "A" in names else names["f"]


def _bare(function: Any) -> Callable[..., Any]:
    """Return the outermost function under the decorators of the standard library."""
    if isinstance(function, property):
        assert function.fget
        return function.fget
    return getattr(function, "__func__", function)  # type: ignore[no-any-return]  # of static and class methods


def _result(names: Mapping[str, Any], function: Any) -> str:
    """Return what a call gives, written out."""
    if "A" in names:
        function = (lambda: names["A"]().f) if isinstance(function, property) else names["A"]().f
    required = 0 if isinstance(function, type(lambda: 0)) and function.__name__ == "<lambda>" else _required(function)
    try:
        return str(_run(function(*range(required)))).split(" at 0x")[0]
    except TypeError as error:
        return f"TypeError: {error}"


def _required(function: Any) -> int:
    found = inspect.signature(function).parameters.values()
    return sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in found)


def _run(value: Any) -> Any:
    if inspect.iscoroutine(value):
        return asyncio.run(value)
    if inspect.isasyncgen(value):
        return asyncio.run(_collected(value))
    if inspect.isgenerator(value):
        return list(value)
    if hasattr(value, "__enter__"):
        with value as entered:
            return entered
    return value if not hasattr(value, "__aenter__") else type(value).__name__


async def _collected(stream: Any) -> list[Any]:
    return [value async for value in stream]


def _seen(content: bytes) -> dict[str, object]:
    """Return what can be seen of the function from outside."""
    names, function = _function(content)
    bare = _bare(function)
    return {
        "type": type(function).__name__,
        "docstring": bare.__doc__,
        "name": (bare.__name__, bare.__qualname__, bare.__module__),
        "annotations": str(getattr(bare, "__annotations__", {})),
        "signature": str(inspect.signature(bare)).split(" at 0x")[0],
        "kinds": [
            kind(bare)
            for kind in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        ],
        "result": _result(names, function).split(" at 0x")[0],
    }


@settings(max_examples=examples(150), deadline=None)
@given(_modules())
def test_a_function_wrapped_by_a_pass_through_is_as_without(content: str) -> None:
    operations = read_operations("o.py", _overlay(content).encode(), layer="o", target=PATH)
    patched, _ = merge(PATH, content.encode(), operations, distribution="pkg-npu")
    assert b"_upstream_f" in patched
    assert _seen(patched) == _seen(content.encode())
