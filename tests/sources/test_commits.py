"""Commits had by git: exactly their blobs, however the repository is reached, or a clear refusal."""

from __future__ import annotations

import http.server
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import SourceError
from npu_overlays.sources import git_objects
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.deflated_members import deflated, packed, upstream_members
from npu_overlays.sources.tree import FileEntry, Source, blob_id
from support.upstreams import Upstream

from .conftest import FILES, ProgressLog, configure, make_upstream, make_wheel, pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SECRET = "hunter2"  # noqa: S105  # what must not show up anywhere


def test_tree_is_the_commit(upstream: Upstream, cache: Path) -> None:
    upstream.commit({"pkg/later_gone.py": b""})
    (upstream.path / "pkg/later_gone.py").unlink()
    (upstream.path / "pkg/alias.py").symlink_to("run.py")
    upstream.commit(FILES)
    (upstream.path / "pkg/run.py").chmod(0o755)
    commit = upstream.commit({})
    tree = acquire(pin(upstream, commit), cache=cache)
    assert tree.entries == {
        path: FileEntry(blob=blob_id(content), executable=path == "pkg/run.py") for path, content in FILES.items()
    }
    assert list(tree.entries) == sorted(FILES)
    assert {path: tree.read(path) for path in tree.entries} == FILES
    assert tree.links == {"pkg/alias.py"}
    assert tree.source == Source(kind="git", repository=upstream.url, commit=commit)


def test_attributes_and_filters_do_not_change_bytes(upstream: Upstream, cache: Path, tmp_path: Path) -> None:
    files = {
        "pkg/unix.txt": b"a\nb\n",
        "pkg/windows.txt": b"a\r\nb\r\n",
        "pkg/named.py": b"# $Id$\n",
        "pkg/filtered.py": b"plain\n",
        "pkg/hidden.py": b"hidden\n",
        "pkg/utf16.txt": b"wide\n",
    }
    attributes = b"*.txt text eol=crlf\n*.py ident\nfiltered.py filter=loud\nhidden.py export-ignore\n"
    plain = b"* -text -ident -filter -working-tree-encoding\n"
    (upstream.path / ".git/info/attributes").write_bytes(plain)
    attributes += b"utf16.txt -text working-tree-encoding=UTF-16LE\n"
    commit = upstream.commit({**files, ".gitattributes": attributes})
    configure(tmp_path, "core.autocrlf", "true")
    configure(tmp_path, "filter.loud.smudge", "tr a-z A-Z")
    tree = acquire(pin(upstream, commit), cache=cache)
    assert {path: tree.read(path) for path in files} == files
    upstream.git("clone", "--quiet", upstream.url, str(tmp_path / "clone"))
    changed = {path for path, content in files.items() if (tmp_path / "clone" / path).read_bytes() != content}
    assert changed == files.keys() - {"pkg/windows.txt"}


