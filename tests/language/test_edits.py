"""Edits: counted substitutions of tokens inside one definition."""

from __future__ import annotations

import pytest

from .pairs import check, merged, refused

WHOLE = ": find and replace that string as a whole"
AGAIN = 'lengthen the find, or give ("find", "replace", count)'


def edit(before: str, edits: str, after: str) -> None:
    """Check edits of the function `f`."""
    check(before, f"@edited({edits}, why='w')\ndef f(): ...\n", "# edited: w\n" + after)


@pytest.mark.parametrize(
    ("find", "written"),
    [
        ("g(x, y)", "g(x,y)"),
        ("g(x,y)", "g( x ,\n        y )"),
        ("g(x, y)", "g(  # one\n        x,  # two\n        y)"),
        ("g(\\nx,\\ny\\n)", "g(x, y)"),
        ("g(x, y)  # nothing", "g(x, y)"),
        ("'a' + \\\\\\n 'b'", "'a' + 'b'"),
        ("f'{x}' + 'b'", "f'{x}'  +  'b'"),
        ("a[b['c']:1]", "a[ b [ 'c' ] : 1 ]"),
        ("not x", "not  x"),
        ("x != y", "x  !=y"),
    ],
)
def test_white_space_comments_and_line_breaks_make_no_difference(find: str, written: str) -> None:
    edit(f"def f():\n    return ({written})\n", f'("{find}", "z")', "def f():\n    return (z)\n")


@pytest.mark.parametrize(
    ("find", "body", "nearest"),
    [
        ("x", "return xy, x1, 'x', f'{x}', yx  # x", f"it stands at line 2, in 'x'; line 2, in f'{{x}}'{WHOLE}"),
        ("'a'", "return \"a\", 'a ', f'a'", "copy the text from upstream: `f` begins at line 1 of pkg/module.py"),
        ("1", "return 11, 1.0, 0x1, 1j", "copy the text from upstream: `f` begins at line 1 of pkg/module.py"),
        ("=", "x == y; x += 1", "copy the text from upstream: `f` begins at line 1 of pkg/module.py"),
        ("return 'a  b'", "return 'a b'", "did you mean `return 'a b'`?"),
        ("'''a\\n b'''", "return '''a\\n  b'''", "did you mean `return '''a\\n  b'''`?"),
    ],
)
def test_parts_of_tokens_and_the_insides_of_strings_do_not_match(find: str, body: str, nearest: str) -> None:
    shown = find.replace("\\n", "\n")
    refused(
        f"def f():\n    {body}\n",
        f'@edited(("""{find}""", "z"), why="w")\ndef f(): ...\n',
        f"3: `{shown}` occurs nowhere in `f`; {nearest}",
    )


def test_an_edit_must_occur_as_often_as_it_says() -> None:
    before = "def f():\n    return x, x, y\n"
    refused(
        before,
        "@edited(('x', 'z'), ('y', 'z', 2), ('w', 'z'), ('x', 'w', 3), why='w')\ndef f(): ...\n",
        f"3: `x` occurs 2 times in `f` (lines 2, 2), expected 1; {AGAIN}",
        "3: `y` occurs 1 times in `f` (line 2), expected 2; correct the find, or lower its count",
        "3: `w` occurs nowhere in `f`; copy the text from upstream: `f` begins at line 1 of pkg/module.py",
        "3: `x` occurs 2 times in `f` (lines 2, 2), expected 3; correct the find, or lower its count",
    )
    edit(before, "('x', 'z', 2)", "def f():\n    return z, z, y\n")


def test_occurrences_do_not_overlap_and_other_symbols_do_not_count() -> None:
    edit(
        "def f():\n    return x.x.x.x\ndef g():\n    return x.x\n",
        "('x.x', 'y', 2)",
        "def f():\n    return y.y\ndef g():\n    return x.x\n",
    )


def test_edits_side_by_side_are_both_made() -> None:
    edit("def f():\n    return a + b\n", "('a', 'x'), ('+', '-'), ('b', 'y')", "def f():\n    return x - y\n")


