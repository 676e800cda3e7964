"""Members of classes that are taken away, and what in the shipped packages still asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import PATH, refused

CLASS = "class Base:\n    def run(self): return self.n()\nclass C:\n    def n(self): pass\n    def o(self): pass\n"
DELETED = 'class C:\n    deleted("n", why="w")\n'


def _told(tmp_path: Path, upstream: str, other: str, overlay: str = DELETED) -> list[str]:
    return refused(tmp_path, upstream, other, overlay)


def _refusal(places: str) -> list[str]:
    what = f"pkg@1111111/tree/{PATH}:3: `C.n` is taken away from {PATH}, but needed in {places}"
    return [f"{what}; keep it, or change those places too"]


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        ("from pkg.m import C\nC.n", "C.n"),
        ("from pkg.m import C as D\nD().n()", "D().n"),
        ("import pkg.m\ndef f(): return pkg.m.C.n", "pkg.m.C.n"),
        ("def f():\n    from pkg import m\n    return m.C.n", "m.C.n"),
        ("from .m import C\nclass D(C):\n    def f(self): return self.n()", "self.n"),
        ("from .m import C\nclass D(C):\n    @classmethod\n    def f(k): return [k.n for _ in ()]", "k.n"),
        ("from .m import C\nclass D(C):\n    def n(self): return super().n()", "super().n"),
        ("from .m import C\ndef f(c: C): return c.n()", "c.n"),
        ("from .m import C\ndef f(c: 'C'): return getattr(c, 'n')", "getattr(c, 'n')"),
        ("from .m import C\ndef f():\n    c = C()\n    return c.n()", "c.n"),
        ("from .m import C\ndef f(c: C | None): return c.n()", "c.n"),
        ("import typing\nfrom .m import C\ndef f(*, c: 'typing.Optional[C]'): return type(c).n", "type(c).n"),
        ("from .m import C\nclass D(C):\n    def f(self): return self.__class__.n", "self.__class__.n"),
        ("from .m import C\nclass R:\n    def run(self): return self.n()\nclass D(R, C): pass", "self.n"),
        ("import pkg\nclass N:\n    C = pkg.m.C\nclass D(N.C):\n    def f(self): return self.n()", "self.n"),
        ("from . import other as o\nfrom .m import *\nclass D(o.C):\n    def f(self): return self.n()", "self.n"),
    ],
)
def test_a_deleted_member_that_another_module_asks_for_is_refused(tmp_path: Path, other: str, asked: str) -> None:
    (told,) = _told(tmp_path, CLASS, other)
    assert "`C.n` is taken away from pkg/m.py, but needed in pkg/other.py:" in told
    assert told.endswith(f" ({asked}); keep it, or change those places too")


@pytest.mark.parametrize(
    "other",
    [
        "from .m import C\ndef f(c): return c.n()",
        "from .m import C\ndef f(c: C): return c.n() if hasattr(c, 'n') else 0",
        "from .m import C\ndef f(c: C): return hasattr(c, 'n') and c.n()",
        "from .m import C\ndef f(c: C): return getattr(c, 'n', None)",
        "from .m import C\ntry: C.n\nexcept AttributeError: pass",
        "from .m import C\nclass D(C):\n    def n(self): pass\n    def f(self): return self.n()",
        "from .m import C\nclass D(C):\n    def __init__(self): self.n = 1\n    def f(self): return self.n",
        "from .m import C\nclass D(C):\n    def __getattr__(self, name): pass\n    def f(self): return self.n",
        "import torch\nfrom .m import C\nclass D(C, torch.nn.Module):\n    def f(self): return self.n",
        "from .m import C\nclass R:\n    def n(self): pass\nclass D(C, R):\n    def f(self): return self.n()",
        "class C:\n    def f(self): return self.n",
        "from .m import C\nC.n = 1",
        "from .m import C\ndef f(C): return C.n",
        "from .m import C\ndef f():\n    for C in x: C.n",
        "from .m import C\ndef f(c: dict[str, C], d: list[C]): return c.n, d.n",
        "from .m import C\ndef f():\n    c = C()\n    c = g()\n    return c.n()",
        "from .m import C\ndef f(c: C):\n    if not hasattr(c, 'n'):\n        return None\n    return c.n()",
        "from .m import C\ndef f(c: C):\n    for _ in c:\n        assert hasattr(c, 'n')\n        c.n()",
        "from .m import C\nclass D(C):\n    def n(self): pass\ndef f(c: C | D):\n    if isinstance(c, D): c.n()",
        "from .m import C\nclass D(C):\n    def f(self):\n        self = g()\n        return self.n()",
    ],
)
def test_what_may_have_it_otherwise_is_no_loss(tmp_path: Path, other: str) -> None:
    assert _told(tmp_path, CLASS, other) == []


def test_the_class_itself_and_its_bases_are_looked_at(tmp_path: Path) -> None:
    inside = CLASS.replace("class C:", "class C(Base):").replace("def o(self): pass", "def o(self): return self.n()")
    assert _told(tmp_path, inside, "") == _refusal("pkg/m.py:2 (self.n), pkg/m.py:5 (self.n)")
    both = 'class C:\n    deleted("n", why="w")\n    deleted("o", why="w")\nclass Base:\n    deleted("run", why="w")\n'
    assert _told(tmp_path, inside, "", both) == []


def test_a_member_that_a_base_has_as_well_is_no_loss(tmp_path: Path) -> None:
    upstream = CLASS.replace("class Base:", "class Base:\n    def n(self): pass").replace("class C:", "class C(Base):")
    assert _told(tmp_path, upstream, "from .m import C\nC.n") == []
    assert _told(tmp_path / "e", CLASS.replace("class C:", "class C(Exception):"), "from .m import C\nC.n") != []
    of_builtin = CLASS.replace("class C:", "class C(dict):").replace("def n(", "def items(")
    gone = DELETED.replace('"n"', '"items"')
    assert _told(tmp_path / "d", of_builtin, "from .m import C\nC.items", gone) == []


def test_a_member_of_an_enum_is_one(tmp_path: Path) -> None:
    upstream = "import enum\nclass C(enum.Enum):\n    n = 1\n    o = 2\n"
    (told,) = _told(tmp_path, upstream, "from .m import C\nx = C.n\n")
    assert "needed in pkg/other.py:2 (C.n)" in told


def test_a_replaced_class_loses_members_too(tmp_path: Path) -> None:
    overlay = '@replaced(why="w")\nclass C:\n    def o(self): pass\n'
    assert _told(tmp_path, CLASS, "from .m import C\nC.n", overlay) == _refusal("pkg/other.py:2 (C.n)")


BASES = (
    "class Base:\n    n = 1\n    def __init__(self): self.o = 2\n"
    "class Other: n = 3\nclass C(Base):\n    def f(self): pass\n"
)


@pytest.mark.parametrize(
    ("overlay", "other", "missed"),
    [
        ('@edited(("C(Base)", "C"), why="w")', "class D(C):\n    def g(self): return self.n", "n"),
        ('@edited(("C(Base)", "C(Other)"), why="w")', "class D(C):\n    def g(self): return self.o", "o"),
        ('@replaced(why="w")', "def g(c: C): return c.n", "n"),
        ('@replaced(why="w")', "def g(): return C().o", "o"),
    ],
)
def test_what_a_lost_base_gave_is_lost(tmp_path: Path, overlay: str, other: str, missed: str) -> None:
    body = " ..." if "edited" in overlay else "\n    def f(self): pass"
    (told,) = _told(tmp_path, BASES, f"from .m import C\n{other}", f"{overlay}\nclass C:{body}\n")
    assert f":3: `C.{missed}` is taken away from pkg/m.py, but needed in pkg/other.py:" in told


def test_what_super_got_of_a_lost_base_is_lost(tmp_path: Path) -> None:
    upstream = BASES.replace("def f(self): pass", "def f(self): return super().n")
    (told,) = _told(tmp_path, upstream, "", '@edited(("C(Base)", "C"), why="w")\nclass C: ...\n')
    assert "`C.n` is taken away from pkg/m.py, but needed in pkg/m.py:7 (super().n)" in told


@pytest.mark.parametrize("base", ["Other", "Base2", "list"])
def test_a_base_that_gives_the_same_may_take_the_place_of_another(tmp_path: Path, base: str) -> None:
    upstream = BASES.replace("class Base:", "class Base2:\n    n = 0\nclass Base:")
    other = "from .m import C\ndef g(c: C): return c.n\n" if base != "list" else "from .m import C\nC().f()\n"
    overlay = f'@edited(("C(Base)", "C({base})"), why="w")\nclass C: ...\n'
    assert _told(tmp_path, upstream, other, overlay) == []


SETTING = "class C:\n    def __init__(self): self.n = 1\n    def f(self): return self.n\n"
REPLACED = 'class C:\n    @replaced(why="w")\n    def __init__(self): {}\n'


def test_what_a_replaced_method_no_longer_sets_is_lost(tmp_path: Path) -> None:
    places = "pkg/m.py:4 (self.n), pkg/other.py:2 (c.n)"
    assert _told(tmp_path, SETTING, "from .m import C\ndef g(c: C): return c.n\n", REPLACED.format("pass")) == [
        refusal.replace(":3:", ":4:") for refusal in _refusal(places)
    ]


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ("self.m = self.n = 2", ""),
        ("self.reset()\n    @added(why='w')\n    def reset(self): self.n = 3", ""),
        ("setattr(self, 'n', 2)", ""),
        ("self.__dict__.update(n=2)", ""),
        ("pass", "def start(c): c.n = 2\n"),
        ("pass", "from .m import C\nC.n = 1\n"),
        ("object.__setattr__(self, 'n', 2)", ""),
        ("super().__setattr__('n', 2)", ""),
        ("self.register_buffer('n', 2)", ""),
        ("from pkg.other import start; start(self)", "def start(c):\n    for one in 'mn': setattr(c, one, 2)\n"),
    ],
)
def test_what_is_set_otherwise_is_no_loss(tmp_path: Path, body: str, other: str) -> None:
    assert _told(tmp_path, SETTING, other, REPLACED.format(body)) == []


@pytest.mark.parametrize(
    ("upstream", "overlay", "asked"),
    [
        (SETTING.replace("class C:\n", "class C:\n    n: int\n"), REPLACED.format("pass"), "pkg/m.py:5 (self.n)"),
        (
            "class C:\n    n = 0\n    def f(self): self.n += 1\n",
            DELETED,
            "pkg/m.py:3 (self.n += 1)",
        ),
        (
            SETTING.replace("return self.n", "self.n += 1"),
            REPLACED.format("pass"),
            "pkg/m.py:4 (self.n += 1)",
        ),
    ],
)
def test_an_annotation_and_what_is_added_to_give_nothing(
    tmp_path: Path, upstream: str, overlay: str, asked: str
) -> None:
    (told,) = _told(tmp_path, upstream, "", overlay)
    assert f"`C.n` is taken away from pkg/m.py, but needed in {asked};" in told


@pytest.mark.parametrize("head", ["@made\nclass C:", "class C(metaclass=M):", "class C(NamedTuple):"])
def test_an_annotation_may_become_a_field(tmp_path: Path, head: str) -> None:
    upstream = f"from elsewhere import made, M, NamedTuple\n{head}\n    n: int\n    def g(self): self.n = 1\n"
    upstream += "    def f(self): return self.n\n"
    assert _told(tmp_path, upstream, "", 'class C:\n    deleted("g", why="w")\n') == []


@pytest.mark.parametrize(
    "guard", ["if not hasattr(c, 'm'): return None", "if hasattr(c, 'n'): pass", "assert c", "if c: return c"]
)
def test_what_asks_for_something_else_excuses_nothing(tmp_path: Path, guard: str) -> None:
    (told,) = _told(tmp_path, CLASS, f"from .m import C\ndef f(c: C):\n    {guard}\n    return c.n()\n")
    assert "needed in pkg/other.py:4 (c.n);" in told


@pytest.mark.parametrize(
    ("head", "body", "behind", "other"),
    [
        ("@made", "pass", "", "from elsewhere import made"),
        ("@made", "pass", "", "def made(c):\n    setattr(c, 'n', 1)\n    return c"),
        ("@made", "pass", "", "def made(c): return type(c.__name__, (Mixin, c), {})"),
        ("class C(metaclass=made):", "pass", "", "class made(type):\n    def __new__(m, n, b, d): d['n'] = 1"),
        ("class C:", "for one in 'mn': locals()[one] = 1", "", ""),
        ("class C:", "pass", "for one in 'mn': setattr(C, one, 1)", ""),
        ("class C:", "pass", "setattr(C, 'n', 1)", ""),
    ],
)
def test_what_makes_a_class_may_give_it_members(tmp_path: Path, head: str, body: str, behind: str, other: str) -> None:
    head = head if head.startswith("class") else f"{head}\nclass C:"
    upstream = f"from pkg.other import made\n{head}\n    n = 1\n    {body}\n    def f(self): return self.n\n{behind}\n"
    assert _told(tmp_path, upstream, other, DELETED) == []


@pytest.mark.parametrize(
    ("head", "behind", "other"),
    [
        ("@made", "", "def made(c): return REGISTRY.setdefault(c.__name__, c)"),
        ("@dataclass", "", "from dataclasses import dataclass"),
        ("class C:", "setattr(C, 'm', 1)", ""),
        ("class C:", "for one in 'mn': setattr(D, one, 1)", ""),
    ],
)
def test_what_gives_a_class_nothing_excuses_nothing(tmp_path: Path, head: str, behind: str, other: str) -> None:
    head = head if head.startswith("class") else f"{head}\nclass C:"
    upstream = f"from pkg.other import *\n{head}\n    n = 1\n    def f(self): return self.n\n{behind}\n"
    (told,) = _told(tmp_path, upstream.replace("import *", "import made, dataclass"), other, DELETED)
    assert "(self.n);" in told


@pytest.mark.parametrize(
    ("name", "other", "asked"),
    [
        ("__call__", "def f(c: C): return c()", "c()"),
        ("__call__", "C()()", "C()()"),
        ("__enter__", "def f():\n    with C(): pass", "with C()"),
        ("__exit__", "def f(c: C):\n    with open('a') as a, c: pass", "with open('a') as a, c"),
        ("__aexit__", "async def f(c: C):\n    async with c: pass", "async with c"),
        ("__aenter__", "async def f(a, c: C):\n    async with a as b, c as d: pass", "async with a as b, c as d"),
        ("__len__", "def f(c: C): return len(c)", "len(c)"),
        ("__iter__", "def f(c: C): return [one for one in c]", "for one in c"),
        ("__getitem__", "def f(c: C): return c[0]", "c[0]"),
    ],
)
def test_what_python_asks_an_object_for_is_asked_for(tmp_path: Path, name: str, other: str, asked: str) -> None:
    upstream = f"class C:\n    def {name}(self): pass\n    def o(self): pass\n"
    overlay = f'class C:\n    deleted("{name}", why="w")\n'
    (told,) = _told(tmp_path, upstream, f"from .m import C\n{other}\n", overlay)
    assert f"({asked})" in told
    assert (
        _told(tmp_path / "c", upstream, "from .m import C\ndef f(d): return C(), C[int], len(d), d[0], d()\n", overlay)
        == []
    )
