"""Everything an overlay does not name stays byte for byte: line ends, marks, tabs, strings, encodings."""

from __future__ import annotations

import codecs
import sys

import pytest

from .pairs import check, merged, refused

WRAPPER = """
    class A:
        @wrapped(why="w")
        def f(self):
            return [
                upstream(self),
            ]
        X = added('''a
      b''', why="a")
"""


def test_crlf_stays_crlf() -> None:
    check(
        b"class A:\r\n    def f(self):\r\n        return 1\r\n\r\n\r\ny = '''\r\n'''\r\n",
        WRAPPER,
        b"class A:\r\n    # wrapped: w\r\n    def f(self):\r\n        return [\r\n"
        b"            __class__._upstream_f(self),\r\n        ]\r\n\r\n    def _upstream_f(self):\r\n"
        b"        return 1\r\n    # added: a\r\n    X = '''a\r\n  b'''\r\n\r\n\r\ny = '''\r\n'''\r\n",
    )


def test_a_byte_order_mark_stays_first() -> None:
    check(
        b"\xef\xbb\xbfdef f(): pass\n",
        "import os\n@replaced(why='w')\ndef f(): return os\n",
        b"\xef\xbb\xbfimport os\n# replaced: w\ndef f(): return os\n",
    )


def test_tabs_stay_tabs() -> None:
    check(
        b"class A:\n\tdef f(self):\n\t\treturn 1\n",
        "class A:\n\t@wrapped(why='w')\n\tdef f(self):\n\t\treturn upstream(self)\n",
        b"class A:\n\t# wrapped: w\n\tdef f(self):\n\t\treturn __class__._upstream_f(self)\n\n"
        b"\tdef _upstream_f(self):\n\t\treturn 1\n",
    )
    check(
        b"class A:\n\tdef f(self):\n\t\treturn 1\n",
        "class A:\n    @replaced(why='w')\n    def f(self):\n        return 2\n",
        b"class A:\n\t# replaced: w\n\tdef f(self):\n\t    return 2\n",
    )


def test_a_last_line_without_an_end() -> None:
    check(
        b"class A:\n    def f(self): return 1",
        "class A:\n    X = added(1, why='a')\nY = added(2, why='b')\n",
        b"class A:\n    def f(self): return 1\n    # added: a\n    X = 1\n\n\n# added: b\nY = 2\n",
    )
    check(b"def f(): return 1", "@replaced(why='w')\ndef f(): return 2", b"# replaced: w\ndef f(): return 2")
    check(b"import os", "import re\nX = added(re, why='w')", b"import os\nimport re\n\n\n# added: w\nX = re\n")


def test_other_characters_that_end_lines_elsewhere_are_just_characters() -> None:
    body = "        x = '\u2028\x0c\x1c\x85'  # \u2029\x0b\n        return '''\n  \u2028\n''', x\n"
    check(
        "class A:\n    def f(self):\n        return 1\n    y = '\u2028'; \x0c\n".encode(),
        f"class A:\n    @replaced(why='w')\n    def f(self):\n{body}",
        f"class A:\n    # replaced: w\n    def f(self):\n{body}    y = '\u2028'; \x0c\n".encode(),
    )


def test_a_shared_definition_keeps_its_strings_when_it_is_indented() -> None:
    check(
        "class A:\n    def f(self): return 1\n",
        "@replaced(why='w', targets=['pkg/module.py:A.f'])\ndef g(self):\n    return '''\n  x\n'''\n",
        "class A:\n    # replaced: w\n    def f(self):\n        return '''\n  x\n'''\n",
        target="",
    )


def test_long_reasons_are_wrapped_into_comment_lines() -> None:
    why = "word " * 40 + "http://" + "x" * 150 + " end\u2028of\\n  it"
    content, _ = merged("class A:\n    x = 1\n", f'class A:\n    x = replaced(2, why="{why}")\n')
    lines = content.decode().split("\n")
    assert lines[0] == "class A:"
    assert lines[1].startswith("    # Changed for NPU by pkg-npu (replaced): word word")
    assert [line[:6] for line in lines[1:-2]] == ["    # "] * 5
    assert all(len(line) <= 119 or "http" in line for line in lines)
    assert lines[-3:] == ["    # end of it", "    x = 2", ""]


