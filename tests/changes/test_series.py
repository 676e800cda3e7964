"""A series of patches: a change has the reasons of all patches that made it, and of none that was taken back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from language.pairs import source_tree
from npu_overlays.changes.patch_contracts import patch_contracts
from npu_overlays.changes.patch_series import ineffective
from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.merge.results import Applied, PatchedFile
from npu_overlays.model import model_of_module
from npu_overlays.overlay.operations import Reason
from npu_overlays.sources.tree import PatchedTree

State = Mapping[str, str | None]
A, B = "pkg/a.py", "pkg/b.py"
F = "def f(x):\n    y = x\n    return y\n\n\n"
G = "def g(x):\n    return [one for one in x if one]\n\n\n"
H = G.replace("if one", "if not one")
C = "class C:\n    def m(self):\n        return 1\n\n"
CLEAN = "def clean(text):\n    return text.strip().lower()\n\n\n"
LONG = F.replace("y = x", "y = x + 1\n    y = y * 2\n    y = y - 3")
BOTH = LONG.replace("+ 1", "+ 9").replace("- 3", "- 9")
MORE = "    def n(self):\n        return 2\n"
YAML = "pkg/y.yaml"


def patched(*states: State) -> tuple[PatchedFile, ...]:
    """Return what patches do that lead from each state to the next; the first is upstream's."""
    now = dict(states[0])
    found: list[PatchedFile] = []
    for number, state in enumerate(states[1:], 1):
        for path, text in state.items():
            before, after = (None if one is None else one.encode() for one in (now.get(path), text))
            name = f"{number}.patch"
            one = PatchedFile(
                patch=name, path=path, before=before, after=after, reason=Reason(why=str(number)), layer="o", where=name
            )
            found.append(one)
        now |= state
    return tuple(found)


