"""What an overlay brings into a module means to its own code what was written, and nothing to upstream's."""

from __future__ import annotations

import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest

from npu_overlays.errors import MergeError

from .overlays import apply_files, mistakes
from .overlays import refused as refused_files
from .pairs import check, merged, refused

_RENAME = "import it under another name"
_EITHER = f"{_RENAME}, or, where upstream's own is meant, under `if TYPE_CHECKING:`"
_OTHERWISE = "pkg/module.py already defines otherwise"
_UNSURE = "pkg/module.py imports under a condition only"


def _twice(line: int, name: str, places: str) -> str:
    """Return how a name with two bindings is refused, of which the first is given by what leads to it."""
    first = places.partition("`")[2].partition("`")[0]
    number = "" if first == "#1" else ", or by its number in the text, where='#1'"
    what = f"pkg/module.py defines `{name}` 2 times: {places}"
    return f"{line}: {what}; select one of them, such as with where='{first}'{number}"


def run(before: str, overlay: str, **given: object) -> Any:
    """Return the patched module, executed with importable modules made of `given`."""
    module = types.ModuleType("patched")
    for name, value in given.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(value if isinstance(value, dict) else {})
    try:
        exec(compile(merged(before, overlay)[0], "patched.py", "exec"), module.__dict__)  # noqa: S102  # the test's own text
    finally:
        for name in given:
            del sys.modules[name]
    return module


# An import counts as present only where it is what the definition will get.


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("from a import n\ndef n(x): return 1\n{}", 2),
        ("from a import n\nfor n in x: pass\n{}", 2),
        ("from a import n\nwith x as n: pass\n{}", 2),
        ("from a import n\nprint([n := y for y in x])\n{}", 2),
        ("from a import n\nmatch x:\n    case [n]: pass\n{}", 3),
        ("from a import n\ntry: pass\nexcept E as n: pass\n{}", 3),
        ("from a import n\n{}del n\n", 3),
        ("from a import n\n{}def g():\n    global n\n    n = 1\n", 5),
        ("from b import n\n{}from a import n\n", 1),
        ("from a import n\nn += 1\n{}", 2),
        ("try:\n    from a import n\nexcept ImportError:\n    n = None\n{}", 4),
    ],
)
def test_an_import_upstream_has_but_rebinds_is_refused(before: str, line: int) -> None:
    refused(
        before.format("def f(): pass\n"),
        "from a import n\n@replaced(why='w')\ndef f(): return n\n",
        f"4: `from a import n` would rebind `n`, which {_OTHERWISE} (line {line}); {_EITHER}",
    )


@pytest.mark.parametrize(
    "block",
    ["if x:\n    {}\n", "try:\n    {}\nexcept E: pass\n", "def g():\n    global n\n    {}\n", "with x:\n    {}\n"],
)
@pytest.mark.parametrize("statement", ["from a import n", "import n"])
def test_an_import_upstream_has_under_a_condition_only_is_refused(block: str, statement: str) -> None:
    line = block.format(statement).splitlines().index(f"    {statement}") + 1
    refused(
        block.format(statement) + "def f(): pass\n",
        f"{statement}\n@replaced(why='w')\ndef f(): return n\n",
        f"4: `{statement}` would rebind `n`, which {_UNSURE} (line {line}); {_EITHER}",
    )


def test_an_import_further_down_is_merged_where_the_overlay_may_need_it_earlier() -> None:
    late = "def f(): return 1\ndef g(): return f()\nX = {}\nfrom math import floor\n"
    overlay = "from math import floor\n@replaced(why='w')\ndef f(): return floor(1.5)\n"
    assert run(late.format("g()"), overlay).X == 1
    assert b"import floor" in merged(late.format("g()"), overlay)[0].splitlines()[0]
    content, _ = merged(late.format("[g]"), overlay)
    assert content.count(b"import floor") == 1
    with_default = "from math import floor\n@replaced(why='w')\ndef f(x=floor(1.5)): return x\n"
    assert run(late.format("0"), with_default).f() == 1
    decorated = "def call(f): return f()\n@call\ndef f(): return 1\nfrom math import floor\n"
    assert run(decorated, "from math import floor\n@replaced(why='w')\n@call\ndef f(): return floor(1.5)\n").f == 1
    method = "class A:\n    def m(self): return 1\nX = A().m()\nfrom math import floor\n"
    assert (
        run(method, "from math import floor\nclass A:\n    @replaced(why='w')\n    def m(self): return floor(2.5)\n").X
        == 2
    )


