"""Changes: two trees compared by syntax, with no look at the overlay."""

from __future__ import annotations

import hashlib

import pytest

from language.pairs import as_bytes, patched
from npu_overlays.changes.tree_comparison import ChangedFile, compare_file, compare_trees


def changes(before: str | bytes | None, after: str | bytes | None, path: str = "pkg/a.py") -> list[str]:
    """Return what differs, one line per change: classes with their members, then the module's own."""
    file = compare_file(path, *(None if side is None else as_bytes(side) for side in (before, after)))
    return [] if file is None else _lines(file)


def _lines(file: ChangedFile) -> list[str]:
    found = []
    for entry in file.class_changes:
        found.append(f"{entry.action} class {entry.name}:{entry.line}")
        found += [f"  {one.action} {one.kind} {one.symbol}:{one.line}" for one in entry.changes]
    return found + [f"{one.action} {one.kind} {one.symbol}:{one.line}" for one in file.module_changes]


def test_a_tree_and_itself_do_not_differ() -> None:
    files = {"pkg/a.py": b"x = 1\n", "pkg/b.yaml": b"x\n"}
    assert compare_trees(patched(files, {})) == ()
    assert compare_trees(patched(files, dict(files))) == ()


def test_files_are_listed_by_path_with_what_they_were_and_are() -> None:
    before = {"b.yaml": b"x\n", "c.yaml": b"x\n"}
    found = compare_trees(patched(before, {"c.yaml": None, "a.yaml": b"y", "b.yaml": b"z"}))
    assert [(file.path, file.action) for file in found] == [
        ("a.yaml", "added"),
        ("b.yaml", "updated"),
        ("c.yaml", "deleted"),
    ]
    old, new = (hashlib.sha256(content).hexdigest() for content in (b"x\n", b"z"))
    assert [(file.before, file.after) for file in found[1:]] == [(old, new), (old, None)]
    assert found[0].before is None


