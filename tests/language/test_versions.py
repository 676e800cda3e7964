"""Layers serve several versions of upstream: `since` and `until` say what is for which."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from npu_overlays.contracts.expiry import unused_bounds
from npu_overlays.contracts.lockfile import Lock, write_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.errors import ConfigError, MergeError
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.overlay_folders import find_overlay

from .overlays import apply, layer, load, mistakes, write

UPSTREAM = {"pkg/a.py": b"def f(): return 1\ndef g(): return 1\n", "pkg/b.yaml": b"x: 1\n"}
PATCH = (
    b"Why: p\nUntil: 2.0\n\ndiff --git a/pkg/b.yaml b/pkg/b.yaml\n--- a/pkg/b.yaml\n+++ b/pkg/b.yaml\n"
    b"@@ -1 +1 @@\n-x: 1\n+x: 2\n"
)
VARIANTS = """
    @replaced(why="old", until="2.0")
    def f(): return 2
    @replaced(why="new", since="2.0")
    def f(): return 3
    @replaced(why="both")
    def g(): return 4
"""


@pytest.mark.parametrize(
    ("bounds", "version", "holds"),
    [
        (Bounds(until="0.6.0"), "0.5.0.dev0", True),
        (Bounds(until="0.6.0"), "0.6.0.dev0", True),  # before 0.6.0, as PEP 440 has it
        (Bounds(until="0.6.0"), "0.6.0rc1", True),
        (Bounds(until="0.6.0"), "0.6.0", False),
        (Bounds(until="0.6.0"), "0.6", False),
        (Bounds(until="0.6.0"), "0.6.0+cpu", False),
        (Bounds(until="0.6.0"), "0.10.0", False),
        (Bounds(since="0.6.0"), "0.6.0.dev0", False),
        (Bounds(since="0.6.0"), "0.6.0", True),
        (Bounds(since="0.6.0.dev0"), "0.6.0.dev0", True),
        (Bounds(since="0.6.0", until="0.7"), "0.6.0.post1", True),
        (Bounds(since="0.6.0", until="0.7"), "0.7.0.dev0", True),
        (Bounds(since="0.6.0", until="0.7.dev0"), "0.7.0.dev0", False),
        (Bounds(), "1!0.1", True),
    ],
)
def test_versions_are_in_the_order_of_pep_440(bounds: Bounds, version: str, holds: bool) -> None:
    assert bounds.hold(Version(version)) is holds


@pytest.mark.parametrize(("version", "body"), [("1.0", b"return 2"), ("2.0.dev0", b"return 2"), ("2.0", b"return 3")])
def test_exactly_one_of_the_variants_applies(tmp_path: Path, version: str, body: bytes) -> None:
    layer(tmp_path, {"tree/pkg/a.py": VARIANTS})
    after = apply(UPSTREAM, load(tmp_path, write(tmp_path, {}), version)).tree.after("pkg/a.py") or b""
    assert body in after
    assert after.count(b"def f") == 1
    assert b"return 4" in after


def test_what_goes_with_a_version_says_so_as_its_end(tmp_path: Path) -> None:
    layer(tmp_path, {"tree/pkg/a.py": VARIANTS, "patches/0.patch": PATCH})
    content = load(tmp_path, write(tmp_path, {}))
    assert {one.symbol: one.reason.drop_when for one in content.operations} == {"f": "the pin is 2.0 or newer", "g": ""}
    patched = apply(UPSTREAM, content).patched
    assert [one.reason.drop_when for one in patched] == ["the pin is 2.0 or newer"]
    assert [one.reason.why for one in patched] == ["p"]


def test_files_patches_substitutions_drops_and_shared_definitions_have_versions_too(tmp_path: Path) -> None:
    config = """