def test_the_notice_of_a_deletion_names_what_is_gone() -> None:
    content, _ = merged("class A:\n    x = 1\n    y = 2\n", "class A:\n    deleted('x', why='w')\n")
    assert content == b"class A:\n    # Changed for NPU by pkg-npu (deleted x): w\n    y = 2\n"


THIS = ".".join(map(str, sys.version_info[:2]))
NEWER = f"; use a patch; or build with a newer Python, if that can read it (this is {THIS})"


PATCH = "change this file by a patch under patches/"


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (
            b"x = '\xe9'\n",
            f"not UTF-8 (invalid continuation byte at byte 5); {PATCH}",
            1,
        ),
        (
            b"# coding: koi8-r\n\xef\xbb\xbfx = 1\n",
            "not valid Python: invalid character '╩' (U+2569)" + NEWER,
            2,
        ),
        (
            b"# coding: shift_jis\nx = '\x81'\n",
            f"not shift_jis (illegal multibyte sequence at byte 25); {PATCH}",
            2,
        ),
        (
            b"# coding: iso-2022-jp\nx = '\x1b$B\x1b(B'\n",
            f"not the same bytes when its text is written in iso2022_jp again; {PATCH}",
            1,
        ),
        (b"# coding: nonsense\n", "not valid Python: unknown encoding: nonsense" + NEWER, 1),
        (b"def f(:\n", "not valid Python: invalid syntax" + NEWER, 1),
        (b"x = (\n", "not valid Python: '(' was never closed" + NEWER, 1),
    ],
)
def test_what_python_cannot_read_is_refused(content: bytes, message: str, line: int) -> None:
    refused(content, "x = added(1, why='w')", f"2: upstream's pkg/module.py:{line} is {message}")


def test_names_are_looked_at_where_they_stand_in_another_encoding() -> None:
    head = f"# coding: latin-1\n# {'é' * 50}\n".encode("latin-1")
    for before, overlay, message in (
        (
            b"def f(b): return 1\n",
            "from m import b\n@edited(('1', 'b'), why='w')\ndef f(): ...\n",
            (
                "4: `b` would be another object: upstream binds that name around or in `f`; use another"
                " name for what you mean"
            ),
        ),
        (
            b"def f():\n    x = 1\n    return max(x)\n",
            "@edited(('x = 1', 'x = max = 3'), why='w')\ndef f(): ...\n",
            (
                "3: the edit binds `max`, which upstream's own text of `f` reads as another object;"
                " bind another name in the edit"
            ),
        ),
    ):
        refused(head + before, overlay, message)


def test_a_zero_byte_is_refused() -> None:
    with pytest.raises(Exception, match=r"o\.py:2: upstream's pkg/module\.py:1 is not valid Python: source code.*null"):
        merged(b"x = 1\n\x00\n", "x = replaced(2, why='w')")


def test_ascii_and_utf_8_declarations_are_fine() -> None:
    check(
        b"# -*- coding: ascii -*-\nx = 1\n",
        "x = replaced(2, why='w')",
        b"# -*- coding: ascii -*-\n# replaced: w\nx = 2\n",
    )
    check(
        "# vim: fileencoding=utf8\nx = 'é'\ny = 1\n".encode(),
        "y = replaced('è', why='ê')",
        "# vim: fileencoding=utf8\nx = 'é'\n# replaced: ê\ny = 'è'\n".encode(),
    )