def told(*states: State) -> str:
    """Return the changes in the end, each with the patches whose reasons it has, and the patches without effect."""
    files = patched(*states)
    upstream = source_tree({path: text.encode() for path, text in states[0].items() if text is not None})
    tree = PatchedTree(upstream=upstream, changed={one.path: one.after for one in files})
    unasked = model_of_module("pkg/unasked.py", b"")
    applied = Applied(tree=tree, before=unasked, after=unasked, declared=(), patched=files)
    explained = reconcile(tree, compare_trees(tree), declarations(applied), overlay="o")
    lines: list[str] = []
    for file in explained:
        pairs = []
        for entry in file.class_changes:
            pairs += [*filter(None, [entry.whole]), *entry.changes]
        for pair in (*pairs, *file.module_changes):
            reasons = "".join(one.reason.why for one in (pair.declared, *pair.also))
            lines.append(f"{file.file.path[4:]}: {pair.change.action} {pair.change.symbol} {reasons}")
    return "; ".join([*lines, *(one.partition(":")[0] for one in ineffective([], files))])


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param([{A: F}, {A: LONG}, {A: F}], "1.patch; 2.patch", id="undone completely"),
        pytest.param(
            [{A: F + G}, {A: LONG + G}, {A: F + G}, {A: F + G.replace("if one", "if not one")}],
            "a.py: replaced g 3; 1.patch; 2.patch",
            id="undone beside another change",
        ),
        pytest.param(
            [{A: LONG}, {A: LONG.replace("+ 1", "+ 9")}, {A: BOTH}, {A: LONG.replace("- 3", "- 9")}],
            "a.py: replaced f 2; 1.patch; 3.patch",
            id="undone under a change of the same function",
        ),
        pytest.param(
            [{YAML: "a: 1\nb: 2\n"}, {YAML: "a: 2\nb: 2\n"}, {YAML: "a: 2\nb: 3\n"}, {YAML: "a: 1\nb: 3\n"}],
            "y.yaml: replaced y.yaml 2; 1.patch; 3.patch",
            id="undone under a change of the same file",
        ),
        pytest.param(
            [{A: "x = 1\ny = 1\n" + F}, {A: "x = 1\nx = 1\ny = 1\n" + LONG}, {A: "x = 1\ny = 1\n" + LONG}],
            "a.py: replaced f 1; 2.patch",
            id="taken back in part",
        ),
        pytest.param(
            [{A: F}, *({A: F.replace("y = x", f"y = {number}")} for number in (1, 2, 3))],
            "a.py: replaced f 123",
            id="changed three times",
        ),
        pytest.param(
            [{YAML: "a: 1\n"}, {YAML: "a: 2\n"}, {YAML: "a: 3\n"}], "y.yaml: replaced y.yaml 12", id="changed twice"
        ),
        pytest.param(
            [
                {A: F},
                {A: F + "_space = re.compile(r'\\s', flags=1)\n"},
                {A: F + "_key = re.compile(r'[/]', flags=1)\n"},
            ],
            "a.py: added _key 12",
            id="added and renamed",
        ),
        pytest.param(
            [{A: F}, {A: F + CLEAN}, {A: F + CLEAN.replace("clean", "tidy")}, {A: F + CLEAN.replace("clean", "neat")}],
            "a.py: added neat 123",
            id="renamed twice",
        ),
        pytest.param([{A: F}, {A: F.replace("f(", "h(")}, {A: F}], "1.patch; 2.patch", id="renamed and back"),
        pytest.param(
            [{A: F + G}, {A: LONG + G}, {A: LONG.replace("f(", "h(") + G}],
            "a.py: added h 12; a.py: deleted f 2",
            id="changed and renamed",
        ),
        pytest.param([{A: F}, {A: F + CLEAN}, {A: F + G}], "a.py: added g 2; 1.patch", id="another thing instead"),
        pytest.param(
            [{A: F}, {A: F + CLEAN}, {A: F}, {A: F + CLEAN}], "a.py: added clean 3; 1.patch; 2.patch", id="again"
        ),
        pytest.param([{A: F}, {B: G}, {B: None, "pkg/c.py": G}], "c.py: added g 12", id="added and moved"),
        pytest.param(
            [{}, {YAML: "a: 1\nb: 2\n"}, {YAML: "a: 1\nb: 3\n"}, {YAML: None, "pkg/z.yaml": "a: 1\nb: 3\n"}],
            "z.yaml: added z.yaml 123",
            id="added, changed and moved",
        ),
        pytest.param(
            [{A: F}, {B: G}, {A: LONG}, {B: None}], "a.py: replaced f 2; 1.patch; 3.patch", id="added and deleted"
        ),
        pytest.param(
            [{A: F, B: G}, {A: LONG}, {A: "", B: G + LONG}],
            "a.py: deleted f 2; b.py: added f 12",
            id="moved to another file",
        ),
        pytest.param(
            [{A: F + CLEAN, B: G}, {A: F + CLEAN.replace("strip", "rstrip")}, {A: F, B: G + CLEAN}],
            "a.py: deleted clean 2; b.py: added clean 2; 1.patch",
            id="changed back and moved",
        ),
        pytest.param(
            [{A: F + G}, {A: LONG + G}, {A: F.replace("f(", "h(") + G}],
            "a.py: added h 2; a.py: deleted f 2; 1.patch",
            id="changed back and renamed",
        ),
        pytest.param(
            [{A: F + G}, {A: LONG + G}, {A: LONG.replace("f(x", "h(x").replace("x + 1", "x") + G}],
            "a.py: added h 12; a.py: deleted f 2",
            id="changed back in part and renamed",
        ),
        pytest.param([{A: F + G}, {A: LONG + G}, {A: G}], "a.py: deleted f 2; 1.patch", id="changed and deleted"),
        pytest.param([{A: F + G}, {A: None}, {A: LONG + G}], "a.py: replaced f 12", id="deleted and made anew"),
        pytest.param(
            [{A: F}, {A: F + C}, {A: F + C + MORE}, {A: F + C.replace("1", "3") + MORE}],
            "a.py: added C 1; a.py: added C.m 13; a.py: added C.n 2",
            id="class with members",
        ),
        pytest.param(
            [{A: F}, {A: F + C}, {A: F + C.replace("C", "D")}],
            "a.py: added D 12; a.py: added D.m 12",
            id="class renamed",
        ),
        pytest.param([{A: F}, {A: f"{F}f(1)\n"}, {A: f"{F}f(2)\n"}], "a.py: added f(2) 12", id="statement"),
        pytest.param([{A: F + G}, {A: G}, {A: G + F}], "a.py: replaced __order__ 12", id="order in two steps"),
        pytest.param(
            [{A: F + G}, {A: H}, {A: H + F}, {A: H + F + CLEAN}],
            "a.py: replaced g 1; a.py: added clean 3; a.py: replaced __order__ 12",
            id="order in two steps beside other changes",
        ),
        pytest.param(
            [{A: F}, *({A: F.replace("y = x", f"y = {number}")} for number in (1, 2, 3, 1))],
            "a.py: replaced f 1; 2.patch; 3.patch; 4.patch",
            id="back in three steps",
        ),
        pytest.param([{A: F}, {A: "# a\n" + F}, {A: LONG}], "a.py: replaced f 2; 1.patch", id="comment taken back"),
        pytest.param(
            [{A: F}, {A: "# a\n" + F}, {A: "# a\n" + LONG}],
            "a.py: replaced f 2; a.py: replaced a.py 1",
            id="comment kept",
        ),
        pytest.param(
            [{A: F + G}, {A: LONG + G + "def :\n"}, {A: LONG + G}], "a.py: replaced f 12", id="no Python in between"
        ),
    ],
)
def test_what_stands_in_the_end_has_the_reasons_of_all_that_made_it(states: list[State], expected: str) -> None:
    assert told(*states) == expected


def test_a_contract_of_a_patch_is_with_upstream_whatever_patches_before_it_do() -> None:
    states = [{A: F + G}, {A: LONG + G + CLEAN}, {A: LONG.replace("+ 1", "+ 9") + G + CLEAN.replace("strip", "rstrip")}]
    other = [states[0], {A: LONG.replace("* 2", "* 8") + G + CLEAN}]
    other.append({A: (other[1][A] or "").replace("+ 1", "+ 9").replace("strip", "rstrip")})
    found = [patch_contracts(patched(*each)) for each in (states, other)]
    assert found[0] == found[1]
    assert [(one.patch, one.symbol, one.change, bool(one.body)) for one in found[0]] == [
        ("1.patch", "f", "replaced", True),
        ("1.patch", "clean", "added", False),
        ("2.patch", "f", "replaced", True),
    ]
    assert found[0][0].body == found[0][2].body
