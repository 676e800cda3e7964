"""Edits keep to logical lines, blocks and expressions: what they do is what they read as."""

from __future__ import annotations

import pytest

from .pairs import check, merged, refused, text

OTHER_BLOCKS = "in other lines or other blocks: write the find with upstream's line ends and indentation"
PARENTHESES = "put parentheses round it, or lengthen the find"
BEHIND = "cannot stand behind an expression as"
INSIDE = "would stand inside a statement as"
TORN = "would be torn apart by what stands beside it; put parentheses round it, or lengthen the find"
PART = "is no expression of its own where it stands, but a part of one; lengthen the find"
WHOLE = "lengthen the find to whole lines, or write the replacement as one statement"


def edit(body: str, after: str, *edits: tuple[str, str]) -> None:
    """Check edits of the body of `f`, four spaces in."""
    overlay = f"@edited({', '.join(map(repr, edits))}, why='w')\ndef f(): ...\n"
    check(f"def f():\n{_indented(body)}", overlay, f"# edited: w\ndef f():\n{_indented(after)}")


def refuse(body: str, message: str, *edits: tuple[str, str]) -> None:
    """Check that edits of the body of `f` are refused."""
    overlay = f"@edited({', '.join(map(repr, edits))}, why='w')\ndef f(): ...\n"
    refused(f"def f():\n{_indented(body)}", overlay, f"3: {message}")


def _indented(body: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text(body).splitlines(keepends=True))


TWO_BLOCKS = "if a:\n    p('b')\np('c')\n"


@pytest.mark.parametrize(
    ("body", "find"),
    [
        (TWO_BLOCKS, "p('b')\np('c')"),
        ("if a:\n    p('b')\n    p('c')\n", "    p('b')\np('c')"),
        ("if a:\n    if b:\n        p('b')\np('c')\n", "    p('b')\np('c')"),
        ("if a: p('b')\np('c')\n", "p('b')\np('c')"),
        ("if a: p('b')\n", "if a:\n    p('b')"),
        ("return\n(a)\n", "return (a)"),
        ("return (a)\n", "return\n(a)"),
        ("x = g(\n    a)\nb()\n", "    a)\nb()"),
        ("a; b\n", "a;\nb"),
    ],
)
def test_lines_and_blocks_of_a_find_are_those_of_upstream(body: str, find: str) -> None:
    """Whether a statement stands in a block is what upstream's change of it would change."""
    line = 2 + body.count("\n", 0, min(body.find(find.split(maxsplit=1)[0]), len(body)))
    refuse(body, f"`{find}` occurs nowhere in `f`; its words stand at line {line}, {OTHER_BLOCKS}", (find, "x"))


@pytest.mark.parametrize("find", ["    p('b')\np('c')", "        p('b')\n    p('c')", "\n        p('b')\n    p('c')\n"])
def test_a_find_may_leave_a_block_and_its_replacement_then_does_too(find: str) -> None:
    for margin in ("", "    ", "  "):
        replacement = f"{margin}    p('B')\n{margin}p('C')\n{margin}p('D')"
        edit(TWO_BLOCKS, "if a:\n    p('B')\np('C')\np('D')\n", (find, replacement))
    same = "indent the replacement as upstream's lines are, from its first line on"
    refuse(TWO_BLOCKS, f"`{find}` and `p('B')\np('C')` do not end in the same block; {same}", (find, "p('B')\np('C')"))
    refuse(TWO_BLOCKS, f"`{find}` and `p('B')` do not end in the same block; {same}", (find, "p('B')"))


def test_a_replacement_may_not_leave_the_block_of_its_find() -> None:
    refuse(
        TWO_BLOCKS,
        "`p('b')` and `    p('B')\np('C')` do not end in the same block;"
        " indent the replacement as upstream's lines are, from its first line on",
        ("p('b')", "    p('B')\np('C')"),
    )


