"""Imports: no import of the overlay's leads back to a module that is not through with its own."""

from __future__ import annotations

import pytest

from .gate import OWN, A, CheckedOverlay

FIX = "import it inside the function that needs it"
WRAPPER = "@wrapped(why='w')\ndef f(): return thing(upstream())\n"


def test_a_merged_import_that_leads_back_is_refused(gate: CheckedOverlay) -> None:
    upstream = {"a.py": "import os\ndef f(): return 1\n", "b.py": "from pkg.a import f\ndef thing(x): return x\n"}
    what = (
        "`from pkg.b import thing` in pkg/a.py leads in a circle where {} is imported first: "
        "pkg/{} needs `{}` of pkg.{} before it is there"
    )
    assert gate(upstream, {A: f"from pkg.b import thing\n{WRAPPER}"}) == [
        f"{OWN}:2: {what.format('pkg.a', 'b.py:1', 'f', 'a')}; {FIX}"
    ]
    late = "@wrapped(why='w')\ndef f():\n    from pkg.b import thing\n    return thing(upstream())\n"
    assert gate(upstream, {A: late}) == []


def test_a_file_of_the_overlays_that_needs_what_it_is_for_is_refused(gate: CheckedOverlay) -> None:
    upstream = {"a.py": "def f(): return 1\n", "mid.py": "from .n import other\n"}
    helper = b"from .a import f\nother = 1\ndef thing(x): return x\n"
    overlay = f"from pkg.mid import other as thing\n{WRAPPER}"
    found = gate(upstream, {A: overlay, "tree/pkg/n.py": helper})
    assert found
    assert all("leads in a circle" in one for one in found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("def f(): return 1\n", "import pkg.a\ndef thing(x): return pkg.a.f()\n"),
        ("def f(): return 1\n", "def thing(x):\n    from pkg.a import f\n    return f()\n"),
        ("def f(): return 1\n", "try:\n    from pkg.a import f\nexcept ImportError: pass\ndef thing(x): return x\n"),
        ("K = 1\ndef f(): return 1\n", "thing = len\nfrom pkg import a\n"),
        ("def f(): return globals()\n", "thing = len\nfrom pkg.a import f\n"),
    ],
)
def test_an_import_that_leads_back_and_finds_what_it_needs_is_merged(gate: CheckedOverlay, a: str, b: str) -> None:
    found = gate({"a.py": a, "b.py": b}, {A: f"from pkg.b import thing\n{WRAPPER}"})
    # Where b is imported first, its own import of a meets a b without `thing`.
    first = "import pkg.a\ndef" in b
    assert all("where pkg.b is imported first" in one for one in found)
    assert bool(found) == first


def test_upstreams_own_circle_is_upstreams_business(gate: CheckedOverlay) -> None:
    upstream = {
        "a.py": "from pkg.b import thing\ndef f(): return 1\n",
        "b.py": "from pkg.a import f\ndef thing(): pass\n",
    }
    assert (
        gate(upstream, {A: f"from pkg.c import x\n{WRAPPER.replace('thing(', 'x(')}", "tree/pkg/c.py": b"x = 1\n"})
        == []
    )