@pytest.mark.parametrize(
    "before", ["from a import n\nfrom b import *\ndef f(): pass\n", "def f(): pass\nfrom b import *\n"]
)
def test_a_star_import_below_may_rebind_an_import(before: str) -> None:
    overlay = "from a import n\n@edited(('pass', 'return n'), why='w')\ndef f(): ...\n"
    star = "`from a import n` may be rebound by `from b import *`"
    if before.startswith("def"):
        refused(before, overlay, _twice(4, "f", "line 1 (`def f()`), line 2 (`import *`)"))
    else:
        refused(before, overlay, f"4: {star}; {_RENAME}")


# Merged imports and added names do not change what upstream's own code reads.


@pytest.mark.parametrize(
    ("use", "line"),
    [
        ("def size(a): return max(a)", 2),
        ("class A:\n    def size(self): return [max(a) for a in self]", 3),
        ("class A:\n    max = max", 3),
        ("@max\ndef size(a): pass", 2),
        ("def size(a=max): pass", 2),
        ("def size(a: 'list[max]'): pass", 2),
        ("size = lambda a: max(a)", 2),
        ("from u import *\ndef size(): return max", 3),
        ("from u import *\n__all__ = ['max']", 3),
        ("def size():\n    def inner(max): pass\n    return f'{max}'", 4),
    ],
)
def test_a_name_upstream_reads_without_binding_it_is_not_taken(use: str, line: int) -> None:
    before = f"def f(): pass\n{use}\n"
    head = "from a import max\n@wrapped(why='w')\ndef f(): return max(upstream())\n"
    imported = f"`from a import max` would change what upstream's own code reads as `max` (line {line})"
    star = [_twice(4, "f", "line 1 (`def f()`), line 2 (`import *`)")] if "*" in use else []
    refused(before, head, *star, f"4: {imported}; {_RENAME}")
    added = f"the added `max` would change what upstream's own code reads by that name (line {line})"
    for definition in ("@added(why='w')\ndef max(): pass\n", "class C: pass\nmax = added(1, why='w')\n"):
        refused(before, definition, f"3: {added}; add it under another name")


def test_what_upstream_read_in_code_that_is_replaced_does_not_count() -> None:
    before = "def f(a): return max(a)\ndef g(max): return max\nclass A:\n    max = 1\n"
    module = run(before, "from a import max\n@replaced(why='w')\ndef f(a): return max(a)\n", a={"max": min})
    assert (module.f([1, 2]), module.g(3)) == (1, 3)
    module = run(before, "from a import max\n@edited(('max(a)', 'max(a)'), why='w')\ndef f(a): ...\n", a={"max": min})
    assert module.f([1, 2]) == 1
    run(
        before,
        "from a import max\ndeleted('f', why='w')\nclass A:\n    max_ = added([max for x in 'a'], why='w')\n",
        a={"max": 1},
    )


# Whatever binds a name makes it upstream's.


@pytest.mark.parametrize(
    ("binding", "line", "how"),
    [
        ("for f in x: pass", 1, "for"),
        ("for a, (f, b) in x: pass", 1, "for"),
        ("with open(p) as f: pass", 1, "with"),
        ("(f := 1)", 1, ":="),
        ("x = [f := y for y in z]", 1, ":="),
        ("match x:\n    case f: pass", 2, "case"),
        ("match x:\n    case {'a': 1, **f}: pass", 2, "case"),
        ("try: pass\nexcept E as f: pass", 2, "except"),
        ("def g():\n    global f\n    f = 1", 3, "global"),
        ("def g():\n    global f\n    def f(): pass", 3, "global"),
        ("class B:\n    global f\n    f = 1", 3, "global"),
        ("del f", 1, "del"),
        ("match x:\n    case 1:\n        def f(): pass", 3, "case 1"),
    ],
)
def test_a_name_bound_in_any_way_is_bound(binding: str, line: int, how: str) -> None:
    fix = "use @replaced, @wrapped or @edited" if how == "case 1" else "add it under another name"
    what = f"pkg/module.py already defines `f` (line {line})"
    refused(f"{binding}\n", "@added(why='w')\ndef f(): pass\n", f"3: {what}; {fix}")
    refused(
        f"def f(): pass\n{binding}\n",
        "@wrapped(why='w')\ndef f(): return upstream()\n",
        _twice(3, "f", f"line 1 (`{'#1' if how == 'case 1' else 'def f()'}`), line {1 + line} (`{how}`)"),
    )