@pytest.mark.parametrize(
    ("body", "find"),
    [
        ("if x: p('a')\n", "p('a')"),
        ("p('a'); q()\n", "p('a')"),
        ("q(); p('a')\n", "p('a')"),
        ("return p('a')\n", "p('a')"),
        ("p('a') if x else y\n", "p('a')"),
    ],
)
def test_several_lines_stand_only_for_whole_lines(body: str, find: str) -> None:
    message = f"the 2 lines of `p('b')\np('c')` would stand for a part of a line; {WHOLE}"
    refuse(body, message, (find, "p('b')\np('c')"))


def test_what_begins_in_a_statement_does_not_end_in_a_lower_block() -> None:
    find, replacement = "\n             y)\n", "\n             y)\nreturn 2\n"
    message = f"the 2 lines of `{replacement}` would stand for a part of a line; {WHOLE}"
    refuse("if x:\n    return p(x,\n             y)\n", message, (find, replacement))


def test_lines_inside_brackets_end_nothing() -> None:
    edit(
        "x = {\n    'a': 1,\n    'b': 2,\n}\n",
        "x = {\n    'c': 3,\n    **d,\n    'b': 2,\n}\n",
        ("'a': 1,", "'c': 3,\n**d,"),
    )
    edit("x = g(\n    a)\n", "x = h(\n        g,\n    a)\n", ("x = g(", "x = h(\n        g,"))
    edit("x = (a +\n     b)\n", "x = (c)\n", ("a\n+\nb", "c"))
    edit("x = a + \\\n    b\n", "x = c\n", ("a + b", "c"))


@pytest.mark.parametrize("unit", ["\t", "  ", "    "])
def test_blocks_are_compared_whatever_upstream_indents_them_with(unit: str) -> None:
    before = f"def f():\n{unit}if a:\n{unit * 2}b()\n\n{unit * 2}# c\n{unit * 2}d()\n{unit}e()\n"
    after = (
        f"# edited: w\ndef f():\n{unit}if a:\n{unit * 2}B()\n{unit * 2}if c:\n{unit * 2}    D()\n{unit}E()\n{unit}F()\n"
    )
    edits = [("if a:\n    b()\n    d()\ne()", "if a:\n    B()\n    if c:\n        D()\nE()\nF()")]
    check(before, f"@edited({', '.join(map(repr, edits))}, why='w')\ndef f(): ...\n", after)


def test_heads_of_blocks_can_be_exchanged() -> None:
    branches = "if p:\n    q()\nelif a:\n    b()\n    c()\n"
    edit(branches, "if p:\n    q()\nelse:\n    b()\n    c()\n", ("elif a:", "else:"))
    edit(
        branches,
        "if p:\n    q()\nelif b:\n    x()\nelif a:\n    b()\n    c()\n",
        ("elif a:", "elif b:\n    x()\nelif a:"),
    )
    edit(branches, "if p:\n    q()\nelif d:\n    x()\n    b()\n    c()\n", ("elif a:", "elif d:\n    x()"))
    edit(branches, "x()\nif P:\n    q()\nelif a:\n    b()\n    c()\n", ("if p:", "x()\nif P:"))
    edit(
        "try:\n    a()\nexcept E:\n    b()\n",
        "try:\n    a()\nexcept F:\n    c()\nexcept E:\n    b()\n",
        ("except E:", "except F:\n    c()\nexcept E:"),
    )


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        ("for i in x:\n    p()\nif a:\n    b()\nelse:\n    c()\n", "c()"),
        ("while x:\n    p()\nif a:\n    b()\nelse:\n    c()\n", "c()"),
        ("if p:\n    q()\nif a:\n    b()\nelif d:\n    c()\n", "elif d:"),
        ("if p:\n    q()\nif a:\n    b()\nelse:\n    c()\n", "c()"),
        ("try:\n    p()\nexcept E:\n    q()\nif a:\n    b()\nelse: c()\n", "else: c()"),
    ],
)
def test_a_branch_that_stays_may_not_come_to_belong_to_another_statement(body: str, taken: str) -> None:
    what = f"`{taken.removeprefix('else: ')}` would come to belong to another statement"
    refuse(body, f"{what}; let the find hold the whole statement", ("if a:\n    b()", ""))


