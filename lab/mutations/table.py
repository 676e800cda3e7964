"""Table: ``table.toml`` → what is to be changed in which file, and which tests are to catch it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Where the layer of transformers has what its wheels hold below site-packages.
_SOURCES = "overlays/transformers/tree/src"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One wrong change.

    Args:
        find: what stands in the file, once.
        replace: what is put there.
        equivalent: why no test can tell the two apart; empty where one has to.
    """

    find: str
    replace: str
    equivalent: str = ""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A file, and what is to catch changes to it.

    Args:
        file: below the repository, or, with an overlay, below site-packages.
        tests: files of tests, and what else pytest is told.
        mutations: what to try.
        overlay: the overlay in whose installed wheel the file lies; empty for a file of this repository.
        torch_npu: the version that is emulated; empty for the newest that stacks name beside the overlay.
        shared: the file of this repository that the changed text comes from, where it has another name: there it stands
            once for each range of versions, and in the wheel's file once.
    """

    file: str
    tests: tuple[str, ...]
    mutations: tuple[Mutation, ...]
    overlay: str = ""
    torch_npu: str = ""
    shared: str = ""

    @property
    def source(self) -> Path:
        """The file in this repository."""
        return ROOT / (self.shared or (f"{_SOURCES}/{self.file}" if self.overlay else self.file))


def read_table() -> list[Target]:
    """Return all targets."""
    known: dict[str, Any] = tomllib.loads((Path(__file__).parent / "table.toml").read_text("utf-8"))
    return [
        Target(
            file=target["file"],
            tests=tuple(target["tests"]),
            mutations=tuple(_mutation(*texts) for texts in target["mutations"]),
            overlay=target.get("overlay", ""),
            torch_npu=target.get("torch_npu", ""),
            shared=target.get("shared", ""),
        )
        for target in known["target"]
    ]


def _mutation(find: str, replace: str, equivalent: str = "") -> Mutation:
    return Mutation(find=find, replace=replace, equivalent=equivalent)
