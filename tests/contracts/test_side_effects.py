"""What operations change beyond their own symbol, and what of upstream's gives their symbol another value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from language.overlays import apply_files, write
from language.pairs import refused, source_tree, text
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.contract_check import check_contracts, warnings
from npu_overlays.contracts.contracts import Contract
from npu_overlays.contracts.side_effects import with_side_effects

from .locks import locked

PATH = "pkg/m.py"
PLAIN = "class C:\n    def m(self): pass\ndef f(): pass\n"


def _reached(tmp_path: Path, upstream: dict[str, str], overlay: str) -> list[Contract]:
    root = tmp_path / "o"
    files = {"pkg/__init__.py": "", **upstream}
    content, lock, _ = locked(root, write(root, {f"tree/{PATH}": overlay}), files)
    tree = source_tree({path: text(one).encode() for path, one in files.items()})
    applied = apply_overlay(content, tree)
    return with_side_effects(lock.contracts, applied.before.classes, applied.after.classes, {})


def _affects(tmp_path: Path, upstream: dict[str, str], member: str) -> str:
    (entry,) = _reached(tmp_path, upstream, f"class C:\n    {member}\n")
    return entry.affects


@pytest.mark.parametrize(
    ("bases", "other", "said"),
    [
        ("", "", ""),
        ("(B)", "class B: pass", ""),
        ("(B)", "class B:\n    def n(self): pass", "overrides `B.n` of pkg/b.py"),
        ("(B)", "class A:\n    n = 1\nclass B(A): pass", "overrides `A.n` of pkg/b.py"),
        ("(B, E)", "class B: pass\nclass E:\n    n: int = 1", "overrides `E.n` of pkg/b.py"),
        ("(b.B)", "class B:\n    def n(self): pass", "overrides `B.n` of pkg/b.py"),
        ("(torch.nn.Module)", "class B:\n    def n(self): pass", ""),
    ],
)
def test_an_addition_that_overrides_what_a_base_has_says_so(tmp_path: Path, bases: str, other: str, said: str) -> None:
    files = {
        PATH: f"from pkg import b\nfrom pkg.b import *\nclass C{bases}:\n    x = 1\n",
        "pkg/b.py": f"{other}\nE_ = 1\n",
    }
    assert _affects(tmp_path, files, "n = added(1, why='w')") == said


TAKES = "class C:\n    def __init__(self, a, b=1): pass\n"
BASE = "class B:\n    def __init__(self, x): pass\n"
HEIR = """
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from pkg.m import B
    @replaced(why="w")
    class C(B):
        y = 1
