"""The cache: whole entries or none, under races, kills, damage, full disks and read-only folders."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import OutputError, OverlayError, SourceError
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.cache_trust import check
from support.marks import rarely
from support.rights import bound_by_permissions

if TYPE_CHECKING:
    from collections.abc import Callable

    from npu_overlays.sources.tree import SourceTree

from support.upstreams import Upstream

from .conftest import FILES, ProgressLog, make_wheel, pin

BUILD_TOOLS = str(Path(__file__).parents[2] / "build_tools")
SCRIPT = """
import sys
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.acquisition import acquire
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


@pytest.mark.parametrize("locks", [True, *rarely(False)])  # noqa: FBT003  # a parameter
def test_processes_at_once_on_a_cold_cache_all_succeed(upstream: Upstream, cache: Path, *, locks: bool) -> None:
    commit = upstream.commit({f"pkg/m{number}.py": b"x = 1\n" * 1000 for number in range(200)})
    cache.mkdir()
    if not locks:
        (cache / "locks").touch()  # no lock file can be made
    processes = [start(upstream.url, commit, cache) for _ in range(4)]
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    assert all(text.endswith("got 200 1200000\n") for text in said)
    assert not locks or "".join(said).count("fetching from") == 1
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
    assert [*(cache / "tmp").iterdir()] == []


def objects(cache: Path) -> list[Path]:
    return [path for path in cache.glob("commits/*.git/objects/**/*") if path.is_file()]


def test_commit_that_was_damaged_is_fetched_again(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    tree = acquire(wanted, cache=cache)
    for damaged in objects(cache):
        damaged.chmod(0o644)
        content = damaged.read_bytes()
        for changed in (b"", content[: len(content) // 2], content[:-30] + bytes(30), b"garbage"):
            damaged.write_bytes(changed)
            again = acquire(wanted, cache=cache)
            assert {path: again.read(path) for path in again.entries} == FILES
            assert again == tree
            if not damaged.exists():
                break  # the repository was made anew


def test_commit_that_is_damaged_and_cannot_be_had_again_is_an_error(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    acquire(wanted, cache=cache)
    shutil.rmtree(upstream.path)
    (pack,) = [path for path in objects(cache) if path.suffix == ".pack"]
    pack.chmod(0o644)
    pack.write_bytes(b"")
    with pytest.raises(SourceError, match="does not appear to be a git repository"):
        acquire(wanted, cache=cache)


FOREIGN = b"import os\n"


def forge(upstream: Upstream, repository: Path, commit: str, forged: str) -> None:
    """Put `forged`, an object of upstream's, where a cached repository has the tree or blob of `commit`."""
    own = upstream.git("rev-parse", f"{commit}{forged}")
    upstream.commit({"pkg/run.py": FOREIGN})
    other = upstream.git("rev-parse", f"HEAD{forged}")
    for path in upstream.git("rev-list", "--objects", "--no-object-names", "HEAD").split():
        kind = upstream.git("cat-file", "-t", path)
        content = subprocess.run(
            ["git", "cat-file", kind, path], cwd=upstream.path, capture_output=True, check=True
        ).stdout
        command = ["git", f"--git-dir={repository}", "hash-object", "-w", "-t", kind, "--stdin", "--literally"]
        subprocess.run(command, input=content, capture_output=True, check=True)
    subprocess.run(["git", f"--git-dir={repository}", "unpack-objects", "-q"], input=_all(repository), check=True)
    for pack in repository.glob("objects/pack/*"):
        pack.unlink()
    loose = repository / "objects" / own[:2] / own[2:]
    loose.unlink()
    shutil.copyfile(repository / "objects" / other[:2] / other[2:], loose)


def _all(repository: Path) -> bytes:
    (pack,) = repository.glob("objects/pack/*.pack")
    content = pack.read_bytes()
    for path in repository.glob("objects/pack/*"):
        path.unlink()
    return content


@pytest.mark.parametrize("forged", ["", "^{tree}", ":pkg", ":pkg/run.py"])
def test_object_that_was_put_in_anothers_place_is_not_believed(upstream: Upstream, cache: Path, forged: str) -> None:
    commit = upstream.commit(FILES)
    wanted = pin(upstream, commit)
    acquire(wanted, cache=cache)
    (repository,) = (cache / "commits").iterdir()
    forge(upstream, repository, commit, forged)
    said = subprocess.run(
        ["git", f"--git-dir={repository}", "cat-file", "blob", f"{commit}:pkg/run.py"], capture_output=True, check=True
    )
    assert said.stdout == FOREIGN  # git itself is taken in
    assert acquire(wanted, cache=cache).read("pkg/run.py") == FILES["pkg/run.py"]


def test_archive_that_was_changed_is_not_believed(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"a\n"})
    wanted = pin(upstream, "1" * 40, archives=(made,))
    acquire(wanted, mode="archive", cache=cache)
    (kept,) = (cache / "archives").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"a\n", b"b\n"))
    assert acquire(wanted, mode="archive", cache=cache).read("pkg/a.py") == b"a\n"
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == made.sha256


def test_what_was_checked_is_what_is_read(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"a\n"})
    commit = acquire(pin(upstream, upstream.commit(FILES)), cache=cache)
    archive = acquire(pin(upstream, "1" * 40, archives=(made,)), mode="archive", cache=cache)
    shutil.rmtree(cache)
    assert (commit.read("pkg/run.py"), commit.read("LICENSE")) == (FILES["pkg/run.py"], FILES["LICENSE"])
    assert archive.read("pkg/a.py") == b"a\n"
    with pytest.raises(KeyError):
        commit.read("pkg/absent.py")


