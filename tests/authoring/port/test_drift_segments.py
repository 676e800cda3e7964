"""Walking: several processes say of a walk what one says."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.authoring.port import drift as walking
from npu_overlays.authoring.port.drift import WalkSegment, drift, drift_of_segment
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.errors import OverlayError
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content

from .past import history_of, moved_on

pytestmark = pytest.mark.slow

# Whoever runs the tests need not have told git a name.
NAMED = ("-c", "user.name=Jane", "-c", "user.email=jane@example.invalid")


@pytest.fixture
def asked(shared: Path, tmp_path: Path) -> WalkSegment:
    """What drift is asked: among the operations is one whose forwarded change came by the first commit."""
    sample = moved_on(shared, tmp_path)
    clone, commits = history_of(sample)
    file = sample.overlays / sample.lib_name / "tree/src/lib/core.py"
    file.write_bytes(file.read_bytes().replace(b"https://example.invalid/pull/1", b"#1"))
    sample.environment.ok("lock", sample.lib_name)
    overlay = load_overlay(sample.overlays / sample.lib_name)
    lock, past = load_lock(overlay), UpstreamHistory(repository=clone / ".git")
    base = overlay.pin.commit
    return WalkSegment(
        content=load_content(overlay, lock.metadata.version),
        locked=lock.contracts,
        history=past,
        base=base,
        commits=tuple(past.commits(base, commits[-1])),
        files=("src/lib/notes.txt",),
    )


def test_several_processes_say_what_one_says(asked: WalkSegment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_FEWEST_COMMITS", 1)
    monkeypatch.setattr(walking, "cores", lambda: 3)
    together = drift(asked)
    # The later ones cost more.
    assert [len(part.commits) for part in asked.split(3)] == [3, 1, 1]
    assert together == drift_of_segment(asked)
    # In the later parts, too, what came before them has landed.
    (start,) = (one for one in together.operations if one.symbol == "Engine.start")
    assert [one.kind for one in start.verdicts] == ["fits", *["absorbed"] * 4]


def test_a_short_walk_is_walked_by_one(asked: WalkSegment) -> None:
    assert asked.split(64) == [asked]


@pytest.mark.parametrize("message", ['Revert "comments (#1)"', "Tidy\n\nReverts lib/lib#1\n"])
def test_what_was_taken_back_has_not_landed_wherever_the_walk_begins(asked: WalkSegment, message: str) -> None:
    """A branch that left between the two, and came back after both, leads to the first of them, too."""
    git = in_clone(asked)
    git("switch", "--quiet", "--detach", asked.commits[1].id)
    git("commit", "--allow-empty", "--message", "beside")
    git("branch", "beside")
    git("switch", "--quiet", "--detach", asked.commits[1].id)
    git("commit", "--allow-empty", "--message", message)
    git("merge", "--no-ff", "--message", "both", "beside")
    tip = asked.history.commits(asked.base, git("rev-parse", "HEAD"))[-1:]
    found = drift_of_segment(replace(asked, commits=tip))
    assert [one.verdicts[0].kind for one in found.operations if one.symbol == "Engine.start"] == ["fits"]


def test_a_commit_without_changes_lands_a_change_too(asked: WalkSegment) -> None:
    git = in_clone(asked)
    git("switch", "--quiet", "--detach", asked.base)
    git("commit", "--allow-empty", "--message", "Tidy")
    git("commit", "--allow-empty", "--message", "Comments (#1)")
    commits = asked.history.commits(asked.base, git("rev-parse", "HEAD"))
    found = drift_of_segment(replace(asked, commits=commits))
    (start,) = (one for one in found.operations if one.symbol == "Engine.start")
    assert [one.kind for one in start.verdicts] == ["fits", "fits", "absorbed"]


def in_clone(asked: WalkSegment) -> Callable[..., str]:
    """Return what runs git in the clone and returns its output."""
    clone = asked.history.repository.parent

    def git(*arguments: str) -> str:
        command = ("git", *NAMED, *arguments)
        return subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True).stdout.strip()

    return git


def test_that_a_process_was_ended_is_said(asked: WalkSegment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_FEWEST_COMMITS", 1)
    monkeypatch.setattr(walking, "cores", lambda: 2)
    monkeypatch.setattr(walking, "drift_of_segment", killed)
    with pytest.raises(OverlayError, match="a process that walked commits ended: SIGKILL"):
        drift(asked)


def killed(segment: WalkSegment) -> None:  # noqa: ARG001  # called by another process
    os.kill(os.getpid(), signal.SIGKILL)
