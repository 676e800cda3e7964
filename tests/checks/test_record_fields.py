"""Records: a field of a base never moves what callers of its heirs give by position."""

from __future__ import annotations

import pytest

from .gate import OWN, A, CheckedOverlay

BASE = "from dataclasses import dataclass, field\n@dataclass\nclass Base:\n    a: int = 1\n"
OWN_HEIR = "@dataclass\nclass Heir(Base):\n    b: int = 2\n"
ADDED = "class Base:\n    x: int = added(1, why='w')\n"
BY_NAME = "from dataclasses import field\nclass Base:\n    x: int = added(field(default=1, kw_only=True), why='w')\n"
MUTABLE = "that all objects would share; write `field(default_factory=…)`"
BEHIND = "and stands behind `{}`, which has one; give it a default, or `field(kw_only=True)`"
FIX = "make it one that is given by name: `x: … = field(default=…, kw_only=True)`"


def _moves(*heirs: str, line: int = 3) -> list[str]:
    return [f"{OWN}:{line}: the field `x` of `Base` moves the positional arguments of {', '.join(heirs)}; {FIX}"]


@pytest.mark.parametrize(
    ("files", "heirs"),
    [
        ({"a.py": BASE + OWN_HEIR}, ["`Heir` (pkg/a.py)"]),
        ({"a.py": BASE + OWN_HEIR.replace("(Base)", "(Base[int])")}, ["`Heir` (pkg/a.py)"]),
        ({"b.py": f"from dataclasses import dataclass\nfrom .a import Base\n{OWN_HEIR}"}, ["`Heir` (pkg/b.py)"]),
        (
            {
                "b.py": f"import dataclasses as d\nimport pkg.a\n{OWN_HEIR}".replace("@data", "@d.data").replace(
                    "(B", "(pkg.a.B"
                )
            },
            ["`Heir` (pkg/b.py)"],
        ),
        (
            {
                "s/__init__.py": "from ..a import Base as Config\n",
                "b.py": "from dataclasses import dataclass\nfrom pkg.s import Config\n"
                "class Plain(Config):\n    pass\n@dataclass(frozen=True)\nclass Heir(Plain):\n    b: int = 2\n",
            },
            ["`Heir` (pkg/b.py)"],
        ),
        ({"b.py": f"from dataclasses import dataclass\nfrom .a import *\n{OWN_HEIR}"}, ["`Heir` (pkg/b.py)"]),
        (
            {"a.py": BASE + OWN_HEIR + "@dataclass\nclass Last(Heir):\n    c: int = 3\n"},
            ["`Heir` (pkg/a.py)", "`Last` (pkg/a.py)"],
        ),
    ],
)
def test_a_field_that_moves_those_of_heirs_is_refused(
    gate: CheckedOverlay, files: dict[str, str], heirs: list[str]
) -> None:
    upstream = {"a.py": BASE, **files}
    assert gate(upstream, {A: ADDED}) == _moves(*heirs)
    assert gate(upstream, {A: BY_NAME}) == []


@pytest.mark.parametrize(
    "heir",
    [
        "@dataclass\nclass Heir(Base): pass\n",
        "class Heir(Base):\n    b: int = 2\n",
        "@dataclass(kw_only=True)\nclass Heir(Base):\n    b: int = 2\n",
        "@dataclass(init=False)\nclass Heir(Base):\n    b: int = 2\n",
        "@dataclass\nclass Heir(Base):\n    b: int = 2\n    def __init__(self): pass\n",
        "@dataclass\nclass Heir(Base):\n    b: int = field(init=False)\n    N = 1\n    K: 'ClassVar[int]' = 2\n",
        "@dataclass\nclass Heir(Base):\n    a: int = 2\n",
    ],
)
def test_a_field_that_moves_nothing_is_added(gate: CheckedOverlay, heir: str) -> None:
    assert gate.merge(BASE + heir, ADDED) == []