def test_what_is_not_read_at_once_is_read_when_it_is_asked_for(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    read = acquire(wanted, cache=cache, read=False)
    unread = acquire(wanted, cache=cache, read=False)
    assert {path: read.read(path) for path in read.entries} == FILES
    shutil.rmtree(cache)
    assert unread.entries == read.entries
    with pytest.raises(SourceError, match="the commit in the cache is damaged"):
        unread.read("pkg/run.py")


def test_file_beside_the_packages_that_cannot_be_had_when_it_is_asked_for_is_said(
    upstream: Upstream, cache: Path
) -> None:
    tree = acquire(pin(upstream, upstream.commit({**FILES, "docs/a.txt": b"a\n"})), cache=cache)
    shutil.rmtree(cache)
    with pytest.raises(SourceError, match=r"the commit in the cache is damaged: .*\n.*remove .*commits.* build again"):
        tree.read("docs/a.txt")


@pytest.fixture(params=["git", "archive"])
def filled(request: pytest.FixtureRequest, upstream: Upstream, tmp_path: Path, cache: Path) -> Callable[[], SourceTree]:
    """A cache that holds a pin; returns what acquires it."""
    made = make_wheel(tmp_path, {"pkg/a.py": b"a\n"})
    wanted = pin(upstream, upstream.commit(FILES), archives=(made,))
    acquire(wanted, mode=request.param, cache=cache)
    return lambda: acquire(wanted, mode=request.param, cache=cache)


def below(cache: Path) -> list[Path]:
    """Return everything in the cache that a build reads or writes, and the cache."""
    places = [cache]
    for folder in (cache / "commits", cache / "archives"):
        if folder.exists():
            places += [folder, *folder.rglob("*")]
    return places


def test_what_others_can_write_is_refused(filled: Callable[[], SourceTree], cache: Path) -> None:
    for path in below(cache):
        before = path.stat().st_mode
        for bits in (0o002, 0o020, 0o022):
            path.chmod(before | bits)
            if path == cache and bits == 0o020:
                filled()  # shared with a group on purpose
                continue
            with pytest.raises(OutputError) as caught:
                filled()
            (problem,) = caught.value.problems
            assert problem.where == str(path)
            assert "the source cache cannot be trusted: this can be written by others (mode" in problem.what
            assert problem.fix == f"chmod go-w {path}"
        path.chmod(before)
    filled()


def test_what_is_no_folder_is_no_cache_and_not_to_be_removed() -> None:
    with pytest.raises(OutputError) as caught:
        check(Path(os.devnull))
    assert [problem.fix for problem in caught.value.problems] == ["set NPU_OVERLAYS_CACHE to a folder of your own"]


def test_link_in_the_cache_is_refused(filled: Callable[[], SourceTree], tmp_path: Path, cache: Path) -> None:
    for path in below(cache)[1:]:
        path.rename(tmp_path / "away")
        path.symlink_to(tmp_path / "away")
        with pytest.raises(OutputError, match=f"{path}: .* this is a symbolic link or no file\n.*rm -r {path}"):
            filled()
        path.unlink()
        (tmp_path / "away").rename(path)
    filled()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_files_of_others_are_refused(filled: Callable[[], SourceTree], cache: Path) -> None:
    for path in below(cache):
        os.chown(path, 12345, -1)
        with pytest.raises(OutputError, match=r"belongs to another user \(uid 12345\)"):
            filled()
        os.chown(path, 0, -1)
    filled()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_cache_shared_with_a_group_serves_its_members_and_no_others(
    filled: Callable[[], SourceTree], cache: Path
) -> None:
    for path in (cache, *cache.rglob("*")):
        os.chown(path, 12345, os.getegid())
        path.chmod(path.stat().st_mode | 0o020)
    filled()
    for path in [*objects(cache), *cache.glob("archives/*")]:
        os.chown(path, 12345, 54321)
    with pytest.raises(OutputError, match="belongs to another user"):
        filled()


def test_cache_reached_through_a_link_is_the_users_choice(filled: Callable[[], SourceTree], cache: Path) -> None:
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to("elsewhere")
    filled()


def test_cache_made_under_an_open_umask_is_closed(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"a\n"})
    wanted = pin(upstream, upstream.commit(FILES), archives=(made,))
    before = os.umask(0)
    try:
        for mode in ("git", "archive", "git"):
            acquire(wanted, mode=mode, cache=cache)
    finally:
        os.umask(before)
    assert [path for path in (cache, *cache.rglob("*")) if path.stat().st_mode & 0o022 and path.suffix != ".lock"] == []


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
    shutil.rmtree(cache / "archives")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OutputError, match=f"{cache}: the source cache cannot be used"):
            acquire(wanted, mode="archive", cache=cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (cache / "archives").exists() or [*(cache / "archives").iterdir()] == []
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
    said = ProgressLog()
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
