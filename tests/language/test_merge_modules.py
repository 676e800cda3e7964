"""Overlay files: what may stand in them, and every mistake of a file reported at once."""

from __future__ import annotations

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Reason
from npu_overlays.overlay.parser.vocabulary import uses_markers

from .pairs import check, operations, refused, worded

NOTHING = "x = 1\n"


def test_all_mistakes_of_a_file_are_reported_at_once() -> None:
    known = "use why, forwarded, drop_when, since, until, unproven, accept, depends, where or targets"
    refused(
        NOTHING,
        """
        from __future__ import annotations
        print("hello")
        y = 1
        def f(): pass
        @added
        def g(): pass
        class A(B): pass
        @wrapped(why="w")
        class C: pass
        @added(why="w")
        @replaced(why="w")
        def h(): pass
        @wrapped(why="w", where="")
        def i(): upstream()
        @edited(("a", "b"), why="w")
        def j():
            return 1
        @added()
        def k(): pass
        @added(why=" ")
        def l(): pass
        @added(why=1)
        def m(): pass
        @added(why=X)
        def n(): pass
        @added(why="w", because="b", **more)
        def o(): pass
        @added(why="w", targets=["a.py:b"])
        def p(): pass
        """,
        "2: a __future__ import would change all of the upstream module;"
        " take it out: what upstream's module has of it holds for the overlay's text too",
        "3: a merge module holds only imports, classes and marked definitions;"
        " mark it with added(…, why=…) or another marker, or leave it out",
        "4: a merge module holds only imports, classes and marked definitions;"
        " mark it with added(…, why=…) or another marker, or leave it out",
        "5: `f` has no marker; decorate it with @added(why=…), @wrapped(why=…), …",
        "7: `g` has no marker: the marker `added` gives no reason; write added(…, why=…)",
        "8: class `A` only says where its operations belong; its bases and decorators would be lost;"
        " write `class NAME:`, or mark the class with @added or @replaced",
        "10: `C` is a class and cannot be wrapped; wrap its methods, or replace the class",
        "13: `h` is marked 2 times; one operation for one symbol",
        "14: `where` does not say what leads to a definition;"
        ' where="@value.setter", where="if sys.version_info >= (3, 11)" or where="#2"',
        "17: the body of the edited `j` is not used; write `...` as its body",
        '19: `why` is missing; why="the reason, one sentence for a user of the wheel"',
        '21: `why` is missing; why="the reason, one sentence for a user of the wheel"',
        '23: `why` is not a text; why="…"',
        "25: `why` is not a literal; nothing is executed at build time: write it out",
        f"27: unknown argument `because`; {known}",
        f"27: unknown argument `**`; {known}",
        "30: targets= belongs to files of shared/; take targets= out, or move the definition",
    )


def test_mistakes_in_values_deletions_and_edits() -> None:
    refused(
        NOTHING,
        """
        a, b = added(1, why="w")
        a.b = added(1, why="w")
        c = wrapped(why="w")
        d = added(why="w")
        e = added(*x, why="w")
        deleted(why="w")
        deleted(x, why="w")
        deleted("a", "b", why="w")
        added(1, why="w")
        f = edited(why="w")
        g = edited("ab", why="w")
        h = edited(("a", "b", 1, 2), ("a",), ["a", "b"], (x, "b"), why="w")
        i = edited(("a", 1), ("", "b"), ("# c", "b"), (1, "b"), why="w")
        j = edited(("a", "b", 0), ("a", "b", "c"), ("a", "b", True), why="w")
        """,
        "2: an operation on a value needs one plain name on its left; NAME = marker(…)",
        "3: an operation on a value needs one plain name on its left; NAME = marker(…)",
        "4: wrapped() cannot be assigned; use added, replaced or edited on a value",
        "5: added() on a value takes the value and keywords; NAME = added(value, why=…)",
        "6: added() on a value takes the value and keywords; NAME = added(value, why=…)",
        *[f'{line}: not an operation; deleted("name", why=…), or a marker on a definition' for line in (7, 8, 9, 10)],
        '11: edited() without substitutions; edited(("find", "replace"), why=…)',
        '12: not a substitution; write ("find", "replace") or ("find", "replace", count)',
        *['13: not a substitution; write ("find", "replace") or ("find", "replace", count)'] * 4,
        *["14: find and replace must be texts, and find must hold code; quote both"] * 4,
        "15: 0 is not how often `a` can occur; a whole number from 1",
        "15: 'c' is not how often `a` can occur; a whole number from 1",
        "15: True is not how often `a` can occur; a whole number from 1",
    )