[[file]]
path = "pkg/old.txt"
until = "2.0"
[[edit]]
paths = ["pkg/b.yaml"]
find = "x: 1"
replace = "x: 3"
why = "w"
since = "2.0"
"""
    files: dict[str, str | bytes] = {
        "tree/pkg/old.txt": b"old",
        "tree/pkg/new.txt": b"new",
        "patches/0.patch": PATCH,
        "shared/s.py": "@replaced(why='w', since='2.0', targets=['pkg/a.py:f', 'pkg/a.py:g'])\ndef any(): return 5\n",
    }
    layer(tmp_path, files, config=config)
    drop = '[[tool.overlay.drop]]\nname = "pkg/new.txt"\nwhy = "w"\nsince = "2.1"\n'
    name = write(tmp_path, {}, config=drop)
    old, new, newest = (load(tmp_path, name, version) for version in ("1.9", "2.0", "2.1"))
    assert [file.path for file in old.files] == ["pkg/new.txt", "pkg/old.txt"]
    assert [file.path for file in new.files] == ["pkg/new.txt"]
    assert newest.files == ()
    assert [(len(one.patches), len(one.edits), len(one.operations)) for one in (old, new)] == [(1, 0, 0), (0, 1, 2)]
    assert [len(one.dropped) for one in (old, new, newest)] == [0, 0, 1]
    assert apply(UPSTREAM, old).tree.after("pkg/b.yaml") == b"x: 2\n"
    assert apply(UPSTREAM, new).tree.after("pkg/b.yaml") == b"x: 3\n"


def test_an_addition_stands_in_front_of_what_is_operated_on_at_that_version(tmp_path: Path) -> None:
    upstream = {"pkg/a.py": b"def f(): return 1\n\n\ndef g(): return 1\n"}
    both = """
        @added(why="a")
        def new(): pass
        @replaced(why="f", until="2.0")
        def f(): return 2
        @replaced(why="g")
        def g(): return 3
    """
    layer(tmp_path, {"tree/pkg/a.py": both})
    places = []
    for version in ("1.0", "2.0"):
        after = apply(upstream, load(tmp_path, write(tmp_path, {}), version)).tree.after("pkg/a.py") or b""
        places.append(after.index(b"def new") < after.index(b"def f"))
    assert places == [True, False]


def test_variants_that_both_apply_are_named(tmp_path: Path) -> None:
    overlapping = VARIANTS.replace('until="2.0"', 'until="2.1"')
    layer(tmp_path, {"tree/pkg/a.py": overlapping})
    name = write(tmp_path, {})
    apply(UPSTREAM, load(tmp_path, name, "1.0"))
    with pytest.raises(MergeError) as caught:
        apply(UPSTREAM, load(tmp_path, name, "2.0"))
    assert mistakes(caught.value)[0] == (
        "pkg/tree/pkg/a.py:5: second operation on `f` of pkg/a.py; the first is pkg/tree/pkg/a.py:3; join the two"
        " operations, or let since= and until= say which upstream versions each is for"
    )


def test_versions_badly_written_are_refused_where_they_stand(tmp_path: Path) -> None:
    patch = PATCH.replace(b"Until: 2.0", b"Since: newest\nUntil: 2.0")
    wrong = """
        @replaced(why="w", since="two")
        def f(): return 2
        @replaced(why="w", since="2.0", until="2")
        def g(): return 2
        deleted("h", why="w", until=2)
    """
    layer(tmp_path, {"tree/pkg/a.py": wrong, "patches/0.patch": patch})
    with pytest.raises(MergeError) as caught:
        load(tmp_path, write(tmp_path, {}))
    assert mistakes(caught.value) == [
        'pkg/patches/0.patch:2: `newest` is not a version; write since="0.6.0", for example',
        'pkg/tree/pkg/a.py:2: `two` is not a version; write since="0.6.0", for example',
        (
            "pkg/tree/pkg/a.py:4: no version is at least 2.0 and before 2;"
            " write the first version it no longer applies to as until"
        ),
        'pkg/tree/pkg/a.py:6: `until` is not a text; write until="…"',
    ]


def test_a_file_with_versions_must_be_an_added_one(tmp_path: Path) -> None:
    config = '[[file]]\npath = "pkg/a.py"\nsince = "1"\n[[file]]\npath = "pkg/none.txt"\nsince = "1"\n'
    layer(tmp_path, {"tree/pkg/a.py": VARIANTS}, config=config)
    with pytest.raises(MergeError) as caught:
        load(tmp_path, write(tmp_path, {}))
    fix = "name a file of pkg/tree that upstream lacks; for an operation, say it at its marker"
    assert mistakes(caught.value) == [
        f"{tmp_path}/pkg/layer.toml:{line}: file[{number}]: `{path}` is no file that this layer adds; {fix}"
        for number, line, path in ((1, 2, "pkg/a.py"), (2, 5, "pkg/none.txt"))
    ]


def test_without_a_known_version_what_is_for_some_cannot_be_told(tmp_path: Path) -> None:
    layer(tmp_path, {"tree/pkg/a.py": VARIANTS})
    name = write(tmp_path, {})
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, name, "")
    assert mistakes(caught.value) == [
        (
            "pkg/tree/pkg/a.py:3: is for some versions of pkg (until 2.0), and which is pinned is not known yet;"
            f" run `npu-overlays lock {tmp_path / name}`"
        )
    ]
    layer(tmp_path, {"tree/pkg/a.py": "@replaced(why='w')\ndef f(): return 2\n"})
    assert len(load(tmp_path, name, "").operations) == 1


def _lock(root: Path, name: str, version: str) -> None:
    overlay = find_overlay(root, name)
    write_lock(
        overlay.folder,
        Lock(commit=overlay.pin.commit, metadata=UpstreamMetadata(version=version, fields={}, scripts={})),
    )


def test_what_applies_at_no_pin_is_named(tmp_path: Path) -> None:
    config = '[[file]]\npath = "pkg/n.txt"\nuntil = "0.9"\n'
    own = "@replaced(why='w', since='2')\ndef f(): return 2\n"
    layer(tmp_path, {"tree/pkg/a.py": VARIANTS.replace("def f", "def g"), "tree/pkg/n.txt": b"n"}, config=config)
    first, second = write(tmp_path, {"tree/pkg/a.py": own}), write(tmp_path, {}, name="new")
    _lock(tmp_path, first, "1.0")
    said = "correct the version, delete what it bounds, or add the pin it is for"
    (mistake,) = (str(one) for one in unused_bounds(find_overlay(tmp_path, first)))
    assert mistake.startswith(f"{first}/tree/pkg/a.py:3: is since 2, and no pin on {first} has such a version (1.0)")
    _lock(tmp_path, second, "2.0")
    assert [str(one).replace("\n    fix: ", "; ") for one in unused_bounds(find_overlay(tmp_path, second))] == [
        f"pkg/tree/pkg/n.txt: is until 0.9, and no pin on pkg has such a version (1.0, 2.0); {said}"
    ]


def test_of_a_layer_that_lies_elsewhere_nothing_is_idle(tmp_path: Path) -> None:
    layer(tmp_path / "theirs", {"tree/pkg/a.py": "@replaced(why='w', since='2')\ndef f(): return 2\n"})
    name = write(tmp_path / "ours", {}, config='layers = ["../../theirs/pkg"]\n')
    _lock(tmp_path / "ours", name, "1.0")
    assert list(unused_bounds(find_overlay(tmp_path / "ours", name))) == []