def test_members_bound_more_than_once() -> None:
    before = "class A:\n    def f(self): pass\n{}\n"
    for binding, how in (
        ("    for f in x: pass", "for"),
        ("A.f = g", "#2`, a value"),
        ("del A.f", "del"),
        ("for A.f in x: pass", "for"),
    ):
        refused(
            before.format(binding),
            "class A:\n    @wrapped(why='w')\n    def f(self): return upstream(self)\n",
            _twice(4, "A.f", f"line 2 (`def f(self)`), line 3 (`{how}{'' if ',' in how else '`'})"),
        )
    refused(
        "for i in x: pass\n",
        "i = replaced(1, why='w')\n",
        "2: pkg/module.py binds `i`, but by no definition of its own (line 1); use a patch",
    )


# One name, one meaning, over all files of an overlay.


def test_a_name_one_file_imports_and_another_adds_is_refused(tmp_path: Path) -> None:
    files = {
        "tree/pkg/a.py": "from pkg.npu import helper\n@wrapped(why='w')\ndef f(): return helper(upstream())\n",
        "shared/b.py": "@added(why='w', targets=['pkg/a.py:helper'])\ndef helper(x): return x\n",
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, {"pkg/a.py": b"def f(): return 1\n"}, files)
    what = "which the added `helper` of pkg@1111111/shared/b.py:3 binds as well"
    where = "pkg@1111111/tree/pkg/a.py:4"
    assert mistakes(caught.value) == [f"{where}: `from pkg.npu import helper` would rebind `helper`, {what}; {_RENAME}"]


@pytest.mark.parametrize(
    "how", ["from pkg.npu import max\nX = added(max, why='w')", "@added(why='w')\ndef max(): pass"]
)
def test_a_builtin_one_file_uses_is_not_taken_by_another(tmp_path: Path, how: str) -> None:
    files = {
        "tree/pkg/a.py": f"{how}\n",
        "shared/b.py": "@wrapped(why='w', targets=['pkg/a.py:f'])\ndef f(): return max(upstream(), 1)\n"
        "@added(why='w', targets=['pkg/a.py:g'])\ndef g(max): return max\n",
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, {"pkg/a.py": b"def f(): return 1\n"}, files)
    what = (
        "`max` is Python's built-in here, but pkg@1111111/tree/pkg/a.py:3 binds that name in pkg/a.py; rename that one"
    )
    assert mistakes(caught.value) == [f"pkg@1111111/shared/b.py:3: {what}"]


# Upstream's own locals, parameters and class attributes do not hide what an operation means.


@pytest.mark.parametrize(
    ("before", "edit", "names"),
    [
        ("def f(device): return 'cuda:'", "('\\'cuda:\\'', 'device()')", "f"),
        ("def f():\n    device = 1\n    return 'cuda:'", "('\\'cuda:\\'', 'device()')", "f"),
        ("def f():\n    return 'cuda:'\n    for device in x: pass", "('\\'cuda:\\'', 'device()')", "f"),
        ("def f(device): return lambda: 'cuda:'", "('\\'cuda:\\'', 'device()')", "f"),
        ("def f(device): return 'cuda:'", "('\\'cuda:\\'', 'f\"{device()}\"')", "f"),
        ("def f(): return ['cuda:' for device in x]", "('\\'cuda:\\'', 'device()')", "f"),
        ("def f(): import device; return 'cuda:'", "('\\'cuda:\\'', 'device()')", "f"),
    ],
)
def test_an_edit_that_lands_where_its_name_is_upstreams_own_is_refused(before: str, edit: str, names: str) -> None:
    what = f"`device` would be another object: upstream binds that name around or in `{names}`"
    for meant in ("from a import device", "@added(why='w')\ndef device(): return 'npu'"):
        line = 4 + meant.count("\n")
        overlay = f"{meant}\n@edited({edit}, why='w')\ndef f(): ...\n"
        refused(f"{before}\n", overlay, f"{line}: {what}; use another name for what you mean")


def test_what_upstreams_own_text_of_a_method_reads_in_a_class_its_replacement_may_read() -> None:
    before = "__X = 3\nclass A:\n    def f(self, x): return __X if x else 0\n    def g(self): return 1\n"
    module = run(
        before,
        """
        class A:
            @replaced(why="w")
            def f(self, x): return __X if x else 2
        """,
    )
    assert module.A().f(0) == 2
    refused(
        before,
        """
        class A:
            @replaced(why="w")
            def g(self): return __X
        """,
        "4: `__X` is renamed by Python inside a class, as in `A.g`; read it in an added function, outside of the class",
    )


