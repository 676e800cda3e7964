"""Members of classes that are taken away, and what in the shipped packages still asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import MergeError

from .overlays import apply_files, mistakes
from .pairs import text

PATH = "pkg/m.py"
CLASS = "class Base:\n    def run(self): return self.n()\nclass C:\n    def n(self): pass\n    def o(self): pass\n"
DELETED = 'class C:\n    deleted("n", why="w")\n'
OTHER = "pkg/other.py"


def _told(tmp_path: Path, upstream: str, other: str, overlay: str = DELETED) -> list[str]:
    files = {PATH: text(upstream).encode(), OTHER: text(other).encode(), "pkg/__init__.py": b""}
    try:
        apply_files(tmp_path, files, {f"tree/{PATH}": overlay})
    except MergeError as error:
        return mistakes(error)
    return []


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
