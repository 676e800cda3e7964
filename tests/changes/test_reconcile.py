"""What the trees show must be what the overlay declares, neither more nor less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from language.pairs import PATH, explain, merged
from npu_overlays.errors import MergeError
from npu_overlays.merge.results import Declared
from npu_overlays.overlay.operations import Reason

BEFORE = b"def f(x): return x\ndef g(): pass\nclass A(B):\n    def f(self): return 1\n    def g(self): return 1\n"


def declare(symbol: str, operation: str, private: str = "") -> Declared:
    """Return a declaration."""
    return Declared(path=PATH, symbol=symbol, operation=operation, reason=Reason(why="w"), layer="o", private=private)


def mistakes(after: bytes, *declared: Declared) -> list[str]:
    """Return what does not fit."""
    with pytest.raises(MergeError) as caught:
        explain(BEFORE, after, declared)
    return [problem.what for problem in caught.value.problems]


def test_the_private_original_is_no_change_of_its_own() -> None:
    overlay = """
        @wrapped(why="w")
        def f(x): return upstream(x)
        class A:
            @wrapped(why="w")
            def f(self): return upstream(self)
        """
    content, declared = merged(BEFORE, overlay)
    assert b"def _upstream_f(x)" in content
    assert explain(BEFORE, content, declared) == ["replaced A.f (wrapped)", "replaced f (wrapped)"]


def test_an_original_that_is_a_global_of_the_module_may_have_a_long_name() -> None:
    name = f"made_{'long_' * 12}"
    before = f"class A:\n    def {name}(x): return x\n    FIRST = {name}(1)\n".encode()
    overlay = f"class A:\n    @wrapped(why='w')\n    def {name}(x): return upstream(x)\n"
    content, declared = merged(before, overlay)
    assert f"global _upstream_A_{name}\n".encode() in content
    assert explain(before, content, declared) == [f"replaced A.{name} (wrapped)"]


def test_the_private_original_must_be_upstreams() -> None:
    content, declared = merged(BEFORE, "@wrapped(why='w')\ndef f(x): return upstream(x)\n")
    lost = "the original of `f` was not kept as upstream has it"
    original = b"def _upstream_f(x): return x"
    assert mistakes(content.replace(original, original + b" + 1"), *declared) == [lost]
    assert mistakes(content.replace(original, original.replace(b"(x)", b"(x=1)")), *declared) == [lost]
    assert mistakes(content.replace(original + b"\n", b""), *declared) == [lost]
    assert mistakes(content.replace(original, b"_upstream_f = f"), *declared) == [lost]
    assert mistakes(content + original + b"\n", *declared) == [lost]


def test_a_change_of_another_definition_of_the_name_is_undeclared() -> None:
    before = b"class A:\n    @property\n    def f(self): return 1\n    @f.setter\n    def f(self, x): return 2\n"
    overlay = "class A:\n    @edited(('1', '3'), why='w')\n    def f(self): ...\n"
    content, declared = merged(before, overlay)
    assert explain(before, content, declared) == ["replaced A.f (edited)"]
    with pytest.raises(MergeError, match=r"`A\.f\[@f\.setter\]` was replaced but no operation says so"):
        explain(before, content.replace(b"2", b"4"), declared)
    setter = declare("A.f[@f.setter]", "edited")
    with pytest.raises(MergeError, match=r"`A\.f` was replaced but no operation says so"):
        explain(before, before.replace(b"1", b"3").replace(b"2", b"4"), (setter,))


def test_definitions_that_cannot_be_told_apart_are_one_change_of_all_that_was_declared() -> None:
    before = b"if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n"
    after = b"if a:\n    def f(): return 1\nelif b:\n    def f(): return 3\nelif c:\n    def f(): return 2\n"
    declared = (declare("f[elif b]", "added"), declare("f[else]", "deleted"))
    statements = declare("", "patch")
    assert explain(before, after, (*declared, statements))[0] == "replaced f (deleted, added)"


def test_a_private_name_nobody_declared_is_a_change() -> None:
    after = BEFORE + b"def _upstream_f(): pass\n"
    assert mistakes(after) == ["`_upstream_f` was added but no operation says so"]


def test_an_undeclared_change_is_refused() -> None:
    after = BEFORE.replace(b"return 1", b"return 2") + b"p()\n"
    assert mistakes(after, declare("A.f", "edited")) == [
        "`A.g` was replaced but no operation says so",
        "`p()` was added but no operation says so",
    ]


def test_a_declaration_without_effect_is_refused() -> None:
    after = BEFORE.replace(b"return x", b"return -x")
    assert mistakes(after, declare("f", "replaced"), declare("g", "replaced"), declare("A", "edited")) == [
        "replaced, but `g` is the same as upstream",
        "edited, but `A` is the same as upstream",
    ]
    assert mistakes(BEFORE, declare("", "edit")) == ["edit, but the file is the same as upstream"]


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ("added", BEFORE.replace(b"return x", b"return -x")),
        ("replaced", BEFORE.replace(b"def f(x): return x\n", b"")),
        ("deleted", BEFORE.replace(b"return x", b"return -x")),
        ("wrapped", BEFORE.replace(b"def f(x): return x\n", b"")),
    ],
)
def test_a_change_of_another_kind_than_declared_is_refused(operation: str, after: bytes) -> None:
    problems = mistakes(after, declare("f", operation))
    assert len(problems) == 2
    assert problems[0].endswith("but no operation says so")
    assert problems[1] == f"{operation}, but `f` is the same as upstream"


def test_a_patch_may_do_anything_to_its_symbols() -> None:
    after = BEFORE.replace(b"def f(x): return x\n", b"").replace(b"def g(): pass", b"def g(): return 1\nX = 1")
    declared = [declare(name, "patch") for name in ("f", "g", "X")]
    assert explain(BEFORE, after, tuple(declared)) == ["replaced g (patch)", "added X (patch)", "deleted f (patch)"]


def test_an_operation_on_a_class_accounts_for_what_changes_in_it() -> None:
    after = (
        BEFORE.replace(b"A(B)", b"A").replace(b"return 1", b"return 2").replace(b"    def g", b"    x = 1\n    def g")
    )
    assert explain(BEFORE, after, (declare("A", "replaced"),)) == [
        "replaced A.__bases__ (replaced)",
        "replaced A.f (replaced)",
        "added A.x (replaced)",
        "replaced A.g (replaced)",
    ]


def test_the_innermost_declaration_accounts_for_a_change() -> None:
    after = BEFORE.replace(b"return 1", b"return 2")
    found = explain(BEFORE, after, (declare("", "patch"), declare("A", "edited"), declare("A.g", "replaced")))
    assert found == ["replaced A.f (edited)", "replaced A.g (replaced)"]


def test_a_declaration_speaks_only_of_its_own_file() -> None:
    other = replace(declare("f", "replaced"), path="pkg/other.py")
    assert mistakes(BEFORE.replace(b"return x", b"return -x"), other) == [
        "`f` was replaced but no operation says so",
        "replaced, but `f` is the same as upstream",
    ]


def test_every_declaration_of_a_symbol_accounts_for_its_change_in_the_order_it_was_made() -> None:
    after = BEFORE.replace(b"return x", b"return -x")
    declared = [declare("f", "patch"), declare("f", "patch"), declare("f", "edited"), declare("", "patch")]
    assert explain(BEFORE, after, tuple(declared)) == ["replaced f (patch, patch, edited)"]


@pytest.mark.parametrize("operation", ["replaced", "edited", "patch"])
def test_another_order_is_a_change(operation: str) -> None:
    before = b"class D:\n    a: int = 1\n    b: int = 2\n"
    after = b"class D:\n    b: int = 2\n    a: int = 1\n"
    assert explain(before, after, (declare("D", operation),)) == [f"replaced D.__order__ ({operation})"]


def test_members_of_classes_that_are_bound_otherwise_too() -> None:
    for text in (
        b"try: from b import A\nexcept E:\n    class A:\n        def f(self): return 1\n",
        b"class A:\n    def f(self): return 1\nA = d(A)\n",
    ):
        after = text.replace(b"return 1", b"return 2")
        assert explain(text, after, (declare("A.f", "edited"),)) == ["replaced A.f (edited)"]
