"""Every operation on a function at module level."""

from __future__ import annotations

import pytest

from .pairs import check, merged, refused

BEFORE = """
    import os


    # Speaks of f.
    @cache
    def f(x, y=1):
        return x + y


    def g():
        return f(2)
"""


def test_an_empty_list_of_changes_is_refused() -> None:
    refused(BEFORE, "", "1: holds no operation; mark what changes, or delete the file")


def test_a_wrapper_takes_the_name_and_the_decorators_and_the_original_stays() -> None:
    check(
        BEFORE,
        """
        @wrapped(why="w")
        def f(x, y=1):
            return upstream(x, y) * 2
        """,
        """
        import os


        # Speaks of f.
        @cache
        # wrapped: w
        def f(x, y=1):
            return _upstream_f(x, y) * 2


        def _upstream_f(x, y=1):
            return x + y


        def g():
            return f(2)
        """,
    )


def test_a_replacement_takes_decorators_and_body_and_leaves_the_rest() -> None:
    check(
        BEFORE,
        """
        @replaced(why="w")
        @other
        # Speaks of the new f.
        def f(z):
            return z
        """,
        """
        import os


        # Speaks of f.
        # replaced: w
        @other
        # Speaks of the new f.
        def f(z):
            return z


        def g():
            return f(2)
        """,
    )


def test_a_decorator_above_the_marker_is_kept_too() -> None:
    check(
        "def f(): pass\n",
        """
        @first(
            1,
        )
        @replaced(
            why="w",
        )
        @second
        def f(): return 1
        """,
        """
        # replaced: w
        @first(
            1,
        )
        @second
        def f(): return 1
        """,
    )


def test_an_edit_changes_only_its_tokens() -> None:
    check(
        BEFORE,
        """
        @edited(("x + y", "x * y"), why="w")
        def f(): ...
        """,
        """
        import os


        # Speaks of f.
        # edited: w
        @cache
        def f(x, y=1):
            return x * y


        def g():
            return f(2)
        """,
    )


def test_a_deletion_leaves_a_notice() -> None:
    check(
        BEFORE,
        'deleted("f", why="w")',
        """
        import os


        # Speaks of f.
        # deleted: w


        def g():
            return f(2)
        """,
    )


def test_an_addition_goes_in_front_of_what_follows_it_in_the_overlay() -> None:
    check(
        BEFORE,
        """
        @added(why="a")
        def h():
            return 3


        @wrapped(why="w")
        def f(x, y=1):
            return upstream(x, y)
        """,
        """
        import os


        # added: a
        def h():
            return 3


        # Speaks of f.
        @cache
        # wrapped: w
        def f(x, y=1):
            return _upstream_f(x, y)


        def _upstream_f(x, y=1):
            return x + y


        def g():
            return f(2)
        """,
    )


def test_additions_keep_their_order_and_go_to_the_end_when_nothing_follows() -> None:
    check(
        "def f(): pass\n",
        """
        @added(why="1")
        def g(): pass
        @added(why="2")
        class H: pass
        X = added(1, why="3")
        """,
        """
        def f(): pass


        # added: 1
        def g(): pass


        # added: 2
        class H: pass

        # added: 3
        X = 1
        """,
    )


def test_additions_stay_in_front_of_the_main_guard() -> None:
    check(
        """
        def f(): pass


        # Run me.
        if __name__ == "__main__":
            f()
        """,
        """
        @added(why="w")
        def g(): pass
        """,
        """
        def f(): pass


        # added: w
        def g(): pass


        # Run me.
        if __name__ == "__main__":
            f()
        """,
    )


def test_an_if_that_is_no_main_guard_is_not_taken_for_one() -> None:
    check(
        "def f(): pass\nif x == '__main__':\n    f()\n",
        "X = added(1, why='w')",
        "def f(): pass\nif x == '__main__':\n    f()\n\n# added: w\nX = 1\n",
    )