def test_a_whole_branch_can_go() -> None:
    edit(
        "if p:\n    q()\nelif a:\n    b()\nelse:\n    c()\n",
        "if p:\n    q()\nelse:\n    c()\n",
        ("elif a:\n    b()", ""),
    )
    edit("if p:\n    q()\nelse:\n    c()\n", "if p:\n    q()\n", ("else:\n    c()", ""))
    edit(
        "try:\n    q()\nexcept E: p()\nfinally:\n    c()\n", "try:\n    q()\nexcept E: p()\n", ("finally:\n    c()", "")
    )


def test_a_block_that_loses_all_its_statements_keeps_a_pass() -> None:
    edit("a()\n", "pass\n", ("a()", ""))
    edit("if a: b()\n", "if a: pass\n", ("b()", ""))
    edit("if a:\n    b()  # b\nelse:\n    c()\n", "if a:\n    pass  # b\nelse:\n    pass\n", ("b()", ""), ("c()", ""))
    edit("if a:\n    b()\n    c()\nd()\n", "if a:\n    pass\nd()\n", ("b()\nc()", ""))
    edit("if a:\n    b()\nc()\nd()\n", "if a:\n    pass\nd()\n", ("    b()\nc()", ""))
    edit("if a:\n    b()\n", "if a:\n    # gone\n    pass\n", ("b()", "# gone"))
    edit("match a:\n    case 1:\n        b()\n", "match a:\n    case 1:\n        pass\n", ("b()", ""))
    edit("if a:\n    if b:\n        c()\n", "if a:\n    pass\n", ("if b:\n    c()", ""))


def test_the_class_and_the_docstring_are_statements_too() -> None:
    check(
        "class f:\n    x = 1\n", "@edited(('x = 1', ''), why='w')\nclass f: ...\n", "# edited: w\nclass f:\n    pass\n"
    )
    edit("'''Doc.'''\n", "pass\n", ("'''Doc.'''", ""))


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("a", "b(); c()"),
        ("b", "a(); c()"),
        ("c", "a(); b()"),
        ("ab", "c()"),
        ("ba", "c()"),
        ("ac", "b()"),
        ("bc", "a()"),
        ("abc", "pass"),
    ],
)
@pytest.mark.parametrize("head", ["", "if x: "])
def test_statements_go_with_their_semicolon(gone: str, left: str, head: str) -> None:
    before = f"def f():\n    {head}a(); b(); c()\n"
    overlay = f"@edited({', '.join(repr((f'{name}()', '')) for name in gone)}, why='w')\ndef f(): ...\n"
    after = merged(before, overlay)[0].decode().splitlines()
    assert after[-1].rstrip(" ;") == f"    {head}{left}"


@pytest.mark.parametrize(
    ("body", "find", "replacement"),
    [
        ("return c * dev(a)\n", "dev(a)", "a + 1"),
        ("return c * dev(a)\n", "dev(a)", "a, 1"),
        ("return not dev(a)\n", "dev(a)", "a or b"),
        ("return dev(a).x\n", "dev(a)", "-a"),
        ("return dev(a) ** 2\n", "dev(a)", "-a"),
        ("return dev(a) if c else d\n", "dev(a)", "x if y else z"),
        ("return g(k=dev(a) + 1)\n", "k=dev(a)", "k=a or b"),
        ("return dev(a) + 1\n", "return dev(a)", "return a or b"),
        ("return {'a': dev(a) * 2}\n", "'a': dev(a)", "'a': a - b"),
        ("if dev(a) == 1: pass\n", "if dev(a)", "if a or b"),
        ("return await_ - dev(a)\n", "dev(a)", "a - b"),
    ],
)
def test_a_replacement_stays_one_expression(body: str, find: str, replacement: str) -> None:
    refuse(body, f"`{replacement}` {TORN}", (find, replacement))


