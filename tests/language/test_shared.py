"""One definition that serves several targets."""

from __future__ import annotations

from .pairs import check, operations, refused


def test_every_target_gets_the_definition_under_its_own_name_and_indentation() -> None:
    check(
        """
        def act(x):
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
        def fused(*args, **kwargs):
            '''Fused.
            '''
            return fast(upstream, *args, **kwargs)
        X = added(3, why="a", targets=["pkg/module.py:C.LIMIT"])
        """,
        """
        from a import fast
        # wrapped: w
        def act(*args, **kwargs):
            '''Fused.
            '''
            return fast(_upstream_act, *args, **kwargs)


        def _upstream_act(x):
            return x
        class A:
            class B:
                # wrapped: w
                def forward(*args, **kwargs):
                    '''Fused.
            '''
                    return fast(__class__._upstream_forward, *args, **kwargs)

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
        "3: second operation on `f` of pkg/module.py; the first is o.py:3; join the two operations",
        "3: changes the same lines as o.py:3; join the two operations",
        target="",
    )