@pytest.mark.parametrize(
    ("before", "edit"),
    [
        (
            "def f(x):\n    def inner(): return name(x)\n    y = 1\n    return inner()",
            "('y = 1', 'name = lambda x: 2')",
        ),
        ("def f(x):\n    y = 1\n    return name(x)", "('y = 1', 'for name in (x,): pass')"),
        ("def f(x): return name(x)", "('(x):', '(x, name=abs):')"),
        ("def f(x):\n    y = name(x)\n    return y", "('return y', 'import name\\nreturn y')"),
        ("def f(x):\n    y = name(x)\n    return y", "('return y', 'return (name := y)')"),
        ("class f:\n    x = 1\n    y = name(2)", "('x = 1', 'name = abs')"),
        (
            "def f(x):\n    n = name\n    def inner():\n        x\n        return n\n    return inner()",
            "('x', 'n = 2', 2)",
        ),
    ],
)
def test_what_an_edit_binds_is_not_what_upstream_reads(before: str, edit: str) -> None:
    kind = "class f: ..." if before.startswith("class") else "def f(): ..."
    name = "n" if "'n = 2'" in edit else "name"
    refused(
        f"def name(x): return x\n{before}\n",
        f"@edited({edit}, why='w')\n{kind}\n",
        f"3: the edit binds `{name}`, which upstream's own text of `f` reads as another object; "
        "bind another name in the edit",
    )


@pytest.mark.parametrize(
    ("before", "overlay", "where"),
    [
        ("def open(x): return 1\n\ndef f(x): return open(x)", "deleted('open', why='w')", "2"),
        ("from x import open\n\ndef f(x): return open(x)", "deleted('open', why='w')", "2"),
        (
            "open = 5\nclass A:\n    open = 1\n    last = open",
            "@edited(('open = 1', 'first = 1'), why='w')\nclass A: ...",
            "3",
        ),
        (
            "open = 5\ndef f(x): open = x; y = 2; return y, open",
            "@edited(('open = x', 'x'), why='w')\ndef f(): ...",
            "3",
        ),
        ("class A:\n    open = 1\n    other = open", "class A:\n    deleted('open', why='w')", "3"),
    ],
)
def test_what_is_taken_away_uncovers_nothing_of_its_name(before: str, overlay: str, where: str) -> None:
    line = before.count("\n") + 1
    refused(
        f"{before}\n",
        f"{overlay}\n",
        f"{where}: `open` is taken away, and upstream's own text would read another object of that name (line {line}); "
        "keep it, or change that text too",
    )


@pytest.mark.parametrize(
    ("before", "edit", "line"),
    [
        ("n = 0\ndef f():\n    global n\n    n = 1", "('global n', 'pass')", 4),
        ("n = 0\ndef f():\n    global m, n\n    m = n = 1", "(', n', '')", 4),
        ("def f():\n    n = 0\n    def h():\n        nonlocal n\n        n = 1\n    h()", "('nonlocal n', '')", 5),
    ],
)
def test_an_edit_keeps_bound_outside_what_upstream_binds_there(before: str, edit: str, line: int) -> None:
    refused(
        f"{before}\n",
        f"@edited({edit}, why='w')\ndef f(): ...\n",
        f"3: upstream's own text would bind `n` (line {line}) in its function alone: the edit takes its"
        f" declaration out; "
        "keep the global or nonlocal of `n`, or change that text too",
    )


@pytest.mark.parametrize(("inner", "fits"), [("import json", True), ("import simplejson as json", False)])
def test_what_is_taken_away_may_uncover_the_same_import(inner: str, fits: bool) -> None:
    before = f"import json\ndef f():\n    {inner}\n    return json.dumps(1)\n"
    overlay = f"@edited(('{inner}', 'pass'), why='w')\ndef f(): ...\n"
    if fits:
        assert run(before, overlay).f() == "1"
    else:
        told = "`json` is taken away, and upstream's own text would read another object of that name (line 4)"
        refused(before, overlay, f"3: {told}; keep it, or change that text too")


def test_an_edit_may_declare_more_or_take_the_binding_with_it() -> None:
    before = "n = 0\ndef f():\n    global n\n    n = 1\n"
    for edit in ("('global n', 'global n, q; q = 2')", "('global n', 'q = 2'), ('n = 1', 'q = 3')"):
        run(before, f"@edited({edit}, why='w')\ndef f(): ...\n")


