"""Waits: none is longer than the patience where nothing answers, and silence is remembered for minutes only."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import SourceError, UsageError
from npu_overlays.sources.acquisition import acquire, ask_again, git_answers
from npu_overlays.sources.silent_hosts import patience
from support.marks import rarely
from support.upstreams import Upstream

from .conftest import FILES, ProgressLog, configure, make_wheel, pin
from .servers import silent

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pathlib import Path

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 9999\r\n\r\n00"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_PATIENCE", "0.8")


@pytest.mark.parametrize(
    ("scheme", "first"), [("https", b""), ("git", b"0040"), *rarely(("http", b""), ("git", b""), ("http", HTTP))]
)
def test_server_that_does_not_answer_is_given_up_and_said(
    upstream: Upstream, cache: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, first: bytes
) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_PATIENCE", "2.5")
    said = ProgressLog()
    began = time.monotonic()
    with silent(first) as port:
        url = f"{scheme}://127.0.0.1:{port}/demo"
        with pytest.raises(SourceError) as caught:
            acquire(pin(upstream, "1" * 40, repository=url), cache=cache, progress=said)
    assert time.monotonic() - began < 20  # of which a busy machine takes most
    first_problem = caught.value.problems[0]
    assert (first_problem.where, first_problem.what) == (url, "no answer within 2 s")
    assert first_problem.fix == "NPU_OVERLAYS_PATIENCE=8 waits longer"
    assert "no answer for 2 s, given up after 2 s" in str(said)
    assert [*(cache / "tmp").iterdir()] == []


def test_mirror_that_answers_serves_although_the_repository_is_silent(upstream: Upstream, cache: Path) -> None:
    commit = upstream.commit(FILES)
    with silent() as port:
        wanted = pin(upstream, commit, repository=f"https://127.0.0.1:{port}/demo", mirrors=(upstream.url,))
        assert acquire(wanted, cache=cache).entries.keys() == FILES.keys()


def test_silence_is_remembered_for_minutes_and_no_longer_than_one_wants(
    upstream: Upstream, tmp_path: Path, cache: Path
) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    commit = upstream.commit(FILES)
    with silent() as port:
        url = f"git://127.0.0.1:{port}/demo"
        wanted = pin(upstream, commit, repository=url, archives=(made,))

        def asked(**options: str) -> bool:
            said = ProgressLog()
            try:
                acquire(wanted, cache=cache, progress=said, **options)  # type: ignore[arg-type]
            except SourceError:
                assert options
            return "fetching from" in str(said)

        assert asked()
        assert not asked()
        assert not git_answers(wanted, cache=cache)
        assert asked(mode="git")
        ask_again(cache)
        assert asked()
        (note,) = (cache / "silent").iterdir()
        then = time.time() - 601
        os.utime(note, (then, then))
        assert asked()
        # Another way to the same address is another question.
        configure(tmp_path, f"url.{upstream.url}.insteadOf", url)
        said = ProgressLog()
        assert acquire(wanted, cache=cache, progress=said).source.kind == "git", str(said)


def test_silence_is_said_where_the_repository_is_not_asked(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    with silent() as port:
        wanted = pin(upstream, "1" * 40, repository=f"git://127.0.0.1:{port}/demo", archives=(made,))
        acquire(wanted, cache=cache)
        said = ProgressLog()
        acquire(wanted, cache=cache, progress=said)
    assert "gave no answer 0 min ago, and was not asked again" in str(said)


def test_refusal_is_not_remembered(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    wanted = pin(
        upstream,
        "1" * 40,
        repository="http://127.0.0.1:9/demo",
        archives=(make_wheel(tmp_path, {"pkg/a.py": b""}),),
    )
    acquire(wanted, cache=cache)
    assert not (cache / "silent").exists()


def test_cached_commit_is_used_whatever_was_silent(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    commit = upstream.commit(FILES)
    acquire(pin(upstream, commit), cache=cache)
    with silent() as port:
        url = f"git://127.0.0.1:{port}/demo"
        acquire(pin(upstream, "1" * 40, repository=url, archives=(made,)), cache=cache)
        wanted = pin(upstream, commit, repository=url, archives=(made,))
        assert acquire(wanted, cache=cache).source.kind == "git"
        assert git_answers(wanted, cache=cache)


@pytest.mark.parametrize("text", ["no", "-1", "0", "inf", "nan", "20s"])
def test_patience_that_is_no_number_of_seconds_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("NPU_OVERLAYS_PATIENCE", text)
    with pytest.raises(UsageError, match=rf"NPU_OVERLAYS_PATIENCE: `{text}` is no number of seconds"):
        patience()
