"""Upstream installed over the patched wheels: pip warns, verify finds it, and what verify names repairs it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from support.marks import MOSTLY_BY_UV, rarely

from .cell import CellEnvironment
from .shelf import NEWER

pytestmark = pytest.mark.slow

Arguments = Callable[[CellEnvironment, Path], tuple[str | Path, ...]]


def _requirements(_: CellEnvironment, folder: Path) -> tuple[str | Path, ...]:
    file = folder / "requirements.txt"
    file.write_text("consumer\nmodern\n", "utf-8")
    return ("-r", file)


# How upstream gets there, where the index holds upstream and what requires it, and not our wheels.
WAYS: dict[str, Arguments] = {
    "file": lambda cell, _: (cell.shelf.release,),
    "file without dependencies": lambda cell, _: ("--no-deps", cell.shelf.release),
    "forced by name": lambda cell, _: (cell.again, "--no-deps", "lib==1.2.3"),
    "newer by name": lambda *_: (f"lib=={NEWER}",),
    "upgraded": lambda *_: ("-U", "lib"),
    "requirements of a consumer": _requirements,
}


# An installer is asked to do the same by other words.
ALIKE = ("file", "forced by name", "newer by name", "upgraded")


@pytest.mark.parametrize("way", [*(way for way in WAYS if way not in ALIKE), *rarely(*ALIKE)])
def test_upstream_afterwards(pair: CellEnvironment, tmp_path: Path, way: str) -> None:
    arguments = WAYS[way](pair, tmp_path)
    told = pair.seeing("index").reaction("install", *arguments)
    assert told == ("silent" if pair.is_uv or "--no-deps" in arguments else "warns")
    assert pair.start() in ("upstream", "newer")
    assert pair.check() == 1
    code, kinds = pair.verify()
    assert (code, kinds) == (1, {"companion replaced", "modified", "added"})
    pair.repair()
    assert pair.start() == "npu+upstream"
    # One of the consumers wants a newer upstream than there is for the NPU; that stays for the user to settle.
    assert pair.check() == (1 if way == "requirements of a consumer" else 0)


@pytest.mark.parametrize("wanted", ["lib==1.2.3", *rarely("lib", "lib>=1.0")])
def test_upstream_that_the_companion_answers(pair: CellEnvironment, wanted: str) -> None:
    assert pair.seeing("index").reaction("install", wanted) == "silent"
    assert pair.verify() == (0, set())
    assert pair.check() == 0


@MOSTLY_BY_UV
def test_the_companion_alone_says_what_to_do(pair: CellEnvironment) -> None:
    pair.reaction("uninstall", "app-npu", "lib-npu")
    said = pair.refused_import()
    version = pair.shelf.version("lib", 1)
    assert f"lib {version} holds no file of lib: lib-npu does, and is missing (or later on sys.path)." in said
    ours, upstreams = (line.partition("python -m pip install ")[2] for line in said.splitlines()[-2:])
    assert ours == f"lib-npu=={version}"
    pair.install(ours)
    assert pair.start() == "npu+upstream"
    pair.reaction("uninstall", "lib-npu")
    pair.seeing("index").install(*shlex.split(upstreams))
    assert pair.start() == "upstream"
