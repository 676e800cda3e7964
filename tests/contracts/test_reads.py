"""What overlay code reads of upstream: found in its text, kept in the lock, and told of where another pin differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest

from language.overlays import layer, load, mistakes, write
from language.pairs import source_tree, text
from npu_overlays.contracts.read_occurrences import read_occurrences, unmet_depends
from npu_overlays.contracts.reads import Read, kept
from npu_overlays.errors import OverlayError
from npu_overlays.merge.results import Applied
from npu_overlays.model import model_of
from npu_overlays.sources.tree import PatchedTree

from .locks import LockedOverlay, locked, told

ACTIVATIONS = """
    import torch
    class Lazy(dict): ...
    CLASSES = {"gelu": torch.GELU, "silu": torch.SiLU}
    TABLE = Lazy(CLASSES)
"""
MODEL = """
    from .activations import TABLE
    SCALE = 2
    class Base:
        def __init__(self, config):
            self.size = config.size
    class Mlp(Base):
        def __init__(self, config):
            super().__init__(config)
            self.act = TABLE[config.act]
            self.up = Linear(self.size)
        def forward(self, x): return self.up(self.act(x))
    class Block:
        def __init__(self, config):
            self.experts = ModuleList([Mlp(config) for _ in range(config.n)])
        def forward(self, x): return x, self.experts
"""
KERNELS = """
    import torch
    def fused(x, act): return type(act) is torch.SiLU
    def plain(experts): return all(fused(None, one.act) for one in experts)
"""
MLP = """
    from pkg.kernels import fused
    class Mlp:
        @wrapped(why="w")
        def forward(self, x):
            if fused(x, self.act):
                return SCALE * self.size
            return upstream(self, x)
"""
BLOCK = """
    from .kernels import plain
    class Block:
        @wrapped(why="w")
        def forward(self, x):
            return (x, None) if plain(self.experts) else upstream(self, x)