def test_additions_go_above_comments_but_neither_into_strings_nor_above_the_licence() -> None:
    overlay = "@added(why='1')\ndef g(): pass\ndeleted('f', why='2')\n"
    check(
        "x = '''\n# '''\n# c\n# d\ndef f(): pass\n",
        overlay,
        "x = '''\n# '''\n# added: 1\ndef g(): pass\n\n\n# c\n# d\n# deleted: 2\n",
    )
    check(
        "#!/bin/x\n# Licence.\ndef f(): pass\n",
        overlay,
        "#!/bin/x\n# Licence.\n# added: 1\ndef g(): pass\n\n\n# deleted: 2\n",
    )


def test_an_addition_to_an_empty_module() -> None:
    check(b"", "X = added(1, why='w')", "# added: w\nX = 1\n")


def test_definitions_inside_with_and_finally_are_found_and_keep_their_indentation() -> None:
    check(
        """
        with quiet():
            def f(x):
                return x
        try:
            import a
        finally:
            X = 1
            def h():
                return 2
        """,
        """
        @wrapped(why="1")
        def f(x):
            return upstream(x)
        X = replaced(2, why="3")
        deleted("h", why="4")
        """,
        """
        with quiet():
            # wrapped: 1
            def f(x):
                return _upstream_f(x)


            def _upstream_f(x):
                return x
        try:
            import a
        finally:
            # replaced: 3
            X = 2
            # deleted: 4
        """,
    )


def test_what_is_defined_under_a_condition_is_refused_by_name() -> None:
    fix = "say which one is meant, as by where={!r}, or by its number in the text, where='#1'"
    refused(
        """
        if npu:
            def f(x): return x
        try:
            import a
        except ImportError:
            def g(): return 1
        else:
            X = 1
        for name in names:
            class A:
                def h(self): pass
        class B:
            if FAST:
                def i(self): pass
        """,
        """
        @wrapped(why="1")
        def f(x): return upstream(x)
        @replaced(why="2")
        def g(): return 2
        X = edited(("1", "2"), why="3")
        class A:
            deleted("h", why="4")
            Y = added(1, why="5")
        class B:
            @replaced(why="6")
            def i(self): return 1
        """,
        *(
            f"{line}: pkg/module.py defines `{name}` under a condition: line {at} (`{where}`{kind});"
            f" {fix.format(where)}"
            for line, name, at, where, kind in (
                (3, "f", 2, "if npu", ""),
                (5, "g", 6, "except ImportError", ""),
                (6, "X", 8, "else", ", a value"),
                (8, "A", 10, "for name in names", ", a class"),
                (9, "A", 10, "for name in names", ", a class"),
                (12, "B.i", 14, "if FAST", ""),
            )
        ),
    )


def test_a_monkey_patch_under_a_condition_is_what_an_operation_on_it_means() -> None:
    check(
        "if old:\n    Model.forward = fast\n    pass\n",
        "deleted('Model.forward', why='w')\n",
        "if old:\n    # deleted: w\n    pass\n",
    )


def test_a_member_of_a_class_that_is_not_there_exactly_once_is_refused() -> None:
    twice = (
        "pkg/module.py defines `A` 2 times: line 1 (`#1`, a class), line 3 (`#2`, a class);"
        " say which one is meant, as by where='#1'"
    )
    refused(
        """
        class A:
            def f(self): return 1
        class A:
            def g(self): return 2
        """,
        """
        class A:
            @replaced(why="1")
            def f(self): return 2
            @added(why="2")
            def h(self): return 2
        """,
        f"4: {twice}",
        f"6: {twice}",
    )


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


def test_an_async_function_cannot_be_wrapped_by_a_plain_one_nor_the_other_way_round() -> None:
    refused(
        "async def f(): pass\ndef g(): pass\n",
        """
        @wrapped(why="w")
        def f():
            return upstream()
        @wrapped(why="w")
        async def g():
            return upstream()
        """,
        "3: the wrapper of `f` is a plain function, upstream's is a coroutine; match it: return await upstream(…)",
        "6: the wrapper of `g` is a coroutine, upstream's is a plain function; match it: return upstream(…)",
    )


