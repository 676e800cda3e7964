"""In which order Python asks a class and its bases, and where that cannot be told."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from npu_overlays.model import Symbol

from .trees import model, order, pythons_order

_CASE = re.compile(r"(?P<program>(?:^(?!=> |#{2} ).*\n)+)^=> (?P<expected>.*)$", re.MULTILINE)
_TEXT = Path(__file__).with_name("orders.txt").read_text("utf-8")
CASES = [
    pytest.param(one["program"].strip("\n"), one["expected"], id=f"line {_TEXT.count(chr(10), 0, one.end()) + 1}")
    for one in _CASE.finditer(_TEXT)
]
BESIDE = "# pkg/b.py\nclass B: ...\nclass C(B): ...\n"


@pytest.mark.parametrize(("program", "expected"), CASES)
def test_the_order_of_a_class_and_its_bases_is_pythons_where_it_is_known(program: str, expected: str) -> None:
    text = f"# pkg/a.py\n{program}\n{BESIDE}"
    symbol = Symbol("pkg/a.py", expected.split(maxsplit=1)[0].removeprefix("a."))
    assert order(model(text), symbol) == expected
    if not expected.endswith("?"):
        assert pythons_order(text, symbol) == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement is Python 3.12's")
def test_type_parameters_make_a_class_generic() -> None:
    text = "# pkg/a.py\nclass B: ...\nclass A[T](B): ..."
    assert order(model(text), Symbol("pkg/a.py", "A")) == pythons_order(text, Symbol("pkg/a.py", "A"))


def test_a_member_is_that_of_the_first_class_that_python_asks() -> None:
    text = "# pkg/a.py\nclass D:\n    def m(self): ...\nclass C:\n    m = n = 1\nclass B(D): ...\nclass A(B, C): ..."
    classes = model(text).classes
    found = [classes.owner(Symbol("pkg/a.py", "A"), name) for name in ("m", "n", "o")]
    assert found == [Symbol("pkg/a.py", "D"), Symbol("pkg/a.py", "C"), None]


@pytest.mark.parametrize(
    ("bases", "answers"),
    [
        ("B", (True, False, False)),
        ("B, dict", (True, True, False)),
        ("x.X, B", (True, None, None)),
        ("B, make()", (True, None, None)),
        ("B, C", (True, None, None)),
        ("C, B, D", (True, None, None)),
    ],
)
def test_whether_objects_have_an_attribute_is_told_where_all_bases_are_known(
    bases: str, answers: tuple[bool | None, ...]
) -> None:
    others = "import x\nclass B: own = 1\nclass C:\n    def __getattr__(self, name): ...\nclass D(B, C): ...\n"
    classes = model(f"# pkg/a.py\n{others}class A({bases}): ...").classes
    found = tuple(classes.has(Symbol("pkg/a.py", "A"), name) for name in ("own", "items", "other"))
    assert found == answers


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        ("for m in (1, 2): ...", (True, False)),
        ("match os.name:\n        case m: ...", (True, False)),
        ("with open(os.devnull) as m: ...", (True, False)),
        ("(m := 1)", (True, False)),
        ("for n in (1, 2): ...\n    del n", (False, False)),
        ("try: ...\n    except OSError as n: ...", (False, False)),
        ("[n for n in (1, 2)]", (False, False)),
        ("def f(self):\n        for n in (1, 2): ...", (False, False)),
    ],
)
def test_a_class_has_what_any_statement_of_its_body_binds(body: str, answers: tuple[bool, bool]) -> None:
    text = f"# pkg/a.py\nimport os\nclass B: ...\nclass A(B):\n    {body}\n"
    found = tuple(model(text).classes.has(Symbol("pkg/a.py", "A"), name) for name in "mn")
    assert found == answers