def test_a_replacement_of_several_lines_is_indented_like_its_first_line() -> None:
    edit(
        "def f():\n    if x:\n        a = 1\n",
        '("a = 1", """\n    a = 2\n    if a:\n        b = 3\n\n    c = 4\n    """)',
        "def f():\n    if x:\n        a = 2\n        if a:\n            b = 3\n\n        c = 4\n",
    )


def test_strings_of_several_lines_keep_their_white_space() -> None:
    edit(
        "def f():\n    if x:\n        a = 1\n",
        '(\'a = 1\', \'a = """\\n  b\\nc"""\\nd = 2\')',
        'def f():\n    if x:\n        a = """\n  b\nc"""\n        d = 2\n',
    )
    edit(
        "def f():\n    if x:\n        a = 1\n",
        '(\'a = 1\', \'\\n    a = """\\nb"""\\n    c = 2\\n\')',
        'def f():\n    if x:\n        a = """\nb"""\n        c = 2\n',
    )
    edit(
        'def f():\n    a = """\n  b\n c"""\n',
        '(\'"""\\n  b\\n c"""\', \'d\')',
        "def f():\n    a = d\n",
    )


def test_an_empty_replacement_takes_whole_lines_out_where_nothing_else_is_on_them() -> None:
    edit(
        "def f():\n    a = 1\n    b = (\n        2\n    )\n    c(d, e)\n    g()",
        "('a = 1', ''), ('b = (2)', ' '), ('d,', ''), ('g()', '')",
        "def f():\n    c( e)\n",
    )


def test_an_empty_replacement_leaves_what_else_is_on_the_line() -> None:
    edit("def f():\n    a = 1; b = 2\n    c()\n", "('; b = 2', '')", "def f():\n    a = 1\n    c()\n")
    edit("def f():\n    a = 1; b = 2\n    c()\n", "('a = 1;', '')", "def f():\n    b = 2\n    c()\n")


def test_a_comment_behind_the_place_stays() -> None:
    edit(
        "def f():\n    a = 1  # one\n    return 1\n",
        "('a = 1', '')",
        "def f():\n    # one\n    return 1\n",
    )


def test_decorators_signature_and_docstring_belong_to_the_definition() -> None:
    edit(
        "@a\ndef f(x=1):\n    '''Doc.'''\n    return x\n",
        "('@a', '@b'), ('x=1', 'x=2'), (\"'''Doc.'''\", \"'''Text.'''\")",
        "@b\ndef f(x=2):\n    '''Text.'''\n    return x\n",
    )


def test_fragments_that_do_not_parse_by_themselves() -> None:
    edit(
        "def f():\n    try:\n        a()\n    except ImportError:\n        b(c[1])\n",
        "('except ImportError:', 'except (ImportError, RuntimeError):'), ('c[', 'd[')",
        "def f():\n    try:\n        a()\n    except (ImportError, RuntimeError):\n        b(d[1])\n",
    )


def test_an_edit_without_effect_is_refused() -> None:
    with pytest.raises(Exception, match="edited, but `f` is the same as upstream"):
        edit("def f():\n    return 1\n", "('return 1', 'return  1')", "def f():\n    return  1\n")


def test_replacements_stay_in_the_line_ends_of_the_file() -> None:
    check(
        b'def f():\r\n    a = "x\\\r\ny"\r\n    b = """\r\n"""\r\n',
        "@edited(('a = \"x\\\\\\ny\"', 'c\\nd'), ('\"\"\"\\n\"\"\"', '1'), why='w')\ndef f(): ...\n",
        b"# edited: w\r\ndef f():\r\n    c\r\n    d\r\n    b = 1\r\n",
    )


def test_uses_tells_linters_what_an_import_is_for_and_changes_nothing() -> None:
    before = "def f():\n    return a(1)\n"
    plain = "from m import b\n@edited(('a(', 'b('), why='w')\ndef f(): ...\n"
    assert merged(before, plain.replace("why", "uses=[b], why")) == merged(before, plain)