def test_cached_commit_needs_no_repository(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    first = acquire(wanted, cache=cache)
    upstream.path.rename(upstream.path.with_name("gone"))
    said = ProgressLog()
    assert acquire(wanted, cache=cache, progress=said) == first
    assert said.lines == []


def test_instead_of_is_honoured(upstream: Upstream, cache: Path, tmp_path: Path) -> None:
    commit = upstream.commit(FILES)
    wanted = pin(upstream, commit, repository="https://code.invalid/demo")
    configure(tmp_path, f"url.{upstream.url}.insteadOf", "https://code.invalid/demo")
    assert acquire(wanted, cache=cache).source.repository == "https://code.invalid/demo"


def test_mirrors_are_tried_in_order_and_not_recorded(upstream: Upstream, cache: Path, tmp_path: Path) -> None:
    commit = upstream.commit(FILES)
    empty = make_upstream(tmp_path / "empty")
    unused = make_upstream(tmp_path / "unused")
    wanted = pin(empty, commit, mirrors=(upstream.url, unused.url))
    said = ProgressLog()
    tree = acquire(wanted, cache=cache, progress=said)
    assert [line.rpartition(" from ")[2] for line in said.lines if "fetching" in line] == [empty.url, upstream.url]
    assert tree.source.repository == empty.url
    holding = [path for path in cache.rglob("*") if path.is_file() and str(upstream.path).encode() in path.read_bytes()]
    assert holding == []


def test_failure_lists_what_every_url_said_and_what_to_try(upstream: Upstream, cache: Path, tmp_path: Path) -> None:
    upstream.commit(FILES)
    gone = (tmp_path / "gone").as_uri()
    with pytest.raises(SourceError) as caught:
        acquire(pin(upstream, "1" * 40, mirrors=(gone,)), cache=cache)
    first, second, last = caught.value.problems
    assert first.where == upstream.url
    assert first.what == f"the repository does not hold commit {'1' * 40}"
    assert first.fix == "correct the pin, or name a repository that has it: tool.overlay.upstream.mirrors"
    assert second.where == gone
    assert "does not appear to be a git repository" in second.what
    assert "--upstream demo=PATH" in last.fix
    assert "mirror" in last.fix


def test_failed_fetch_leaves_no_entry(upstream: Upstream, cache: Path) -> None:
    with pytest.raises(SourceError):
        acquire(pin(upstream, "1" * 40), cache=cache)
    left = [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


@pytest.fixture
def old_server(upstream: Upstream, tmp_path: Path) -> tuple[Upstream, str, str]:
    """A server that gives out only tips; returns it, a commit that is none, and the tip."""
    inner = upstream.commit(FILES)
    tip = upstream.commit({"pkg/more.py": b"more\n"})
    configure(tmp_path, "protocol.version", "0")
    return upstream, inner, tip


def test_tag_serves_where_a_commit_is_refused(old_server: tuple[Upstream, str, str], cache: Path) -> None:
    upstream, inner, _ = old_server
    upstream.git("tag", "--annotate", "v1", inner, "--message", "one")
    assert acquire(pin(upstream, inner, tag="v1"), cache=cache).read("pkg/run.py") == FILES["pkg/run.py"]


def test_refused_commit_without_a_tag_says_so(old_server: tuple[Upstream, str, str], cache: Path) -> None:
    upstream, inner, _ = old_server
    with pytest.raises(SourceError, match=r"gives out only branches and tags.*no tag is pinned"):
        acquire(pin(upstream, inner), cache=cache)


def test_refused_commit_whose_tag_is_not_there_says_both(old_server: tuple[Upstream, str, str], cache: Path) -> None:
    upstream, inner, _ = old_server
    with pytest.raises(SourceError, match="its tag v9 could not be fetched either"):
        acquire(pin(upstream, inner, tag="v9"), cache=cache)


def test_moved_tag_names_both_commits_and_no_archive_stands_in(
    old_server: tuple[Upstream, str, str], tmp_path: Path, cache: Path
) -> None:
    upstream, inner, tip = old_server
    upstream.git("tag", "v1", tip)
    wanted = pin(upstream, inner, tag="v1", archives=(make_wheel(tmp_path, {"pkg/a.py": b""}),))
    with pytest.raises(SourceError, match=f"tag v1 is commit {tip}, but {inner} is pinned"):
        acquire(wanted, cache=cache)
    assert acquire(wanted, mode="archive", cache=cache).source.kind == "archive"


def test_hooks_of_the_user_do_not_run(old_server: tuple[Upstream, str, str], cache: Path, tmp_path: Path) -> None:
    upstream, inner, _ = old_server
    upstream.git("tag", "--annotate", "v1", inner, "--message", "one")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "reference-transaction").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "reference-transaction").chmod(0o755)
    configure(tmp_path, "core.hooksPath", str(hooks))
    upstream.git("tag", "shows-the-hook-works")
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    acquire(pin(upstream, inner, tag="v1"), cache=cache)
    assert not (tmp_path / "ran").exists()


def test_a_submodule_is_listed_and_no_file(upstream: Upstream, cache: Path) -> None:
    upstream.commit(FILES)
    upstream.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},third/party")
    upstream.git("commit", "--quiet", "--message", "submodule")
    commit = upstream.git("rev-parse", "HEAD")
    tree = acquire(pin(upstream, commit, packages=("pkg", "third")), cache=cache)
    assert tree.links == {"third/party"}
    assert "third/party" not in tree


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"..", r"leads out of the tree"),
        (b".git", r"'.git' component"),
        (b".GIT", r"'.git' component"),
        (".g\u200dit".encode(), r"'.git' component"),
        ("\u200e".encode(), "an empty"),
        (b"/etc", "is absolute"),
        (b"a\\b", "backslash"),
        (b"a\nb", "not printable"),
        (b"\xff", "not printable"),
    ],
)
def test_unsafe_path_is_refused(upstream: Upstream, cache: Path, name: bytes, reason: str) -> None:
    blob = upstream.git("hash-object", "-w", "--stdin", stdin=b"x")
    commit = upstream.commit_tree(b"100644 " + name + b"\0" + bytes.fromhex(blob))
    with pytest.raises(SourceError, match=reason):
        acquire(pin(upstream, commit), cache=cache)


def test_a_mark_that_nobody_sees_is_upstreams(upstream: Upstream, cache: Path) -> None:
    path = "pkg/run.sh\u200e"
    assert acquire(pin(upstream, upstream.commit({**FILES, path: b"x"})), cache=cache).read(path) == b"x"


