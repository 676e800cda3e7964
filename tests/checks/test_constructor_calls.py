"""Classes that take something else than what upstream's own code makes them with."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import OTHER, PATH, refused

TAKES = "class C:\n    def __init__(self, a): self.a = a\nclass D(C): pass\n"
MODULE = "from torch import nn\nclass C(nn.Module):\n    x = 1\nclass D(C): pass\n"
DELETED = "deleted('C.__init__', why='w')\n"
ADDED = "class C:\n    @added(why='w')\n    def __init__(self, a): super().__init__()\n"
EDITED = "class C:\n    @edited(('self, a', 'self'), ('self.a = a', 'pass'), why='w')\n    def __init__(): ...\n"
REPLACED = "@replaced(why='w')\nclass C:\n    x = 1\n"


@pytest.mark.parametrize(
    ("upstream", "overlay", "call"),
    [
        (TAKES, DELETED, "C(1)"),
        (TAKES, DELETED, "C(a=1)"),
        (TAKES, DELETED, "m.C(1)"),
        (TAKES, DELETED, "D(1)"),
        (TAKES, DELETED, "C.__init__(x, 1)"),
        (TAKES.replace("C:", "C(B):"), f"{DELETED}class B:\n    n = added(1, why='w')\n", "C(1)"),
        (TAKES, EDITED, "C(1)"),
        (TAKES, REPLACED, "C(1)"),
        (MODULE, ADDED, "C()"),
        (MODULE, ADDED, "D()"),
        (MODULE, ADDED, "C(b=1, a=2)"),
        ("class C:\n    x = 1\n", ADDED, "C()"),
    ],
)
def test_a_class_that_is_made_as_it_cannot_be_made_any_more_is_refused(
    tmp_path: Path, upstream: str, overlay: str, call: str
) -> None:
    base = "class B:\n    def __init__(self): pass\n"
    other = f"from pkg import m\nfrom .m import *\nfrom .m import C\nx = 1\ndef f():\n    return {call}\n"
    (told,) = refused(tmp_path, base + upstream, other, overlay)
    assert (
        f" `C` of {PATH} can no longer be called as in {OTHER}:6 ({call}); accept the arguments that they give, "
        in told
    )


def test_a_constructor_that_an_heir_calls_is_one_that_is_made(tmp_path: Path) -> None:
    heir = "from .m import C\nclass E(C):\n    def __init__(self): super().__init__(1)\n"
    (told,) = refused(tmp_path, TAKES, heir, DELETED)
    assert f"as in {OTHER}:3 (super().__init__(1))" in told
    (told,) = refused(tmp_path / "o", MODULE, heir.replace("(1)", "()"), ADDED)
    assert f"as in {OTHER}:3 (super().__init__())" in told


@pytest.mark.parametrize(
    ("upstream", "other", "overlay"),
    [
        (TAKES.replace("a):", "a=1):"), "from .m import C\nC()\n", DELETED),
        (TAKES, "from .m import C\nC(*[])\n", DELETED),
        (TAKES, "from .m import C\nC(1, 2)\n", DELETED),
        (TAKES, "from .m import C\ndef f(C): C(1)\n", DELETED),
        (TAKES, "from .m import C\nC = C or print\nC(1)\n", DELETED),
        (TAKES, "from .m import C\ntry:\n    C(1)\nexcept Exception: pass\n", DELETED),
        (TAKES, "from .m import C\nclass E(C):\n    def __init__(self, a): pass\nE(1)\n", DELETED),
        (TAKES, "from .m import C\nclass E(C, Some): pass\nE(1)\n", DELETED),
        (TAKES, "from .m import C\nclass E(C, metaclass=Some): pass\nE(1)\n", DELETED),
        (TAKES.replace("class C", "@made\nclass C"), "from .m import C\nC(1)\n", DELETED),
        (TAKES.replace("C:", "C(made()):"), "from .m import C\nC(1)\n", DELETED),
        (TAKES.replace("C:", "C(dict):"), "from .m import C\nC(1)\n", DELETED),
        (
            f"class B:\n    def __init__(self, b): pass\n{TAKES.replace('C:', 'C(B):')}",
            "from .m import C\nC(1)\n",
            DELETED,
        ),
        (MODULE, "from .m import C\nC(1), C(a=1), C(**{})\n", ADDED),
        (MODULE, "from .m import C\nC()\n", ADDED.replace("a)", "a=1)")),
        (MODULE, "from .m import C\nclass E(C):\n    def __init__(self, a): super().__init__(a)\n", ADDED),
    ],
)
def test_what_is_made_as_before_or_may_be_is_let_be(tmp_path: Path, upstream: str, other: str, overlay: str) -> None:
    assert refused(tmp_path, f"made = Some = print\n{upstream}", other, overlay) == []