def test_a_marker_inside_a_definition_that_is_taken_as_a_whole_is_refused() -> None:
    refused(
        NOTHING,
        """
        @added(why="w")
        class A:
            @wrapped(why="w")
            def f(self): return upstream(self)
        """,
        "5: `A` is added as a whole; the marker inside it would reach the wheel;"
        " take the inner marker out, or mark only the parts",
    )


def test_a_file_with_a_syntax_error_names_its_line() -> None:
    assert uses_markers(b"from npu_overlays.markers import added\ndef f(:\n")
    refused(NOTHING, "def f(:\n", "2: not valid Python: invalid syntax")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = 1\n# \xe9\n", "o.py:2: not UTF-8 (invalid continuation byte at byte 8)"),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", "o.py:2: not ascii (ordinal not in range(128) at byte 21)"),
    ],
)
def test_a_merge_module_is_to_be_saved_as_utf_8(content: bytes, message: str) -> None:
    with pytest.raises(MergeError) as caught:
        read_operations("o.py", content, layer="o", target="a.py")
    assert str(caught.value) == f"{message}\n    fix: save it as UTF-8, and declare no other encoding"


@pytest.mark.parametrize(
    ("line", "marker", "fix"),
    [
        ("from npu_overlay.markers import wrapped", "wrapped", "wrapped"),
        ("from npu_overlays.marker import wrapped", "wrapped", "wrapped"),
        ("from npuoverlays.markers import wrapped as w", "w", "wrapped"),
        ("from NPU_Overlays.Markers import wrapped", "wrapped", "wrapped"),
        ("from overlays.markers import wrapped, added", "wrapped", "wrapped, added"),
        ("from npu_overlays import wrapped", "wrapped", "wrapped"),
        ("from .npu_overlays.markers import wrapped", "wrapped", "wrapped"),
        ("from ..markers import wrapped", "wrapped", "wrapped"),
        ("from npu_overlay.markers import wraped", "wraped", "NAME, …"),
        ("from npu_overlays.markers import *", "wrapped", "NAME, …"),
        ("from npu_overlay import markers", "markers.wrapped", "NAME, …"),
        ("import npu_overlays.markers as m", "m.wrapped", "NAME, …"),
        ("import npu_overlay.markers", "npu_overlay.markers.wrapped", "NAME, …"),
    ],
)
def test_what_looks_like_the_markers_is_called_that_and_nothing_else_is_said(line: str, marker: str, fix: str) -> None:
    overlay = f"{line}\n@{marker}(why='w')\ndef f(): pass\n"
    assert uses_markers(overlay.encode())
    message = f"`{line}` does not import the markers; from npu_overlays.markers import {fix}"
    with pytest.raises(MergeError) as caught:
        read_operations("o.py", overlay.encode(), layer="o", target="a.py")
    assert [worded(one) for one in caught.value.problems] == [f"1: {message}"]