def test_short_commit_is_refused(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    with pytest.raises(SourceError, match="40 hex digits"):
        acquire(pin(upstream, commit[:7]), cache=cache)


def test_damaged_pack_is_fetched_again(upstream: Upstream, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES))
    tree = acquire(wanted, cache=cache)
    (pack,) = cache.glob("commits/*.git/objects/pack/*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:40])
    said = ProgressLog()
    assert acquire(wanted, cache=cache, progress=said).entries == tree.entries
    assert "fetching from" in str(said)


class _AsksForPassword(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="demo"')
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def asking_server() -> Iterator[int]:
    """A loopback server that asks for a password; returns its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _AsksForPassword) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_password_is_neither_asked_for_nor_shown(upstream: Upstream, cache: Path, asking_server: int) -> None:
    for login in (f"user:{SECRET}", f"user:p@{SECRET}", SECRET):
        url = f"http://{login}@127.0.0.1:{asking_server}/demo"
        said = ProgressLog()
        with pytest.raises(SourceError) as caught:
            acquire(pin(upstream, "1" * 40, repository=url), cache=cache, progress=said)
        assert f"http://127.0.0.1:{asking_server}/demo" in str(caught.value)
        assert SECRET not in str(caught.value) + str(said)
    with pytest.raises(SourceError, match="terminal prompts disabled"):
        acquire(pin(upstream, "1" * 40, repository=f"http://127.0.0.1:{asking_server}/demo"), cache=cache)


def test_server_that_never_answers_is_given_up(
    upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_HTTP_LOW_SPEED_TIME", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/demo"
        with pytest.raises(SourceError, match="too slow"):
            acquire(pin(upstream, "1" * 40, repository=url), cache=cache)


@pytest.mark.parametrize(
    "variable",
    [
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR"),
        *("GIT_SHALLOW_FILE", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"),
    ],
)
def test_callers_git_context_is_ignored(
    upstream: Upstream, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    commit = upstream.commit(FILES)
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    assert acquire(pin(upstream, commit), cache=cache).entries.keys() == FILES.keys()
    assert not (tmp_path / "nowhere").exists()


def test_configuration_in_variables_says_how_to_fetch_and_nothing_else(
    upstream: Upstream, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = upstream.commit(FILES)
    other = make_upstream(tmp_path / "other")
    settings = {
        f"url.{upstream.url}.insteadOf": "https://code.invalid/demo",
        "core.bare": "maybe",  # which no git command on the cached repository gets past
    }
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (name, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    wanted = pin(other, commit, repository="https://code.invalid/demo")
    acquire(wanted, cache=cache)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    assert acquire(wanted, cache=cache).entries.keys() == FILES.keys()


@pytest.mark.parametrize("url", ["ext::sh -c touch% {}", "fd::0,1/x"])
def test_program_is_not_run_even_where_the_user_allows_it(
    upstream: Upstream, cache: Path, tmp_path: Path, url: str
) -> None:
    upstream.commit(FILES)
    configure(tmp_path, "protocol.allow", "always")
    configure(tmp_path, "protocol.ext.allow", "always")
    configure(tmp_path, f"url.{url.format(tmp_path / 'ran')}.insteadOf", "https://code.invalid/demo")
    with pytest.raises(SourceError, match=r"transport '(ext|fd)' not allowed"):
        acquire(pin(upstream, "1" * 40, repository="https://code.invalid/demo"), cache=cache)
    assert not (tmp_path / "ran").exists()


def test_sha256_default_format_of_the_user_does_not_matter(
    upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = upstream.commit(FILES)
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    assert acquire(pin(upstream, commit), cache=cache).entries.keys() == FILES.keys()


def test_git_missing_is_said(upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = upstream.commit(FILES)
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(SourceError, match="git: not found on PATH"):
        acquire(pin(upstream, commit), cache=cache)


def test_what_was_deflated_before_is_read_from_that(
    upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(cache))
    wanted = pin(upstream, upstream.commit(FILES))
    first = acquire(wanted, cache=cache)
    members = upstream_members(first, wanted)
    asked: list[str] = []
    real = git_objects.read

    def noted(repository: Path, kind: str, ids: Sequence[str]) -> Iterator[bytes]:
        asked.extend(ids if kind == "blob" else ())
        return real(repository, kind, ids)

    monkeypatch.setattr(git_objects, "read", noted)
    again = acquire(wanted, cache=cache)
    assert again == first
    assert {path: again.content[path] for path in again.content} == FILES
    assert len(again.content) == len(FILES)
    assert upstream_members(again, wanted) is upstream_members(again, wanted)
    assert upstream_members(again, wanted) == members
    assert members
    assert not members.keys() & set(asked)
    assert {blob_id(content) for content in FILES.values()} == members.keys() | set(asked)


def test_of_what_was_deflated_before_nothing_is_believed(
    upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_CACHE", str(cache))
    wanted = pin(upstream, upstream.commit(FILES))
    members = upstream_members(acquire(wanted, cache=cache), wanted)
    (kept,) = (cache / "members").iterdir()
    one = next(iter(members))
    for other in ({**members, one: deflated(b"another")}, {key: it for key, it in members.items() if key != one}):
        kept.write_bytes(packed(None, other))
        tree = acquire(wanted, cache=cache)
        assert {path: tree.read(path) for path in tree.entries} == FILES
