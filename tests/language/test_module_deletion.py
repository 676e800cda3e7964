"""One operation empties a module: all that it binds goes, and one notice says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.errors import MergeError, OverlayError

from .overlays import apply, apply_files, layer, load, mistakes, write

MODULE = b'''# Copyright somebody
"""What this module is for."""
from __future__ import annotations

import os, sys
from other import Model  # a comment

__all__ = ["f"]


def f():
    return 1


class A:
    x = 1


a, (b, c) = 1, (2, 3)
Model.forward = f

if sys.version:
    Model.backward = f
elif os.name:
    Model.sideways = f
'''
EMPTY = b'''# Copyright somebody
"""What this module is for."""
from __future__ import annotations

# Changed for NPU by pkg-npu (deleted everything): It is elsewhere.


'''
OVERLAY = 'deleted("*", why="It is elsewhere.")\n'
NAMES = {"os", "sys", "Model", "__all__", "f", "A", "a", "b", "c", "Model.forward", "Model.backward", "Model.sideways"}


def test_all_that_a_module_binds_goes_and_one_notice_says_so(tmp_path: Path) -> None:
    applied = apply_files(tmp_path, {"pkg/m.py": MODULE}, {"tree/pkg/m.py": OVERLAY})
    after = applied.tree.after("pkg/m.py") or b""
    assert b"\n".join(after.split(b"\n\n")).strip() == b"\n".join(EMPTY.split(b"\n\n")).strip()
    assert {one.symbol for one in applied.declared} == NAMES | {""}
    assert {one.reason.why for one in applied.declared} == {"It is elsewhere."}


def test_the_emptied_module_can_be_filled_again(tmp_path: Path) -> None:
    own = OVERLAY + '@added(why="New.")\ndef g(): return 2\n'
    after = apply_files(tmp_path, {"pkg/m.py": MODULE}, {"tree/pkg/m.py": own}).tree.after("pkg/m.py") or b""
    assert after.endswith(b"def g(): return 2\n")
    assert b"def f" not in after


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("print('imported')", "line 1 of pkg/m.py does more than bind names when it runs; use a patch"),
        ("if x:\n    A.f = 1\nelse:\n    print(1)", "line 4 of pkg/m.py does more than bind names"),
        ("for x in y: pass", "pkg/m.py"),
        ("try:\n    import f\nexcept ImportError:\n    f = None", "pkg/m.py"),
    ],
)
def test_what_would_stay_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, {"pkg/m.py": f"{line}\n".encode()}, {"tree/pkg/m.py": OVERLAY})
    assert message in mistakes(caught.value)[0]
    assert "use a patch" in mistakes(caught.value)[0]


def test_it_stands_for_a_whole_module(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tree/pkg/m.py": 'class A:\n    deleted("*", why="w")\n',
        "shared/s.py": 'deleted("*", why="w", targets=["pkg/m.py:f"])\n',
    }
    with pytest.raises(OverlayError) as caught:
        load(tmp_path, write(tmp_path, files))
    assert len(mistakes(caught.value)) == 2
    assert all("empties a module" in one for one in mistakes(caught.value))


def test_a_layer_says_it_for_some_versions(tmp_path: Path) -> None:
    layer(tmp_path, {"tree/pkg/m.py": OVERLAY.replace(")", ', until="2")')})
    name = write(tmp_path, {})
    assert apply({"pkg/m.py": MODULE}, load(tmp_path, name, "1")).tree.changed
    assert not apply({"pkg/m.py": MODULE}, load(tmp_path, name, "2")).tree.changed


def test_what_comes_into_an_emptied_module_must_be_said_all_the_same(tmp_path: Path) -> None:
    applied = apply_files(tmp_path, {"pkg/m.py": MODULE}, {"tree/pkg/m.py": OVERLAY})
    tree = replace(applied.tree, changed={"pkg/m.py": EMPTY + b"smuggled = 1\n"})
    with pytest.raises(MergeError) as caught:
        reconcile(tree, compare_trees(tree), declarations(applied), overlay="o")
    assert "`smuggled` was added but no operation says so" in mistakes(caught.value)[0]
