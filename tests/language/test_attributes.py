"""Every operation on a value bound to a name."""

from __future__ import annotations

from .pairs import check, refused


def test_only_the_value_is_exchanged() -> None:
    check(
        """
        A = 1  # kept
        B: int = (
            2  # kept
        )
        C = D, E = 3
        """,
        """
        A = replaced("x", why="1")
        B = replaced(5, why="2")
        """,
        """
        # replaced: 1
        A = "x"  # kept
        # replaced: 2
        B: int = (
            5  # kept
        )
        C = D, E = 3
        """,
    )


def test_an_annotation_in_the_overlay_is_taken_over() -> None:
    check(
        "A = 1\nB: int = 2\nC: int = 3\n",
        """
        A: float = replaced(1.0, why="1")
        B: float = replaced(2.0, why="2")
        D: int = added(4, why="3")
        """,
        """
        # replaced: 1
        A: float = 1.0
        # replaced: 2
        B: float = 2.0
        C: int = 3

        # added: 3
        D: int = 4
        """,
    )


def test_a_value_keeps_its_meaning_without_the_brackets_of_the_marker() -> None:
    check(
        "A = 1\nB = 1\nC = 1\nD = 1\nE = 1\n",
        """
        A = replaced(1
            + 2, why="1")
        B = replaced((1)
            + (2), why="2")
        C = replaced((y := 3), why="3")
        D = replaced((x for x in y), why="4")
        E = replaced(f(
            1
        ), why="5")
        """,
        """
        # replaced: 1
        A = (1
            + 2)
        # replaced: 2
        B = ((1)
            + (2))
        # replaced: 3
        C = (y := 3)
        # replaced: 4
        D = (x for x in y)
        # replaced: 5
        E = f(
            1
        )
        """,
    )


def test_a_value_is_edited_without_what_stands_beside_it() -> None:
    check(
        "A = 1; B = 1  # 1\n",
        'B = edited(("1", "2"), why="w")',
        "# edited: w\nA = 1; B = 2  # 1\n",
    )


def test_a_notice_stays_out_of_strings_and_continued_lines() -> None:
    check(
        'A = """\n"""; B = 1\nC = 1; \\\n  D = 2\n',
        'B = replaced(2, why="1")\nD = replaced(3, why="2")\n',
        '# replaced: 1\nA = """\n"""; B = 2\n# replaced: 2\nC = 1; \\\n  D = 3\n',
    )


def test_a_deletion_takes_whole_lines() -> None:
    check(
        "A = (\n    1\n)  # c\nB: int\nimport os\n",
        'deleted("A", why="1")\ndeleted("B", why="2")\ndeleted("os", why="3")\n',
        "# deleted: 1\n# deleted: 2\n# deleted: 3\n",
    )


def test_what_is_not_one_plain_assignment_is_refused() -> None:
    refused(
        "A = B = 1\nC, D = 1, 2\nE: int\nF = 1\nF += 1\ndef G(): pass\nimport os, sys\nH = 1; I = 2\n",
        """
        A = replaced(2, why="w")
        C = replaced(2, why="w")
        E = replaced(2, why="w")
        F = replaced(2, why="w")
        G = replaced(2, why="w")
        deleted("D", why="w")
        deleted("os", why="w")
        deleted("H", why="w")
        deleted("I", why="w")
        """,
        "2: `A` is not one plain `NAME = value` upstream; use @edited or a patch",
        "3: `C` is not one plain `NAME = value` upstream; use @edited or a patch",
        "4: `E` is not one plain `NAME = value` upstream; use @edited or a patch",
        "5: pkg/module.py defines `F` 2 times: line 4 (`#1`, a value), line 5 (`#2`, a value);"
        " say which one is meant, as by where='#1'",
        "6: `G` is not one plain `NAME = value` upstream; use @edited or a patch",
        "7: the statement of `D` binds other names too; use a patch",
        "8: the statement of `os` binds other names too; use a patch",
        "9: `H` shares its line with other code; use a patch",
        "10: `I` shares its line with other code; use a patch",
    )


def test_a_monkey_patch_at_module_level_is_deleted_by_its_dotted_name() -> None:
    check(
        "import a\n\na.B.f = g\na.B.h = g\n",
        'deleted("a.B.f", why="1")\n',
        "import a\n\n# deleted: 1\na.B.h = g\n",
    )


def test_a_monkey_patch_of_a_class_in_the_same_module_is_a_second_definition() -> None:
    refused(
        "class A:\n    def f(self): return 1\n\nA.f = lambda self: 2\n",
        'class A:\n    @wrapped(why="1")\n    def f(self):\n        return upstream(self)\n',
        "4: pkg/module.py defines `A.f` 2 times: line 2 (`def f(self)`), line 4 (`#2`, a value);"
        " say which one is meant, as by where='def f(self)', or by its number in the text, where='#1'",
    )


def test_an_attribute_assigned_to_something_else_is_a_symbol_too() -> None:
    check(
        """
        import model
        from model import A
        A.f = model.B.f = g
        A.h = g
        class C:
            def f(self): pass
        C.f = g
        """,
        """
        deleted("A.h", why="w")
        """,
        """
        import model
        from model import A
        A.f = model.B.f = g
        # deleted: w
        class C:
            def f(self): pass
        C.f = g
        """,
    )
    refused(
        "class C:\n    def f(self): pass\nC.f = g\nA.f = B.f = g\n",
        """
        class C:
            @wrapped(why="w")
            def f(self): return upstream(self)
        deleted("A.f", why="w")
        class B:
            f = replaced(1, why="w")
        """,
        "4: pkg/module.py defines `C.f` 2 times: line 2 (`def f(self)`), line 3 (`#2`, a value);"
        " say which one is meant, as by where='def f(self)', or by its number in the text, where='#1'",
        "5: the statement of `A.f` binds other names too; use a patch",
        "7: `B.f` is not one plain `NAME = value` upstream; use @edited or a patch",
    )
