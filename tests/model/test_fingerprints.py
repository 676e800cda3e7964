"""Fingerprints: what counts, what does not, and that every Python version agrees."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import npu_overlays
from npu_overlays.model.fingerprint import brief, dump, fingerprint
from support.pythons import EACH, some_python

# Runs on another Python with nothing but the standard library.
_SCRIPT = """
import ast, json, sys, warnings
from npu_overlays.model.definition_fields import definition_fields
from npu_overlays.model.definitions import definitions_of
from npu_overlays.model.fingerprint import dump, fingerprint
warnings.simplefilter("ignore")
found = []
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    found.append([fingerprint(tree), [dict(definition_fields(one)) for one in definitions_of(tree)], dump(tree)])
json.dump(found, sys.stdout)
"""

TRICKY = [
    "f'{x}'",
    "f'a{x!r:>{width}.{precision}}b' 'c' f'{y}'",
    "f'{x=}' f'{x = !r:^20}' f'{ x = }'",
    "f'{{a}}{b}{{{c}}}'",
    "f'{x:}' f'{x:%H:%M}' f''",
    "f'{x:{y}}' f'{x:{y}{z}}' f'{x:a{y}b}'",
    "f'\\n\\t\\x41\\u00e9\\N{EN DASH}{x}'",
    "rf'\\d{x}\\{y}'",
    "f'''{\nx\n+ y}\n  {z:\n>10}'''",
    "f\"{d['k']} {'a' 'b'} {(lambda: 1)()} {[i for i in x]}\"",
    "f'{x!s}{y!a}' f'{ {1: 2}[1] }'",
    "'a' 'b' u'c'\nx = b'a' b'\\xff'",
    "x = '\\ud800\\x85\\u2028é\U0001f600'",
    "x = 1e999, -0.0, 1j, 0xff, 10**3, 1_000, 0.1",
    "x = None, True, False, ..., 'None', b'None'",
    "def f(): return None\ndef g(): return\ndef h(x=None, *, y=None, z): pass",
    "def f(a, /, b: int = 1, *c: int, d, e=2, **g: str) -> 'x': '''Doc.'''",
    "async def f():\n    async with a as b, c: pass\n    async for x in y: await x\n    return [i async for i in x]",
    "with (open(a) as b, open(c) as d): pass\nwith (a): pass\nwith (a, b): pass",
    "match x:\n    case {'a': 1, **rest} | [1, *_] | A(b, c=2) | None | True | -1 | 'x' | a.b: pass\n    case _: pass",
    "@(a or b)\n@c.d[1]\nclass A(B, metaclass=M, **k):\n    '''Doc.'''\n    x: int\n    y: int = 1",
    "x[1:2, ::3, ...] = y[a, b] = z[(1, 2)] = w[1]",
    "print(*a, **b, c=1)\n{**a, 'b': 1}\n{*a}\n[*a, 1]",
    "try: pass\nexcept (A, B) as e: raise X from e\nelse: pass\nfinally: del a, b[1]",
    "global x\nassert x, 'y'\nlambda x, /, y=1, *z, **w: (yield)",
    "x = (y := 1)\nx: int\n(x): int = 1\na.b: int = 1",
    "'''Doc.'''\nx = 1 if a else b\nnot x and y or z\na < b <= c != d is not e not in f",
    "for i in 1, 2: continue\nelse: pass\nwhile x: break",
    "from . import a\nfrom ..b import c as d\nimport e.f as g, h.i",
    "x = '\\d \\( invalid escapes'",
    "été = ﬁ = 1",
    "def f():\n    def g():\n        nonlocal x\n        '''Doc.'''\n    class A:\n        '''Doc.'''\n    return g",
    "x = " + "(" * 50 + "1" + ")" * 50,
    "x = " + " + ".join(["a"] * 200),
]


def _results(python: str, sources: list[str]) -> list[object]:
    folder = Path(npu_overlays.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    stdin = json.dumps(sources).encode()
    done = subprocess.run([python, "-c", _SCRIPT], input=stdin, env=env, capture_output=True, check=True)
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", EACH)
def test_every_python_agrees_on_tricky_sources(version: str) -> None:
    theirs = _results(some_python(version), TRICKY)
    own = _results(sys.executable, TRICKY)
    assert [source for source, a, b in zip(TRICKY, own, theirs, strict=True) if a != b] == []


def test_the_tricky_sources_have_the_fingerprints_they_always_had() -> None:
    """Guards the locks people have, and tells of a difference even where there is only one Python."""
    found = [fingerprint(ast.parse(source)) for source in TRICKY if "\\d" not in source]
    assert fingerprint(ast.parse(repr(found))) == "623302b227166319"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x  =  1  # comment"),
        ("x = 'a'", 'x = "a"'),
        ("x = 'a' 'b'", "x = ('ab')"),
        ("def f():\n    '''Doc.'''\n    return 1", "def f():\n    return 1"),
        ("class A:\n    '''Doc.'''\n    x = 1", "class A:\n    '''Other.'''\n    x = 1"),
        ("x = 1000", "x = 1_000"),
        ("x = u'a'", "x = 'a'"),
    ],
)
def test_what_does_not_count(one: str, other: str) -> None:
    assert fingerprint(ast.parse(one).body[0]) == fingerprint(ast.parse(other).body[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 'a'", "x = b'a'"),
        ("x = None", "x = 'None'"),
        ("x = f(None)", "x = f()"),
        ("def f(): return None", "def f(): return"),
        ("def f(x): pass", "def f(y): pass"),
        ("def f(x): pass", "def f(x=None): pass"),
        ("def f(x): pass", "async def f(x): pass"),
        ("@a\ndef f(): pass", "def f(): pass"),
        ("def f(): pass", "def f() -> int: pass"),
        ("x = [a]", "x = a,"),
        ("x = {}", "x = {**a}"),
        ("x[1]", "x[1:]"),
        ("f'{x}'", "f'{x!r}'"),
        ("x = 'Doc.'; y", "y"),
        ("def f():\n    x = 1\n    'text'", "def f():\n    x = 1\n    'other'"),
    ],
)
def test_what_counts(one: str, other: str) -> None:
    assert fingerprint(ast.parse(one)) != fingerprint(ast.parse(other))


def test_docstrings_count_where_they_are_asked_for() -> None:
    one, other = (ast.parse(f"def f():\n    '''{text}'''\n    return 1") for text in "ab")
    assert dump(one) != dump(other)
    assert dump(one, docstrings=False) == dump(other, docstrings=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("torch.no_grad", "torch.no_grad"),
        ("functools.lru_cache(maxsize = None)", "functools.lru_cache(maxsize=None)"),
        ('f(1, -2.5, "a", *b, c=..., **d)', "f(1, -2.5, 'a', *b, c=..., **d)"),
        ("a[1, 'é']", "a[(1, '\\xe9',)]"),
        ("[1], (1,), ()", "([1], (1,), (,),)"),
    ],
)
def test_a_short_expression_is_shown_as_it_can_be_read(text: str, shown: str) -> None:
    assert brief(ast.parse(text, mode="eval").body) == shown


def test_an_expression_that_is_long_or_of_another_kind_is_shown_by_its_digest() -> None:
    texts = ["lambda: 1", "lambda: 2", "a + b", f"'{'x' * 80}'", "not x", "~x"]
    shown = {brief(ast.parse(text, mode="eval").body) for text in texts}
    assert len(shown) == len(texts)
    assert all(re.fullmatch("<[0-9a-f]{8}>", one) for one in shown)
