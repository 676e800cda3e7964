"""Overlay files: what may stand in them, and every mistake of a file reported at once."""

from __future__ import annotations

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Reason
from npu_overlays.overlay.parser.vocabulary import uses_markers

from .pairs import operations, refused, worded

NOTHING = "x = 1\n"


def test_a_file_with_a_syntax_error_names_its_line() -> None:
    assert uses_markers(b"from npu_overlays.markers import added\ndef f(:\n")
    refused(NOTHING, "def f(:\n", "2: not valid Python: invalid syntax; correct the syntax there")


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
    message = f"`{line}` does not import the markers; write `from npu_overlays.markers import {fix}`"
    with pytest.raises(MergeError) as caught:
        read_operations("o.py", overlay.encode(), layer="o", target="a.py")
    assert [worded(one) for one in caught.value.problems] == [f"1: {message}"]


def test_a_module_name_with_a_hyphen_is_no_module_name() -> None:
    overlay = b"from npu-overlays.markers import wrapped, added\n@wrapped(why='w')\ndef f(): pass\n"
    assert uses_markers(overlay)
    with pytest.raises(MergeError) as caught:
        read_operations("o.py", overlay, layer="o", target="a.py")
    fix = "write `from npu_overlays.markers import wrapped, added`"
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
        ('@wraped(why="w")\ndef f(): pass\n', "3: `f`: `wraped` is no marker; did you mean `wrapped`?"),
        (
            '@Replaced(why="w")\nclass A(B): pass\n',
            "3: `A`: `Replaced` is no marker; did you mean `replaced`?",
        ),
        ("@m.edit(why='w')\ndef f(): ...\n", "3: `f`: `edit` is no marker; did you mean `edited`?"),
        (
            "@wrapped\ndef f(): pass\n",
            "3: `f`: the marker `wrapped` gives no reason; write wrapped(…, why=…)",
        ),
        ("A = aded(1, why='w')\n", "2: `aded` is no marker; did you mean `added`?"),
        ("delete('a', why='w')\n", "2: `delete` is no marker; did you mean `deleted`?"),
        ("class A:\n    B: int = replace(1, why='w')\n", "3: `replace` is no marker; did you mean `replaced`?"),
        (
            "from npu_overlays.markers import wraped\n@wraped(why='w')\ndef f(): pass\n",
            "2: npu_overlays.markers has no `wraped`; did you mean `wrapped`?",
        ),
        (
            "from npu_overlays.markers import nothing\n@added(why='w')\ndef f(): pass\n",
            (
                "2: npu_overlays.markers has no `nothing`;"
                " use one of added, replaced, wrapped, edited, deleted, upstream, like"
            ),
        ),
    ],
)
def test_a_misspelt_marker_is_named_with_the_nearest(overlay: str, message: str) -> None:
    refused(NOTHING, overlay, message)


def test_a_marker_that_is_not_imported_is_named() -> None:
    content = b"from npu_overlays.markers import added\n@wrapped(why='w')\ndef f(): pass\n"
    with pytest.raises(MergeError, match=r"`f`: the marker `wrapped` is not imported\n    fix: write `from npu_ov"):
        read_operations("o.py", content, layer="o", target="a.py")


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
