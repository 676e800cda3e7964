"""Patches, substitutions and operations on one place: every reason is told, and none of what is not in the wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.errors import MergeError
from support.environment import Environment

from .overlays import apply_files, git_diff, mistakes

SOURCE = b"""def f(x):
    y = x
    return y


def g(x):
    return x + 1


class A:
    def m(self):
        return 1
"""
UPSTREAM = {"pkg/a.py": SOURCE, "pkg/b.yaml": b"a: 1\nb: 2\nc: 3\n"}
CLAMPED = SOURCE.replace(b"y = x", b"y = abs(x)").replace(b"x + 1", b"x + 2")
CONFIG = """
[[tool.overlay.edit]]
paths = ["pkg/b.yaml"]
find = "a: 1"
replace = "a: 9"
why = "first edit"

[[tool.overlay.edit]]
paths = ["pkg/b.yaml"]
find = "b: 2"
replace = "b: 9"
why = "second edit"
"""


def reasons(tmp_path: Path, files: dict[str, str | bytes], *, config: str = "") -> dict[str, list[str]]:
    """Return for every change the reasons it is told to have."""
    applied = apply_files(tmp_path, UPSTREAM, files, config=config)
    explained = reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay="o")
    pairs = [pair for file in explained for entry in file.class_changes for pair in entry.changes]
    pairs += [pair for file in explained for pair in file.module_changes]
    return {pair.change.symbol: [one.reason.why for one in (pair.declared, *pair.also)] for pair in pairs}


def patch(environment: Environment, after: bytes, why: str, before: bytes = SOURCE, path: str = "pkg/a.py") -> bytes:
    """Return a patch of one file."""
    return f"Why: {why}\n".encode() + git_diff(environment, {path: before}, {path: after})


def test_a_patch_and_an_edit_of_one_symbol_are_both_told(tmp_path: Path, environment: Environment) -> None:
    found = reasons(
        tmp_path,
        {
            "patches/1.patch": patch(environment, CLAMPED, "clamps"),
            "tree/pkg/a.py": "@edited(('return y', 'return npu(y)'), why='moves')\ndef f(): ...\n"
            "@added(why='h')\ndef npu(x): return x\n",
        },
    )
    assert found == {"f": ["clamps", "moves"], "g": ["clamps"], "npu": ["h"]}


def test_two_patches_of_one_symbol_are_both_told(tmp_path: Path, environment: Environment) -> None:
    first, second = (
        SOURCE.replace(b"y = x", b"y = abs(x)"),
        SOURCE.replace(b"y = x", b"y = abs(x)").replace(b"return y", b"return -y"),
    )
    files: dict[str, str | bytes] = {
        "patches/1.patch": patch(environment, first, "one"),
        "patches/2.patch": patch(environment, second, "two", first),
    }
    assert reasons(tmp_path, files) == {"f": ["one", "two"]}


def test_every_edit_and_patch_of_a_file_is_told(tmp_path: Path, environment: Environment) -> None:
    yaml = UPSTREAM["pkg/b.yaml"]
    files: dict[str, str | bytes] = {
        "patches/1.patch": patch(environment, yaml.replace(b"3", b"9"), "patch", yaml, "pkg/b.yaml")
    }
    assert reasons(tmp_path, files, config=CONFIG) == {"b.yaml": ["patch", "first edit", "second edit"]}


@pytest.mark.parametrize(
    ("operation", "symbol"),
    [
        ("@replaced(why='w')\ndef f(x): return x\n", "f"),
        ("deleted('g', why='w')\n", "g"),
        ("@edited(('abs(x)', 'x * 1'), why='w')\ndef f(): ...\n", "f"),
        ("@edited(('2', '3'), why='w')\ndef g(): ...\n", "g"),
    ],
)
def test_a_patch_whose_change_an_operation_undoes_is_refused(
    operation: str, symbol: str, tmp_path: Path, environment: Environment
) -> None:
    files: dict[str, str | bytes] = {
        "patches/1.patch": patch(environment, CLAMPED, "clamps"),
        "tree/pkg/a.py": operation,
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, UPSTREAM, files)
    (message,) = mistakes(caught.value)
    action = "deleted" if "deleted" in operation else operation[1:].partition("(")[0]
    assert message.startswith("pkg@1111111/tree/pkg/a.py:")
    assert (
        f"what the patch (pkg@1111111/patches/1.patch) changes in `{symbol}` of pkg/a.py is lost: the {action}"
        in message
    )
    assert message.endswith("changes it too; keep one of the two, and write the whole change there")


def test_a_patch_of_a_member_that_goes_with_its_class_is_refused(tmp_path: Path, environment: Environment) -> None:
    files: dict[str, str | bytes] = {
        "patches/1.patch": patch(environment, SOURCE.replace(b"return 1\n", b"return 2\n"), "p"),
        "tree/pkg/a.py": "@replaced(why='w')\nclass A:\n    def m(self): return 3\n",
    }
    with pytest.raises(MergeError, match=r"changes in `A\.m` of pkg/a\.py is lost: the replaced"):
        apply_files(tmp_path, UPSTREAM, files)


def test_an_edit_that_overwrites_a_patch_is_refused(tmp_path: Path, environment: Environment) -> None:
    yaml = UPSTREAM["pkg/b.yaml"]
    said = patch(environment, yaml.replace(b"a: 1", b"a: 7"), "p", yaml, "pkg/b.yaml")
    config = CONFIG.replace('"a: 1"', '"a: 7"')
    with pytest.raises(
        MergeError, match=r"what the patch \(.*1.patch\) changes in pkg/b.yaml is lost: the edit \(.*\) changes it"
    ):
        reasons(tmp_path, {"patches/1.patch": said}, config=config)


def test_a_patch_that_another_overwrites_is_not_lost_by_an_edit_beside(
    tmp_path: Path, environment: Environment
) -> None:
    states = [UPSTREAM["pkg/b.yaml"].replace(b"c: 3", value) for value in (b"c: 3", b"c: 7", b"c: 8")]
    files: dict[str, str | bytes] = {
        f"patches/{number}.patch": patch(environment, states[number], str(number), states[number - 1], "pkg/b.yaml")
        for number in (1, 2)
    }
    assert reasons(tmp_path, files, config=CONFIG) == {"b.yaml": ["1", "2", "first edit", "second edit"]}


def test_an_operation_beside_a_patch_of_another_symbol_is_made(tmp_path: Path, environment: Environment) -> None:
    files: dict[str, str | bytes] = {
        "patches/1.patch": patch(environment, SOURCE.replace(b"x + 1", b"x + 2"), "p"),
        "tree/pkg/a.py": "@replaced(why='w')\ndef f(x): return x\nclass A:\n    deleted('m', why='d')\n",
    }
    assert reasons(tmp_path, files) == {"f": ["w"], "g": ["p"], "A.m": ["d"]}


def test_a_patch_that_only_changes_an_order_says_so(tmp_path: Path, environment: Environment) -> None:
    f, g = SOURCE.partition(b"def g")[0], b"def g" + SOURCE.partition(b"def g")[2].partition(b"class")[0]
    after = SOURCE.replace(f + g, g + f)
    assert reasons(tmp_path, {"patches/1.patch": patch(environment, after, "swaps")}) == {"__order__": ["swaps"]}


def test_an_import_is_needed_by_all_that_use_it(tmp_path: Path) -> None:
    operations = "import os\n" + "".join(
        f"@wrapped(why='w')\ndef {name}(x): return upstream(os.fspath(x))\n" for name in "fg"
    )
    assert reasons(tmp_path, {"tree/pkg/a.py": operations})["os"] == ["needed by f, g"]


def test_a_patch_of_a_comment_stands_beside_an_operation(tmp_path: Path, environment: Environment) -> None:
    overlay = "@replaced(why='ours')\ndef g(x):\n    return x + 3\n"
    commented = SOURCE.replace(b"def f", b"# Identity.\ndef f")
    said = patch(environment, commented, "say so")
    assert reasons(tmp_path, {"patches/0.patch": said, "tree/pkg/a.py": overlay}) == {"g": ["ours"], "a.py": ["say so"]}


def test_a_patch_of_a_comment_that_an_operation_removes_is_lost(tmp_path: Path, environment: Environment) -> None:
    overlay = "@replaced(why='ours')\ndef g(x):\n    return x + 3\n"
    commented = SOURCE.replace(b"    return x + 1", b"    # One more.\n    return x + 1")
    with pytest.raises(MergeError, match=r"the patch .* changes in pkg/a.py is lost"):
        reasons(tmp_path, {"patches/0.patch": patch(environment, commented, "say so"), "tree/pkg/a.py": overlay})


def test_what_a_patch_adds_may_be_edited_further(tmp_path: Path, environment: Environment) -> None:
    more = SOURCE + b"\n\ndef h(x):\n    return x + 7\n"
    overlay = "@edited(('x + 7', 'x + 8'), why='ours')\ndef h(): ...\n"
    said: dict[str, str | bytes] = {"patches/0.patch": patch(environment, more, "brings h"), "tree/pkg/a.py": overlay}
    assert reasons(tmp_path, said) == {"h": ["brings h", "ours"]}
