"""The lexer: the same tokens as the standard one, on every Python version."""

from __future__ import annotations

import io
import token as kinds
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_overlays.model.token_layout import TokenLayout
from npu_overlays.model.tokens import continuation_lines, significant, tokens

_LAYOUT = {kinds.INDENT, kinds.DEDENT, kinds.ENDMARKER, kinds.NL, kinds.NEWLINE, kinds.COMMENT, kinds.ENCODING}

PIECES = [
    *["x", "été", "_1", "if", "lambda", "0x1F", "1_000.5e-3j", ".5", "1.", "0o17", "0b1", "1if"],
    *["...", "->", ":=", "**=", "//", "<<=", "!=", "@", "~", "(", ")", "[", "]", "{", "}", ",", ":", ";", "<", ">="],
    *["'a'", '"b\\"c"', "''", '""', "'#'", "'\\\\'", "u'z'", "b'\\x00'", "r'\\''", "rb'x'", 'Rb"y"', "'a\\\nb'"],
    *["f'{x}'", "f'{x!r:>{y}}'", "F\"{d['k']}\"", "rf'{x}\\d'", "f'''{x\n}'''"],
    *["'''a\nb'''", '"""c "d" \\""" e"""', "# not a comment'", "\\\n", "\n", " ", "\t"],
]


def standard(source: str) -> list[str]:
    """Return the texts of the standard tokenizer, f-strings joined into one token as before Python 3.12."""
    starts = [0]
    for line in io.StringIO(source):
        starts.append(starts[-1] + len(line))
    found: list[str] = []
    depth, begin = 0, 0
    for one in tokenize.generate_tokens(io.StringIO(source).readline):
        name = kinds.tok_name[one.type]
        if name == "FSTRING_START":
            begin = starts[one.start[0] - 1] + one.start[1] if depth == 0 else begin
            depth += 1
        elif name == "FSTRING_END":
            depth -= 1
            if depth == 0:
                found.append(source[begin : starts[one.end[0] - 1] + one.end[1]])
        elif depth == 0 and one.type not in _LAYOUT:
            if name == "ERRORTOKEN" and one.string.isspace():
                continue
            found.append(one.string)
    return found


@settings(max_examples=400, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12))
def test_tokens_are_those_of_the_standard_tokenizer(pieces: list[str]) -> None:
    source = " ".join(pieces) + "\n"
    try:
        compile(source, "s", "exec")
    except (SyntaxError, ValueError):
        return
    assert [one.text for one in significant(source)] == standard(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = 'a' 'b'\n",
        "def f(x: int = 0x1F, *, y=.5) -> None:\n\treturn x if y else 1_000.5e-3j\n",
        "f'{x!r:>{y}}' + F\"{d['k']}\" + rf'\\{x}' # c\n",
        '"""a\n# not a comment\n"b" \\""" c"""\nx\n',
        "x = 'a\\\n#b'\ny = 1 \\\n  + 2\n",
        "@a.b\nasync def f(): await x\n",
        "x = [1 if 2 else 3, 1..real]\n",
        "a @= b; c **= d; e //= f; g >>= h; (i := 1)\n",
        "u'a', b'b', Rb'c', BR'd', r'\\'' ''\n",
    ],
)
def test_tokens_of_particular_texts(source: str) -> None:
    assert [one.text for one in significant(source)] == standard(source)


@settings(max_examples=300, deadline=None)
@given(source=st.text(alphabet="ab1_.'\"\\ \t\r\n#(){}fé=\u2028\x0c", max_size=40))
def test_spans_cover_every_character_but_white_space_in_order(source: str) -> None:
    position, gaps = 0, ""
    for one in tokens(source):
        assert source[one.start : one.end] == one.text != ""
        gaps += source[position : one.start]
        position = one.end
    gaps += source[position:]
    assert not gaps.replace("\\\r\n", "").replace("\\\n", "").strip(" \t\f")


def test_comments_and_line_ends_are_tokens_that_do_not_signify() -> None:
    source = "x # c\r\ny\n"
    assert [(one.kind, one.text) for one in tokens(source)] == [
        ("name", "x"),
        ("comment", "# c"),
        ("newline", "\r\n"),
        ("name", "y"),
        ("newline", "\n"),
    ]
    assert [one.text for one in significant(source)] == ["x", "y"]


def test_occurrences_go_from_left_to_right_without_overlap() -> None:
    def found(find: str, source: str) -> list[int]:
        return TokenLayout(source).occurrences(TokenLayout(find))

    assert found("a a", "a  a a a # a a") == [0, 2]
    assert found("a\n+b", "(a+ # c\nb)") == [1]
    assert found("", "a") == found("# only a comment", "a") == []
    assert found("'''a\n'''", "x = '''a\r\n'''") == [2]
    assert TokenLayout("é = '''é\n'''").spans == [(0, 2), (3, 4), (5, 14)]


def test_lines_that_begin_inside_a_string() -> None:
    source = 'x = """a\n  b\n""" + \\\n  y\nz = (\n  1)\nw = "a\\\n  b"\n# """\nv\n'
    assert continuation_lines(source) == {1, 2, 7}
    assert continuation_lines("x\n") == frozenset()