"""
UPSTREAM = {"pkg/__init__.py": "", "pkg/activations.py": ACTIVATIONS, "pkg/model.py": MODEL}
LAYER = {"tree/pkg/kernels.py": text(KERNELS).encode()}


def _locked(tmp_path: Path, overlay: str, upstream: Mapping[str, str | bytes] = UPSTREAM) -> LockedOverlay:
    layer(tmp_path / "o", {**LAYER, "tree/pkg/model.py": overlay})
    return locked(tmp_path / "o", write(tmp_path / "o", {}), upstream)


def _reads(tmp_path: Path, overlay: str, upstream: Mapping[str, str | bytes] = UPSTREAM) -> dict[str, Read]:
    """Return by name what an overlay of one merge module and an added file reads."""
    reads = _locked(tmp_path, overlay, upstream).lock.reads
    return {f"{read.path.removeprefix('pkg/')}:{read.symbol}": read for read in reads or ()}


def test_an_attribute_of_self_is_followed_to_the_table_its_value_comes_from(tmp_path: Path) -> None:
    reads = _reads(tmp_path, MLP)
    assert {name: read.value or read.entries or read.signature for name, read in reads.items()} == {
        "activations.py:CLASSES": ("'gelu': torch.GELU", "'silu': torch.SiLU"),
        "activations.py:Lazy": "(dict)",
        "activations.py:TABLE": "Lazy(CLASSES)",
        "model.py:Mlp.act": "TABLE[config.act]",
        "model.py:Mlp.forward": "(self, x)",
        "model.py:Mlp.size": "config.size",
        "model.py:SCALE": "2",
    }
    assert reads["activations.py:CLASSES"].by == ("wrapped pkg/model.py:Mlp.forward self.act",)
    assert reads["model.py:Mlp.forward"].by == ("wrapped pkg/model.py:Mlp.forward upstream",)
    assert reads["model.py:Mlp.forward"].returns == "a value"


def test_of_the_objects_an_added_file_is_handed_it_reads_what_it_asks_for(tmp_path: Path) -> None:
    reads = _reads(tmp_path, BLOCK)
    assert reads["model.py:Block.forward"].returns == "2 values"
    assert [name for name, read in reads.items() if "self.experts" in read.by[0]] == [
        "activations.py:CLASSES",
        "activations.py:Lazy",
        "activations.py:TABLE",
        "model.py:Block.experts",
        "model.py:Mlp",
        "model.py:Mlp.act",
    ]


def test_imports_functions_and_members_are_read_where_they_are_written(tmp_path: Path) -> None:
    upstream = {
        **UPSTREAM,
        "pkg/__init__.py": "from pkg.data import *",
        "pkg/data.py": "class Data:\n    @property\n    def size(self): return 1\n    def to(self, device): ...\n",
        "pkg/sub/__init__.py": "from .tools import run",
        "pkg/sub/tools.py": "def run(a, *, b=1):\n    if a: return None\n    return (1, 2) if b else [a]\n",
    }
    overlay = """
        import pkg.sub.tools
        from pkg import Data
        from pkg.sub import run as start
        @added(why="a")
        def extra(data: Data, run):
            from .activations import TABLE as table
            return start(data.to("npu")), pkg.sub.tools.run, table, run.size
        class Block:
            RANK = added(SCALE, why="a")
    """
    reads = _reads(tmp_path, overlay, upstream)
    assert {name: read.by[0].rpartition(" ")[2] for name, read in reads.items()} == {
        "activations.py:CLASSES": "table",
        "activations.py:Lazy": "table",
        "activations.py:TABLE": "table",
        "data.py:Data": "Data",
        "data.py:Data.size": "Data",
        "data.py:Data.to": "Data",
        "model.py:SCALE": "SCALE",
        "sub/tools.py:run": "start",
    }
    assert reads["sub/tools.py:run"].returns == "None or 2 values or a value"
    assert reads["sub/tools.py:run"].signature == "(a, *, b=1)"
    assert reads["data.py:Data.size"].decorators == "@property"


def test_a_class_of_the_overlays_reads_what_it_overrides_and_inherits(tmp_path: Path) -> None:
    added = "from pkg.model import Mlp\nclass Ours(Mlp):\n    def forward(self, x): return self.up(self.mine)\n"
    layer(tmp_path / "o", {"tree/pkg/ours.py": added.encode()})
    made = locked(tmp_path / "o", write(tmp_path / "o", {}), UPSTREAM)
    assert {f"{read.symbol} {read.by[0].rpartition(' ')[2]}" for read in made.lock.reads or ()} == {
        "Mlp Mlp",
        "Mlp.forward Ours.forward",
        "Mlp.up Ours.up",
    }


def test_a_member_is_read_of_the_base_that_python_asks_first(tmp_path: Path) -> None:
    """And not of what stands in the brackets of a base; all other orders are those of the model, and tested there."""
    model = """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class Item:
            other = 2
        class D(Generic[T]):
            def m(self): return 1
        class C:
            def m(self): return None
            n = 3
        class B(D[Item]): ...
        class A(B, C):
            def own(self): ...
    """
    overlay = """
        class A:
            @wrapped(why="w")
            def own(self): return self.m(), super().m(), self.n, self.other, upstream(self)
    """
    reads = _reads(tmp_path, overlay, {**UPSTREAM, "pkg/model.py": model})
    del reads["model.py:A.own"]
    assert {one.symbol: one.value or one.returns for one in reads.values()} == {
        "A.m": "a value",
        "B.m": "a value",
        "A.n": "3",
    }


def test_a_class_of_the_overlays_inherits_nothing_of_what_stands_in_the_brackets_of_a_base(tmp_path: Path) -> None:
    model = "T = TypeVar('T')\nclass Item: size = other = 2\nclass Box(Generic[T]): size = 3\n"
    upstream = {**UPSTREAM, "pkg/model.py": f"from typing import Generic, TypeVar\n{model}"}
    added = (
        b"from pkg.model import Box, Item\nclass Ours(Box[Item]):\n    def get(self): return self.size, self.other\n"
    )
    layer(tmp_path / "o", {"tree/pkg/ours.py": added})
    made = locked(tmp_path / "o", write(tmp_path / "o", {}), upstream)
    inherited = [one.symbol for one in made.lock.reads or () if "Ours." in " ".join(one.by)]
    assert inherited == ["Box.size"]


def test_an_edit_reads_what_its_replacements_add(tmp_path: Path) -> None:
    overlay = """
        class Mlp:
            @edited(("self.up(self.act(x))", "self.up(self.act(x)) * SCALE + self.size"), why="e")
            def forward(): ...
    """
    assert list(_reads(tmp_path, overlay)) == ["model.py:Mlp.size", "model.py:SCALE"]


@pytest.mark.parametrize(
    ("header", "replace", "name"),
    [
        ("", "self.act(x) * self.size", "Mlp.size"),
        ("", "super().loss(x)", "Base.loss"),
        ("from .kernels import plain\n", "plain(self)", "Mlp.act"),
    ],
)
@pytest.mark.parametrize("outer", [False, True])
def test_an_edit_of_a_class_reads_of_its_objects_what_one_of_a_method_does(
    tmp_path: Path, header: str, replace: str, name: str, *, outer: bool
) -> None:
    def inside(text: str) -> str:
        return f"class Outer:\n{indent(text, '    ')}" if outer else text

    base = "class Base:\n    act = size = 2\n    def loss(self, x): ...\n"
    mlp = inside("class Mlp(Base):\n    def forward(self, x): return self.act(x)\n")
    overlay = header + inside(f"@edited(('self.act(x)', '{replace}'), why='e')\nclass Mlp: ...\n")
    read = {one.partition(":")[2] for one in _reads(tmp_path, overlay, {**UPSTREAM, "pkg/model.py": base + mlp})}
    assert (f"Outer.{name}" if outer and name.startswith("Mlp") else name) in read


def test_a_wrapper_that_hands_on_what_it_gets_does_not_depend_on_its_shape(tmp_path: Path) -> None:
    passing = "class Block:\n    @wrapped(why='w')\n    def forward(self, x):\n        return upstream(self, x)\n"
    assert _reads(tmp_path, passing) == {}


def test_upstream_that_leads_in_a_circle_or_too_deep_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    upstream = {
        "pkg/__init__.py": "from .a import *\nfrom .model import *\n",
        "pkg/a.py": "from . import *\nfrom .b import f\nA = B\nB = A\n",
        "pkg/b.py": "from .a import f\n",
        "pkg/model.py": "class A(A.Base):\n    def f(self): return self.x\nDEEP = " + "+".join("1" * 1500) + "\n",
    }
    overlay = """
        from pkg import f, missing
        from pkg.a import A
        class A:
            @wrapped(why="w")
            def f(self):
                return self.Base, self.x, DEEP, A, f, missing, upstream(self)
    """
    layer(tmp_path / "o", {"tree/pkg/model.py": overlay})
    content = load(tmp_path / "o", write(tmp_path / "o", {}))
    tree = source_tree({path: one.encode() for path, one in upstream.items()})
    model = model_of(content.overlay.pin, tree)
    applied = Applied(tree=PatchedTree(upstream=tree, changed={}), before=model, after=model, declared=())
    read = [one.read for one in read_occurrences(content, model.symbols, applied)]
    assert {f"{one.path}:{one.symbol}" for one in read} == {
        "pkg/a.py:A",
        "pkg/a.py:B",
        "pkg/model.py:A.f",
        "pkg/model.py:DEEP",
    }


def _changed(name: str, old: str, new: str) -> dict[str, str | bytes]:
    before = text(str(UPSTREAM[name]))
    assert before.replace(old, new) != before
    return {**UPSTREAM, name: before.replace(old, new)}


ACT = "6, `self.act`"
TABLES = "`pkg/activations.py:"
OWN = "`pkg/model.py:"


@pytest.mark.parametrize(
    ("name", "edit", "place", "what"),
    [
        ("activations", ("torch.SiLU", "S"), ACT, f"{TABLES}CLASSES`: its entry 'silu' (`torch.SiLU` → `S`)"),
        ("activations", ('"silu"', '"s"'), ACT, f"{TABLES}CLASSES`: its entry 'silu' (`torch.SiLU` is gone)"),
        ("activations", ("Lazy(CLASSES)", "f"), ACT, f"{TABLES}TABLE`: its value (`Lazy(CLASSES)` → `f`)"),
        ("model", ("self.act =", "self.activation ="), ACT, f"{OWN}Mlp.act`: it is gone"),
        ("model", ("= config.size", "= 1"), "7, `self.size`", f"{OWN}Mlp.size`: its value (`config.size` → `1`)"),
        ("model", ("SCALE = 2", "SCALE = 3"), "7, `SCALE`", f"{OWN}SCALE`: its value (`2` → `3`)"),
        ("model", ("self.up(s", "1, (s"), "8, `upstream`", f"{OWN}Mlp.forward`: its result (`a value` → `2 values`)"),
    ],
)
def test_what_changed_at_another_pin_is_told_with_the_place_that_reads_it(
    tmp_path: Path, name: str, edit: tuple[str, str], place: str, what: str
) -> None:
    after = _changed(f"pkg/{name}.py", *edit)
    notices = told(tmp_path, UPSTREAM, after, {**LAYER, "tree/pkg/model.py": MLP})
    place = f"pkg/tree/pkg/model.py:{place} (model.py:Mlp.forward)"
    assert [notice for notice in notices if "the wrapped" not in notice] == [
        f"pkg@2222222: look at {place}: since pkg@1111111 upstream changed {what}"
    ]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pkg/activations.py", '{"gelu"', '{"new": New, "gelu"'),
        ("pkg/activations.py", "CLASSES = ", "CLASSES = OTHER = "),
        ("pkg/model.py", "self.up = Linear(self.size)", "self.up = Linear(self.size, 1)"),
        ("pkg/model.py", "from .activations import TABLE", "from .activations import (TABLE, Lazy)"),
        ("pkg/model.py", "class Base:", "class Base:\n    'Doc.'\n    def other(self): return 1\n"),
    ],
)
def test_what_nothing_reads_is_not_told(tmp_path: Path, name: str, old: str, new: str) -> None:
    assert told(tmp_path, UPSTREAM, _changed(name, old, new), {**LAYER, "tree/pkg/model.py": MLP}) == []


def test_an_attribute_that_moved_to_a_base_or_a_name_that_is_imported_now_is_the_same(tmp_path: Path) -> None:
    moved = text(MODEL).replace("        self.act = TABLE[config.act]\n", "", 1)
    moved = moved.replace("config.size\n", "config.size\n        self.act = TABLE[config.act]\n")
    moved = moved.replace("SCALE = 2\n", "from .scales import SCALE\n")
    after = {**UPSTREAM, "pkg/model.py": moved, "pkg/scales.py": "SCALE = 2\n"}
    assert told(tmp_path, UPSTREAM, after, {**LAYER, "tree/pkg/model.py": MLP}) == []


DEPENDS = '@wrapped(why="w", depends=["pkg/model.py:{}"])\ndef run(x):\n    return upstream(x)\n'
TOOLS = {**UPSTREAM, "pkg/tools.py": "def run(x):\n    return x\n"}


def test_what_an_author_says_is_compared_as_a_whole(tmp_path: Path) -> None:
    after = {**TOOLS, "pkg/model.py": _changed("pkg/model.py", "self.up(self.act(x))", "self.act(x)")["pkg/model.py"]}
    assert told(tmp_path, TOOLS, after, {"tree/pkg/tools.py": DEPENDS.format("Mlp.forward")}) == [
        (
            "pkg@2222222: look at pkg/tree/pkg/tools.py:3, `depends` (tools.py:run): since pkg@1111111 upstream "
            "changed `pkg/model.py:Mlp.forward`: its text"
        )
    ]


def test_what_an_author_says_and_upstream_has_not_is_refused(tmp_path: Path) -> None:
    layer(tmp_path / "o", {"tree/pkg/tools.py": DEPENDS.format("Mlp.forwards")})
    made = locked(tmp_path / "o", write(tmp_path / "o", {}), TOOLS)
    assert [str(problem).replace("\n    fix: ", "; ") for problem in unmet_depends(made.content, made.upstream)] == [
        (
            "pkg/tree/pkg/tools.py:3: `depends` names `pkg/model.py:Mlp.forwards`, which upstream does not have; "
            "did you mean `pkg/model.py:Mlp.forward`?"
        )
    ]


@pytest.mark.parametrize("depends", ['"pkg/model.py"', '["pkg/model.py:"]', "[1]", '["model:Mlp"]', '["a.py:1x"]'])
def test_what_is_no_symbol_is_refused(tmp_path: Path, depends: str) -> None:
    layer(tmp_path / "o", {"tree/pkg/tools.py": DEPENDS.replace('["pkg/model.py:{}"]', depends)})
    with pytest.raises(OverlayError) as caught:
        locked(tmp_path / "o", write(tmp_path / "o", {}), TOOLS)
    (mistake,) = mistakes(caught.value)
    assert "`depends` holds" in mistake
    assert 'depends=["path/of/file.py:Class.method"]' in mistake


def test_what_a_source_lacks_is_kept_from_the_lock_before() -> None:
    here = Read(path="a.py", symbol="a", by=("wrapped a.py:f a",))
    before = [
        replace(here, by=("wrapped a.py:f a", "wrapped gone.py:g a", "wrapped left.py:h a")),
        Read(path="gone.py", symbol="b", by=("wrapped a.py:f b",)),
        Read(path="old.py", symbol="c", by=("wrapped a.py:f c",)),
    ]
    readers = ["wrapped a.py:f", "wrapped gone.py:g"]
    assert kept([here], before, readers, frozenset({"gone.py", "left.py"})) == (
        replace(here, by=("wrapped a.py:f a", "wrapped gone.py:g a")),
        before[1],
    )


MAKES = "from pkg.b import D\n@replaced(why='w')\ndef f(x): return D(1, 2)\n"
PLAIN = "class D:\n    def __init__(self, a, b): ...\n"
DATA = "from dataclasses import dataclass, field, KW_ONLY\n@dataclass\nclass D:\n    a: int\n    b: int\n"
TUPLE = "from typing import NamedTuple\nclass D(NamedTuple):\n    a: int\n    b: int\n"
MODELLED = "from pydantic import BaseModel\nclass D(BaseModel):\n    a: int = 1\n    b: int\n"
META = "class M(type):\n    def __call__(cls, a, b): ...\nclass D(metaclass=M): ...\n"
ENUM = "from enum import Enum\nclass D(Enum):\n    A = 1\n    B = 2\n"
HEIR = "from pkg.c import Base\nclass D(Base): ...\n"


def _changes(
    tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str], files: Mapping[str, str | bytes]
) -> list[str]:
    """Return what is told to have changed between two upstreams."""
    found = told(tmp_path, {"pkg/__init__.py": "", **before}, {"pkg/__init__.py": "", **after}, files)
    return [one.partition("upstream changed ")[2] for one in found]


def _told_of(tmp_path: Path, before: str, after: str, overlay: str = MAKES, name: str = "b") -> list[str]:
    """Return what is told where one of upstream's modules becomes another, which one definition reads."""
    beside = {"pkg/m.py": "def f(x): return x\n", "pkg/b.py": HEIR}
    path = f"pkg/{name}.py"
    return _changes(tmp_path, {**beside, path: before}, {**beside, path: after}, {"tree/pkg/m.py": overlay})


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (PLAIN, PLAIN.replace("a, b", "b, a"), "`(self, a, b)` → `(self, b, a)`"),
        (PLAIN, PLAIN.replace("a, b", "a, b, c"), "`(self, a, b)` → `(self, a, b, c)`"),
        (PLAIN, PLAIN.replace("a, b", "a, b=1"), "`(self, a, b)` → `(self, a, b=1)`"),
        (PLAIN, "class D: ...\n", "`(self, a, b)` → `()`"),
        (PLAIN, f"{PLAIN}    def __new__(cls, *a): ...\n", "`(self, a, b)` → `(cls, *a) (self, a, b)`"),
        (DATA, DATA.replace("    a: int\n", "") + "    a: int\n", "`(a, b)` → `(b, a)`"),
        (DATA, f"{DATA}    c: int = 1\n", "`(a, b)` → `(a, b, c=1)`"),
        (DATA, DATA.replace("a: int", "a: int\n    _: KW_ONLY"), "`(a, b)` → `(a, *, b)`"),
        (DATA, f"{DATA}    a: int = field(init=False)\n", "`(a, b)` → `(b)`"),
        (TUPLE, TUPLE.replace("    a: int\n", "") + "    a: int\n", "`(a, b)` → `(b, a)`"),
        (MODELLED, MODELLED.replace("    b: int\n", ""), "`(*, a=1, b)` → `(*, a=1)`"),
        (META, META.replace("cls, a, b", "cls, b, a"), "`(cls, a, b)` → `(cls, b, a)`"),
    ],
)
def test_of_a_class_what_it_is_called_with_is_told(tmp_path: Path, before: str, after: str, shown: str) -> None:
    assert _told_of(tmp_path, before, after) == [f"`pkg/b.py:D`: its constructor ({shown})"]