def test_attrs_and_msgspec_are_known(gate: CheckedOverlay) -> None:
    attrs = "import attr\n@attr.s\nclass Base:\n    a = attr.ib()\n@attr.s\nclass Heir(Base):\n    b = attr.ib()\n"
    overlay = "import attr\nclass Base:\n    x = added(attr.ib(default=1), why='w')\n"
    assert gate.merge(attrs, overlay) == _moves("`Heir` (pkg/a.py)", line=4)
    assert gate.merge(attrs, overlay.replace("default=1", "default=1, kw_only=True")) == []
    define = "from attrs import define\n@define\nclass Base:\n    a: int\n@define\nclass Heir(Base):\n    b: int\n"
    assert gate.merge(define, ADDED) == _moves("`Heir` (pkg/a.py)")
    struct = "import msgspec\nclass Base(msgspec.Struct):\n    a: int\nclass Heir(Base):\n    b: int\n"
    assert gate.merge(struct, ADDED) == _moves("`Heir` (pkg/a.py)")
    root = {"root.py": "import msgspec\nclass Root(msgspec.Struct):\n    r: int\n"}
    heirs = "from .root import Root\nclass Base(Root):\n    a: int\nclass Heir(Base):\n    b: int\n"
    assert gate({"a.py": heirs, **root}, {A: ADDED}) == _moves("`Heir` (pkg/a.py)")


def test_a_replaced_or_edited_base_moves_its_heirs_too(gate: CheckedOverlay) -> None:
    before = BASE.replace("a: int = 1", "a: int = 1\n    x: int = 2") + OWN_HEIR
    for overlay in (
        "from dataclasses import dataclass\n@replaced(why='w')\n@dataclass\nclass Base:\n    a: int = 1\n",
        "@edited(('x: int = 2', ''), why='w')\nclass Base: ...\n",
        "class Base:\n    deleted('x', why='w')\n",
    ):
        (found,) = gate.merge(before, overlay)
        assert "the field `x` of `Base` moves the positional arguments of `Heir` (pkg/a.py)" in found


TWO = "from dataclasses import dataclass\n@dataclass\nclass Base:\n    a: int\n    b: int\n    c: int = 0\n"
SHIFTED = "in another place: code that gives it by position sets another field; keep upstream's fields in their places"


@pytest.mark.parametrize(
    ("overlay", "name"),
    [
        ("@edited(('a: int', 'b: int'), ('b: int', 'a: int'), why='w')\nclass Base: ...\n", "a"),
        ("@edited(('a: int', ''), why='w')\nclass Base: ...\n", "b"),
        ("class Base:\n    deleted('b', why='w')\n", "c"),
        ("class Base:\n    c: int = replaced(field(default=0, kw_only=True), why='w')\n", ""),
        ("class Base:\n    d: int = added(1, why='w')\n", ""),
        ("@edited(('b: int', 'b: str'), why='w')\nclass Base: ...\n", ""),
    ],
)
def test_a_record_takes_its_own_fields_in_their_places(gate: CheckedOverlay, overlay: str, name: str) -> None:
    found = gate.merge(TWO.replace("dataclass\n", "dataclass, field\n", 1), overlay)
    assert [f"`Base` takes `{name}` {SHIFTED}" in one for one in found] == [True] * bool(name)


def test_a_patch_does_not_swap_the_fields_of_a_record(gate: CheckedOverlay) -> None:
    swapped = TWO.replace("    a: int\n    b: int\n", "    b: int\n    a: int\n")
    diff = "Why: w\n\ndiff --git a/pkg/a.py b/pkg/a.py\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -3,5 +3,5 @@\n"
    diff += " class Base:\n+    b: int\n     a: int\n-    b: int\n     c: int = 0\n"
    assert swapped != TWO
    (found,) = gate({"a.py": TWO}, {"patches/x.patch": diff.replace("-3,5 +3,5", "-3,4 +3,4")})
    assert f"`Base` takes `a` {SHIFTED}" in found
    assert "x.patch" in found


def test_a_named_tuple_keeps_its_length(gate: CheckedOverlay) -> None:
    before = "from typing import NamedTuple\nclass Base(NamedTuple):\n    a: int\n"
    assert gate.merge(before, ADDED) == [
        (
            f"{OWN}:3: `Base` is a NamedTuple: with `x`, code that unpacks it fails; "
            "add a property, or a class of your own"
        )
    ]
    assert gate.merge(before, "class Base:\n    @added(why='w')\n    @property\n    def x(self): return 1\n") == []