def test_columns_count_bytes() -> None:
    check(
        "α = 'ω'; β = 1\ndef γ(δ): return 'é', δ\n".encode(),
        """
        β = replaced('日本', why="w")
        @edited(("δ)", "ε)"), ("'é', δ", "'è', ε"), why="w")
        def γ(δ): ...
        """,
        "# replaced: w\nα = 'ω'; β = '日本'\n# edited: w\ndef γ(ε): return 'è', ε\n".encode(),
    )


def test_a_reason_names_no_encoding() -> None:
    """On the first two lines `coding: x` would be read by Python, wherever in a comment it stands."""
    check(
        b"def f(): return 1\n",
        "@replaced(why='Faster decoding: fast; encoding=latin-1.')\ndef f(): return 2\n",
        b"# replaced: Faster decoding : fast; encoding =latin-1.\ndef f(): return 2\n",
    )


def test_a_comment_of_the_overlays_names_no_encoding() -> None:
    check(
        b"def f(): return 1\n",
        "@replaced(why='w')\n# encoding: latin-1\ndef f(): return 2  # coding: x\n",
        b"# replaced: w\n# encoding : latin-1\ndef f(): return 2  # coding: x\n",
    )
    refused(
        b"X = 1\n",
        "X = edited(('X', '# encoding: latin-1\\nX'), ('1', '2'), why='w')\n",
        "2: a comment of the overlay would be read as the encoding of the file, in its first two lines;"
        " write it without `coding:` or `coding=`",
    )


def test_files_that_declare_ascii_get_nothing_else() -> None:
    before = b"# coding: ascii\ndef f(): return 1\n"
    check(
        before,
        "@replaced(why='更快 é')\ndef f(): return '\\u66f4'\n",
        b"# coding: ascii\n# replaced: \\u66f4\\u5feb \\xe9\ndef f(): return '\\u66f4'\n",
    )
    refused(
        before,
        "@replaced(why='w')\ndef f(): return '更'\n",
        "3: puts `更` (U+66F4) into pkg/module.py, whose encoding, ascii, does not have it; write it as `\\u66f4` in a"
        " string",
    )


@pytest.mark.parametrize(
    ("encoding", "theirs", "own", "not_there"),
    [
        ("latin-1", "é", "ü", "€"),
        ("cp1252", "Ž", "é", "更"),
        ("shift_jis", "更", "快", "é"),
        ("gb18030", "快", "更", ""),
        ("euc-kr", "한", "글", "é"),
        ("koi8-r", "я", "ю", "é"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_module_stays_in_the_encoding_that_it_declares(
    encoding: str, theirs: str, own: str, not_there: str, newline: str
) -> None:
    head = f"# -*- coding: {encoding} -*-\n# {theirs}\n\x0c\n"
    before = f"{head}def {theirs}(x): return '{theirs}'; y = '{theirs}'\nz = '{theirs}'\n"
    after = (
        f"{head}# wrapped: {own}\ndef {theirs}(x):\n    return _upstream_{theirs}(x) + '{own}'\n\n\n"
        f"def _upstream_{theirs}(x): return '{theirs}'; y = '{theirs}'\n# edited: w\nz = '{own}' + '{theirs}'\n"
    )
    overlay = (
        f"@wrapped(why='{own}')\ndef {theirs}(x):\n    return upstream(x) + '{own}'\n"
        f"z = edited((\"'{theirs}'\", \"'{own}' + '{theirs}'\"), why='w')\n"
    )
    content, _ = merged(before.replace("\n", newline).encode(encoding), overlay)
    named = content.decode(encoding).replace("Changed for NPU by pkg-npu (wrapped)", "wrapped")
    assert named.replace("Changed for NPU by pkg-npu (edited)", "edited") == after.replace("\n", newline)
    if not_there:
        name = codecs.lookup(encoding).name
        refused(
            before.encode(encoding),
            f"z = replaced('{not_there}', why='{not_there}')\n",
            f"2: puts `{not_there}` (U+{ord(not_there):04X}) into pkg/module.py, whose encoding, {name}, does not have"
            f" it; write it as `{ascii(not_there)[1:-1]}` in a string",
        )