def test_what_is_taken_away_may_have_been_bound_behind_what_reads_it() -> None:
    module = run(
        "size = 5\nclass A:\n    other = size\n    size = 1\ndef f(x):\n    n = x\n    return n\n",
        """
        class A:
            deleted("size", why="w")
        @edited(("n = x", "m = x"), ("return n", "return m"), why="w")
        def f(): ...
        """,
    )
    assert (module.A.other, module.f(2)) == (5, 2)


def test_an_edit_may_bind_anew_what_upstream_binds_there() -> None:
    module = run(
        "def f(x):\n    y = x\n    return y + 1\n",
        """
        @edited(("y = x", "y = x * 2"), why="w")
        def f(): ...
        """,
    )
    assert module.f(2) == 5


def test_an_edit_may_bind_and_use_names_of_its_own() -> None:
    module = run(
        "def f(x): return x\ndef g(device): return 'cuda', device\ndef h(): return (lambda device: device)('cuda')\n",
        """
        from a import device
        @edited(("return x", "device = x; return device"), why="w")
        def f(x): ...
        @edited(("'cuda'", "(lambda device: device)(1)"), why="w")
        def g(device): ...
        @edited(("'cuda'", "device()"), why="w")
        def h(): ...
        """,
        a={"device": lambda: "npu"},
    )
    assert (module.f(1), module.g(2), module.h()) == (1, (1, 2), "npu")


@pytest.mark.parametrize(
    "member",
    [
        "D = replaced(device, why='w')",
        "E = added([device], why='w')",
        "@replaced(why='w')\n    def f(self, x=device): return x",
        "@replaced(why='w')\n    def f(self, x: device = 1): return x",
        "@edited(('self', 'self, x=device'), why='w')\n    def f(self): ...",
    ],
)
def test_a_class_attribute_that_hides_what_is_meant_is_refused(member: str) -> None:
    line = 4 + ("\n" in member)
    symbol = "A.D" if member.startswith("D") else "A.E" if member.startswith("E") else "A.f"
    refused(
        "class A:\n    device = 1\n    D = 2\n    def f(self): pass\n",
        f"from a import device\nclass A:\n    {member}\n",
        f"{line}: `device` would be another object: upstream binds that name around or in `{symbol}`; "
        "use another name for what you mean",
    )


def test_a_class_attribute_below_or_beside_hides_nothing() -> None:
    module = run(
        "class A:\n    D = 2\n    def f(self): return self.device\n    device = 1\n",
        """
        from a import device
        class A:
            D = replaced(device, why="w")
            @replaced(why="w")
            def f(self): return device, self.device
        """,
        a={"device": "npu"},
    )
    assert (module.A.D, module.A().f()) == ("npu", ("npu", 1))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("def __init__(self): self.n = 1", 4),
        ("def __init__(self, x):\n        if x: setattr(self, 'n', 1)", 5),
        ("def __post_init__(self): object.__setattr__(self, 'n', 1)", 4),
        ("def __init__(self):\n        for self.n in x: pass", 5),
        ("__slots__ = ('n',)", 4),
        ("", 2),
    ],
)
def test_a_member_every_instance_has_of_its_own_is_refused(body: str, line: int) -> None:
    base = "    def __init__(this): this.n = 1" if not body else "    pass"
    before = f"class Base:\n{base}\nclass A(Base):\n    {body or 'pass'}\n"
    for definition in ("n = added(1, why='w')", "@added(why='w')\n    @property\n    def n(self): return 1"):
        number = 3 + definition.count("\n")
        what = f"`A` already gives every instance its own `n` (line {line}), which hides what is added"
        fix = "add it under another name, or operate on the method that sets it"
        refused(before, f"class A:\n    {definition}\n", f"{number}: {what}; {fix}")


def test_a_default_that_a_method_overrides_is_added() -> None:
    before = "class A:\n    def start(self): self.n = 2\n    def other(this, self): self.m = 1\n"
    module = run(before, "class A:\n    n = added(1, why='w')\n    @added(why='w')\n    def m(self): return self.n\n")
    assert module.A().m() == 1
    refused(
        before,
        "class A:\n    @added(why='w')\n    def n(self): return 1\n",
        "4: `A` already gives every instance its own `n` (line 2), which hides what is added; "
        "add it under another name, or operate on the method that sets it",
    )


