"""Generated Python modules: every way of laying out functions, classes, decorators, comments and strings."""

from __future__ import annotations

import codecs

from hypothesis import strategies as st

_NAMES = ["f", "g", "d", "e", "a", "s", "été", "__call__", "_x", "async_", "upstream"]
_EXPRESSIONS = [
    "1", "x.y", "'a'", "'é #'", "f'{x!r:>{w}}'", "[\n1,\n  2]", "(not x)", "lambda: 0", '"""a\n  b\n\tc"""', "'''\n'''",
    "'a\\\n b'", "x \\\n  + 1", "{'k': 'v'}", "[i for i in x]",
    "'\\u2028\x0c'", "'\u2028'", "rb'\\\\'", "f'''\n{x}\n'''",
]  # fmt: skip
_COMMENTS = ["", "  # c", "  # def f(): 'x'", "# é \u2028", "  #"]
_PARAMETERS = ["", "x", "self, x=1", "*args, **kwargs", "a, /, b, *, c=(1,\n 2)", "x: int = 1,  # c\n  y=2"]
# None of what they read is bound by a module: what it binds further down, it cannot read there.
_DECORATORS = ["cache", "w.b(1,\n  x='''\n''')", "(w or v)", "staticmethod", "property", "x  # c"]


@st.composite
def modules(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a module, mostly valid Python: any indentation, line end, mark and last line."""
    unit = draw(st.sampled_from(["    ", "  ", "\t", " "]))
    header = draw(st.sampled_from(["", "#!/bin/x\n# c\n", '"""Doc.\n  string\n"""\n', "import os, re\n\n", "\n\n"]))
    blocks = draw(st.lists(_statement("", unit, 2), max_size=5))
    text = header + "".join(blocks)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    mark = codecs.BOM_UTF8 if draw(st.booleans()) else b""
    return mark + text.replace("\n", newline).encode()


@st.composite
def _statement(draw: st.DrawFn, indent: str, unit: str, depth: int) -> str:
    kinds = ["simple", "function", "function", "comment"]
    kind = draw(st.sampled_from([*kinds, "class", "class", "branch"] if depth else kinds))
    if kind == "simple":
        return _simple(draw, indent)
    if kind == "comment":
        return draw(st.sampled_from(["\n", "\n\n", f"{indent}# c\n", "# at the margin\n", f"{indent}\n"]))
    body = "".join(draw(st.lists(_statement(indent + unit, unit, depth - 1), max_size=3))) if depth else ""
    if kind == "branch":
        return _branch(draw, indent, unit, body)
    return _definition(draw, indent, unit, body if kind == "class" else "", is_class=kind == "class")


def _simple(draw: st.DrawFn, indent: str) -> str:
    name, value = draw(st.sampled_from(_NAMES)), draw(st.sampled_from(_EXPRESSIONS))
    forms = [f"{name} = {value}", f"{name}: int = {value}", f"{value}", "import x.y as z", f"{name} = 1; z = {value}"]
    return indent + draw(st.sampled_from([*forms, "pass", "pass;"])) + draw(st.sampled_from(_COMMENTS)) + "\n"


def _branch(draw: st.DrawFn, indent: str, unit: str, body: str) -> str:
    head, tail = draw(
        st.sampled_from(
            [
                ("if x:", ""),
                ("try:", f"{indent}except E:\n{indent}{unit}pass\n"),
                ("with a as b:", ""),
                ("for i in x:", ""),
            ]
        )
    )
    return f"{indent}{head}\n{body}{indent}{unit}pass\n{tail}"


def _definition(draw: st.DrawFn, indent: str, unit: str, body: str, *, is_class: bool) -> str:
    name = draw(st.sampled_from(_NAMES))
    decorators = "".join(f"{indent}@{one}\n" for one in draw(st.lists(st.sampled_from(_DECORATORS), max_size=2)))
    spaces = draw(st.sampled_from([" ", "  ", " \\\n "]))
    if is_class:
        head = f"class{spaces}{name}" + draw(st.sampled_from(["", "()", "(A)", "(A,\n  metaclass=M)"])) + ":"
    else:
        word = draw(st.sampled_from(["def", f"async{spaces}def"]))
        head = f"{word}{spaces}{name}({draw(st.sampled_from(_PARAMETERS))}):"
    value = draw(st.sampled_from(_EXPRESSIONS))
    if not body and draw(st.booleans()):
        return f"{decorators}{indent}{head} x = {value}{draw(st.sampled_from(_COMMENTS))}\n"
    comment = draw(st.sampled_from(_COMMENTS))
    return f"{decorators}{indent}{head}{comment}\n{indent}{unit}x = {value}\n{body}{indent}{unit}pass\n"
