"""Upstream's files lie deflated in the cache, once for each upstream; whatever happens to that changes no wheel."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.errors import OutputError
from npu_overlays.sources import deflated_members
from npu_overlays.sources.deflated_members import DeflatedMember, deflated, packed, upstream_members
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import FileEntry, Source, SourceTree, blob_id

FILES = {"pkg/one.py": b"one = 1\n" * 100, "pkg/two.py": b"", "pkg/three.py": b"one = 1\n" * 100, "other": b"x"}
PIN = Pin(project="lib", repository="https://example.invalid/lib", commit="0" * 40, packages=("pkg",))
TREE = SourceTree(
    entries={path: FileEntry(blob=blob_id(content)) for path, content in FILES.items()},
    content=FILES,
    source=Source(kind="git", repository="https://example.invalid/lib", commit="0" * 40),
)
EXPECTED = {blob_id(FILES[path]): deflated(FILES[path]) for path in FILES if path.startswith("pkg/")}


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(cache: Path) -> Path:
    (file,) = (cache / "members").iterdir()
    return file


def test_they_are_deflated_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert upstream_members(TREE, PIN) == EXPECTED
    before = kept(cache).read_bytes()
    monkeypatch.setattr(deflated_members, "deflated", None)
    assert upstream_members(TREE, PIN) == EXPECTED
    assert kept(cache).read_bytes() == before


@pytest.mark.parametrize(("kept_bytes", "more"), [(-1, b""), (-1, b"x"), (0, b""), (0, b"\n{")])
def test_what_is_damaged_is_made_anew(cache: Path, kept_bytes: int, more: bytes) -> None:
    upstream_members(TREE, PIN)
    whole = kept(cache).read_bytes()
    kept(cache).write_bytes(whole[:kept_bytes] + more)
    assert upstream_members(TREE, PIN) == EXPECTED
    assert kept(cache).read_bytes() == whole


@pytest.mark.parametrize("other", [deflated(b"other = 1\n"), replace(deflated(FILES["pkg/one.py"]), sha256="0" * 64)])
def test_what_holds_another_file_is_made_anew(cache: Path, other: DeflatedMember) -> None:
    upstream_members(TREE, PIN)
    whole = kept(cache).read_bytes()
    kept(cache).write_bytes(packed(None, {**EXPECTED, blob_id(FILES["pkg/one.py"]): other}))
    assert upstream_members(TREE, PIN) == EXPECTED
    assert kept(cache).read_bytes() == whole


def test_another_zlib_has_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream_members(TREE, PIN)
    monkeypatch.setattr(zlib, "ZLIB_RUNTIME_VERSION", "0.0.other")
    upstream_members(TREE, PIN)
    assert len(list((cache / "members").iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(tmp_path / "file" / "cache"))
    assert upstream_members(TREE, PIN) == EXPECTED


def test_what_others_can_write_is_refused(cache: Path) -> None:
    upstream_members(TREE, PIN)
    kept(cache).chmod(0o666)
    with pytest.raises(OutputError, match="can be written by others"):
        upstream_members(TREE, PIN)
