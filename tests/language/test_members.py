"""Every operation on what stands in a class."""

from __future__ import annotations

import pytest

from .pairs import check


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