def test_of_a_class_what_a_base_in_another_module_is_called_with_is_told(tmp_path: Path) -> None:
    base = PLAIN.replace("D", "Base")
    found = _told_of(tmp_path, base, base.replace("a, b", "b, a"), name="c")
    assert found == ["`pkg/b.py:D`: its constructor (`(self, a, b)` → `(self, b, a)`)"]


def test_of_an_object_what_it_is_called_with_is_told(tmp_path: Path) -> None:
    before = "class H:\n    def __call__(self, a, b): ...\nh = H()\n"
    overlay = "from pkg.b import h\n@replaced(why='w')\ndef f(x): return h(1, 2)\n"
    found = _told_of(tmp_path, before, before.replace("a, b", "b, a"), overlay)
    assert found == ["`pkg/b.py:H.__call__`: its signature (`(self, a, b)` → `(self, b, a)`)"]


@pytest.mark.parametrize(("asks", "told"), [("D(1)", True), ("D['A']", True), ("D.B", False), ("D", False)])
def test_of_an_enumeration_that_looks_its_members_up_all_are_read(tmp_path: Path, asks: str, told: bool) -> None:
    overlay = MAKES.replace("D(1, 2)", asks)
    found = _told_of(tmp_path, ENUM, ENUM.replace("A = 1", "A = 3"), overlay)
    assert found == ["`pkg/b.py:D.A`: its value (`1` → `3`)"] * told


