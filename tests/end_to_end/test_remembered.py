"""What was merged before is taken from the cache where all that it follows from is the same, and changes no wheel."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.overlay.inputs import input_files
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.source_choice import choice_from
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.sources.deflated_members import deflated, forget_older, kept_merged, packed, unpacked
from npu_overlays.wheels import merge_cache

from .refusals import build, out
from .sample import Sample


def merged(sample: Sample) -> Path:
    (file,) = (sample.environment.cache / "merged").iterdir()
    return file


def built(sample: Sample, *options: str) -> dict[str, bytes]:
    """Build lib into an empty folder and return its wheels."""
    for file in out(sample).glob("*"):
        file.unlink()
    done = build(sample, sample.lib_name, "--source", "git", *options)
    assert done.code == 0, done.err
    return {file.name: file.read_bytes() for file in out(sample).glob("*.whl")}


def of_lib(wheels: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in wheels.glob("lib*.whl")}


def test_it_is_taken_as_it_was_merged_before_unless_it_is_to_be_merged_anew(sample: Sample, wheels: Path) -> None:
    """What is kept is exchanged for something else, so that it is seen who takes it."""
    assert built(sample) == of_lib(wheels)
    whole = merged(sample).read_bytes()
    said, own = unpacked(whole)
    texts = {name: zlib.decompress(one.deflated, -zlib.MAX_WBITS) for name, one in own.items()}
    (patched,) = (name for name, text in texts.items() if text.startswith(b'"""The core."""'))
    merged(sample).write_bytes(packed(said, {**own, patched: deflated(b"other = 1\n")}))
    assert built(sample) != of_lib(wheels)
    assert built(sample, "--force") == of_lib(wheels)
    assert merged(sample).read_bytes() == whole


@pytest.mark.parametrize(("kept", "more"), [(-1, b"x"), (0, b"")])
def test_what_is_damaged_is_merged_anew(sample: Sample, wheels: Path, kept: int, more: bytes) -> None:
    built(sample)
    whole = merged(sample).read_bytes()
    merged(sample).write_bytes(whole[:kept] + more)
    assert built(sample) == of_lib(wheels)
    assert merged(sample).read_bytes() == whole


def test_what_others_can_write_is_refused(sample: Sample) -> None:
    built(sample)
    merged(sample).chmod(0o666)
    for file in out(sample).iterdir():
        file.unlink()
    done = build(sample, sample.lib_name, "--source", "git")
    assert (done.code, "can be written by others" in done.err) == (6, True)


def test_it_is_listed_and_given_back(sample: Sample) -> None:
    built(sample)
    listed = {one["kind"]: one for one in json.loads(sample.environment.ok("cache", "--json").out)}
    assert (listed["merged"]["overlays"], listed["merged"]["path"]) == ([sample.lib_name], str(merged(sample)))
    sample.environment.ok("cache", "--clear")
    assert list((sample.environment.cache / "merged").iterdir()) == []


def loaded(sample: Sample) -> Loaded:
    overlay = find_overlay(sample.overlays, sample.lib_name)
    return Loader([overlay], choice_from({})).load(overlay)


def key(sample: Sample) -> str:
    one = loaded(sample)
    return merge_cache._key(one, input_files(one.overlay))


def test_what_is_edited_while_it_is_built_is_not_kept(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(sample.environment.cache))
    one = loaded(sample)
    file = sample.lib_overlay / "tree/src/lib/npu.py"
    file.write_bytes(file.read_bytes())
    merge_cache.kits(one)
    assert not (sample.environment.cache / "merged").exists()
    merge_cache.kits(loaded(sample))
    assert merged(sample).exists()


def overlay_file(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    assert monkeypatch
    file = sample.lib_overlay / "tree/src/lib/npu.py"
    file.write_bytes(file.read_bytes() + b"\n")


def executable(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    assert monkeypatch
    (sample.lib_overlay / "tree/src/lib/npu.sh").chmod(0o644)


def lock(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    assert monkeypatch
    file = sample.lib_overlay / "overlay.lock"
    file.write_text(file.read_text("utf-8").replace("Jane Doe", "Jane D."), "utf-8")


def revision(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    assert monkeypatch
    file = sample.lib_overlay / "pyproject.toml"
    file.write_text(file.read_text("utf-8").replace("revision = 1", "revision = 2"), "utf-8")


OTHERS: dict[str, Callable[[Sample, pytest.MonkeyPatch], None]] = {
    "a file of the overlay": overlay_file,
    "which file is executable": executable,
    "the lock": lock,
    "the revision": revision,
    "Python": lambda _, patch: patch.setattr(sys, "version", "3.99"),
    "zlib": lambda _, patch: patch.setattr(zlib, "ZLIB_RUNTIME_VERSION", "0"),
    "ruff": lambda _, patch: patch.setattr(merge_cache, "version", lambda name: f"{name} 0"),
    "the tool": lambda _, patch: patch.setattr("npu_overlays.pipeline.build_version._tool_digest", lambda: "0"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_is_of_all_that_wheels_follow_from(sample: Sample, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = key(sample)
    assert key(sample) == before
    OTHERS[name](sample, monkeypatch)
    assert key(sample) != before


def test_what_an_overlay_is_paired_with_counts(sample: Sample) -> None:
    overlay = find_overlay(sample.overlays, sample.app_name)
    app = Loader([overlay], choice_from({})).load(overlay)
    assert app.pairs
    other = replace(app, pairs=tuple(replace(pair, builds=("0",)) for pair in app.pairs))
    inputs = input_files(overlay)
    assert merge_cache._key(app, inputs) != merge_cache._key(other, inputs)


def test_the_last_few_of_an_overlay_are_kept(tmp_path: Path) -> None:
    (tmp_path / "merged").mkdir()
    files = [kept_merged(tmp_path, "0" * 40, "lib@0", f"{number:024}") for number in range(9)]
    other = kept_merged(tmp_path, "0" * 40, "app@0", "1" * 24)
    for number, file in enumerate([other, *files]):
        file.write_bytes(b"")
        os.utime(file, (number, number))
    forget_older(files[-1])
    assert sorted(other.parent.iterdir()) == sorted([other, *files[-6:]])
