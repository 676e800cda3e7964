"""Files of an overlay that cannot be used, and lineages that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.overlays import edit, write_overlay

from .refusals import build, config, refused
from .sample import CORE, Sample


def test_symbolic_links_in_an_overlay_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "tree/src/lib/link.py").symlink_to("/etc/passwd")
    (sample.lib_overlay / "tree/src/lib/folder").symlink_to("/etc")
    (sample.lib_overlay / "patches/link.patch").symlink_to("notes.patch")
    refused(
        sample,
        build(sample),
        5,
        "tree/src/lib/link.py: is not a regular file",
        "tree/src/lib/folder: is not a regular file",
        "patches/link.patch: is not a regular file",
    )


@pytest.mark.parametrize("path", ["../outside.txt", "/outside.txt", "src/../../outside.txt", ".git/hooks/x"])
def test_a_patch_that_leads_outside_is_refused(sample: Sample, path: str) -> None:
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", path)
    (sample.lib_overlay / "patches/notes.patch").write_text(text)
    refused(sample, build(sample), 5, "notes.patch", "not a plain path inside the repository")
    assert not (sample.folder.parent / "outside.txt").exists()


def test_what_would_not_be_shipped_is_refused(sample: Sample) -> None:
    tree = sample.lib_overlay / "tree"
    (tree / "other").mkdir()
    (tree / "other/new.py").write_text("x = 1\n")
    (tree / "tests").mkdir()
    (tree / "tests/__init__.py").write_text(
        'from npu_overlays.markers import added\n\nX = added(1, why="For nothing.")\n'
    )
    edit(config(sample), 'paths = ["src/lib/data/settings.yaml"]', 'paths = ["README.md"]')
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", "packaging/METADATA")
    (sample.lib_overlay / "patches/meta.patch").write_text(text)
    refused(
        sample,
        build(sample),
        5,
        "is not shipped: other/new.py",
        "is not shipped: tests/__init__.py",
        "is not shipped: README.md",
        "is not shipped: packaging/METADATA",
    )


def test_files_of_the_wrong_kind_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "patches/readme.txt").write_text("x")
    (sample.lib_overlay / "shared").mkdir()
    (sample.lib_overlay / "shared/data.yaml").write_text("x: 1")
    refused(sample, build(sample), 5, "patches/ holds *.patch files", "shared/ holds Python definitions")


def another_commit(sample: Sample, extends: str, files: dict[str, bytes], *, more: str = "") -> Path:
    """Write an overlay on a further, empty commit of lib."""
    commit = sample.lib.commit({})
    sample.lib.git("reset", "--hard", "--quiet", "HEAD~1")
    return write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files=files,
        overlay=f'extends = "{extends}"\n{more}',
    )


@pytest.fixture
def own_upstream(sample: Sample) -> Sample:
    """Return the sample with a clone of lib's repository that the test may commit to."""
    clone = sample.folder / "upstream-lib"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    own = replace(sample.lib, path=clone, variables=sample.environment.variables)
    return replace(sample, lib=own)


def test_a_circle_of_extends_is_shown(own_upstream: Sample) -> None:
    sample = own_upstream
    newer = another_commit(sample, sample.lib_name, {})
    text = config(sample).read_text()
    config(sample).write_text(text.replace("revision = 1\n", f'revision = 1\nextends = "{newer.name}"\n', 1))
    circle = f"{sample.lib_name} → {newer.name} → {sample.lib_name}"
    refused(sample, build(sample), 3, f"goes round in a circle: {circle} fix: break the circle")


def test_extending_itself_nothing_or_another_project_is_refused(sample: Sample) -> None:
    text = config(sample).read_text()
    for extends, message in (
        (sample.lib_name, "which this one is called itself fix: tell two overlays on one pin apart: label ="),
        ("lib@0000000", "no such overlay"),
        (sample.app_name, "is an overlay of another project"),
    ):
        config(sample).write_text(text.replace("revision = 1\n", f'revision = 1\nextends = "{extends}"\n', 1))
        refused(sample, build(sample), 3, message)


def test_duplicates_through_extends_say_how_to_drop_the_inherited_one(own_upstream: Sample) -> None:
    sample = own_upstream
    again = {
        "tree/src/lib/core.py": (
            b'from npu_overlays.markers import replaced\n\n\n@replaced(why="Again.")\ndef scale(value):\n    return 4\n'
        ),
        "tree/src/lib/npu.py": b'"""Again."""\n',
    }
    newer = another_commit(sample, sample.lib_name, again)
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "tree/src/lib/npu.py: the same file as", '"src/lib/npu.py" in tool.overlay.drop')
    drop = 'drop = ["src/lib/npu.py"]\n'
    edit(newer / "pyproject.toml", "[tool.overlay.upstream]", f"{drop}[tool.overlay.upstream]")
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "second operation on `scale`", '"src/lib/core.py:scale" in tool.overlay.drop')
    edit(newer / "pyproject.toml", drop, 'drop = ["src/lib/npu.py", "src/lib/core.py:scale"]\n')
    sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)


def test_locking_tells_every_time_which_inherited_definitions_changed(own_upstream: Sample) -> None:
    sample = own_upstream
    moved = CORE.replace(b'return "stopped"', b'return "halted"').replace(b"value * 2", b"int(value * 2)")
    sample.lib.commit({"src/lib/core.py": moved.replace(b'"upstream" * times', b'times * "upstream"')})
    newer = another_commit(sample, sample.lib_name, {})
    since = f"since {sample.lib_name} upstream changed its body"
    for options in ((), (), ("--check",)):
        done = sample.environment.ok("lock", *options, newer.name, "--overlays", sample.overlays)
        for symbol in ("replaced Engine.stop", "edited scale", "wrapped Engine.start"):
            assert f"look at the {symbol.replace(' ', ' `src/lib/core.py:')}`: {since}" in done.err
        assert done.err.count("look at") == 3
    done = sample.environment.ok("check", newer.name, "--overlays", sample.overlays)
    assert "3 notices on what upstream changed" in done.err
    edit(sample.lib_overlay / "overlay.lock", "lock-version = 2", "lock-version = 1")
    done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
    assert f"run `npu-overlays lock {sample.lib_name}`, then `npu-overlays lock {newer.name}`" in done.err


def test_a_drop_that_drops_nothing_is_refused(own_upstream: Sample) -> None:
    sample = own_upstream
    newer = another_commit(sample, sample.lib_name, {}, more='drop = ["src/lib/core.py:absent"]\n')
    done = sample.environment.cli("show", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "`src/lib/core.py:absent` drops nothing")
