"""The gate: what the overlay's text names is there, and what upstream's text names still is."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.pairs import text

from .gate import OWN, A, CheckedOverlay

DEFINE = "import it in the merge module, or add it"
KEEP = "keep it, or change those places too"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def f(:\n", "line 1"),
        ("x = f'{'a'}'\n", "Python 3.10"),
        ("try: pass\nexcept* ValueError: pass\n", "Python 3.10"),
        ("def f[T](x: T): pass\n", "Python 3.10"),
        ("type X = int\n", "Python 3.10"),
    ],
)
def test_syntax_the_lowest_python_lacks_is_refused(gate: CheckedOverlay, source: str, what: str) -> None:
    found = gate({}, {"tree/pkg/n.py": source.encode()})
    assert found
    assert any(what in message for message in found), found
    assert all(message.startswith("o/tree/pkg/n.py:") for message in found), found


@pytest.mark.parametrize(
    ("line", "source"),
    [
        (2, "import importlib\nimportlib.import_module('npu_overlays.markers')\n"),
        (1, "def f(): return 'npu_overlays.markers'\n"),
    ],
)
def test_nothing_of_the_tool_may_be_left(gate: CheckedOverlay, line: int, source: str) -> None:
    assert gate({}, {"tree/pkg/n.py": source.encode()}) == [
        f"o/tree/pkg/n.py:{line}: the patched module imports npu_overlays.markers; leave markers to merge modules"
    ]


# Undefined names


def test_what_a_closure_reads_may_be_deleted_around_it(gate: CheckedOverlay) -> None:
    before = """
        def f(x):
            def read():
                return x
            return read()
        """
    after = """
        @edited(("return read()", "seen = read()\\ndel x\\nreturn seen{}"), why="w")
        def f(x): ...
        """
    assert gate.merge(before, after.format("")) == []
    (message,) = gate.merge(before, after.format(", x"))
    assert "`x`" in message


_NEVER = [
    "z: Missing = x",
    "z: 'Missing[int]'",
    "self.z: Missing = x",
    "(z): Missing = x",
    "for x in x:\n        z: Missing",
]
_EVALUATED = ["z: int = Missing", "class C:\n        z: Missing", "def g(z: Missing): pass", "x[Missing]: int = 1"]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize(("body", "count"), [*((one, 0) for one in _NEVER), *((one, 1) for one in _EVALUATED)])
def test_annotations_of_local_variables_are_never_evaluated(
    gate: CheckedOverlay, body: str, count: int, future: str
) -> None:
    problems = gate.merge(f"{future}def f(x): return 1\n", f"@replaced(why='w')\ndef f(x):\n    self = x\n    {body}\n")
    assert [one.partition(": ")[2].partition(";")[0] for one in problems] == [
        "`Missing` is not defined in pkg/a.py"
    ] * count


@pytest.mark.parametrize("statement", ["z: Missing = 1", "class C:\n    z: Missing"])
def test_annotations_of_modules_and_classes_are_examined(gate: CheckedOverlay, statement: str) -> None:
    before = f"def Missing(): pass\n{statement}\n"
    assert "`Missing`" in "".join(gate.merge(before, "deleted('Missing', why='w')\n"))


def test_a_class_in_a_function_evaluates_what_annotates_its_fields(gate: CheckedOverlay) -> None:
    overlay = "@replaced(why='w')\ndef f(y: 'Y'):\n    class A:\n        z: Y\n"
    assert "under `if TYPE_CHECKING:` only" in "".join(gate.merge(TYPED, overlay))


def test_the_gate_names_upstream_where_its_marker_is_not_imported(gate: CheckedOverlay) -> None:
    overlay = b"from npu_overlays.markers import replaced\n@replaced(why='w')\ndef f(): return upstream()\n"
    assert gate({"a.py": "def f(): return 1\n"}, {A: overlay}) == [
        f"{OWN}:3: `upstream` is not defined in pkg/a.py; call it only inside a @wrapped function, whose original it is"
    ]


def test_undefined_names_of_patches_are_the_patchs(gate: CheckedOverlay) -> None:
    patch = b"Why: w\n\ndiff --git a/pkg/a.py b/pkg/a.py\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,3 @@\n"
    patch += b" x = nope\n+y = nope\n z = nope\n"
    before = {"a.py": "x = nope\nz = nope\ndef f(): return nope\n"}
    overlay = "@edited(('return nope', 'return (nope, 1)'), why='w')\ndef f(): ...\n"
    assert gate(before, {"patches/0.patch": patch, A: overlay}) == [
        "o/patches/0.patch:8: `nope` is not defined in pkg/a.py; import or define it in the patch",
    ]
    assert gate(before, {A: overlay.replace("1)", "nope)")}) == [
        f"{OWN}:2: `nope` is not defined in pkg/a.py; {DEFINE}"
    ]


def test_a_wrapper_owns_the_names_it_writes_itself(gate: CheckedOverlay) -> None:
    before = "def f(x: Missing = nowhere, y=1) -> Gone: return x\n"
    taken = "@wrapped(why='w')\ndef f(x=..., y=...): return upstream(x, y)  # Missing\n"
    assert gate.merge(before, taken) == []
    own = "@wrapped(why='w')\ndef f(x: Missing = ..., y: 'Gone' = ...) -> Gone: return upstream(x.Missing, nowhere)\n"
    assert gate.merge(before, own) == [
        f"{OWN}:3: `Gone` is not defined in pkg/a.py; {DEFINE}",
        f"{OWN}:3: `Missing` is not defined in pkg/a.py; {DEFINE}",
        f"{OWN}:3: `nowhere` is not defined in pkg/a.py; {DEFINE}",
    ]


def test_names_of_star_imports_are_looked_up_in_what_is_shipped(gate: CheckedOverlay) -> None:
    upstream = {
        "a.py": "from pkg.u import *\nfrom .listed import *\ndef f(): return 1\n",
        "u.py": "from pkg.v import *\ndef helper(): pass\n_private = 1\n",
        "v.py": "deep = 1\n",
        "listed.py": "__all__ = ['_one']\n_one = two = 1\n",
    }
    overlay = "@replaced(why='w')\ndef f(): return helper, deep, _one, _private, two, nope\n"
    assert gate(upstream, {A: overlay}) == [
        f"{OWN}:3: `{name}` is not defined in pkg/a.py; {DEFINE}" for name in ("_private", "nope", "two")
    ]
    own = {"tree/pkg/n.py": b"from pkg.m import *\nx = helper\ny = nothing\n", "tree/pkg/m.py": b"helper = 1\n"}
    assert gate({}, own) == ["o/tree/pkg/n.py:3: `nothing` is not defined; import or define it there"]


def test_what_only_a_foreign_star_import_can_bring_is_to_be_imported_by_name(gate: CheckedOverlay) -> None:
    before = "from math import *\ndef f(): return 1\ndef g(): return sqrt(1)\n"
    assert gate.merge(before, "@wrapped(why='w')\ndef g(): return upstream()\n") == []
    assert gate.merge(before, "@replaced(why='w')\ndef f(): return floor(1)\n") == [
        (
            f"{OWN}:3: `floor` can only come from `from math import *` in pkg/a.py, if at all;"
            " import it by name; where upstream's module reads that name too, under another one"
        ),
    ]


def test_what_a_star_import_brings_to_upstreams_own_text_of_the_symbol_it_brings_to_the_overlays(
    gate: CheckedOverlay,
) -> None:
    before = """
    from math import *
    def f(x: Tensor, y: Optional = nan) -> Tensor: return x
    def g(x: Tensor): return sqrt(x)
    def h(x: Tensor): return sqrt(x)
    """
    overlay = """
    @wrapped(why="w")
    def f(x, y=...): return upstream(x, y)
    @edited(("x: Tensor", "x: Tensor = 1"), why="w")
    def g(): ...
    @replaced(why="w")
    def h(x: Tensor): return sqrt(x) + {}
    """
    assert gate.merge(text(before), text(overlay).format("1")) == []
    found = gate.merge(text(before), text(overlay).format("pi"))
    assert [message.partition(":")[2][:24] for message in found] == ["7: `pi` can only come from"[:24]]


TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import Y\ndef f(y: 'Y'): return 1\n"


def test_what_only_type_checkers_see_cannot_be_read_at_run_time(gate: CheckedOverlay) -> None:
    fix = "import it under another name, or where it is used; an annotation can be quoted"
    what = f"`Y` is bound in pkg/a.py under `if TYPE_CHECKING:` only, and read at run time; {fix}"
    assert gate.merge(TYPED, "@replaced(why='w')\ndef f(y: 'Y'): return Y(1)\n") == [f"{OWN}:3: {what}"]
    assert gate.merge(TYPED, "@replaced(why='w')\ndef f(y: Y): return 1\n") == [f"{OWN}:3: {what}"]
    own = f"import typing\n{TYPED.replace('TYPE_CHECKING:', 'typing.TYPE_CHECKING:')}x = Y\n"
    assert gate({}, {"tree/pkg/n.py": own.encode()}) == [f"o/tree/pkg/n.py:6: {what.replace(' in pkg/a.py', '')}"]


def test_annotations_that_python_keeps_as_text_may_name_what_type_checkers_see(gate: CheckedOverlay) -> None:
    overlay = "@replaced(why='w')\ndef f(y: 'Y'):\n    z: Y = y\n    return z\n"
    assert gate.merge(TYPED, overlay) == []
    later = f"from __future__ import annotations\n{TYPED}"
    assert gate.merge(later, "@replaced(why='w')\ndef f(y: Y) -> list[Y]: return 1\n") == []


def test_an_annotation_kept_as_text_may_name_what_another_module_has_for_type_checkers(gate: CheckedOverlay) -> None:
    before = "from __future__ import annotations\nfrom . import typed\ndef f(x) -> typed.Y: return x\n"
    upstream = {"a.py": before, "typed.py": TYPED}
    assert gate(upstream, {A: "@wrapped(why='w')\ndef f(x): return upstream(x)\n"}) == []
    overlay = "@replaced(why='w')\ndef f(x) -> typed.{}: return {}\n"
    what = f"{OWN}:3: `typed.Y`: pkg.typed has no `Y` at run time, only under `if TYPE_CHECKING:`;"
    assert gate(upstream, {A: overlay.format("Y", "typed.Y")}) == [f"{what} import it from where it is defined"]
    what = f"{OWN}:3: `typed.Nope`: pkg.typed has no `Nope`; correct the name, or define it there"
    assert gate(upstream, {A: overlay.format("Nope", "x")}) == [what]


# What modules need of one another


@pytest.mark.parametrize(
    "module",
    [
        "def __getattr__(name): return name\n",
        "globals()['x'] = 1\n",
        "globals().update(x=1)\n",
        "import sys\nsys.modules[__name__] = object()\n",
        "exec('x = 1')\n",
        "from torch import *\n",
        "import lazy\n__getattr__, __dir__, __all__ = lazy.attach(__name__)\n",
        "for x in (1, 2): pass\n",
        "with open('f') as x: pass\n",
        "if (x := 1): pass\n",
        "try:\n    import x\nexcept ImportError:\n    pass\n",
        "def f():\n    global x\n    x = 1\n",
        "match 1:\n    case x: pass\n",
        "import x.y\n",
        "class x: pass\n",
        "from .dynamic import *\n",
        "[x, *_] = 1, 2\n",
    ],
)
def test_names_that_a_module_may_have_are_taken_for_granted(gate: CheckedOverlay, module: str) -> None:
    overlay = "from pkg.m import x\nfrom pkg import m\n@replaced(why='w')\ndef f(): return x, m.x, m.__name__\n"
    upstream = {"a.py": "def f(): return 1\n", "m.py": module, "dynamic.py": "def __getattr__(name): return name\n"}
    assert gate(upstream, {A: overlay}) == []


def test_what_another_module_sets_is_taken_for_granted(gate: CheckedOverlay) -> None:
    own = b"from pkg import m\nfrom pkg.m import extra, other\nx = m.extra\n"
    upstream = {"m.py": "", "o.py": "from . import m\nm.extra = 1\nsetattr(m, 'other', 2)\n"}
    assert gate(upstream, {"tree/pkg/n.py": own}) == []
    assert gate({"m.py": "class A:\n    def f(self): self.extra = self.other = 1\n"}, {"tree/pkg/n.py": own}) != []


LAZY = """
from typing import TYPE_CHECKING
from elsewhere import LazyModule, define_import_structure
_import_structure = {"a": ["gone"], "b": []}
if READY:
    _import_structure["a"].append("gone")
    _import_structure["b"] += ["g"]