def test_a_module_name_with_a_hyphen_is_no_module_name() -> None:
    overlay = b"from npu-overlays.markers import wrapped, added\n@wrapped(why='w')\ndef f(): pass\n"
    assert uses_markers(overlay)
    with pytest.raises(MergeError) as caught:
        read_operations("o.py", overlay, layer="o", target="a.py")
    fix = "from npu_overlays.markers import wrapped, added"
    assert [worded(one) for one in caught.value.problems] == [f"1: not valid Python: invalid syntax; {fix}"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"from npu_overlays.markers import added\n", True),
        (b"def f():\n    from npu_overlays.markers import added\n", True),
        (b"import npu_overlays.markers\n", True),
        (b"from npu_overlays import markers\n", True),
        (b"import npu_overlays_other\n", False),
        (b"# npu_overlays.markers\nx = 'npu_overlays'\n", False),
        (b"from . import npu_overlays\n", False),
        (b"from .npu_overlays import markers\n", False),
        (b"import os\n", False),
        (b"def f(:\n", False),
        (b"@wraped(why='w')\ndef f(): pass\n", True),
        (b"class A:\n    B = added(1, why='w')\n", True),
        (b"from gpu_overlays.layers import Layer\nimport npu_overlay\nx = f(why='w')\n", False),
        (b"from pytest import markers\nfrom a.markers import wrapped, other\n", False),
    ],
)
def test_a_file_means_to_be_merged_if_it_imports_the_tool_or_calls_a_marker(content: bytes, *, expected: bool) -> None:
    assert uses_markers(content) is expected


def test_markers_may_be_imported_under_other_names_and_other_names_are_no_markers() -> None:
    content = b"""
from npu_overlays.markers import added as new
@new(why="w")
def f():
    added = deleted = 1
    return added, deleted
"""
    (operation,) = read_operations("o.py", content, layer="o", target="a.py")
    assert (operation.action, operation.symbol) == ("added", "f")


def test_what_people_and_linters_need_is_left_out() -> None:
    check(
        NOTHING,
        """
        '''About this file.'''
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from pkg.module import other
        pass
        class A:
            '''Nothing here.'''
        # A comment.
        x = replaced(2, why="w")
        """,
        "# replaced: w\nx = 2\n",
    )


def test_an_operation_says_where_it_stands_and_why() -> None:
    (operation,) = operations(
        """
        class A:
            @added(
                why="because " "so",
                forwarded="https://example.invalid/1",
                drop_when="never",
            )
            def f(self):
                pass
        """
    )
    assert operation.where == "o.py:8"
    assert operation.reason == Reason(why="because so", forwarded="https://example.invalid/1", drop_when="never")
    assert (operation.action, operation.symbol, operation.kind) == ("added", "A.f", "function")
    assert operation.text == "def f(self):\n    pass\n"


def test_an_overlay_file_in_crlf_reads_like_one_in_lf() -> None:
    overlay = (
        "class A:\n    @added(why='w')\n    def f(self):\n        return '''\n  x'''\n    Y = added((\n1), why='w')\n"
    )
    plain = operations(overlay)
    content = ("from npu_overlays.markers import added\n" + overlay).replace("\n", "\r\n").encode()
    assert read_operations("o.py", content, layer="o", target=plain[0].path) == plain


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ('@wraped(why="w")\ndef f(): pass\n', "3: `f` has no marker: `wraped` is no marker; nearest: `wrapped`"),
        (
            '@Replaced(why="w")\nclass A(B): pass\n',
            "3: `A` has no marker: `Replaced` is no marker; nearest: `replaced`",
        ),
        ("@m.edit(why='w')\ndef f(): ...\n", "3: `f` has no marker: `edit` is no marker; nearest: `edited`"),
        (
            "@wrapped\ndef f(): pass\n",
            "3: `f` has no marker: the marker `wrapped` gives no reason; write wrapped(…, why=…)",
        ),
        ("A = aded(1, why='w')\n", "2: `aded` is no marker; nearest: `added`"),
        ("delete('a', why='w')\n", "2: `delete` is no marker; nearest: `deleted`"),
        ("class A:\n    B: int = replace(1, why='w')\n", "3: `replace` is no marker; nearest: `replaced`"),
        (
            "from npu_overlays.markers import wraped\n@wraped(why='w')\ndef f(): pass\n",
            "2: npu_overlays.markers has no `wraped`; nearest: `wrapped`",
        ),
        (
            "from npu_overlays.markers import nothing\n@added(why='w')\ndef f(): pass\n",
            (
                "2: npu_overlays.markers has no `nothing`;"
                " it has added, replaced, wrapped, edited, deleted, upstream, like"
            ),
        ),
    ],
)
def test_a_misspelt_marker_is_named_with_the_nearest(overlay: str, message: str) -> None:
    refused(NOTHING, overlay, message)


