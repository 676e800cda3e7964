"""Upstreams and archives that cannot be had, or are not what the pin says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from support.overlays import edit, write_overlay
from support.upstreams import METADATA, make_upstream
from support.wheels import write_wheel

from .refusals import build, config, refused
from .sample import ARCHIVE, LIB_METADATA, Sample


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample, of whose upstreams nothing was fetched yet."""
    return locked.copy(tmp_path, fetched=False)


def test_a_commit_the_repository_does_not_hold_is_said_so(sample: Sample) -> None:
    folder = write_overlay(
        sample.overlays,
        project="lib",
        commit="a" * 40,
        repository=sample.lib.url,
        packages=["src/lib"],
        files={},
    )
    done = sample.environment.cli("lock", folder.name, "--overlays", sample.overlays)
    refused(sample, done, 4, f"does not hold commit {'a' * 40}", "--upstream lib=PATH")
    assert not (folder / "overlay.lock").exists()


@pytest.mark.parametrize("url", ["file:///nowhere/lib", "http://127.0.0.1:9/lib", "https://nowhere.invalid/lib"])
def test_an_unreachable_host_says_what_to_try_next(sample: Sample, url: str) -> None:
    edit(config(sample), f'repository = "{sample.lib.url}"', f'repository = "{url}"\nmirrors = ["file:///neither"]')
    done = build(sample, sample.lib_name, "--source", "git")
    refused(sample, done, 4, f"error: {url}", "error: file:///neither", "--upstream lib=PATH")


def test_neither_git_nor_index_tells_of_both(sample: Sample) -> None:
    edit(config(sample), f'repository = "{sample.lib.url}"', 'repository = "file:///nowhere"')
    done = build(sample, PIP_FIND_LINKS=str(sample.folder))
    refused(sample, done, 4, "file:///nowhere", ARCHIVE, "has no such file")


def test_overlays_without_an_archive_are_named_and_so_is_what_can_be_built(sample: Sample) -> None:
    done = build(sample, "--all", "--source", "archive")
    others = f"build the others alone: npu-overlays build {sample.lib_name}"
    refused(
        sample,
        done,
        4,
        "pins no release archive",
        "leave out --source archive",
        "1 of 2 overlays cannot be built",
        others,
    )


def test_an_archive_with_another_digest_is_refused(sample: Sample) -> None:
    files = {"lib/core.py": b"evil = 1\n"}
    write_wheel(sample.folder / "index", "lib", "1.2.3", files, metadata=LIB_METADATA)
    done = build(sample, sample.lib_name, "--source", "archive", PIP_FIND_LINKS=str(sample.folder / "index"))
    refused(sample, done, 4, ARCHIVE, "is pinned, but", "index gave")


def test_a_truncated_archive_is_refused(sample: Sample) -> None:
    whole = (sample.environment.index or Path()) / ARCHIVE
    (sample.folder / "index").mkdir()
    (sample.folder / "index" / ARCHIVE).write_bytes(whole.read_bytes()[:-200])
    done = build(sample, sample.lib_name, "--source", "archive", PIP_FIND_LINKS=str(sample.folder / "index"))
    refused(sample, done, 4, ARCHIVE)
    # The cache is as good as before: the whole one can be had at once.
    assert build(sample, sample.lib_name, "--source", "archive").code == 0


def test_an_archive_the_lock_does_not_know_is_refused(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lock.write_text(lock.read_text().replace(f'"{ARCHIVE}"', '"other.whl"'))
    done = build(sample, sample.lib_name, "--source", "archive")
    refused(sample, done, 3, "overlay.lock: archives", f"has no entry for {ARCHIVE}", "npu-overlays lock")


def test_an_archive_that_differs_from_the_commit_cannot_be_locked(sample: Sample) -> None:
    files = {"lib/core.py": b"other = 1\n"}
    archive = write_wheel(sample.folder / "index", "lib", "1.2.3", files, metadata=LIB_METADATA)
    text = config(sample).read_text()
    start = text.index('sha256 = "') + len('sha256 = "')
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    config(sample).write_text(text[:start] + digest + text[start + 64 :])
    before = (sample.lib_overlay / "overlay.lock").read_bytes()
    done = sample.environment.cli(
        "lock", sample.lib_name, "--overlays", sample.overlays, PIP_FIND_LINKS=str(archive.parent)
    )
    refused(sample, done, 5, f"{ARCHIVE} differs from the commit in 1 file: src/lib/core.py")
    assert (sample.lib_overlay / "overlay.lock").read_bytes() == before


def test_symbolic_links_in_a_shipped_package_are_refused(sample: Sample) -> None:
    upstream, _ = make_upstream(sample.folder / "linked", sample.environment, {METADATA: LIB_METADATA.encode()})
    (upstream.path / "lib").mkdir()
    (upstream.path / "lib" / "link.py").symlink_to("../other.py")
    commit = upstream.commit({"lib/__init__.py": b"", "LICENSE": b"Free for all.\n"})
    folder = write_overlay(
        sample.overlays, project="lib", commit=commit, repository=upstream.url, packages=["lib"], files={}
    )
    done = sample.environment.cli("lock", folder.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "symbolic links or submodules: lib/link.py")


def test_a_package_that_is_a_submodule_is_refused_as_one(sample: Sample) -> None:
    upstream, _ = make_upstream(sample.folder / "linked", sample.environment, {METADATA: LIB_METADATA.encode()})
    upstream.commit({"LICENSE": b"Free for all.\n"})
    upstream.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},lib")
    upstream.git("commit", "--quiet", "--message", "submodule")
    commit = upstream.git("rev-parse", "HEAD")
    folder = write_overlay(
        sample.overlays, project="lib", commit=commit, repository=upstream.url, packages=["lib"], files={}
    )
    done = sample.environment.cli("lock", folder.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "symbolic links or submodules: lib")