def test_of_a_class_what_is_written_otherwise_and_called_alike_is_not_told(tmp_path: Path) -> None:
    other = "class D:\n    'Doc.'\n    def __init__(self, a: int, b: int): self.a = a\n    def more(self): ...\n"
    assert _told_of(tmp_path, PLAIN, other) == []


SETS = "class A:\n    def __init__(self, c): {}\n    def f(self, x): return self.e\n"
ASKS = "class A:\n    @replaced(why='w')\n    def f(self, x): return {}\n"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("setattr(self, 'e', c.a)", "setattr(self, 'e', c.b)", "its value (`c.a` → `c.b`)"),
        ("self.register_buffer('e', c.a)", "self.register_buffer('e', c.b, False)", "its value (`c.a` → `c.b`)"),
        ("self.register_buffer('e', tensor=c.a)", "self.register_buffer('d', tensor=c.a)", "it is gone"),
        ("object.__setattr__(self, 'e', c.a)", "object.__setattr__(c, 'e', c.a)", "it is gone"),
        ("[0 for self.e in c.a]", "pass", "it is gone"),
        ("\n        for self.e in c.a: pass", "\n        for self.e in c.b: pass", "its value (`c.a` → `c.b`)"),
        ("\n        with c.a as self.e: pass", "\n        with c.a as e: pass", "it is gone"),
    ],
)
@pytest.mark.parametrize("asks", ["self.e", "getattr(self, 'e', None)"])
def test_what_gives_an_object_an_attribute_by_other_means_is_known(
    tmp_path: Path, before: str, after: str, shown: str, asks: str
) -> None:
    old, new = ({"pkg/m.py": SETS.format(one)} for one in (before, after))
    assert _changes(tmp_path, old, new, {"tree/pkg/m.py": ASKS.format(asks)}) == [f"`pkg/m.py:A.e`: {shown}"]