def test_a_marker_that_is_not_imported_is_named() -> None:
    content = b"from npu_overlays.markers import added\n@wrapped(why='w')\ndef f(): pass\n"
    with pytest.raises(
        MergeError, match=r"`f` has no marker: the marker `wrapped` is not imported\n    fix: from npu_ov"
    ):
        read_operations("o.py", content, layer="o", target="a.py")


def test_upstream_exists_only_in_a_wrapped_definition() -> None:
    refused(
        NOTHING,
        """
        @replaced(why="w")
        def f(x):
            if x:
                return upstream(x)
        A = added([upstream], why="w")
        @edited(("1", "upstream(1)"), why="w")
        def g(): ...
        """,
        "5: `upstream(…)` calls the original of a @wrapped; what is replaced has none;"
        " use @wrapped, or write upstream's code out",
        "6: `upstream(…)` calls the original of a @wrapped; what is added has none;"
        " use @wrapped, or write upstream's code out",
        "8: `upstream(…)` calls the original of a @wrapped; what is edited has none;"
        " use @wrapped, or write upstream's code out",
    )


def test_a_marker_inside_a_body_is_refused() -> None:
    refused(
        "def f(): pass\n",
        """
        @wrapped(why="w")
        def f():
            a = added(1, why="w")
            return upstream()
        """,
        "4: the marker `added` means nothing inside a definition;"
        " take it out; where upstream's own `added` is meant, write"
        " `from npu_overlays.markers import added as npu_added` above",
    )


def test_a_name_of_ones_own_may_be_that_of_a_marker() -> None:
    check(
        "def f(upstream): pass\n",
        "@replaced(why='w')\ndef f(upstream):\n    added = upstream\n    return added\n",
        "# replaced: w\ndef f(upstream):\n    added = upstream\n    return added\n",
    )


def test_a_function_inside_may_have_the_name_of_a_marker() -> None:
    decorator = (
        "def f(g):\n    from a import edited\n    def wrapped(*args): return g(edited, *args)\n    return wrapped\n"
    )
    check("def f(g): pass\n", f"@replaced(why='w')\n{decorator}", f"# replaced: w\n{decorator}")


def test_an_edit_may_keep_a_name_of_upstreams_that_is_a_markers() -> None:
    check(
        "def f(wrapped):\n    return wrapped, upstream\n",
        "@edited(('wrapped, upstream', '[wrapped, upstream]'), why='w')\ndef f(): ...\n",
        "# edited: w\ndef f(wrapped):\n    return [wrapped, upstream]\n",
    )


@pytest.mark.parametrize(
    ("why", "named"),
    [
        (r"half \ud800", "U+D800"),
        (r"\x1b[31mred", "U+001B"),
        (r"nul \0", "U+0000"),
        (r"left \u202e right", "U+202E"),
        (r"next line \x85", "U+0085"),
    ],
)
def test_reasons_hold_plain_text(why: str, named: str) -> None:
    refused(
        NOTHING,
        f"@added(why='''{why}''', forwarded='{why}')\ndef f(): pass\n",
        f"2: `why` holds the character {named}; write plain text",
        f"2: `forwarded` holds the character {named}; write plain text",
    )


def test_halves_of_characters_are_refused_wherever_a_marker_is_given_them() -> None:
    whole = "holds U+DC80, half a character; write the whole one"
    refused(
        NOTHING,
        """
        deleted("\\udc80", why="w")
        @edited(("a", "\\udc80"), why="w")
        def f(): ...
        X = added("\\udc80", why="w")
        """,
        f"2: {whole}",
        f"3: {whole}",
    )
