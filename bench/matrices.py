"""Cells: two hundred overlays, with the layers and locks of ours, and what it takes to print CI's matrix of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure
from measurements import Contender, command, interleaved, peak, seconds

OVERLAYS = Path(__file__).resolve().parent.parent / "overlays"
PAIRS = 100
_PINNED = {"transformers": "transformers@8365f70", "verl": "verl@796871d"}


def measure(work: Path, repeats: int, told: Callable[[str], None]) -> Iterator[Figure]:
    """Yield what the matrix costs, whole and of a change."""
    repository = work / "overlays-of-many"
    told(f"writing {2 * PAIRS} overlays")
    _write(repository)
    program = (sys.executable, "-m", "npu_overlays", "matrix", "--format", "github")
    contenders = {
        "matrix": Contender(run=command(*program, cwd=repository)),
        "matrix of a change": Contender(run=command(*program, "--changed-since", "HEAD", cwd=repository)),
    }
    for name, samples in interleaved(contenders, repeats, told=told).items():
        what = f"{name}, {2 * PAIRS} overlays × 4 Pythons"
        detail = f"the process, {peak(samples) / 1e6:.0f} MB"
        yield Figure(what=what, value=seconds(samples), unit="s", goal=1, detail=detail)


def _write(repository: Path) -> None:
    """Write pairs of pins on two layers, a stack for each pair, and an uncommitted change to one of them."""
    for project, pinned in _PINNED.items():
        folder = repository / "overlays" / project
        folder.mkdir(parents=True)
        (folder / "layer.toml").write_bytes((OVERLAYS / project / "layer.toml").read_bytes())
        for number in range(PAIRS):
            _pin(repository, pinned, _commit(number))
    (repository / "stacks").mkdir()
    for number in range(PAIRS):
        names = [f"{project}@{_commit(number)[:7]}" for project in _PINNED]
        (repository / "stacks" / f"stack-{number}.json").write_text(json.dumps({"overlays": names}), "utf-8")
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "pins")):
        own = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "commit.gpgSign=false")
        subprocess.run(["git", *own, *arguments], cwd=repository, check=True, stdout=subprocess.PIPE)  # noqa: S607  # the one on PATH
    (repository / "overlays" / f"verl@{_commit(0)[:7]}" / "NOTICE").touch()


def _commit(number: int) -> str:
    return f"{number:07x}".ljust(40, "0")


def _pin(repository: Path, pinned: str, commit: str) -> None:
    """Write a pin of ours under another commit, with its whole lock."""
    folder = repository / "overlays" / f"{pinned.partition('@')[0]}@{commit[:7]}"
    folder.mkdir()
    for name in ("pyproject.toml", "overlay.lock"):
        text = (OVERLAYS / pinned / name).read_text("utf-8")
        (folder / name).write_text(re.sub(r'(?m)^commit = ".*"$', f'commit = "{commit}"', text), "utf-8")