BASES = "class Root:\n    def g(self, x): ...\nclass Base(Root): ...\nclass A(Base):\n    def f(self, x): ...\n"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("def g(self, x)", "def g(self, x, y)", "its signature (`(self, x)` → `(self, x, y)`)"),
        ("def g(self, x)", "def h(self, x)", "it is gone"),
        ("Base(Root): ...", "Base(Root):\n    async def g(self, x): ...", "its kind (`plain function` → `coroutine`)"),
        ("def f(self", "def g(self, y): ...\n    def f(self", ""),
    ],
)
def test_what_a_method_asks_of_its_bases_is_read(tmp_path: Path, old: str, new: str, shown: str) -> None:
    files = {"tree/pkg/m.py": ASKS.format("super().g(x)")}
    found = _changes(tmp_path, {"pkg/m.py": BASES}, {"pkg/m.py": BASES.replace(old, new)}, files)
    assert found == [f"`pkg/m.py:Base.g`: {shown}"] * bool(shown)


def test_what_is_asked_of_a_module_by_name_is_read(tmp_path: Path) -> None:
    overlay = "import pkg.b as b\n@replaced(why='w')\ndef f(x): return getattr(b, 'h')(1, 2)\n"
    found = _told_of(tmp_path, "def h(a, b): ...\n", "def h(b, a): ...\n", overlay)
    assert found == ["`pkg/b.py:h`: its signature (`(a, b)` → `(b, a)`)"]


