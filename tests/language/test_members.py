"""Every operation on what stands in a class."""

from __future__ import annotations

import pytest

from .pairs import check, refused, text


def test_a_method_calls_its_original_through_the_class_it_was_written_in() -> None:
    check(
        """
        class A(B):
            x = 1

            @other
            def f(self, x):
                return super().f(x)
        """,
        """
        class A:
            @wrapped(why="w")
            def f(self, x):
                if x:
                    return upstream(self, x)
                return [upstream(self, y) for y in x]
        """,
        """
        class A(B):
            x = 1

            @other
            # wrapped: w
            def f(self, x):
                if x:
                    return __class__._upstream_f(self, x)
                return [__class__._upstream_f(self, y) for y in x]

            def _upstream_f(self, x):
                return super().f(x)
        """,
    )


@pytest.mark.parametrize("decorator", ["staticmethod", "classmethod", "property", "functools.cached_property"])
def test_a_decorated_method_is_wrapped_under_its_decorator(decorator: str) -> None:
    check(
        f"""
        class A:
            @{decorator}
            def f(it): return it
        """,
        """
        class A:
            @wrapped(why="w")
            def f(it):
                return upstream(it)
        """,
        f"""
        class A:
            @{decorator}
            # wrapped: w
            def f(it):
                return __class__._upstream_f(it)

            def _upstream_f(it): return it
        """,
    )


def test_members_of_nested_classes() -> None:
    check(
        """
        class A:
            class B:
                X = 1

                def f(self):
                    return 1

                async def g(self):
                    return 1

                def h(self):
                    return 1
            def last(self):
                pass
        """,
        """
        class A:
            class B:
                X = replaced([2,
                    3], why="1")

                @wrapped(why="2")
                def f(self):
                    return upstream(self)

                @replaced(why="3")
                async def g(self):
                    return 2

                @edited(("1", "2"), why="4")
                def h(self): ...

                @added(why="5")
                def i(self):
                    return 2

            deleted("last", why="6")
        """,
        """
        class A:
            class B:
                # replaced: 1
                X = [2,
                    3]

                # wrapped: 2
                def f(self):
                    return __class__._upstream_f(self)

                def _upstream_f(self):
                    return 1

                # replaced: 3
                async def g(self):
                    return 2

                # edited: 4
                def h(self):
                    return 2

                # added: 5
                def i(self):
                    return 2
            # deleted: 6
        """,
    )


def test_a_whole_class_is_replaced_edited_added_or_deleted() -> None:
    check(
        """
        @dataclass
        class A(B):
            x: int


        class C:
            def f(self):
                return 1
            def g(self):
                return 1


        class D: pass
        """,
        """
        @replaced(why="1")
        @dataclass(frozen=True)
        class A(B):
            y: int
        @edited(("return 1", "return 2", 2), why="2")
        class C: ...
        @added(why="3")
        class E(C):
            pass
        deleted("D", why="4")
        """,
        """
        # replaced: 1
        @dataclass(frozen=True)
        class A(B):
            y: int


        # edited: 2
        class C:
            def f(self):
                return 2
            def g(self):
                return 2


        # added: 3
        class E(C):
            pass


        # deleted: 4
        """,
    )


def test_a_class_of_one_line_takes_new_members() -> None:
    check(
        "class A: pass  # c\nclass B(A): x = 1; y = 2",
        """
        class A:
            @added(why="1")
            def f(self):
                return 1
            @added(why="2")
            def g(self):
                return 2
        class B:
            z = added(3, why="3")
        """,
        """
        class A:
            pass

            # added: 1
            def f(self):
                return 1

            # added: 2
            def g(self):
                return 2  # c
        class B(A):
            x = 1; y = 2
            # added: 3
            z = 3""",
    )


def test_a_header_of_several_lines_with_its_body_behind_it() -> None:
    check(
        "class A(\n    B,\n): pass\n",
        """
        class A:
            @added(why="w")
            def f(self): pass
        """,
        "class A(\n    B,\n):\n    pass\n\n    # added: w\n    def f(self): pass\n",
    )


def test_attributes_of_a_class_of_one_line() -> None:
    check(
        "class A: x = 1; y = 2\n",
        """
        class A:
            x = replaced(3, why="1")
            y = edited(("2", "4"), why="2")
        """,
        "# replaced: 1\n# edited: 2\nclass A: x = 3; y = 4\n",
    )
    refused(
        "class A: x = 1\n",
        """
        class A:
            deleted("x", why="w")
        """,
        "3: `A.x` shares its line with other code; use a patch",
    )


def test_a_class_whose_members_are_all_deleted_keeps_one_pass() -> None:
    check(
        """
        class A:
            x = 1
            def f(self):
                pass
        class B:
            x = 1
            print()
        """,
        """
        class A:
            deleted("x", why="1")
            deleted("f", why="2")
        class B:
            deleted("x", why="3")
        """,
        """
        class A:
            # deleted: 1
            pass
            # deleted: 2
        class B:
            # deleted: 3
            print()
        """,
    )


def test_new_members_go_behind_a_deleted_or_replaced_last_one() -> None:
    check(
        "class A:\n    x = 1\n    def f(self): pass",
        """
        class A:
            deleted("x", why="1")
            @replaced(why="2")
            def f(self): return 2
            @added(why="3")
            def g(self): return 3
            y = added(4, why="4")
        """,
        """
        class A:
            # deleted: 1
            # replaced: 2
            def f(self): return 2

            # added: 3
            def g(self): return 3

            # added: 4
            y = 4
        """,
    )


def test_a_function_holds_no_members() -> None:
    refused(
        "def f(): pass\n",
        """
        class f:
            @added(why="w")
            def g(self): pass
        """,
        "4: `f` is not a class upstream; add the name at module level",
    )


def test_where_several_classes_end_additions_go_from_the_innermost_out() -> None:
    """However they are written: the next operation's text begins at the same byte."""
    check(
        """
        class O:
            class I:
                z = 1
        def f(): pass
        """,
        """
        X = added(1, why="m")
        @wrapped(why="w")
        def f(): return upstream()
        class O:
            @added(why="o")
            def y(self): pass
            class I:
                x = added(1, why="i")
        """,
        """
        class O:
            class I:
                z = 1
                # added: i
                x = 1

            # added: o
            def y(self): pass
        # added: m
        X = 1

        # wrapped: w
        def f(): return _upstream_f()


        def _upstream_f(): pass
        """,
    )


def test_what_is_added_to_a_replaced_class_is_indented_as_that_is() -> None:
    upstream = "class A:\n    x = 1\n"
    added = """

        class A:
            @added(why="more")
            def g(self):
                return 2
        """
    check(
        upstream,
        '@replaced(why="w")\nclass A:\n  y = 1\n' + text(added),
        """
        # replaced: w
        class A:
          y = 1

          # added: more
          def g(self):
              return 2
        """,
    )
    what = "`A` is of one line as it is replaced (o.py:3), so nothing can be added to it"
    refused(
        upstream, '@replaced(why="w")\nclass A: y = 1\n' + text(added), f"6: {what}; write its body on lines of its own"
    )
