"""Files that an overlay adds get in no other's way, wherever the wheel is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.overlays import apply_files, mistakes
from npu_overlays.checks.collisions import collisions
from npu_overlays.errors import MergeError

RENAME = "change upstream's file under its own path, or rename this one"
ANOTHER = "give it another name"
LIB = "lib/__init__.py"


def told(upstream: list[str], *new: str) -> list[str]:
    """Return what is wrong, one line each."""
    return [f"{one.place}: {one.what}; {one.fix}" for one in collisions(upstream, new, reserved=["lib_npu_summary"])]


@pytest.mark.parametrize(
    ("upstream", "new"),
    [
        ("lib/sub.py", "lib/sub/__init__.py"),
        ("lib/sub.py", "lib/sub.abi3.so"),
        ("lib/sub.py", "lib/sub.cp311-win_amd64.pyd"),
        ("lib/sub.cpython-311-x86_64-linux-gnu.so", "lib/sub/__init__.py"),
        ("lib/sub/x.py", "lib/sub.py"),
        ("lib/sub/deep/x.so", "lib/sub.py"),
    ],
)
def test_a_file_that_would_hide_another_is_refused(upstream: str, new: str) -> None:
    assert told([LIB, upstream], new) == [
        f"{new}: Python would take it for `lib.sub` and never import {upstream}; {RENAME}"
    ]


@pytest.mark.parametrize(
    ("upstream", "new"),
    [
        ("lib/sub/__init__.py", "lib/sub.py"),
        ("lib/sub/__init__.py", "lib/sub.so"),
        ("lib/sub.abi3.so", "lib/sub.py"),
        ("lib/sub.py", "lib/sub/x.py"),
        ("lib/sub.py", "lib/sub/deep/x.py"),
    ],
)
def test_a_file_that_would_be_hidden_is_refused(upstream: str, new: str) -> None:
    assert told([LIB, upstream], new) == [
        f"{new}: it would never be imported: Python takes {upstream} for `lib.sub`; {RENAME}"
    ]


@pytest.mark.parametrize(
    ("upstream", "new"),
    [
        ("lib/data/x.json", "lib/data.py"),
        ("lib/sub.py", "lib/sub/x.json"),
        ("lib/sub.py", "lib/sub.pyi"),
        ("lib/sub/__init__.py", "lib/sub/x.py"),
        ("lib/sub/x.py", "lib/sub/__init__.py"),
        ("lib/_C.cpython-310-x86_64-linux-gnu.so", "lib/_C.cpython-311-x86_64-linux-gnu.so"),
        ("lib/a.b.py", "lib/a.py"),
        ("lib/console.py", "lib/auxiliary.py"),
    ],
)
def test_files_that_go_together_are_fine(upstream: str, new: str) -> None:
    assert told([LIB, upstream], new) == []


def test_two_new_files_collide_too_and_are_told_once() -> None:
    assert told([LIB], "lib/m.py", "lib/M.py") == [
        f"lib/M.py: lib/M.py and lib/m.py are one file or folder where case and accents do not count; {ANOTHER}"
    ]


def test_a_file_and_a_folder_of_one_name_are_refused() -> None:
    assert told([LIB, "lib/data"], "lib/data/x.py") == [
        "lib/data/x.py: lib/data is a file, not a folder; put it elsewhere"
    ]
    assert told([LIB, "lib/data/x.json"], "lib/data") == [
        f"lib/data: lib/data is a folder, with lib/data/x.json in it; {ANOTHER}"
    ]


@pytest.mark.parametrize(
    ("upstream", "new"),
    [("lib/m.py", "lib/M.py"), ("lib/\u00e9.py", "lib/e\u0301.py"), ("lib/stra\u00dfe", "lib/STRASSE")],
)
def test_names_that_some_file_systems_hold_equal_are_refused(upstream: str, new: str) -> None:
    what = f"{new} and {upstream} are one file or folder where case and accents do not count"
    assert told([LIB, upstream], new) == [f"{new}: {what}; {ANOTHER}"]


def test_folders_that_some_file_systems_hold_equal_are_told_once() -> None:
    assert told([LIB, "lib/m/__init__.py"], "lib/M/a.txt", "lib/M/b.txt") == [
        f"lib/M/a.txt: lib/M and lib/m are one file or folder where case and accents do not count; {ANOTHER}"
    ]


@pytest.mark.parametrize(
    "name", ["con", "NUL.txt", "com1.tar.gz", "a:b", "what?", "x.", "x ", "Aux .py", "folder./x", "lpt9.py"]
)
def test_names_that_windows_cannot_have_are_refused(name: str) -> None:
    assert told([LIB], f"lib/{name}") == [f"lib/{name}: Windows has no such file name; {ANOTHER}"]


def test_names_that_no_wheel_can_hold_are_refused() -> None:
    assert told([LIB], "lib/a\nb") == [f"lib/a\nb: its path is not printable UTF-8; {ANOTHER}"]
    long = "x" * 256
    assert told([LIB], f"lib/{long}") == [f"lib/{long}: a name in it is longer than 255 bytes; {ANOTHER}"]


@pytest.mark.parametrize("top", ["lib_npu_summary", "LIB_npu_summary", "lib_npu-1.dist-info", "lib_npu-1.data"])
def test_the_tools_own_names_are_refused(top: str) -> None:
    assert told([LIB], f"{top}/x.py") == [f"{top}/x.py: `{top}` in the wheel is the tool's own; {ANOTHER}"]


def test_a_namespace_that_others_share_stays_one() -> None:
    what = "megatron has no __init__.py upstream: with one, what other distributions have in it is not found"
    assert told(["megatron/core/__init__.py"], "megatron/__init__.py") == [
        f"megatron/__init__.py: {what}; leave it out"
    ]
    assert told(["megatron/core/x.py", "megatron/__init__.py"], "megatron/core/__init__.py") == []


def test_upstreams_own_clashes_are_upstreams_business() -> None:
    assert told(["lib/m.py", "lib/M.py", "lib/m/__init__.py", "lib/aux.py"], "lib/other.py") == []


PATHS = st.lists(st.sampled_from(["a", "A", "b", "a.py", "b.so", "__init__.py", "con"]), min_size=1, max_size=3).map(
    "/".join
)


@given(upstream=st.sets(PATHS), new=st.sets(PATHS))
def test_only_new_files_are_told_and_in_whatever_order(upstream: set[str], new: set[str]) -> None:
    found = collisions(sorted(upstream), sorted(new - upstream))
    assert {one.place for one in found} <= new - upstream
    assert found == collisions(sorted(upstream, reverse=True), sorted(new - upstream, reverse=True))


def test_the_gate_looks_at_the_installed_layout_of_all_packages(tmp_path: Path) -> None:
    upstream = {"pkg/__init__.py": b"", "pkg/sub.py": b"x = 1\n", "pkg/data": b"x"}
    files: dict[str, str | bytes] = {
        "tree/pkg/sub/__init__.py": b"V = 1\n",
        "tree/pkg/Sub.txt": b"",
        "tree/pkg/data/x.json": b"{}",
        "patches/0.patch": b"Why: w\n\ndiff --git a/pkg/SUB.PY b/pkg/SUB.PY\nnew file mode 100644\n"
        b"--- /dev/null\n+++ b/pkg/SUB.PY\n@@ -0,0 +1 @@\n+x = 1\n",
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, upstream, files)
    same = "pkg/SUB.PY and pkg/sub.py are one file or folder where case and accents do not count"
    taken = "Python would take it for `pkg.sub` and never import pkg/sub.py"
    assert mistakes(caught.value) == [
        "pkg@1111111/tree/pkg/data/x.json: pkg/data is a file, not a folder; put it elsewhere",
        f"pkg@1111111/patches/0.patch:3: {same}; {ANOTHER}",
        f"pkg@1111111/tree/pkg/sub/__init__.py: {taken}; {RENAME}",
    ]