"""
MOVED = "upstream's with `(self, a, b=1)`: it does not take upstream's parameter `a` in its place"
CALLED = "what it is called with, upstream's is called with `(self, a, b=1)`"
RECORD = "from dataclasses import dataclass\n@replaced(why='w')\n@dataclass\nclass C:\n"


@pytest.mark.parametrize(
    ("upstream", "overlay", "said"),
    [
        (TAKES, f"{RECORD}    b: int\n    a: int\n", f"is called with `(b, a)`, {MOVED}"),
        (TAKES, f"{RECORD}    a: int\n    b: int = 1\n    c: int = 1\n", ""),
        (TAKES, "@replaced(why='w')\nclass C:\n    x = 1\n", f"has nothing that says {CALLED}"),
        (f"{BASE}{TAKES.replace('C:', 'C(B):')}", HEIR, f"is called with `(self, x)`, {MOVED}"),
        ("class C:\n    x = 1\n", TAKES.replace("class", "@replaced(why='w')\nclass"), ""),
    ],
)
def test_a_class_that_takes_something_else_than_the_one_it_replaces_says_so(
    tmp_path: Path, upstream: str, overlay: str, said: str
) -> None:
    (entry,) = _reached(tmp_path, {PATH: upstream}, overlay)
    assert entry.affects == said


def test_an_addition_that_comes_before_another_base_in_an_heir_says_so(tmp_path: Path) -> None:
    heir = "from .m import C\nclass O:\n    def n(self): pass\nclass D(C, O): pass\nclass E(O, C): pass\n"
    said = "comes before `O.n` of pkg/d.py in `D` of pkg/d.py"
    assert _affects(tmp_path, {PATH: PLAIN, "pkg/d.py": heir}, "n = added(1, why='w')") == said


def test_a_deletion_of_what_python_asks_for_says_so(tmp_path: Path) -> None:
    files = {PATH: "class C:\n    x = 1\n    def __hash__(self): pass\n"}
    assert _affects(tmp_path, files, "deleted('__hash__', why='w')") == "changes sets of it, and keys"


def test_a_deletion_that_leaves_what_a_base_has_says_so(tmp_path: Path) -> None:
    files = {PATH: "class B:\n    def m(self): pass\nclass C(B):\n    def m(self): pass\n    x = 1\n"}
    assert _affects(tmp_path, files, "deleted('m', why='w')") == "leaves `B.m` of pkg/m.py in its place"


@pytest.mark.parametrize(
    ("bases", "name", "said"),
    [
        ("", "__len__", "changes `if x`"),
        ("(dict)", "update", "overrides the `update` of a base that is Python's own"),
        ("", "__getattr__", "changes `hasattr`, and what is missing"),
        ("", "__init_subclass__", "changes every class that derives from it"),
        ("", "__set_name__", "changes objects of it that stand in classes"),
        ("", "__enter__", ""),
    ],
)
def test_what_python_asks_for_by_itself_is_said(tmp_path: Path, bases: str, name: str, said: str) -> None:
    member = f"@added(why='w')\n    def {name}(self, *a, **k): pass"
    assert _affects(tmp_path, {PATH: PLAIN.replace("class C", f"class C{bases}")}, member) == said


@pytest.mark.parametrize(
    ("other", "undone"),
    [
        ("from pkg.m import C\nC.m = 1", "pkg/o.py"),
        ("def apply():\n    from .m import C as D\n    D.m, x = 1, 2", "pkg/o.py:apply"),
        ("import pkg.m\ndef f(): setattr(pkg.m.C, 'm', 1)", "pkg/o.py:f"),
        ("from pkg import m\ndef f(): m.C = 1", "pkg/o.py:f"),
        ("from pkg.m import C\nC.n = 1\nself.m = 1\nx.m == 1", ""),
        ("from pkg.m import C\nC.m == 1\nprint(C.m)", ""),
        ("class C: pass\nC.m = 1", ""),
    ],
)
def test_what_upstream_assigns_to_what_is_operated_on_is_said(tmp_path: Path, other: str, undone: str) -> None:
    overlay = "class C:\n    @wrapped(why='w')\n    def m(self): return upstream(self)\n"
    (entry,) = _reached(tmp_path, {PATH: PLAIN, "pkg/o.py": other}, overlay)
    assert entry.undone == undone


def test_what_upstream_assigns_to_a_module_is_said(tmp_path: Path) -> None:
    overlay = "@replaced(why='w')\ndef f(): return 1\n"
    (entry,) = _reached(tmp_path, {PATH: PLAIN, "pkg/o.py": "from . import m as x\ndef g(): x.f = 1\n"}, overlay)
    assert entry.undone == "pkg/o.py:g"
    (notice,) = warnings([entry], [])
    assert notice.endswith("upstream gives `f` another value in pkg/o.py:g")
    assert check_contracts([entry], [replace(entry, undone="")], [], overlay="o", argument="o") == []


@pytest.mark.parametrize("name", ["__slots__", "__dict__", "__class__"])
def test_what_python_makes_classes_by_is_not_added(name: str) -> None:
    what = f"`{name}` changes how Python makes the class `C`, for all of upstream's code"
    refused(
        "class C: pass\n",
        f"class C:\n    {name} = added((), why='w')\n",
        f"3: {what}; leave it out, or write the class with @replaced",
    )


def test_an_equality_without_a_hash_is_refused(tmp_path: Path) -> None:
    equal = "class C:\n    @added(why='w')\n    def __eq__(self, other): return True\n"
    refused(
        "class C: pass\n",
        equal,
        (
            "4: with an `__eq__` and without a `__hash__` beside it, no object of `C` could be a key or in a set; "
            "add `__hash__` too; `__hash__ = added(object.__hash__, why=…)` keeps it as it is, where no base has one"
        ),
    )
    hashed = f"{equal}    __hash__ = added(object.__hash__, why='w')\n"
    for number, (upstream, overlay) in enumerate(
        (
            ("class C: pass\n", hashed),
            ("class C:\n    def __hash__(self): return 1\n", equal),
            ("import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: int\n", equal),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        applied = apply_files(folder, {PATH: upstream.encode()}, {f"tree/{PATH}": overlay})
        assert b"__eq__" in (applied.tree.after(PATH) or b"")
