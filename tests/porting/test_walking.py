"""Walking: several processes say of a walk what one says."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from end_to_end.sample import Sample
from npu_overlays.contracts.contracts import Contract
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.errors import OverlayError
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.porting import walking
from npu_overlays.porting.drift import Walk, drift
from npu_overlays.porting.history import History
from npu_overlays.porting.walking import Leg, parts, walked

from .past import history_of, moved_on

pytestmark = pytest.mark.slow

# Whoever runs the tests need not have told git a name.
NAMED = ("-c", "user.name=Jane", "-c", "user.email=jane@example.invalid")
Asked = tuple[Content, Sequence[Contract], Walk]


@pytest.fixture
def asked(shared: Path, tmp_path: Path) -> Asked:
    """What drift is asked: among the operations is one whose forwarded change came by the first commit."""
    sample = moved_on(shared, tmp_path)
    return _asked(sample, *history_of(sample))


def _asked(sample: Sample, clone: Path, commits: list[str]) -> Asked:
    file = sample.overlays / sample.lib_name / "tree/src/lib/core.py"
    file.write_bytes(file.read_bytes().replace(b"https://example.invalid/pull/1", b"#1"))
    sample.environment.ok("lock", sample.lib_name)
    overlay = load_overlay(sample.overlays / sample.lib_name)
    lock, past = load_lock(overlay), History(repository=clone / ".git")
    base = overlay.pin.commit
    walk = Walk(history=past, base=base, commits=tuple(past.commits(base, commits[-1])), files=("src/lib/notes.txt",))
    return load_content(overlay, lock.metadata.version), lock.contracts, walk


def test_several_processes_say_what_one_says(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_FEWEST", 1)
    monkeypatch.setattr(walking, "cores", lambda: 3)
    together = walked(*asked)
    assert [len(part.commits) for part in parts(asked[2], 3)] == [1, 2, 2]
    assert together == drift(*asked)
    # In the later parts, too, what came before them has landed.
    (start,) = (one for one in together.operations if one.subject.symbol == "Engine.start")
    assert [one.kind for one in start.verdicts] == ["fits", *["absorbed"] * 4]


def test_a_short_walk_is_walked_by_one(asked: Asked) -> None:
    assert parts(asked[2], 64) == [asked[2]]


@pytest.mark.parametrize("message", ['Revert "comments (#1)"', "Tidy\n\nReverts lib/lib#1\n"])
def test_what_was_taken_back_has_not_landed_wherever_the_walk_begins(asked: Asked, message: str) -> None:
    """A branch that left between the two, and came back after both, leads to the first of them, too."""
    content, locked, walk = asked
    clone = walk.history.repository.parent

    def git(*arguments: str) -> None:
        subprocess.run(("git", *NAMED, *arguments), cwd=clone, check=True, capture_output=True)

    git("switch", "--quiet", "--detach", walk.commits[1].id)
    git("commit", "--allow-empty", "--message", "beside")
    git("branch", "beside")
    git("switch", "--quiet", "--detach", walk.commits[1].id)
    git("commit", "--allow-empty", "--message", message)
    git("merge", "--no-ff", "--message", "both", "beside")
    past = walk.history
    tip = past.commits(walk.base, past.resolve("HEAD"))[-1:]
    found = drift(content, locked, replace(walk, commits=tip))
    assert [one.verdicts[0].kind for one in found.operations if one.subject.symbol == "Engine.start"] == ["fits"]


def test_that_a_process_was_ended_is_said(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_FEWEST", 1)
    monkeypatch.setattr(walking, "cores", lambda: 2)
    monkeypatch.setattr(walking, "_walked", killed)
    with pytest.raises(OverlayError, match="a process that walked commits ended: SIGKILL"):
        walked(*asked)


def killed(leg: Leg) -> None:  # noqa: ARG001  # called by another process
    os.kill(os.getpid(), signal.SIGKILL)