@pytest.mark.parametrize("init", ["@edited(('self.n = 1', 'pass'), why='w')", "@replaced(why='w')"])
def test_a_member_may_take_the_place_of_what_objects_had_of_their_own(init: str) -> None:
    before = "class A:\n    def __init__(self): self.n = 1\n"
    added = "@added(why='w')\n    @property\n    def n(self): return 2\n"
    body = "..." if "edited" in init else "pass"
    assert run(before, f"class A:\n    {init}\n    def __init__(self): {body}\n    {added}").A().n == 2
    refused(
        before,
        f"class A:\n    @edited(('= 1', '= 3'), why='w')\n    def __init__(self): ...\n    {added}",
        "7: `A` already gives every instance its own `n` (line 2), which hides what is added; "
        "add it under another name, or operate on the method that sets it",
    )
    refused(
        before,
        "class A:\n    @wrapped(why='w')\n    def __init__(self): upstream(self)\n    n = added(2, why='w')\n",
        "5: `A` already gives every instance its own `n` (line 2), which hides what is added; "
        "add it under another name, or operate on the method that sets it",
    )


def test_a_member_that_a_base_in_another_module_gives_every_instance_is_refused(tmp_path: Path) -> None:
    base = "class Base:\n    def __init__(self): self.n = 1\n"
    overlay = "class A:\n    n = added(1, why='w')\n"
    told = refused_files(tmp_path, "from .other import Base\nclass A(Base):\n    pass\n", base, overlay)
    what = "`A` already gives every instance its own `n` (line 2 of pkg/other.py), which hides what is added"
    fix = "add it under another name, or operate on the method that sets it"
    assert told == [f"pkg@1111111/tree/pkg/m.py:3: {what}; {fix}"]


# Where merged imports go, and what is defined in time.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('import os; D = """\na\n"""\nE = 1\n', 'import os; D = """\na\n"""\nimport re\n# replaced: w\nE = re\n'),
        ("import os; D = (\n  1)\nE = 1\n", "import os; D = (\n  1)\nimport re\n# replaced: w\nE = re\n"),
        ("import os; \\\nD = 1\nE = 1\n", "import os; \\\nD = 1\nimport re\n# replaced: w\nE = re\n"),
        ("import os \\\n\nE = 1\n", "import os \\\n\nimport re\n# replaced: w\nE = re\n"),
        ("import os; E = (\n1)\n", "import re\n# replaced: w\nimport os; E = (\nre)\n"),
        ("'''D'''\nimport os; E = 1\n", "'''D'''\nimport re\n# replaced: w\nimport os; E = re\n"),
        ("import os; E = 1", "import re\n# replaced: w\nimport os; E = re"),
        (
            "import a\nwith a:\n    E = 1\nimport b\n",
            "import a\nimport re\nwith a:\n    # replaced: w\n    E = re\nimport b\n",
        ),
        (
            "import a\nwith a:\n    import b\n    E = 1\n",
            "import a\nimport re\nwith a:\n    import b\n    # replaced: w\n    E = re\n",
        ),
    ],
)
def test_imports_go_between_logical_lines_above_what_needs_them(before: str, after: str) -> None:
    check(before, "import re\nE = replaced(re, why='w')\n", after)


@pytest.mark.parametrize("head", ["'D'; E = 1\n", "'D'\nfrom __future__ import annotations; import os; E = 1\n"])
def test_imports_never_go_above_the_head_of_a_module(head: str) -> None:
    what = "`import re` cannot stand above what needs it: that begins on a line of the module's head"
    refused(head, "import re\nE = replaced(re, why='w')\n", f"3: {what}; use a patch")


def test_an_addition_that_is_needed_before_it_is_defined_is_refused() -> None:
    before = "def f(): return 1\nclass A: pass\nX = f()\nclass B(A): pass\nA()\n"
    overlay = "@wrapped(why='1')\ndef f(): return upstream() + N\n"
    late = "6: `N` may be needed while the module is imported, before it is defined"
    refused(
        before,
        f"{overlay}\n\nN = added(1, why='2')\n",
        f"{late}; move it in front of the first operation that needs it",
    )
    assert run(before, f"N = added(1, why='2')\n{overlay}").X == 2
    method = "class A:\n    @added(why='1')\n    def m(self): return N\nN = added(1, why='2')\n"
    assert run(before.replace("A()\n", ""), method).B().m() == 1


_OWN = "class A:\n    def f(x): return x\n    def g(self): return self\n    {}\nLATE = 1\n"
_CALLING = _OWN.format("T = f(3)")
_WRAPPER = "class A:\n    @wrapped(why='1')\n    def {}: return (upstream({}), {})\n"
_HELPER = "@added(why='2')\ndef helper(): return 4\n"