@pytest.mark.parametrize(
    ("overlay", "expected"),
    [
        ("class Base:\n    a: list = replaced([], why='w')\n", [f"3: `a` of `Base` has a mutable default {MUTABLE}"]),
        ("class Base:\n    x: dict = added({}, why='w')\n", [f"3: `x` of `Base` has a mutable default {MUTABLE}"]),
        (
            "@edited(('a: int = 1', 'a: int = 1\\nx: int'), why='w')\nclass Base: ...\n",
            [f"`x` of `Base` has no default {BEHIND.format('a')}"],
        ),
        ("class Base:\n    x: int = added(field(repr=False), why='w')\n", [BEHIND.format("a")]),
        ("class Base:\n    x: list = added(field(default_factory=list), why='w')\n", []),
        ("class Base:\n    x: int = added(field(kw_only=True), why='w')\n", []),
        ("class Base:\n    x: tuple = added((), why='w')\n", []),
        ("class Plain:\n    a: list = replaced([], why='w')\n", []),
    ],
)
def test_python_can_make_a_record(gate: CheckedOverlay, overlay: str, expected: list[str]) -> None:
    before = BASE + "class Plain:\n    a: list = None\n"
    found = gate.merge(before, f"from dataclasses import field\n{overlay}" if "field(" in overlay else overlay)
    assert len(found) == len(expected)
    for one, text in zip(found, expected, strict=True):
        assert text in one


def test_a_record_that_python_never_made_is_left_alone(gate: CheckedOverlay) -> None:
    before = "from dataclasses import dataclass\n@dataclass\nclass Base:\n    a: list = []\n    def f(self): pass\n"
    assert gate.merge(before, "class Base:\n    @replaced(why='w')\n    def f(self): return 1\n") == []


ENUM = "from enum import Enum, auto\nclass Kind(Enum):\n    A = auto()\n    B = auto()\n    C = auto()\n"
LAST = "put new members last, and where a member goes, give the next one its number"
NUMBERED = "gets another number from `auto()`"


@pytest.mark.parametrize(
    ("overlay", "expected"),
    [
        ("class Kind:\n    deleted('B', why='w')\n", f"3: `Kind.C` {NUMBERED}: `B` in front of it goes"),
        ("class Kind:\n    B = replaced(7, why='w')\n", f"3: `Kind.C` {NUMBERED}: what stands in front of it changes"),
        (
            "@edited(('B = auto()', 'Z = auto()\\nB = auto()'), why='w')\nclass Kind: ...\n",
            f"3: `Kind.B` {NUMBERED}: `Z` comes in front of it",
        ),
        ("@edited(('B = auto()', ''), ('C = auto()', 'C = 3'), why='w')\nclass Kind: ...\n", ""),
        ("@edited(('A = auto()', ''), ('B = auto()', 'B = 2'), why='w')\nclass Kind: ...\n", ""),
        ("class Kind:\n    B = replaced(2, why='w')\n", ""),
        ("class Kind:\n    D = added(auto(), why='w')\n", ""),
        ("class Kind:\n    deleted('C', why='w')\n", ""),
    ],
)
def test_members_of_an_enumeration_keep_their_numbers(gate: CheckedOverlay, overlay: str, expected: str) -> None:
    found = gate.merge(ENUM, "from enum import auto\n" + overlay if "added(auto" in overlay else overlay)
    assert found == ([f"{OWN}:{expected}; {LAST}"] if expected else [])


def test_flags_and_heirs_are_numbered_too(gate: CheckedOverlay) -> None:
    overlay = "class Kind:\n    deleted('B', why='w')\n"
    flags = ENUM.replace("Enum", "Flag")
    assert [NUMBERED in one for one in gate.merge(flags, overlay)] == [True]
    heir = ENUM.replace("class Kind(Enum)", "class Base(Enum):\n    pass\nclass Kind(str, Base)")
    assert [NUMBERED in one for one in gate.merge(heir, overlay)] == [True]
    own = "class Kind(Enum):\n    def _generate_next_value_(name, *rest): return name\n"
    assert gate.merge(ENUM.replace("class Kind(Enum):\n", own), overlay) == []