def test_a_class_of_the_overlays_reads_what_it_asks_of_its_bases(tmp_path: Path) -> None:
    added = "from pkg.c import Base\nclass Ours(Base):\n    def f(self): return super().h()\n"
    before, after = ("class Base:\n    def h(self, x=1): ...\n", "class Base:\n    def h(self): ...\n")
    assert _changes(tmp_path, {"pkg/c.py": before}, {"pkg/c.py": after}, {"tree/pkg/ours.py": added.encode()}) == [
        "`pkg/c.py:Base.h`: its signature (`(self, x=1)` → `(self)`)"
    ]


CALLS = """
    from pkg.b import Base, dev, made
    G = 1
    class K:
        a = b = 1
        def __init__(self, x, fast=False): ...
    class A(Base):
        a = 1
        def __init__(self): self.k = K(1)
        def f(self, x):
            from pkg.b import Z
            y = [Z for G in x]
            return made(dev(x), self.k.a, f"{x}", K(x))
"""
CALLED = """
    class Base:
        def g(self): return 1
    class Z:
        a = 1
    def dev(x, fast=False): return x
    def made(*a): return a
"""
HELPER = "@added(why='a')\ndef h(o): return o.a\n"


@pytest.mark.parametrize(
    ("edit", "change", "shown"),
    [
        (
            ("dev(x)", "dev(x, fast=True)"),
            (", fast=F", ", *, fast=F"),
            "b.py:dev`: its signature (`(x, fast=False)` → `",
        ),
        (
            ("x), self", "x, fast=True), self"),
            ("dev(x, fast=", "dev(x, quick="),
            "b.py:dev`: its signature (`(x, fast=False)` → `",
        ),
        (("dev(x)", "h(dev, x)"), ("dev(x, ", "dev(y, "), "b.py:dev`: its signature (`(x, fast=False)` → `(y, "),
        (
            ("K(x)", "K(x, fast=1)"),
            ("(self, x, fast=False)", "(self, x)"),
            "m.py:K`: its constructor (`(self, x, fast=F",
        ),
        (("dev(x)", "super().g()"), ("return 1", "return 1, 2"), "b.py:Base.g`: its result (`a value` → `2 values`)"),
        (("dev(x)", "getattr(self, 'a', x)"), ("a = 1\n    def", "c = 1\n    def"), "m.py:A.a`: it is gone"),
        (('f"{x}"', 'f"{x} {self.a}"'), ("a = 1\n    def", "a = 2\n    def"), "m.py:A.a`: its value (`1` → `2`)"),
        (("dev(x)", "h(self)"), ("a = 1\n    def", "a = 2\n    def"), "m.py:A.a`: its value (`1` → `2`)"),
        ((".a", ".b"), ("a = b = 1", "a = 1"), "m.py:K.b`: it is gone"),
        (("dev(x)", "Z.a"), ("class Z:\n    a = 1", "class Z:\n    a = 2"), "b.py:Z.a`: its value (`1` → `2`)"),
        (("dev(x)", "dev(x) + G"), ("G = 1", "G = 2"), "m.py:G`: its value (`1` → `2`)"),
        (("dev(x)", "h(dev(x))"), ("dev(x, fast=", "dev(x, quick="), ""),
        (("dev(x)", "h(dev(x))"), ("G = 1", "G = 2"), ""),
    ],
)
def test_an_edit_reads_what_it_calls_otherwise_hands_on_or_asks_for(
    tmp_path: Path, edit: tuple[str, str], change: tuple[str, str], shown: str
) -> None:
    before = {"pkg/m.py": text(CALLS), "pkg/b.py": text(CALLED)}
    after = {path: content.replace(*change) for path, content in before.items()}
    assert after != before
    overlay = f"{HELPER}class A:\n    @edited({edit}, why='e')\n    def f(self, x): ...\n"
    told = _changes(tmp_path, before, after, {"tree/pkg/m.py": overlay})
    assert [shown in one for one in told] == [True] * bool(shown), told