@pytest.mark.parametrize(
    ("body", "find", "replacement", "after"),
    [
        ("return c * dev(a)\n", "dev(a)", "(a + 1)", "return c * (a + 1)\n"),
        ("return c * dev(a)\n", "c * dev(a)", "a + 1", "return a + 1\n"),
        ("return g(dev(a))\n", "dev(a)", "a + 1", "return g(a + 1)\n"),
        ("return g(dev(a))\n", "dev(a)", "a, *b, c=1", "return g(a, *b, c=1)\n"),
        ("return g(k=dev(a))\n", "k=dev(a)", "k=a or b, j=2", "return g(k=a or b, j=2)\n"),
        ("x = dev(a)\n", "dev(a)", "a, b", "x = a, b\n"),
        ("x = dev(a)\n", "x = dev(a)", "x: int = a if b else c", "x: int = a if b else c\n"),
        ("dev(a)\n", "dev(a)", "x = a; y = b", "x = a; y = b\n"),
        ("return {'a': 1}\n", "'a': 1", "'a': b or c, **d", "return {'a': b or c, **d}\n"),
        ("if a and b and c: pass\n", "b and c", "g(b)", "if a and g(b): pass\n"),
        ("if a and b or c: pass\n", "a and b", "g(b)", "if g(b) or c: pass\n"),
        ("x.cuda().to(a)\n", ".cuda()", ".npu().half()", "x.npu().half().to(a)\n"),
        ("x.cuda().to(a)\n", "cuda()", "npu()", "x.npu().to(a)\n"),
        ("x.cuda(a)\n", "(a)", "(a, b or c)", "x.cuda(a, b or c)\n"),
        ("x.cuda(a)\n", "cuda", "npu", "x.npu(a)\n"),
        ("f'{a}' 'b'\n", "'b'", "'c'", "f'{a}' 'c'\n"),
        ("from a import b, c\n", "b, c", "b, d", "from a import b, d\n"),
        ("global a, b\n", "a, b", "b, c", "global b, c\n"),
        ("lambda a, b: a\n", "a, b", "b, c=1", "lambda b, c=1: a\n"),
        ("if a == 1: pass\n", "if a", "if a.b", "if a.b == 1: pass\n"),
        ("x = a[k]\n", "k", "k, j", "x = a[k, j]\n"),
        ("x = a[k]\n", "[k]", "[k:j]", "x = a[k:j]\n"),
        ("x = a[k]\n", "k", "k:j", "x = a[k:j]\n"),
        ("x = g(i for i in j)\n", "i for i in j", "i for i in k", "x = g(i for i in k)\n"),
        ("async def g(): return await a\n", "await a", "await b", "async def g(): return await b\n"),
    ],
)
def test_an_exchange_of_whole_expressions_is_made(body: str, find: str, replacement: str, after: str) -> None:
    edit(body, after, (find, replacement))


@pytest.mark.parametrize(
    ("body", "find"),
    [
        ("return x - a + b\n", "a + b"),
        ("return -a ** b\n", "-a"),
        ("return a < b < c\n", "a < b"),
        ("return a if b else c or d\n", "a if b else c"),
        ("return c * a, b\n", "a, b"),
        ("return a or b and c\n", "a or b"),
    ],
)
def test_a_find_that_splits_an_expression_is_refused(body: str, find: str) -> None:
    refuse(body, f"`{find}` {PART}", (find, "g(a)"))


@pytest.mark.parametrize(
    ("body", "find", "replacement"),
    [
        ("return a * b + 1\n", "+ 1", "+ 2"),
        ("return -1 ** 2\n", "-1", "-2"),
        ("return x - a + b\n", "a + b", "1 + c"),
        ("return x < 1 < y\n", "x < 1", "x < 'é'"),
        ("return x is not None\n", "is not None", "is not True"),
        ("return c * a, b\n", "a, b", "2, 3"),
        ("return a or b and 1.5e3\n", "b and 1.5e3", "c and b'x'"),
        ("return x[1:2 + n]\n", "2 +", "3 +"),
        ("return f(x, key=a.b)\n", "key=a", "key=c"),
    ],
)
def test_what_differs_in_names_and_literals_alone_is_exchanged_anywhere(body: str, find: str, replacement: str) -> None:
    edit(body, body.replace(find, replacement), (find, replacement))


def test_another_keyword_is_no_other_name() -> None:
    refuse("return x is a or b\n", f"`a or b` {PART}", ("a or b", "a and b"))