BEFORE = """
    '''Doc.'''
    import os
    from a import b, c
    X = 1
    Y: int = 1
    def f(): return 1
    async def g(): return 1
    class A(B):
        '''Doc.'''
        x = 1
        def m(self): return 1
        class N:
            def o(self): return 1
    if os:
        def h(): return 1
    f()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("X = 1", "X = 2", ["replaced attribute X:4"]),
        ("X = 1", "X = [i for i in 'a']", ["replaced attribute X:4"]),
        ("    X = 1\n", "", ["deleted attribute X:None"]),
        ("X = 1", "X = 1; Z = 1", ["added attribute Z:4"]),
        ("Y: int", "Y: str", ["replaced attribute Y:5"]),
        ("Y: int = 1", "Y = 1", ["replaced attribute Y:5"]),
        ("def f(): return 1", "def f(): return 2", ["replaced method f:6"]),
        ("def f(): return 1", "def f(): '''Doc.'''; return 1", ["replaced method f:6"]),
        ("def f()", "@d\n    def f()", ["replaced method f:7"]),
        ("def f(): return 1", "f = 1", ["replaced attribute f:6"]),
        ("async def g()", "def g()", ["replaced method g:7"]),
        ("    def f(): return 1\n", "", ["deleted method f:None"]),
        ("    def f", "    def new(): pass\n    def f", ["added method new:6"]),
        ("    def f", "    def f(): pass\n    def f", ["added method f[#1]:6"]),
        ("import os", "import os.path", ["replaced import os:2"]),
        ("import os", "import os, re", ["added import re:2"]),
        ("import b, c", "import c, b", ["replaced text a.py:None"]),
        ("from a import b, c", "from a import c", ["deleted import b:None"]),
        ("from a import b, c", "from .a import b, c", ["replaced import b:3", "replaced import c:3"]),
        ("x = 1", "x = 2", ["updated class A:8", "  replaced attribute A.x:10"]),
        ("def m(self): return 1", "def m(self): return 2", ["updated class A:8", "  replaced method A.m:11"]),
        ("        x = 1\n", "", ["updated class A:8", "  deleted attribute A.x:None"]),
        ("x = 1", "x = 1; y = 1", ["updated class A:8", "  added attribute A.y:10"]),
        ("o(self): return 1", "o(self): return 2", ["updated class A.N:12", "  replaced method A.N.o:13"]),
        ("class A(B)", "class A(C)", ["updated class A:8", "  replaced attribute A.__bases__:8"]),
        ("class A(B)", "class A(B, metaclass=M)", ["updated class A:8", "  replaced attribute A.__bases__:8"]),
        ("class A(B)", "@d\n    class A(B)", ["updated class A:9", "  replaced attribute A.__decorators__:9"]),
        ("        '''Doc.'''", "        '''Text.'''", ["updated class A:8", "  replaced attribute A.__doc__:8"]),
        ("    '''Doc.'''\n    import", "    '''Text.'''\n    import", ["replaced attribute __doc__:1"]),
        ("        x = 1", "        x = 1\n        p()", ["updated class A:8", "  added statement A.p():11"]),
        ("    f()\n", "", ["deleted statement f():None"]),
        ("    f()\n", "    f()\n    f()\n", ["added statement f():16"]),
        ("    f()\n", "    f(1)\n", ["added statement f(1):16", "deleted statement f():None"]),
        ("    f()\n", "    f()\n    a.b = [i for i in 'a']\n", ["added attribute a.b:17"]),
        ("    f()\n", "    f()\n    a[0] = (w := 1)\n", ["added statement a[0] = (w := 1):17"]),
        ("if os:", "if not os:", ["added statement if not os::14", "deleted statement if os::None"]),
        ("h(): return 1", "h(): return 2", ["replaced method h:15"]),
        ("def h()", "f()\n        def h()", ["added statement if os::14", "deleted statement if os::None"]),
        ("def h(): return 1", "pass\n    else:\n        def h(): return 1", ["replaced method h:17"]),
        ("    f()\n", "    f()  # comment\n", ["replaced text a.py:None"]),
        ("    f()\n", "    f( )\n", ["replaced text a.py:None"]),
        ("    f()\n", "    (f())\n", ["replaced text a.py:None"]),
        ("class A(B)", "class Z: pass\n    class A(B)", ["added class Z:8"]),
    ],
)  # fmt: skip
def test_every_kind_of_change_in_a_module(old: str, new: str, expected: list[str]) -> None:
    assert BEFORE.count(old) >= 1
    assert changes(BEFORE, BEFORE.replace(old, new, 1)) == expected


def test_every_change_is_found_the_other_way_round_too() -> None:
    found = changes(BEFORE.replace("def f(): return 1", "").replace("import os", "").replace("f()", "g()"), BEFORE)
    assert found == [
        "added import os:2",
        "added method f:6",
        "added statement f():16",
        "deleted statement g():None",
    ]


def test_classes_come_and_go_with_their_members() -> None:
    text = "class A:\n    x = 1\n    def f(self): pass\n    p()\n"
    assert changes("y = 1\n", "y = 1\n" + text) == [
        "added class A:2",
        "  added attribute A.x:3",
        "  added method A.f:4",
        "  added statement A.p():5",
    ]
    assert changes("y = 1\n" + text, "y = 1\n") == [
        "deleted class A:None",
        "  deleted attribute A.x:None",
        "  deleted method A.f:None",
        "  deleted statement A.p():None",
    ]


def test_a_class_that_becomes_a_function() -> None:
    assert changes("class A:\n    x = 1\n", "def A(): pass\n") == [
        "updated class A:1",
        "  deleted attribute A.x:None",
        "replaced method A:1",
    ]


def test_a_function_that_becomes_a_class() -> None:
    assert changes("def A(): pass\n", "class A:\n    x = 1\n") == [
        "updated class A:1",
        "  added attribute A.x:2",
        "replaced class A:1",
    ]


def test_every_symbol_that_differs_is_yielded_once() -> None:
    file = compare_file("a.py", b"X = 1\nclass A:\n    y = 1\n", b"class A:\n    y = 2\nclass B: pass\n")
    assert file is not None
    assert [(one.action, one.kind, one.symbol) for one in file.symbols()] == [
        ("replaced", "attribute", "A.y"),
        ("added", "class", "B"),
        ("deleted", "attribute", "X"),
    ]


def test_conditional_definitions_are_compared_in_order() -> None:
    one, two = "if a:\n    X = 1\nelse:\n    X = 2\n", "if a:\n    X = 2\nelse:\n    X = 1\n"
    assert changes(one, two) == ["replaced attribute X[if a]:2", "replaced attribute X[else]:4"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("with a: X = 1", "with b: X = 1"),
        ("with a as b: X = 1", "with a as c: X = 1"),
        ("try: X = 1\nexcept A: f()", "try: X = 1\nexcept B: f()"),
        ("try: X = 1\nexcept A as e: f()", "try: X = 1\nexcept A as g: f()"),
        ("try: X = 1\nexcept A: f()\nelse: g()", "try: X = 1\nexcept A: f()\nfinally: g()"),
        ("for i in a: X = 1", "for j in a: X = 1"),
        ("while a: X = 1", "while b: X = 1"),
        ("while a: f()", "if a: f()"),
        ("if a: f()\nelse: g()", "if a: g()\nelse: f()"),
        ("if a: f()", "if a: pass\nelse: f()"),
        ("match a:\n    case 1: X = 1", "match a:\n    case 2: X = 1"),
        ("match a:\n    case b if c: X = 1", "match a:\n    case b if d: X = 1"),
        ("match a:\n    case 1: f()", "match a:\n    case 1: g()"),
        ("del a", "del b"),
        ("a[0] = 1", "a[0] = 2"),
        ("a().b = 1", "a().b = 2"),
        ("assert a", "assert b"),
        ("raise a", "raise b"),
    ],
)
def test_code_that_binds_nothing_is_compared_as_statements(one: str, other: str) -> None:
    found = changes(f"{one}\n", f"{other}\n")
    assert [line.split()[:2] for line in found] == [["added", "statement"], ["deleted", "statement"]]


def test_definitions_in_the_arms_of_a_match_are_told_by_name() -> None:
    arms = "match a:\n    case 1:\n        def f(): return 1\n    case _:\n        def f(): return {}\n"
    assert changes(arms.format(2), arms.format(3)) == ["replaced method f[case _]:5"]


def test_relative_imports_are_compared_by_where_they_lead() -> None:
    assert changes("from . import a\n", "from .. import a\n") == ["replaced import a:1"]
    assert changes("from . import a\n", "from .b import a\n") == ["replaced import a:1"]


def test_imports_are_told_by_the_name_they_bind_and_future_ones_as_statements() -> None:
    after = "from __future__ import annotations\nimport os\nimport a.b as c\nimport d.e\n"
    assert changes("import os\n", after) == [
        "added import c:3",
        "added import d:4",
        "added statement from __future__ import annotations:1",
    ]


def test_a_name_that_is_a_class_or_a_function() -> None:
    text = "if a:\n    class A:\n        f()\nelse:\n    def A(): f()\n"
    assert changes(text, text.replace("A(): f", "A(): g")) == ["replaced method A[else]:5"]


def test_files_that_come_or_go_are_told_by_their_definitions_or_as_a_whole() -> None:
    assert changes(None, "import os\nf()\nX = 1\n") == ["added import os:1", "added attribute X:3"]
    assert changes("X = 1\nf()\n", None) == ["deleted attribute X:None"]
    assert changes(None, "f()\n") == ["added file a.py:None"]
    assert changes(None, b"") == ["added file a.py:None"]
    assert changes(b"", None) == ["deleted file a.py:None"]
    assert changes(b"", "f()\n") == ["added statement f():1"]


def test_files_that_are_not_python_are_told_as_a_whole() -> None:
    assert changes(b"a", b"b", "pkg/x.yaml") == ["replaced file x.yaml:None"]
    assert changes(None, b"b", "pkg/x.yaml") == ["added file x.yaml:None"]
    assert changes(b"b", None, "pkg/x.yaml") == ["deleted file x.yaml:None"]
    assert changes(b"x = '\xe9'\n", b"x = '\xe8'\n") == ["replaced file a.py:None"]
    assert changes(b"def f(:\n", b"def f(): pass\n") == ["replaced file a.py:None"]
    assert changes(b"def f(): pass\n", b"def f(:\n") == ["replaced file a.py:None"]


def test_line_ends_and_marks_are_text() -> None:
    assert changes(b"x = 1\n", b"x = 1\r\n") == ["replaced text a.py:None"]
    assert changes(b"x = 1\n", b"\xef\xbb\xbfx = 1\n") == ["replaced text a.py:None"]
    assert changes(b"x = 1\n", b"x = 1") == ["replaced text a.py:None"]


FIELDS = "class D:\n    a: int = 1\n    b: int = 2\n    def f(self): pass\n    p()\n    q()\n"


@pytest.mark.parametrize(
    ("one", "other", "line"),
    [
        ("    a: int = 1\n    b: int = 2\n", "    b: int = 2\n    a: int = 1\n", 2),
        ("    p()\n    q()\n", "    q()\n    p()\n", 5),
        ("    def f(self): pass\n    p()\n", "    p()\n    def f(self): pass\n", 4),
    ],
)
def test_another_order_is_one_change_of_the_class(one: str, other: str, line: int) -> None:
    assert one in FIELDS
    after = FIELDS.replace(one, other)
    assert changes(FIELDS, after) == ["updated class D:1", f"  replaced order D.__order__:{line}"]
    both = after.replace("def f(self): pass", "def f(self): return 1").replace("class D:", "class D:\n    c: int = 3")
    assert [line.partition(":")[0] for line in changes(FIELDS, both)] == [
        "updated class D",
        "  added attribute D.c",
        "  replaced method D.f",
        "  replaced order D.__order__",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("import a\nimport b\n", "import b\nimport a\n"),
        ("X = 1\nf()\n", "f()\nX = 1\n"),
        ("f()\ng()\nf()\n", "g()\nf()\nf()\n"),
        ("if a:\n    X = 1\n    f()\n", "if a:\n    f()\n    X = 1\n"),
        ("if a:\n    X = 1\nif b:\n    Y = 1\n", "if a:\n    Y = 1\nif b:\n    X = 1\n"),
        ("if a:\n    class A: pass\nelse:\n    B = 1\n", "if a:\n    pass\nelse:\n    class A: pass\n    B = 1\n"),
        ("if a:\n    class A: pass\n", "if a:\n    pass\nelse:\n    class A: pass\n"),
        ("class A: pass\nif a: pass\n", "if a:\n    class A: pass\n"),
        ("try: import a\nexcept E: X = 1\nY = 1\n", "Y = 1\ntry: import a\nexcept E: X = 1\n"),
    ],
)
def test_another_order_or_branch_is_one_change_of_the_module(one: str, other: str) -> None:
    for before, after in ((one, other), (other, one)):
        found = [line.partition(":")[0] for line in changes(before, after)]
        assert found == ["replaced order __order__"]


def test_what_comes_and_goes_is_no_other_order() -> None:
    before = "import a\nX = 1\nf()\nclass A: pass\n"
    after = "import b\nimport a\nY = 1\nX = 2\ng()\nf()\nif z:\n    def h(): pass\nclass A: Z = 1\n"
    for one, other in ((before, after), (after, before)):
        assert "order" not in " ".join(changes(one, other))
    assert changes("from a import b, c\n", "from a import c, b\n") == ["replaced text a.py:None"]


def test_a_class_that_is_bound_otherwise_too_is_compared_by_its_members() -> None:
    for text in (
        "if a:\n    class A:\n        def f(self): return 1\nelse:\n    A = None\n",
        "class A:\n    def f(self): return 1\nA = d(A)\n",
        "try: from b import A\nexcept E:\n    class A:\n        def f(self): return 1\n",
    ):
        found = changes(text, text.replace("return 1", "return 2"))
        assert [line.partition(":")[0] for line in found] == ["updated class A", "  replaced method A.f"]
        found = changes(text, text.replace("def f(self): return 1", "p()"))
        assert "  added statement A.p()" in [line.rpartition(":")[0] for line in found]
        assert any(line.startswith("replaced") for line in changes(text, text.replace("class A:", "class A(B):")))
