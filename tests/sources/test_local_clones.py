"""Clones the user names: the commit's bytes where the clone is the commit, or how it differs."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from npu_overlays.errors import SourceError
from npu_overlays.sources.acquisition import acquire
from support.upstreams import Upstream

from .conftest import FILES, ProgressLog, configure, make_upstream, pin

GONE = "https://code.invalid/demo"


def test_clean_clone_serves_as_git(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    tree = acquire(pin(upstream, commit, repository=GONE), local=upstream.path, cache=cache)
    assert {path: tree.read(path) for path in tree.entries} == FILES
    assert (tree.source.kind, tree.source.repository) == ("git", GONE)


def test_bare_repository_linked_work_tree_and_partial_clone_serve(
    upstream: Upstream, tmp_path: Path, cache: Path
) -> None:
    commit = upstream.commit(FILES)
    upstream.git("clone", "--quiet", "--bare", upstream.url, str(tmp_path / "bare"))
    upstream.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), commit)
    upstream.git("config", "uploadpack.allowFilter", "true")
    upstream.git("clone", "--quiet", "--filter=blob:none", upstream.url, str(tmp_path / "partial"))
    wanted = pin(upstream, commit, repository=GONE)
    for name in ("bare", "linked", "partial"):
        assert acquire(wanted, local=tmp_path / name, cache=cache / name).entries.keys() == FILES.keys()


def test_commit_that_no_branch_holds_serves_even_under_protocol_0(
    upstream: Upstream, tmp_path: Path, cache: Path
) -> None:
    upstream.commit({"README": b""})
    commit = upstream.commit(FILES)
    upstream.git("checkout", "--quiet", "--detach")
    upstream.git("branch", "--force", "main", "HEAD~1")
    bare = tmp_path / "bare"
    upstream.git("config", "core.bare", "true")
    upstream.git("symbolic-ref", "HEAD", "refs/heads/main")
    upstream.path.joinpath(".git").rename(bare)
    configure(tmp_path, "protocol.version", "0")
    wanted = pin(upstream, commit, repository=GONE)
    assert acquire(wanted, local=bare, cache=cache).entries.keys() >= FILES.keys()


def test_other_head_names_head_and_pin(upstream: Upstream, cache: Path) -> None:
    wanted = upstream.commit(FILES)
    head = upstream.commit({"elsewhere.txt": b""})
    with pytest.raises(SourceError, match=f"HEAD is {head}, the pin is {wanted}") as caught:
        acquire(pin(upstream, wanted), local=upstream.path, cache=cache)
    # The advice leaves the user's work tree as it is, and leads to one that serves.
    said = r"run `(.+)`, which leaves this one alone, and name it: --upstream demo=(.+)"
    advice = re.fullmatch(said, caught.value.problems[0].fix)
    assert advice
    command, option = advice.groups()
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    assert acquire(pin(upstream, wanted), local=Path(option), cache=cache).entries.keys() == FILES.keys()
    assert upstream.git("rev-parse", "HEAD") == head


def test_differing_files_are_named(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    (upstream.path / "pkg/run.py").write_bytes(b"print(2)\n")
    (upstream.path / "pkg/data.bin").unlink()
    (upstream.path / "pkg/new.py").touch()
    (upstream.path / "outside.py").touch()
    with pytest.raises(SourceError, match=r"(?m)differ from the pin: pkg/data.bin, pkg/new.py, pkg/run.py$"):
        acquire(pin(upstream, commit), local=upstream.path, cache=cache)


def test_many_differing_files_are_counted(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    for number in range(25):
        (upstream.path / f"pkg/extra{number:02}.py").touch()
    with pytest.raises(SourceError, match=r"pkg/extra00.py, .*pkg/extra09.py, … \(25 in all\)"):
        acquire(pin(upstream, commit), local=upstream.path, cache=cache)


def test_staged_and_hidden_changes_are_seen(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    upstream.git("update-index", "--assume-unchanged", "pkg/run.py")
    (upstream.path / "pkg/run.py").write_bytes(b"print(2)\n")
    (upstream.path / "pkg/staged.py").touch()
    upstream.git("add", "pkg/staged.py")
    index = (upstream.path / ".git/index").read_bytes()
    with pytest.raises(SourceError, match=r"differ from the pin: pkg/run.py, pkg/staged.py"):
        acquire(pin(upstream, commit), local=upstream.path, cache=cache)
    assert (upstream.path / ".git/index").read_bytes() == index


def test_ignored_files_and_changes_outside_the_packages_are_no_difference(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit({**FILES, ".gitignore": b"*.pyc\n"})
    (upstream.path / "pkg/run.pyc").touch()
    (upstream.path / "LICENSE").write_bytes(b"changed\n")
    tree = acquire(pin(upstream, commit), local=upstream.path, cache=cache)
    assert tree.read("LICENSE") == FILES["LICENSE"]
    assert "pkg/run.pyc" not in tree


def test_difference_is_an_error_even_where_the_commit_is_cached(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    acquire(wanted, cache=cache)
    (upstream.path / "pkg/run.py").write_bytes(b"print(2)\n")
    with pytest.raises(SourceError, match="files that differ"):
        acquire(wanted, local=upstream.path, cache=cache)


def test_replacement_objects_are_not_followed(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    upstream.commit({"pkg/run.py": b"print(2)\n"})
    upstream.git("replace", f"{commit}:pkg/run.py", "HEAD:pkg/run.py")
    upstream.git("checkout", "--quiet", commit)
    (upstream.path / "pkg/run.py").write_bytes(FILES["pkg/run.py"])
    tree = acquire(pin(upstream, commit, repository=GONE), local=upstream.path, cache=cache)
    assert tree.read("pkg/run.py") == FILES["pkg/run.py"]


def test_folder_that_is_no_repository_is_said(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    commit = upstream.commit(FILES)
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").touch()
    said = {"plain": "not a git repository", "absent": "there is no such folder", "file": "is not a folder"}
    for name, what in said.items():
        with pytest.raises(SourceError, match=f"{tmp_path / name}: {what}.*\n.*name the folder of a git clone"):
            acquire(pin(upstream, commit), local=tmp_path / name, cache=cache)


def test_commit_the_clone_lacks_is_said_although_the_repository_has_it(
    upstream: Upstream, tmp_path: Path, cache: Path
) -> None:
    commit = upstream.commit(FILES)
    other = make_upstream(tmp_path / "other")
    other.commit({"README": b""})
    with pytest.raises(SourceError, match=f"does not hold demo {commit}") as caught:
        acquire(pin(upstream, commit), local=other.path, cache=cache)
    assert f"fetch {upstream.url} {commit}" in str(caught.value)


def test_clone_and_archive_at_once_is_refused(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    with pytest.raises(SourceError, match="both asked for"):
        acquire(pin(upstream, commit), mode="archive", local=upstream.path, cache=cache)


def test_clone_is_not_read_through_the_network(upstream: Upstream, cache: Path) -> None:
    said = ProgressLog()
    acquire(pin(upstream, upstream.commit(FILES), repository=GONE), local=upstream.path, cache=cache, progress=said)
    assert GONE not in str(said)
