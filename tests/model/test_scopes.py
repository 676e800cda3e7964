"""Which names a module binds and reads, and what each read gets."""

from __future__ import annotations

import ast
import sys

import pytest

from language.pairs import text
from npu_overlays.model.definitions import definitions_of
from npu_overlays.model.parsed_text import ParsedText
from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scopes


def scopes(content: str) -> Scopes:
    """Return the scopes of a test's text."""
    return read_scopes(ast.parse(text(content)))


@pytest.mark.parametrize(
    ("statement", "how"),
    [
        ("n = 1", "definition"),
        ("n: int", "definition"),
        ("n += 1", "definition"),
        ("(a, [*n]) = x", "definition"),
        ("def n(): pass", "definition"),
        ("async def n(): pass", "definition"),
        ("class n: pass", "definition"),
        ("import n.a", "definition"),
        ("from a import b as n", "definition"),
        ("for a, n in x: pass", "for"),
        ("for a in x:\n    n = 1", "definition"),
        ("with x as (n, a): pass", "with"),
        ("with x:\n    import n", "definition"),
        ("print(n := 1)", ":="),
        ("[x for x in y if (n := x)]", ":="),
        ("f'{(n := 1)}'", ":="),
        ("def f(x=(n := 1)): pass", ":="),
        ("match x:\n    case n: pass", "case"),
        ("match x:\n    case [1, *n]: pass", "case"),
        ("match x:\n    case {'a': 1, **n}: pass", "case"),
        ("match x:\n    case A(b=1 as n): pass", "case"),
        ("match x:\n    case 1:\n        def n(): pass", "definition"),
        ("try: pass\nexcept E as n: pass", "except"),
        ("del a, n", "del"),
        ("def f():\n    global n\n    n = 1", "global"),
        ("def f():\n    def g():\n        global n\n        import n.a", "global"),
        ("class A:\n    global n\n    def n(self): pass", "global"),
        ("while x:\n    n = 1", "definition"),
        ("try: pass\nfinally:\n    n = 1", "definition"),
    ],
)
def test_whatever_binds_a_name_of_the_module_is_seen(statement: str, how: str) -> None:
    assert [binding.how for binding in scopes(statement).bound("n")] == [how]
    outer = ParsedText(text(statement).encode()).outer_scopes
    assert [binding.how for binding in outer.bound("n")] == [how]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement is Python 3.12's")
def test_type_statements_and_type_parameters() -> None:
    found = scopes("type n[T] = list[T | m]\ndef f[S](x: S) -> p: pass\nclass A[U](B[U]): x: U")
    assert [binding.how for binding in found.bound("n")] == ["definition"]
    assert set(found.global_loads) == {"list", "m", "p", "B"}


@pytest.mark.parametrize(
    "statement",
    [
        "def f(n): n = 1",
        "def f():\n    for n in x: pass",
        "[n for n in x]",
        "lambda n: 0",
        "class A:\n    n = 1",
        "def f():\n    class A:\n        n = 1",
        "x.n = 1",
        "f(n=1)",
        "from __future__ import n",
        "def f():\n    n = 1\n    def g():\n        nonlocal n\n        n = 2",
    ],
)
def test_what_binds_no_name_of_the_module(statement: str) -> None:
    assert scopes(statement).bound("n") == []


def test_members_of_classes_and_what_is_assigned_to_them_from_outside() -> None:
    found = scopes(
        """
        class A:
            class B:
                def f(self): pass
                for f in x: pass
        A.B.f = g
        for A.B.f in x: pass
        del A.B.f
        def later():
            A.B.f = g
        def local():
            class A:
                f = 1
        """
    )
    assert [binding.how for binding in found.bound("A.B.f")] == ["definition", "for", "definition", "for", "del"]
    assert found.bound("A.f") == []


@pytest.mark.parametrize(
    "statement",
    [
        "n",
        "def f(): return n",
        "def f(x=n): pass",
        "def f(n=n): pass",
        "@n\ndef f(): pass",
        "def f(x: n): pass",
        "def f() -> 'list[n]': pass",
        "x: 'n' = 1",
        "class A(n): pass",
        "class A(metaclass=n): pass",
        "class A:\n    n = n",
        "class A:\n    n = 1\n    def f(self): return n",
        "class A:\n    n = 1\n    x = [n for y in z]",
        "def f():\n    class A:\n        n = n",
        "lambda: n",
        "lambda n=n: 0",
        "[n for n in n]",
        "[[n for n in x] for y in n]",
        "def f(n):\n    def g():\n        global n\n        return n",
        "f'{x:{n}}'",
        "n.x = 1",
        "n[0] = 1",
        "for n.x in y: pass",
        "match x:\n    case n.a: pass",
        "match x:\n    case n(): pass",
        "def f():\n    x: 'n' = 1",
        "__all__ = ['n']",
        "if x:\n    __all__ += ['n']",
        "__all__.extend(['n'])",
    ],
)
def test_reads_of_the_modules_names_are_seen(statement: str) -> None:
    assert "n" in scopes(statement).global_loads


@pytest.mark.parametrize(
    "statement",
    [
        "def f(n): return n",
        "def f():\n    n = 1\n    return lambda: n",
        "def f():\n    print(n)\n    del n",
        "def f():\n    n: int\n    return n",
        "def f(n):\n    class A:\n        x = n",
        "def f(n):\n    class A:\n        def g(self): return n",
        "[n for x in y for n in x]",
        "def f():\n    [n := x for x in y]\n    return n",
        "def f(n):\n    def g():\n        nonlocal n\n        n = 1\n        return n",
        "x.n",
        "f(n=1)",
        "x = 'n'",
        "x: Literal['n']",
        "x: typing.Annotated[int, 'n']",
        "x: 'no type'",
        "x: Meta['\\\\*']",
        "f'n'",
        "import n",
    ],
)
def test_what_reads_no_name_of_the_module(statement: str) -> None:
    assert "n" not in scopes(statement).global_loads


def test_what_runs_when_the_module_is_imported() -> None:
    found = scopes("a\n@b\ndef f(x=c): d\nclass A(e):\n    g\n    def f(self): h\nlambda: i\n[j for k in l]\n")
    assert sorted(name for name, loads in found.global_loads.items() if loads[0].eager) == list("abcegjl")


def test_star_imports_and_blocks_for_type_checkers() -> None:
    found = scopes(
        """
        from a import *
        if typing.TYPE_CHECKING:
            from b import *
            import n
        else:
            import m
        """
    )
    assert [(star.direct, star.typing_only) for star in found.stars] == [(True, False), (False, True)]
    assert [binding.typing_only for binding in found.bound("n") + found.bound("m")] == [True, False]


def test_deeply_nested_expressions() -> None:
    assert "n" in scopes("x = " + " + ".join(["n"] * 1000)).global_loads


def test_definitions_in_the_arms_of_a_match_are_found() -> None:
    tree = ast.parse("match x:\n    case 1:\n        def f(): pass\n    case _:\n        f = 2\n")
    assert [(one.name, one.branch) for one in definitions_of(tree)] == [
        ("f", ("Match.cases",)),
        ("f", ("Match.cases",)),
    ]