def test_what_a_wrapper_reads_while_its_class_body_runs_is_there_by_then() -> None:
    wrapper = _WRAPPER.format("f(x)", "x", "helper()")
    late = "6: `helper` may be needed while the module is imported, before it is defined"
    refused(_CALLING, wrapper + _HELPER, f"{late}; move it in front of the first operation that needs it")
    assert run(_CALLING, _HELPER + wrapper).A.T == (3, 4)
    assert run(_OWN.format("F = staticmethod(f)"), wrapper + _HELPER).A.F(3) == (3, 4)


def test_what_a_class_body_does_not_call_may_read_what_comes_later() -> None:
    both = _WRAPPER.format("f(x)", "x", "x") + _WRAPPER.format("g(self)", "self", "helper()").partition("\n")[2]
    assert run(_CALLING, both + _HELPER).A().g()[1] == 4


@pytest.mark.parametrize(("value", "early"), [("T: Box = Box().f(3)", True), ("T: Box = Box", False)])
def test_a_class_in_a_class_runs_where_the_body_around_calls_it(value: str, early: bool) -> None:
    before = f"class A:\n    class Box:\n        def f(self, x): return x\n    {value}\n"
    wrapper = textwrap.indent(_WRAPPER.format("f(self, x)", "self, x", "helper()").replace("A:", "Box:"), "    ")
    overlay = f"class A:\n{wrapper}"
    late = "7: `helper` may be needed while the module is imported, before it is defined"
    if early:
        refused(before, overlay + _HELPER, f"{late}; move it in front of the first operation that needs it")
        assert run(before, _HELPER + overlay).A.T == (3, 4)
    else:
        assert run(before, overlay + _HELPER).A.T().f(3) == (3, 4)


def test_what_a_class_body_calls_needs_its_helpers_wherever_they_are_read() -> None:
    before = f"def h(): return 1\n{_CALLING.replace('return x', 'return h()')}"
    overlay = "@replaced(why='1')\ndef h(): return helper()\n"
    late = "5: `helper` may be needed while the module is imported, before it is defined"
    refused(before, overlay + _HELPER, f"{late}; move it in front of the first operation that needs it")
    assert run(before, _HELPER + overlay).A.T == 4


def test_what_a_class_body_calls_reads_nothing_of_the_module_that_comes_later() -> None:
    what = "`LATE` is read while the module is imported, before it is bound"
    fix = "look it up in `globals()`, where it may be missing"
    refused(_CALLING, _WRAPPER.format("f(x)", "x", "LATE"), f"4: {what}; {fix}")
    refused(_CALLING, _WRAPPER.format("f(x)", "x", "(lambda: LATE)()"), f"4: {what}; {fix}")
    replaced = "class A:\n    @replaced(why='w')\n    def f(x): return x and LATE\n"
    refused(_CALLING, replaced, f"4: {what}; {fix}")
    assert run(_CALLING.replace("return x", "return LATE if x == 4 else x").replace("f(3)", "f(0)"), replaced).A.T == 0
    assert run(_CALLING, _WRAPPER.format("g(self)", "self", "LATE")).A().g()[1] == 1
    assert run(_CALLING, _WRAPPER.format("f(x)", "x", "globals().get('LATE')")).A.T == (3, None)


@pytest.mark.parametrize(
    "calling",
    [
        "T = f(3)",
        "if True:\n    T = [f(3)]",
        "@f\ndef g(): pass",
        "@f(3)\ndef g(): pass",
        "class A:\n    T = f(3)",
        "def g(y): return f(y)\nT = g(3)",
        "def g(y): return f(y)\n@g\nclass A: pass",
    ],
)
def test_what_the_module_calls_while_it_is_imported_reads_nothing_that_comes_later(calling: str) -> None:
    before = f"def f(x): return lambda y: y\n{calling}\nLATE = 1\n"
    what = "`LATE` is read while the module is imported, before it is bound"
    refusal = f"3: {what}; look it up in `globals()`, where it may be missing"
    refused(before, "@wrapped(why='w')\ndef f(x): return upstream(LATE)\n", refusal)
    refused(before, "@replaced(why='w')\ndef f(x): return [LATE for _ in x]\n", refusal)
    run(before, "@wrapped(why='w')\ndef f(x): return upstream(globals().get('LATE'))\n")


