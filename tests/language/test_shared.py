"""One definition that serves several targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import MergeError

from .overlays import apply_files, mistakes
from .pairs import check, merged, operations, refused


def test_every_target_gets_the_definition_under_its_own_name_and_indentation() -> None:
    check(
        """
        def act(self, x):
            return x
        class A:
            class B:
                def forward(self, x): return x
        class C:
            async def f(self): pass
        """,
        """
        from a import fast
        @wrapped(why="w", targets=["pkg/module.py:act", "pkg/other.py:act", "pkg/module.py:A.B.forward"])
        def fused(self, x):
            '''Fused.
            '''
            return fast(upstream, self, x)
        X = added(3, why="a", targets=["pkg/module.py:C.LIMIT"])
        """,
        """
        from a import fast
        # wrapped: w
        def act(self, x):
            '''Fused.
            '''
            return fast(_upstream_act, self, x)


        def _upstream_act(self, x):
            return x
        class A:
            class B:
                # wrapped: w
                def forward(self, x):
                    '''Fused.
            '''
                    return fast(__class__._upstream_forward, self, x)

                def _upstream_forward(self, x): return x
        class C:
            async def f(self): pass
            # added: a
            LIMIT = 3
        """,
        target="",
    )


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


def test_a_class_is_renamed_for_its_target() -> None:
    check(
        "class ss: pass\nclass B: pass\n",
        """
        @replaced(why="w", targets=["pkg/module.py:ss"])
        class s(object):
            pass
        @replaced(why="w", targets=["pkg/module.py:B"])
        @decorated
        class clas:
            class clas: pass
        """,
        """
        # replaced: w
        class ss(object):
            pass
        # replaced: w
        @decorated
        class B:
            class clas: pass
        """,
        target="",
    )


def test_a_shared_definition_names_its_targets_rightly() -> None:
    names = 'a shared definition stands at module level and names its targets; targets=["path.py:Class.method"]'
    how = 'write "path/of/file.py:Class.method"'
    refused(
        "x = 1\n",
        """
        @added(why="w")
        def f(): pass
        @added(why="w", targets=[])
        def g(): pass
        @added(why="w", targets="a.py:b")
        def h(): pass
        class A:
            @added(why="w", targets=["a.py:b"])
            def i(self): pass
        @added(why="w", targets=["a.txt:b", "a.py", "a.py:", 1])
        def j(): pass
        """,
        f"3: {names}",
        f"5: {names}",
        f"7: {names}",
        f"10: {names}",
        f"12: `a.txt:b` is not a target; {how}",
        f"12: `a.py` is not a target; {how}",
        f"12: `a.py:` is not a target; {how}",
        f"12: `1` is not a target; {how}",
        target="",
    )


def test_a_target_named_twice_is_refused() -> None:
    refused(
        "def f(): pass\n",
        """
        @replaced(why="w", targets=["pkg/module.py:f", "pkg/module.py:f"])
        def g(): pass
        """,
        (
            "3: second operation on `f` of pkg/module.py; the first is o.py:3;"
            " join the two operations, or let since= and until= say which upstream versions each is for"
        ),
        target="",
    )


def test_what_a_definition_calls_itself_follows_the_name_it_gets() -> None:
    check(
        "def f(n): return n\nclass A: pass\ndef h(): pass\ndef user(n): return helper(n)\ndef helper(n): return n\n",
        """
        @replaced(why="1", targets=["pkg/module.py:f"])
        def g(n, m=None):
            '''g'''
            def inner(g): return g.g
            return n and [g(n - 1), x.g, inner(n)]
        @replaced(why="2", targets=["pkg/module.py:A"])
        class B:
            def make(self) -> B: return super(B, self).B or B()
        @added(why="3", targets=["pkg/module.py:npu_helper"])
        def helper(n): return n
        @wrapped(why="4", targets=["pkg/module.py:h"])
        def wrapper(): return helper(upstream()) or wrapper
        X = added([helper, 1], why="5", targets=["pkg/module.py:Y"])
        """,
        """
        # replaced: 1
        def f(n, m=None):
            '''g'''
            def inner(g): return g.g
            return n and [f(n - 1), x.g, inner(n)]
        # replaced: 2
        class A:
            def make(self) -> A: return super(A, self).B or A()
        # added: 3
        def npu_helper(n): return n


        # wrapped: 4
        def h(): return npu_helper(_upstream_h()) or h


        def _upstream_h(): pass
        def user(n): return helper(n)
        def helper(n): return n

        # added: 5
        Y = [npu_helper, 1]
        """,
        target="",
    )


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
    fix = "give it that name here" if "`" in called else "hand it over, or import what is meant under another name"
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
    refused("def f(x): pass\n", overlay, f"3: {what}; give its own another name", target="")


@pytest.mark.parametrize("written", ["self._A__g", "getattr(self, '_A__g')"])
def test_a_private_name_that_is_written_out_cannot_follow_its_class(written: str) -> None:
    overlay = f"""
@replaced(why="w", targets=["pkg/module.py:B"])
class A:
    def f(self, A=1): return {written}
"""
    what = "names `_A__g`, of a class that in pkg/module.py is not called `A`"
    refused("class B: ...\n", overlay, f"3: {what}; give that one leading underscore", target="")
    prose = overlay.replace(f"return {written}", "return '_A__g is private'")
    assert b"is private" in merged("class B: pass\n", prose, target="")[0]


def test_what_a_definition_binds_elsewhere_hides_no_reference() -> None:
    check(
        "def f(x): pass\n",
        """
        @replaced(why="1", targets=["pkg/module.py:f"])
        def f(x):
            class B:
                k = 1
                def m(self): return h(x)
            return [k for k in x], lambda k: k, h(x)
        @added(why="2", targets=["pkg/module.py:k"])
        def h(x): return x
        """,
        """
        # replaced: 1
        def f(x):
            class B:
                k = 1
                def m(self): return k(x)
            return [k for k in x], lambda k: k, k(x)


        # added: 2
        def k(x): return x
        """,
        target="",
    )


def test_a_reference_in_a_substitution_cannot_follow() -> None:
    refused(
        "def f(x): return x\n",
        """
        @edited(("return x", "return helper(x)"), ("x", "x.helper if", 1), why="w", targets=["pkg/module.py:f"])
        def f(): ...
        @added(why="w", targets=["pkg/module.py:npu_helper"])
        def helper(x): return x
        @edited(("x", "x.helper if"), why="w", targets=["pkg/module.py:f2"])
        def f2(): ...
        """,
        "3: refers to `helper` of this file, which in pkg/module.py is called `npu_helper`; give it that name here",
        target="",
    )


def test_a_private_name_means_another_inside_a_class() -> None:
    refused(
        "def f(): pass\nclass A:\n    def f(self): pass\n",
        """
        from a import __fast
        @wrapped(why="w", targets=["pkg/module.py:f", "pkg/module.py:A.f"])
        def f(*args): return __fast(upstream(*args), __name__)
        """,
        "4: refers to `__fast`, which Python calls otherwise inside a class, as in A.f; give it one leading underscore",
        target="",
    )


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
