"""Every operation on a function at module level."""

from __future__ import annotations

import pytest

from .pairs import check, merged, refused


@pytest.mark.parametrize("name", ["d", "e", "f", "de", "ef", "def_", "a", "sync", "async_"])
def test_the_name_is_found_behind_the_keywords(name: str) -> None:
    check(
        f"async  def \\\n  {name}(): return 1\nclass {name}_s: pass\n",
        f"""
        @wrapped(why="w")
        async def {name}():
            return await upstream()
        """,
        f"# wrapped: w\nasync def {name}():\n    return await _upstream_{name}()\n\n\n"
        f"async  def \\\n  _upstream_{name}(): return 1\nclass {name}_s: pass\n",
    )


@pytest.mark.parametrize(
    ("decorator", "name"),
    [("staticmethod", "__new__"), ("classmethod", "__init_subclass__"), ("classmethod", "__class_getitem__")],
)
def test_what_python_takes_as_static_or_of_the_class_by_itself_may_say_so_or_not(decorator: str, name: str) -> None:
    bare = f"    def {name}(cls, x): return 1\n"
    stated = f"    @{decorator}\n{bare}"
    for theirs, own in ((bare, stated), (stated, bare)):
        content, _ = merged(f"class A:\n{theirs}", f"class A:\n    @replaced(why='w')\n{own.replace('1', '2')}")
        assert own.replace("1", "2") in content.decode()


@pytest.mark.parametrize(
    ("theirs", "own", "what"),
    [
        ("x, y", "y, x", "does not take upstream's parameter `x` in its place"),
        ("x, y", "x", "does not take upstream's parameter `y` in its place"),
        ("x, y", "x, z", "does not take upstream's parameter `y` in its place"),
        ("x, y", "x, *args", "does not take upstream's parameter `y` in its place"),
        ("x, *, y", "x", "does not take upstream's parameter `y`"),
        ("x, *args", "x", "does not take upstream's `*args`"),
        ("x, **kwargs", "x, y=1", "does not take upstream's `**kwargs`"),
        ("x, y=1", "x, y", "requires `y`, which upstream's callers may leave out"),
        ("x", "x, y", "requires `y`, which upstream's callers may leave out"),
        ("x, /, y=1", "z, y, /", "does not take upstream's parameter `y` in its place"),
    ],
)
def test_a_replacement_that_callers_would_misuse_is_refused(theirs: str, own: str, what: str) -> None:
    fix = f"keep upstream's parameters, ({theirs}); where no caller is left that gives them, use @edited"
    message = f"3: the replacement of `f` {what}; {fix}"
    refused(f"def f({theirs}): pass\n", f"@replaced(why='w')\ndef f({own}): return 1\n", message)


@pytest.mark.parametrize(
    ("theirs", "own"),
    [
        ("x, y", "x, y, z=1, *args, w=2, **kwargs"),
        ("x, y=1", "x=2, y=3"),
        ("x, y", "*args, **kwargs"),
        ("x, /, y", "z, y"),
        ("x, *, y", "x, y"),
        ("x, *args, y=1", "x, mask, length, *args, y=None"),
        ("x, **kwargs", "x, y=1, **rest"),
    ],
)
def test_a_replacement_takes_what_upstream_takes(theirs: str, own: str) -> None:
    content, _ = merged(f"def f({theirs}): pass\n", f"@replaced(why='w')\ndef f({own}): return 1\n")
    assert f"def f({own}): return 1" in content.decode()