@pytest.mark.parametrize(
    "calling",
    [
        "T = f",
        "T = str(f)",
        "def g(y): return f(y)\nT = g",
        "def g(f): return f(3)\nT = g(str)",
        "class A:\n    def g(self): return f(3)\nT = A()",
        "async def g(): return f(3)\ng().close()",
    ],
)
def test_what_the_module_only_names_while_it_is_imported_may_read_what_comes_later(calling: str) -> None:
    module = run(f"def f(x): return x\n{calling}\nLATE = 1\n", "@wrapped(why='w')\ndef f(x): return upstream(LATE)\n")
    assert module.f(3) == 1


def test_a_definition_below_the_call_is_not_what_is_called() -> None:
    before = "def f(x): return x\nT = f(3)\ndef f(x): return -x\nLATE = 1\n"
    module = run(before, "@wrapped(why='w', where='#2')\ndef f(x): return upstream(LATE)\n")
    assert (module.T, module.f(3)) == (3, -1)


def test_what_a_decorator_makes_may_read_what_comes_later() -> None:
    before = "def f(x): return lambda: x\n@f\ndef g(): pass\nLATE = 1\n"
    assert run(before, "@replaced(why='w')\ndef f(x): return lambda: LATE\n").g() == 1


def test_what_its_decorator_calls_at_once_reads_nothing_that_comes_later() -> None:
    before = "def call(f): return f()\n@call\ndef g(): return 3\nLATE = 1\n"
    what = "`LATE` is read while the module is imported, before it is bound"
    fix = "look it up in `globals()`, where it may be missing"
    refused(before, "@edited(('3', 'LATE'), why='w')\ndef g(): ...\n", f"3: {what}; {fix}")


def test_a_value_that_reads_what_comes_later_is_refused() -> None:
    before = "def f(x=0): return 1\nLIMIT = 1\ndef g(): return LIMIT\n"
    what = "is read while the module is imported, before it is bound; move it in front of an operation further down"
    overlay = "N = added([LIMIT for _ in 'a'], why='1')\n@replaced(why='2')\ndef {}: return N, LIMIT\n"
    refused(before, overlay.format("f(x=0)"), f"2: `LIMIT` {what}")
    assert run(before, overlay.format("g()")).g() == ([1], 1)
    refused(before, "@edited(('0', 'LIMIT'), why='w')\ndef f(): ...\n", f"3: `LIMIT` {what}")
    assert run(before, "@replaced(why='w')\ndef f(x=0): return LIMIT\n").f() == 1


@pytest.mark.parametrize("setting", ["self.f = 1", "setattr(self, 'f', 1)", "self.x = self.f = self.g"])
def test_a_method_that_every_object_has_otherwise_is_never_reached(setting: str) -> None:
    before = f"class A:\n    def __init__(self, x):\n        {setting}\n    def f(self): pass\n"
    what = "`A.f` never runs: `A.__init__` sets another `f` on every object (line 3)"
    marks = (
        "@replaced(why='w')\n    def f(self): return 1",
        "@wrapped(why='w')\n    def f(self): return upstream(self)",
        "@edited(('pass', 'return 1'), why='w')\n    def f(self): ...",
    )
    for mark in marks:
        refused(before, f"class A:\n    {mark}\n", f"4: {what}; change `A.__init__`, or what that sets")


@pytest.mark.parametrize(
    ("member", "setting"),
    [
        ("@property\n    def f(self): pass", "self.f = 1"),
        ("@own_property\n    def f(self): pass", "self.f = 1"),
        ("@unknown\n    def f(self): pass", "self.f = 1"),
        ("def f(self): pass", "self.f = cached(self.f)"),
        ("def f(self): pass", "self.f = partial(type(self).f, x)"),
        ("def f(self): pass", "return\n        self.f = 1"),
        ("def f(self): pass", "if x: self.f = 1"),
        ("def f(self): pass", "other.f = 1"),
        ("def f(self): pass", "def inner(): self.f = 1"),
    ],
)
def test_a_method_that_some_objects_may_have_otherwise_is_operated_on(member: str, setting: str) -> None:
    before = f"class A:\n    def __init__(self, x):\n        {setting}\n    {member}\n"
    merged(before, f"class A:\n    @replaced(why='w')\n    {member.replace('pass', 'return 1')}\n")


def test_what_python_looks_for_in_the_class_alone_is_operated_on() -> None:
    before = "class A:\n    def __init__(self): self.__call__ = 1\n    def __call__(self): return 1\n"
    module = run(before, "class A:\n    @replaced(why='w')\n    def __call__(self): return 2\n")
    assert module.A()() == 2
