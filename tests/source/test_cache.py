"""The cache: whole entries or none, under races, kills, damage, full disks and read-only folders."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npu_overlays.errors import OutputError, OverlayError, SourceError
from npu_overlays.source import acquire, cache_root, verify
from support.rights import bound_by_permissions

from .conftest import FILES, Said, Upstream, make_wheel, pin

BUILD_TOOLS = str(Path(__file__).parents[2] / "build_tools")
SCRIPT = """
import sys
from npu_overlays.pin import Pin
from npu_overlays.source import acquire
from pathlib import Path
repository, commit, cache = sys.argv[1:]
tree = acquire(
    Pin(project="demo", repository=repository, commit=commit, packages=("pkg",)),
    cache=Path(cache), progress=lambda line: print(line, flush=True),
)
print("got", len(tree.entries), sum(len(tree.read(path)) for path in tree.entries))
"""


def start(repository: str, commit: str, cache: Path, *prefix: str) -> subprocess.Popen[str]:
    command = [*prefix, sys.executable, "-c", SCRIPT, repository, commit, str(cache)]
    env = {**os.environ, "PYTHONPATH": BUILD_TOOLS}
    return subprocess.Popen(
        command, env=env, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_variable_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(tmp_path / "mine"))
    assert cache_root() == tmp_path / "mine"
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", "")
    assert cache_root().name == "npu-overlays"


@pytest.mark.parametrize("locks", [True, False])
def test_processes_at_once_on_a_cold_cache_all_succeed(upstream: Upstream, cache: Path, *, locks: bool) -> None:
    commit = upstream.commit({f"pkg/m{number}.py": b"x = 1\n" * 1000 for number in range(200)})
    cache.mkdir()
    if not locks:
        (cache / "locks").touch()  # no lock file can be made
    processes = [start(upstream.url, commit, cache) for _ in range(4)]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    assert all(text.endswith("got 200 1200000\n") for text in said)
    counts = ["".join(said).count(step) for step in ("fetching from", "unpacking")]
    assert not locks or counts == [1, 1]
    assert [*(cache / "tmp").iterdir()] == []


def test_kill_in_the_middle_leaves_a_usable_cache(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = start(f"git://127.0.0.1:{silent.getsockname()[1]}/demo", commit, cache)
        connection, _ = silent.accept()
        with connection:  # git waits for this server's answer now
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    assert [*(cache / "tmp").iterdir()] != []
    assert acquire(pin(upstream, commit), cache=cache).entries.keys() == FILES.keys()


def test_kill_while_files_are_written_leaves_a_usable_cache(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit({f"pkg/m{number}.py": b"x = 1\n" for number in range(3000)})
    process = start(upstream.url, commit, cache)
    while not [*cache.glob("tmp/*/entry/tree/pkg")]:
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert not (cache / "git").exists()
    tree = acquire(pin(upstream, commit), cache=cache)
    verify(tree, tree.entries)
    assert len(tree.entries) == 3000


def test_leftovers_are_swept_after_a_day_unless_their_process_lives(upstream: Upstream, cache: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    names = {f"{ended.pid}-old": 2, f"{ended.pid}-new": 0, f"{os.getpid()}-old": 2, "stranger": 2}
    for name, days in names.items():
        (cache / "tmp" / name / "inner").mkdir(parents=True)
        then = time.time() - days * 86400
        os.utime(cache / "tmp" / name, (then, then))
    acquire(pin(upstream, upstream.commit(FILES)), cache=cache)
    assert {path.name for path in (cache / "tmp").iterdir()} == {f"{ended.pid}-new", f"{os.getpid()}-old"}


@pytest.mark.parametrize("damage", ["", "{}", "[]", '{"sha256": "0", "body": {"schema": 1}}'])
def test_damaged_manifest_is_made_again_without_the_repository(upstream: Upstream, cache: Path, damage: str) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    tree = acquire(wanted, cache=cache)
    shutil.rmtree(upstream.path)
    (tree.root.parent / "manifest.json").write_text(damage)
    assert acquire(wanted, cache=cache) == tree


def test_manifest_that_was_edited_is_not_believed(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    tree = acquire(wanted, cache=cache)
    manifest = tree.root.parent / "manifest.json"
    before = manifest.read_text()
    edited = before.replace(tree.entries["pkg/run.py"].blob, "0" * 40)
    assert edited != before
    manifest.write_text(edited)
    assert acquire(wanted, cache=cache) == tree
    assert manifest.read_text() == before


def test_damaged_files_of_a_commit_are_restored(upstream: Upstream, cache: Path) -> None:
    (upstream.path / "pkg").mkdir()
    upstream.commit(FILES)
    (upstream.path / "pkg/run.py").chmod(0o755)
    tree = acquire(pin(upstream, upstream.commit({})), cache=cache)
    shutil.rmtree(upstream.path)
    shutil.rmtree(tree.root / "pkg")
    (tree.root / "LICENSE").chmod(0o644)
    (tree.root / "LICENSE").write_bytes(b"tampered\n")
    verify(tree, ["LICENSE", "pkg/run.py"])
    assert (tree.read("LICENSE"), tree.read("pkg/run.py")) == (FILES["LICENSE"], FILES["pkg/run.py"])
    assert (tree.root / "pkg/run.py").stat().st_mode & 0o777 == 0o555
    assert not (tree.root / "pkg/data.bin").exists()  # not asked about


def test_damaged_files_of_an_archive_are_restored(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"a\n", "pkg/b.py": b"b\n"})
    tree = acquire(pin(upstream, "1" * 40, archives=(made,)), mode="archive", cache=cache)
    (tree.root / "pkg/a.py").chmod(0o644)
    (tree.root / "pkg/a.py").write_bytes(b"tampered\n")
    verify(tree, tree.entries)
    assert tree.read("pkg/a.py") == b"a\n"


def test_damage_that_cannot_be_restored_is_an_error_once(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    tree = acquire(wanted, cache=cache)
    shutil.rmtree(cache / "commits")
    (tree.root / "pkg/run.py").unlink()
    with pytest.raises(SourceError, match=r"damaged: pkg/run.py\n.*build again"):
        verify(tree, tree.entries)
    verify(acquire(wanted, cache=cache), tree.entries)


def test_intact_files_are_left_alone(upstream: Upstream, cache: Path) -> None:
    tree = acquire(pin(upstream, upstream.commit(FILES)), cache=cache)
    before = {path: (tree.root / path).stat().st_ino for path in tree.entries}
    verify(tree, tree.entries)
    assert {path: (tree.root / path).stat().st_ino for path in tree.entries} == before
    with pytest.raises(KeyError):
        verify(tree, ["pkg/absent.py"])


def test_read_only_cache_says_what_to_do_and_serves_what_it_has(upstream: Upstream, cache: Path) -> None:
    first = upstream.commit(FILES)
    second = upstream.commit({"pkg/new.py": b""})
    acquire(pin(upstream, first), cache=cache)
    prefix = bound_by_permissions()
    folders = [cache, *(path for path in cache.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        has = start(upstream.url, first, cache, *prefix)
        lacks = start(upstream.url, second, cache, *prefix)
        assert "got 4" in has.communicate(timeout=60)[0]
        said = lacks.communicate(timeout=60)[0]
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert lacks.returncode == 1
    assert "OutputError" in said
    assert "Permission denied" in said
    assert "set NPU_OVERLAYS_CACHE" in said


def test_cache_that_is_a_file_is_said(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="set NPU_OVERLAYS_CACHE"):
        acquire(pin(upstream, upstream.commit(FILES)), cache=tmp_path / "file")


def test_full_disk_is_an_error_that_names_the_cache_and_leaves_nothing(
    upstream: Upstream, tmp_path: Path, cache: Path
) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"a" * 100_000})
    wanted = pin(upstream, "1" * 40, archives=(made,))
    first = acquire(wanted, mode="archive", cache=cache)
    shutil.rmtree(first.root.parent)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OutputError, match=f"{cache}: the source cache cannot be used"):
            acquire(wanted, mode="archive", cache=cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not first.root.exists()
    assert [*(cache / "tmp").iterdir()] == []
    assert acquire(wanted, mode="archive", cache=cache) == first


def test_disk_that_git_finds_full_is_no_reason_to_try_a_mirror(
    upstream: Upstream, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = upstream.commit(FILES)
    (tmp_path / "bin").mkdir()
    full = 'echo "fatal: write error: No space left on device" >&2; exit 128'
    (tmp_path / "bin/git").write_text(
        f'#!/bin/sh\ncase "$*" in *" fetch "*) {full};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    said = Said()
    with pytest.raises(OverlayError, match="No space left on device") as caught:
        acquire(pin(upstream, commit, mirrors=(upstream.url,)), cache=cache, progress=said)
    assert isinstance(caught.value, OutputError)
    assert str(said).count("fetching") == 1


def test_another_process_is_waited_for(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        holder = start(f"git://127.0.0.1:{silent.getsockname()[1]}/demo", commit, cache)
        connection, _ = silent.accept()
        with connection:
            waiter = start(upstream.url, commit, cache)
            assert waiter.stdout is not None
            first = waiter.stdout.readline()
            os.killpg(holder.pid, signal.SIGKILL)
            holder.communicate(timeout=60)
    assert "got 4" in waiter.communicate(timeout=60)[0]
    assert first.startswith(f"waiting for another process that acquires demo-{commit}")