def test_names_that_are_not_there_are_refused_with_the_nearest() -> None:
    refused(
        "def forward(): pass\nclass A:\n    def attend(self): pass\n",
        """
        @replaced(why="w")
        def foward(): pass
        class A:
            @added(why="w")
            def new(self): pass
            @edited(("a", "b"), why="w")
            def atend(self): ...
        @replaced(why="w")
        def attend(): pass
        @wrapped(why="w")
        def nothing_like_it(): upstream()
        class B:
            @added(why="w")
            def new(self): pass
        """,
        "3: pkg/module.py has no `foward`; nearest: `forward`",
        "8: pkg/module.py has no `A.atend`; nearest: `A.attend`",
        "10: pkg/module.py has no `attend`; nearest: `A.attend`",
        "12: pkg/module.py has no `nothing_like_it`",
        "15: pkg/module.py has no `B`",
    )


def test_names_that_are_there_twice_are_refused_with_their_lines() -> None:
    refused(
        """
        if a:
            def f(): pass
        else:
            def f(): pass
        """,
        """
        @wrapped(why="w")
        def f():
            return upstream()
        """,
        "3: pkg/module.py defines `f` 2 times: line 2 (`if a`), line 4 (`else`);"
        " say which one is meant, as by where='if a', or by its number in the text, where='#1'",
    )


def test_an_addition_of_what_is_there_is_refused() -> None:
    refused(
        "import os\ndef f(): pass\nX = 1\n",
        """
        @added(why="w")
        def f(): pass
        @added(why="w")
        def os(): pass
        X = added(2, why="w")
        """,
        "3: pkg/module.py already defines `f` (line 2); use @replaced, @wrapped or @edited",
        "5: pkg/module.py already defines `os` (line 1); use @replaced, @wrapped or @edited",
        "6: pkg/module.py already defines `X` (line 3); use @replaced, @wrapped or @edited",
    )


def test_unlike_is_not_replaced_by_unlike() -> None:
    refused(
        "def f(): pass\nclass A: pass\nimport os\nX = 1\n",
        """
        @replaced(why="w")
        class f: pass
        @replaced(why="w")
        def A(): pass
        @replaced(why="w")
        def os(): pass
        f2 = 1
        """,
        "8: a merge module holds only imports, classes and marked definitions;"
        " mark it with added(…, why=…) or another marker, or leave it out",
    )
    refused(
        "def f(): pass\nclass A: pass\nimport os\nX = 1\n",
        """
        @replaced(why="w")
        class f: pass
        @replaced(why="w")
        def A(): pass
        @wrapped(why="w")
        def X(): return upstream()
        """,
        "3: `f` is a function upstream; replace like by like",
        "5: `A` is a class upstream; replace like by like",
        "7: `X` is not a function upstream; use @replaced or edited(…)",
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


def test_two_operations_on_one_symbol_are_refused() -> None:
    refused(
        "def f(): return 1\n",
        """
        @edited(("1", "2"), why="w")
        def f(): ...
        @edited(("return", "yield"), why="w")
        def f(): ...
        """,
        (
            "5: second operation on `f` of pkg/module.py; the first is o.py:3;"
            " join the two operations, or let since= and until= say which upstream versions each is for"
        ),
    )


def test_operations_on_a_class_and_inside_it_are_refused_where_they_meet() -> None:
    refused(
        "class A:\n    def f(self): return 1\n    def g(self): return 1\n",
        """
        @replaced(why="w")
        class A:
            x = 1
        class A:
            @edited(("1", "2"), why="w")
            def f(self): ...
            @edited(("1", "2"), why="w")
            def g(self): ...
        """,
        "7: changes the same lines as o.py:3; join the two operations",
        "9: changes the same lines as o.py:3; join the two operations",
    )


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


def test_what_is_added_twice_under_one_name_is_refused() -> None:
    refused(
        "x = 1\n",
        """
        @added(why="w")
        @overload
        def f(x: int): ...
        @added(why="w")
        def f(x): pass
        """,
        "6: second operation on `f` of pkg/module.py; the first is o.py:4;"
        " add it once, of a function only what runs, without @overload",
    )