STATE = "G = 1\nclass A:\n    def __init__(self): self.e = 1\n    def f(self, x): return self.e\n"
ASKED = "@added(why='a')\ndef asks(o): return hasattr(o, 'e')\n"
WRAPS = "class A:\n    @wrapped(why='w')\n    def f(self, x):\n        {}\n        return upstream(self, x)\n"


@pytest.mark.parametrize(
    ("line", "change", "shown"),
    [
        ("hasattr(self, 'e')", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("asks(self)", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("import pkg.b as b; hasattr(b, 'flag')", ("flag = 1", "flags = 1"), "`pkg/b.py:flag`: it is gone"),
        ("self.e += 1", ("self.e = 1", "self.e = 9"), "`pkg/m.py:A.e`: its value (`1` → `9`)"),
        ("self.e = 2", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("del self.e", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("setattr(self, 'e', 2)", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("import pkg.b as b; b.flag = 2", ("flag = 1", "flags = 1"), "`pkg/b.py:flag`: it is gone"),
        ("self.mine = 2", ("self.e = 1", "self.d = 1"), ""),
        ("vars(self)['e']", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("self.__dict__['e'] = 2", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("import pkg.b as b; vars(b)['flag']", ("flag = 1", "flags = 1"), "`pkg/b.py:flag`: it is gone"),
        ("self.__class__.e", ("self.e = 1", "self.d = 1"), "`pkg/m.py:A.e`: it is gone"),
        ("global G; G += 1", ("G = 1", "G = 9"), "`pkg/m.py:G`: its value (`1` → `9`)"),
        ("sorted(x, key=lambda G: G) + G", ("G = 1", "G = 9"), "`pkg/m.py:G`: its value (`1` → `9`)"),
        ("[G for G in x] and f'{G}'", ("G = 1", "G = 9"), "`pkg/m.py:G`: its value (`1` → `9`)"),
        ("[G for G in x]", ("G = 1", "G = 9"), ""),
    ],
)
def test_what_is_asked_or_set_by_name_or_bound_in_a_scope_beside_it_too_is_read(
    tmp_path: Path, line: str, change: tuple[str, str], shown: str
) -> None:
    before = {"pkg/m.py": STATE, "pkg/b.py": "flag = 1\n"}
    after = {path: content.replace(*change) for path, content in before.items()}
    assert _changes(tmp_path, before, after, {"tree/pkg/m.py": ASKED + WRAPS.format(line)}) == [shown] * bool(shown)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("n = 1; self.e = n", "n = 2; self.e = n", "`n where n = 1` → `n where n = 2`"),
        ("m = 1; n = m; self.e = n", "m = 2; n = m; self.e = n", "`n where n = m, m = 1` → `n where n = m, m = 2`"),
        ("n = G; self.e = n", "n = G; self.e = n; G", ""),
        ("self.e = 1", "\n        if c: self.e = 1", "`1` → `sometimes 1`"),
        ("self.e = 1", "\n        for x in c: self.e = 1", "`1` → `sometimes 1`"),
        ("self.e = 1", "\n        if c: self.e = 1\n        else: self.e = 1", ""),
        ("self.e = 1", "\n        if c: self.e = 1\n        else: raise ValueError", ""),
        ("self.e = 1", "\n        with c: self.e = 1", ""),
        ("self.e = 1", "\n        try: self.e = 1\n        finally: pass", ""),
        ("self.e = 1; self.e += G", "self.e = 1", "`1 or G` → `1`"),
    ],
)
def test_of_what_an_object_is_given_locals_and_conditions_count_too(
    tmp_path: Path, before: str, after: str, shown: str
) -> None:
    old, new = ({"pkg/m.py": f"G = 1\n{SETS.format(one)}"} for one in (before, after))
    told = [f"`pkg/m.py:A.e`: its value ({shown})"] * bool(shown)
    assert _changes(tmp_path, old, new, {"tree/pkg/m.py": ASKS.format("self.e")}) == told


def test_of_what_an_object_is_given_a_parameters_default_counts_too(tmp_path: Path) -> None:
    before = SETS.replace("c): {}", "c=1): self.e = c")
    found = _changes(
        tmp_path,
        {"pkg/m.py": before},
        {"pkg/m.py": before.replace("c=1", "c=2")},
        {"tree/pkg/m.py": ASKS.format("self.e")},
    )
    assert found == ["`pkg/m.py:A.e`: its value (`c where c = 1` → `c where c = 2`)"]