if TYPE_CHECKING:
    from .a import gone, f
    from .b import *
else:
    import sys
    sys.modules[__name__] = LazyModule(__name__, globals()["__file__"], _import_structure, module_spec=__spec__)
"""
COLLECTING = """
import sys
from elsewhere import LazyModule, define_import_structure
_file = globals()["__file__"]
sys.modules[__name__] = LazyModule(__name__, _file, define_import_structure(_file), module_spec=__spec__)
"""


def test_what_a_lazy_package_hands_on_is_missed(gate: CheckedOverlay) -> None:
    upstream = {
        "p/__init__.py": LAZY,
        "p/a.py": "def gone(): pass\ndef f(): pass\n",
        "p/b.py": "def g(): pass\n",
        "user.py": "from .p import gone, f, g\n",
        "other.py": "from pkg import p\ndef h(): return p.gone(), p.f(), p.g()\n",
    }
    assert gate(upstream, {"tree/pkg/p/a.py": "deleted('gone', why='w')\n"}) == [
        (
            "o/tree/pkg/p/a.py:2: `gone` is taken away from pkg/p/a.py, but needed in "
            "pkg/other.py:2 (p.gone), pkg/p/__init__.py:8 (from .a import gone), pkg/p/__init__.py:3 "
            f"(_import_structure), pkg/p/__init__.py:5 (_import_structure), pkg/user.py:1 (from .p import gone); {KEEP}"
        ),
    ]
    found = gate(upstream, {"tree/pkg/p/b.py": "deleted('g', why='w')\n"})
    assert [line.partition(" needed in ")[2] for line in found] == [
        f"pkg/other.py:2 (p.g), pkg/p/__init__.py:6 (_import_structure), pkg/user.py:1 (from .p import g); {KEEP}"
    ]


@pytest.mark.parametrize(
    "structure",
    [
        "_import_structure = dict(a=['gone'])",
        "_import_structure: dict = {}\n_import_structure.update({'a': ['gone']})",
        "_import_structure = {}\n_import_structure.setdefault('a', []).append('gone')",
        "_import_structure = {}\n_import_structure.setdefault('a', []).extend(['gone'])",
    ],
)
def test_a_structure_may_be_written_in_other_ways(gate: CheckedOverlay, structure: str) -> None:
    place = "import sys\nsys.modules[__name__] = LazyModule(__name__, _import_structure)\n"
    upstream = {
        "p/__init__.py": f"from elsewhere import LazyModule\n{structure}\n{place}",
        "p/a.py": "def gone(): pass\ndef f(): pass\n",
        "user.py": "from .p import gone\n",
    }
    (told,) = gate(upstream, {"tree/pkg/p/a.py": "deleted('gone', why='w')\n"})
    assert "(_import_structure), pkg/user.py:1 (from .p import gone);" in told


def test_what_a_package_collects_of_its_folder_is_missed(gate: CheckedOverlay) -> None:
    upstream = {
        "p/__init__.py": COLLECTING,
        "p/a.py": "__all__ = ['gone']\ndef gone(): pass\n",
        "p/other.py": "__all__ = ['f']\ndef f(): pass\n",
        "user.py": "from .p import gone, f\n",
    }
    overlay = "deleted('gone', why='w')\n__all__ = replaced([], why='w')\n"
    told = f"`gone` is taken away from pkg/p/a.py, but needed in pkg/user.py:1 (from .p import gone); {KEEP}"
    assert gate(upstream, {"tree/pkg/p/a.py": overlay}) == [f"o/tree/pkg/p/a.py:2: {told}"]
    upstream["p/other.py"] = "@exported\ndef gone(): pass\nf = 1\n"
    assert gate(upstream, {"tree/pkg/p/a.py": overlay}) == []


@pytest.mark.parametrize(
    "lists",
    [
        "__all__ = ['gone']\n",
        '__all__ = (\n    "f",\n    "gone",\n)\n',
        "__all__ = [\n    'f',  # and\n    'gone',\n]\n",
        "__all__: list[str] = ['gone']\n",
        "__all__ = ['f'] + ['gone']\n",
        "__all__ = ['f']\n__all__ += ['gone']\n",
        "__all__ = ['f']\n__all__.append('gone')\n",
        "__all__ = [*names]  # gone\n",
    ],
)
def test_what_a_package_collects_elsewhere_is_not_missed_however_it_is_listed(gate: CheckedOverlay, lists: str) -> None:
    upstream = {
        "p/__init__.py": COLLECTING,
        "p/a.py": "__all__ = ['gone']\ndef gone(): pass\n",
        "p/other.py": f"names = ['f']\nf = 1\ngone = 2\n{lists}",
        "user.py": "from .p import gone\n",
    }
    overlay = {"tree/pkg/p/a.py": "deleted('gone', why='w')\n__all__ = replaced([], why='w')\n"}
    assert gate(upstream, overlay) == []
    for mentions in ("__all__ = ['f']\n", "", "__all__ = ['f', 'gone_too']\n", "if f:\n    __all__ = ['f']\n"):
        upstream["p/other.py"] = f"f = 1  # gone\n{mentions}"
        assert len(gate(upstream, overlay)) == 1


def test_what_a_package_collects_of_a_folder_below_it_is_missed(gate: CheckedOverlay) -> None:
    above = """
    from typing import TYPE_CHECKING
    from elsewhere import LazyModule, define_import_structure
    if TYPE_CHECKING:
        from .p import *
    else:
        import sys
        structure = define_import_structure(Path(__file__).parent / "p", prefix="p")
        structure[frozenset({})].update({"other": {"g"}})
        sys.modules[__name__] = LazyModule(__name__, globals()["__file__"], structure, module_spec=__spec__)
    """
    upstream = {
        "__init__.py": above,
        "p/__init__.py": "",
        "p/q/__init__.py": COLLECTING,
        "p/q/a.py": "__all__ = ['gone', 'f']\ndef gone(): pass\ndef f(): pass\n",
        "user.py": "from pkg import gone, f\n",
    }
    overlay = "deleted('gone', why='w')\n__all__ = replaced(['f'], why='w')\n"
    told = f"`gone` is taken away from pkg/p/q/a.py, but needed in pkg/user.py:1 (from pkg import gone); {KEEP}"
    assert gate(upstream, {"tree/pkg/p/q/a.py": overlay}) == [f"o/tree/pkg/p/q/a.py:2: {told}"]
    upstream["__init__.py"] = above.replace('prefix="p"', "prefix=name")
    assert gate(upstream, {"tree/pkg/p/q/a.py": overlay}) == []


def test_what_is_taken_out_of_a_collected_list_alone_is_missed(gate: CheckedOverlay) -> None:
    upstream = {
        "p/__init__.py": COLLECTING,
        "p/a.py": "__all__ = ['gone', 'f']\ndef gone(): pass\ndef f(): pass\n",
        "user.py": "from .p import gone, f\n",
    }
    overlay = {"tree/pkg/p/a.py": """__all__ = edited(("'gone', ", ''), why='w')\n"""}
    told = f"`gone` is taken away from pkg/p/a.py, but needed in pkg/user.py:1 (from .p import gone); {KEEP}"
    assert gate(upstream, overlay) == [f"o/tree/pkg/p/a.py:2: {told}"]
    upstream["p/modular_a.py"] = upstream["p/a.py"]
    upstream["p/a.py"] = upstream["p/a.py"].replace("def gone", "@documented\ndef gone")
    assert gate(upstream, overlay) == [f"o/tree/pkg/p/a.py:2: {told}"]
    upstream["p/a.py"] = upstream["p/a.py"].replace("@documented", "@requires(backends=())")
    assert gate(upstream, overlay) == []


def test_a_module_taken_out_of_a_lazy_package_is_missed(gate: CheckedOverlay) -> None:
    patch = b"Why: w\n\ndiff --git a/pkg/p/b.py b/pkg/p/b.py\ndeleted file mode 100644\n"
    patch += b"--- a/pkg/p/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def g(): pass\n"
    upstream = {
        "p/__init__.py": LAZY,
        "p/a.py": "def gone(): pass\ndef f(): pass\n",
        "p/b.py": "def g(): pass\n",
        "user.py": "import pkg.p.b\n",
    }
    found = gate(upstream, {"patches/0.patch": patch})
    assert found == [
        f"o/patches/0.patch:3: `b` is taken away from pkg/p/b.py, but needed in pkg/user.py:1 (import pkg.p.b); {KEEP}",
        (
            "o/patches/0.patch:8: `g` is taken away from pkg/p/b.py, but needed in "
            f"pkg/p/__init__.py:6 (_import_structure); {KEEP}"
        ),
    ]


def test_what_a_lazy_package_has_from_elsewhere_too_is_not_lost_to_others(gate: CheckedOverlay) -> None:
    upstream = {
        "p/__init__.py": LAZY.replace("from .b import *", "from .dummies import *"),
        "p/a.py": "def gone(): pass\ndef f(): pass\n",
        "p/b.py": "def g(): pass\n",
        "p/dummies.py": "def gone(): pass\n",
        "user.py": "from .p import gone, f, made_up\n",
    }
    found = gate(upstream, {"tree/pkg/p/a.py": "deleted('gone', why='w')\n"})
    assert [line.partition(" needed in ")[2] for line in found] == [
        (
            "pkg/p/__init__.py:8 (from .a import gone), pkg/p/__init__.py:3 (_import_structure), "
            f"pkg/p/__init__.py:5 (_import_structure); {KEEP}"
        ),
    ]


def test_settings_that_name_what_is_deleted_are_found(gate: CheckedOverlay) -> None:
    upstream = {
        "a.py": "def gone(): pass\nx = 1\n",
        "c/d.yaml": "a: 1\n_target_: pkg.a.gone\n",
        "e.json": '{"not": "pkg.a.gone2 or my.pkg.a.gone"}',
    }
    assert gate(upstream, {A: "deleted('gone', why='w')\n"}) == [
        f"{OWN}:2: `gone` is taken away from pkg/a.py, but needed in pkg/c/d.yaml:2 (pkg.a.gone); {KEEP}"
    ]


def test_an_added_module_must_be_in_the_encoding_that_it_declares(gate: CheckedOverlay) -> None:
    assert gate({}, {"tree/pkg/n.py": b"x = 1\ny = '\xe9'\n"}) == [
        "o/tree/pkg/n.py: is not utf-8 (invalid continuation byte at byte 11); save it as UTF-8"
    ]
    assert gate({}, {"tree/pkg/n.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'; y = nope\n"}) == [
        "o/tree/pkg/n.py:2: `nope` is not defined; import or define it there"
    ]
    assert gate({}, {"tree/pkg/n.py": b"\xef\xbb\xbfx = 1\r\n\xc3\xa9 = nope\r\n"}) == [
        "o/tree/pkg/n.py:2: `nope` is not defined; import or define it there"
    ]


def test_what_the_archive_lacks_is_taken_for_granted(tmp_path: Path) -> None:
    from language.overlays import apply, load, write  # noqa: PLC0415  # of this one test

    own = b"from pkg.lost import x\nfrom pkg import lost\nfrom pkg.lost.sub import y\nz = lost.z\n"
    content = load(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/n.py": own}))
    absent = frozenset({"pkg/lost/__init__.py", "pkg/lost/sub.py"})
    apply({"pkg/__init__.py": b""}, content, absent=absent)


# Import time


def test_a_name_read_while_importing_must_stand_above(gate: CheckedOverlay) -> None:
    before = "def f(): return 1\nV = f()\n"
    late = "@replaced(why='w')\ndef f(): return LIMIT\nLIMIT = added(5, why='w')\n"
    what = "`LIMIT` may be needed while the module is imported, before it is defined"
    assert gate.merge(before, late) == [f"{OWN}:4: {what}; move it in front of the first operation that needs it"]
    early = "LIMIT = added(5, why='w')\n@replaced(why='w')\ndef f(): return LIMIT\n"
    assert gate.merge(before, early) == []
    assert gate({}, {"tree/pkg/n.py": b"x = y\ny = 1\n"}) == [
        "o/tree/pkg/n.py:1: `y` is not defined; import or define it there"
    ]


NAME = "give it another name"
IMPORT = "from pkg.npu import {n}\n@wrapped(why='w')\ndef f(): return {n}(upstream())\n"
ADD = "class A: pass\n@added(why='w')\ndef {n}(): pass\n"


@pytest.mark.parametrize("overlay", [IMPORT, ADD])
@pytest.mark.parametrize("inner", ["sub/b.py", "sub/b/__init__.py"])
def test_a_gained_name_never_hides_a_module_of_the_package(gate: CheckedOverlay, overlay: str, inner: str) -> None:
    upstream = {"sub/__init__.py": "def f(): pass\n", inner: "", "npu.py": "b = 1\n"}
    what = "`b` in pkg/sub/__init__.py would hide the module pkg.sub.b"
    found = gate(upstream, {"tree/pkg/sub/__init__.py": overlay.format(n="b")})
    assert found == [f"o/tree/pkg/sub/__init__.py:4: {what}; {NAME}"]


@pytest.mark.parametrize("statement", ["from . import b", "from pkg.sub import b", "import pkg.sub.b as b"])
def test_a_package_may_import_its_own_module(gate: CheckedOverlay, statement: str) -> None:
    upstream = {"sub/__init__.py": "def f(): pass\n", "sub/b.py": ""}
    overlay = f"{statement}\n@wrapped(why='w')\ndef f(): return b, upstream()\n"
    assert gate(upstream, {"tree/pkg/sub/__init__.py": overlay}) == []


@pytest.mark.parametrize("overlay", [IMPORT, ADD])
def test_a_gained_name_never_hides_what_a_star_import_brings(gate: CheckedOverlay, overlay: str) -> None:
    upstream = {"a.py": "from pkg.u import *\ndef f(): pass\n", "u.py": "n = 1\n", "npu.py": "n = m = 1\n"}
    what = "`n` in pkg/a.py would hide what `from pkg.u import *` may bring under that name"
    assert gate(upstream, {A: overlay.format(n="n")}) == [f"{OWN}:4: {what}; {NAME}"]
    assert gate(upstream, {A: overlay.format(n="m")}) == []


@pytest.mark.parametrize("star", ["import *", "import  *", "import*", "import \\\n  *"])
@pytest.mark.parametrize("overlay", [IMPORT, ADD])
def test_a_gained_name_never_spreads_to_modules_that_read_it_otherwise(
    gate: CheckedOverlay, overlay: str, star: str
) -> None:
    upstream = {
        "a.py": "def f(): pass\n",
        "b.py": "from .a import *\n",
        "c.py": f"def size(x): return max(x), len(x)\nfrom pkg.b {star}\n",
        "npu.py": "max = min = _x = 1\n",
    }
    what = "`max` in pkg/a.py would reach pkg/c.py by its star import and change what that reads (line 1)"
    assert gate(upstream, {A: overlay.format(n="max")}) == [f"{OWN}:4: {what}; {NAME}"]
    assert gate(upstream, {A: overlay.format(n="min")}) == []
    assert gate(upstream | {"a.py": "def f(): pass\n__all__ = ['f']\n"}, {A: overlay.format(n="max")}) == []


@pytest.mark.parametrize(
    "overlay",
    [
        "__all__ = replaced(['f'], why='w')\n",
        "__all__ = edited((\", 'g'\", ''), why='w')\n",
    ],
)
def test_what_star_imports_bring_is_kept(gate: CheckedOverlay, overlay: str) -> None:
    upstream = {
        "a.py": "__all__ = ['f', 'g']\ndef f(): return 1\ndef g(): return 2\n",
        "b.py": "from .a import *\ndef h(): return g()\n",
        "c.py": "from .a import g\n",
    }
    what = "`g` is taken away from pkg/a.py, but needed in pkg/b.py:2 (import *)"
    (found,) = gate(upstream, {A: overlay})
    assert found.endswith(f"{what}; {KEEP}")
    added = {**upstream, "a.py": upstream["a.py"].partition("\n")[2]}
    (found,) = gate(added, {A: "__all__ = added(['f'], why='w')\n"})
    assert found.endswith(f"{what}; {KEEP}")


def test_a_new_module_never_hides_what_its_package_calls_so(gate: CheckedOverlay) -> None:
    core = "def run(): return 1\n"
    what = "o/tree/pkg/run.py: importing it would hide what upstream calls `run` in pkg; give it another name"
    for package in ("from .core import run\n", "from .core import *\n", "def run(): pass\n", "run = None\n"):
        assert gate({"__init__.py": package, "core.py": core}, {"tree/pkg/run.py": b"x = 1\n"}) == [what]
    for package in ("", "try:\n    from . import run\nexcept ImportError: pass\n", "from pkg.core import run as go\n"):
        assert gate({"__init__.py": package, "core.py": core}, {"tree/pkg/run.py": b"x = 1\n"}) == []
