"""What `port` proposes for verl: against the port that was made by hand, and tried on commits of its history."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npu_overlays.authoring.port.drift import Survival, WalkSegment, drift_of_segment
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.errors import OverlayError
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import history
from support.wheelhouse import PROJECT

pytestmark = [pytest.mark.upstream, pytest.mark.slow]

OLD, NEW = "verl@796871d", "verl@d62da49"
# Where the hand-made port did something else: what `port` says of it, which is why somebody looks there.
OTHERWISE = {
    "is_torch_npu_available": "body changed",
    "set_expandable_segments": "absorbed",
    "ActorRolloutRefWorker._build_model_optimizer": "absorbed",
    "CriticWorker._build_critic_model_optimizer": "absorbed",
    # What calls it has another body, and is told so.
    "_lengths_and_workloads": "fits",
}
# What `port` leaves to a person, who moved or rewrote each by hand.
YOURS = {
    # The function that chose its class is gone, whose caller makes replicas instead; the port by hand has none of them.
    "AsyncvLLMServer.init_engine": "retired",
    "apply_monkey_patch": "find gone",
    # Its new place has other code, and its only caller changed beyond the name: `async def _execute_method` now.
    "vLLMAsyncRollout.init_worker": "renamed",
}
RANGES = ((OLD, "796871d7d092", "v0.6.0"), (NEW, "v0.6.1", "v0.7.0"), (NEW, "v0.7.0", "b178a3cd56f5"))
SAMPLES = 7


def loaded(name: str) -> tuple[Content, Lock]:
    """Return what one of the project's overlays says for its pin, and its lock."""
    overlay = load_overlay(PROJECT / "overlays" / name)
    lock = load_lock(overlay)
    return load_content(overlay, lock.metadata.version, lock.forms), lock


def past(*revisions: str) -> tuple[UpstreamHistory, dict[str, str]]:
    """Return verl's history and the commits that some names stand for; skips where it cannot be had."""
    pin = loaded(OLD)[0].overlay.pin
    try:
        folder, ids = history(pin, list(revisions), clone=None, cache=cache_root(), progress=lambda _: None)
    except OverlayError as error:
        pytest.skip(f"verl's history cannot be had: {error}")
    return UpstreamHistory(repository=folder), ids


def proposed(survival: Survival) -> str:
    """Return what becomes of an operation if its proposal is accepted."""
    (verdict,) = survival.verdicts
    found = {"drop": "dropped", "retarget": "moved", "follow": "moved", "keep": "kept", "relock": "kept"}.get(
        verdict.proposal
    )
    return found or ("kept" if verdict.applies else "yours")


def test_against_the_port_by_hand() -> None:
    (old, lock), (new, _) = loaded(OLD), loaded(NEW)
    there = new.overlay.pin.commit
    known, _ = past(old.overlay.pin.commit, there)
    commit = UpstreamCommit(id=there, date="", subject="")
    walk = WalkSegment(content=old, locked=lock.contracts, history=known, base=old.overlay.pin.commit, commits=[commit])
    found = drift_of_segment(walk).operations
    hand = {(one.path, one.symbol): one for one in new.operations}
    before = {(one.path, one.symbol): one for one in old.operations}
    made = {one.symbol: by_hand(one, before, hand) for one in found}
    offered = {one.symbol: (proposed(one), one.verdicts[0].kind) for one in found}
    assert {name: kind for name, (what, kind) in offered.items() if what not in ("yours", made[name])} == OTHERWISE
    assert {name: kind for name, (what, kind) in offered.items() if what == "yours"} == YOURS


def by_hand(
    survival: Survival, before: dict[tuple[str, str], Operation], hand: dict[tuple[str, str], Operation]
) -> str:
    """Return the verdict on an operation in the port that was made by hand."""
    place = (survival.path, survival.symbol)
    path, _, symbol = survival.verdicts[0].to.partition(":")
    if place not in hand:
        return "moved" if (path, symbol) in hand else "dropped"
    one, other = before[place], hand[place]
    return "kept" if (one.action, one.text, one.edits) == (other.action, other.text, other.edits) else "rewritten"


# A port of verl takes ten seconds.
@pytest.mark.thorough
@pytest.mark.index
@pytest.mark.parametrize("number", range(1, SAMPLES + 1))
@pytest.mark.parametrize("span", RANGES, ids=["A", "B", "C"])
def test_what_is_proposed_can_be_locked(span: tuple[str, str, str], number: int, tmp_path: Path) -> None:
    """All of it accepted and the rest dropped, what is left passes the gate: on commits from the whole range."""
    name, first, last = span
    known, ids = past(loaded(name)[0].overlay.pin.commit, first, last)
    commits = known.commits(ids[first], ids[last])
    commit = commits[(len(commits) - 1) * number // SAMPLES].id
    shutil.copytree(PROJECT / "overlays", tmp_path / "overlays")
    begun = ported(tmp_path, name, "--to", commit, "--accept", "all", "--accept", "absorbed")
    assert not begun["problems"]
    left = [one for one in begun["parts"] if not one["applies"] and one["proposal"] != "relock"]
    if left:
        drops = [part for target in {one["target"] for one in left} for part in ("--drop", f"{target}=For a person.")]
        begun = ported(tmp_path, Path(begun["folder"]).name, "--continue", *drops)
    assert (begun["finished"], begun["problems"]) == (True, [])


def ported(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return what a step of a port says."""
    command = (sys.executable, "-m", "npu_overlays", "port", *arguments, "--overlays", str(folder / "overlays"))
    done = subprocess.run([*command, "--json"], env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