@pytest.mark.parametrize(
    ("body", "find", "replacement", "message"),
    [
        (
            "z = log('a')\n",
            "log('a')",
            "y = log('b')",
            f"{INSIDE} `log('a')` does; lengthen the find",
        ),
        (
            "x.z(a)\n",
            ".z(a)",
            ".w(a) or b",
            f"{BEHIND} `.z(a)` does; {PARENTHESES}",
        ),
        (
            "x.z(a)\n",
            "z(a)",
            "w(a) or b",
            f"{BEHIND} `z(a)` does; {PARENTHESES}",
        ),
        ("x.z(a)\n", "(a)", "(a) + 1", f"{BEHIND} `(a)` does; {PARENTHESES}"),
    ],
)
def test_a_replacement_reads_as_its_find_does(body: str, find: str, replacement: str, message: str) -> None:
    refuse(body, f"`{replacement}` {message}", (find, replacement))


def test_code_that_is_not_whole_after_the_edits_is_refused() -> None:
    whole = "see that what each find and each replacement leaves is whole"
    refuse("if a:\n    b()\n", f"`f` is not valid Python: unexpected indent after its edits; {whole}", ("if a:", "c()"))
    runs = "runs into the code beside one of its replacements; put white space round the replacement"
    refuse("return(x)\n", runs, ("(x)", "x"))


def test_edits_that_are_whole_together_are_made() -> None:
    edit("x = g(a, b)\n", "x = h(g(a), b)\n", ("g(a", "h(g(a)"))
    edit("x = g(a, b)\n", "x = h(g(a), i(b))\n", ("g(a", "h(g(a)"), ("b)", "i(b))"))


def test_a_find_is_looked_for_in_upstreams_text_alone() -> None:
    edit("x = a\ny = b\n", "x = b\ny = a\n", ("a", "b"), ("b", "a"))


def test_attributes_that_share_their_line_are_edited_alone() -> None:
    overlay = "X = edited(('a', 'b'), why='w')\nY = edited(('a', 'c'), why='w')\n"
    check("X = a; Y = a  # c\n", overlay, "# edited: w\n# edited: w\nX = b; Y = c  # c\n")
    refused(
        "X = 1\n",
        "X = edited(('1', '2\\nY = 3'), why='w')\n",
        f"2: the 2 lines of `2\nY = 3` would stand for a part of a line; {WHOLE}",
    )


@pytest.mark.parametrize("body", ["y = x.y = z\n", "x.y = z + 1\n", "x.y = z if a else b\n"])
def test_a_find_that_reads_as_a_statement_is_one_where_an_expression_takes_its_place(body: str) -> None:
    message = "`x.y = z` is only a part of a statement where it stands; lengthen the find"
    refuse(body, message, ("x.y = z", "set(x, z)"))
    edit("x.y = z\n", "set(x, z)\n", ("x.y = z", "set(x, z)"))
    edit("g(y=z)\n", "g(z)\n", ("y=z", "z"))


def test_decorators_come_and_go() -> None:
    before = "@a\n@b(1)\ndef f(x):\n    return x\n"
    for edits, after in (
        ([("@a", "")], "@b(1)\ndef f(x):\n    return x\n"),
        ([("@a\n@b(1)", "")], "def f(x):\n    return x\n"),
        ([("@b(1)", "@c\n@d")], "@a\n@c\n@d\ndef f(x):\n    return x\n"),
    ):
        overlay = f"@edited({', '.join(map(repr, edits))}, why='w')\ndef f(): ...\n"
        check(before, overlay, "# edited: w\n" + after)


JOINED = 'return ("a "\n        "b")\n'


@pytest.mark.parametrize("replace", ['"c" if n else "d"', '"loss %f" % n', '"X".lower()'])
def test_one_of_several_strings_that_are_joined_stays_a_string(replace: str) -> None:
    what = f'`"b"` is one of several strings that Python joins, and `{replace}` is no string'
    refuse(JOINED, f"{what}; let the find hold all of them", ('"b"', replace))
    edit(JOINED, 'return ("a "\n        "c" "d")\n', ('"b"', '"c" "d"'))
