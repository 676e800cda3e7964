"""Overlays of a package ``pkg`` applied to upstream's files, and what the checks of the patched tree refuse."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from language import overlays
from language.pairs import text
from npu_overlays.errors import MergeError

A = "tree/pkg/a.py"
OWN = "o/tree/pkg/a.py"


class CheckedOverlay:
    """Applies overlays of ``pkg`` and says what the gate refuses, one line each, the overlay written ``o``."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder / str(number) for number in count())

    def __call__(self, upstream: Mapping[str, str], files: Mapping[str, str | bytes]) -> list[str]:
        contents = {f"pkg/{path}": text(content).encode() for path, content in {"__init__.py": "", **upstream}.items()}
        try:
            overlays.apply_files(next(self._folders), contents, files)
        except MergeError as error:  # by the name of its module: the golden refusals put theirs in its place
            return [line.replace("pkg@1111111/", "o/") for line in overlays.mistakes(error)]
        return []

    def merge(self, before: str, overlay: str) -> list[str]:
        """Do so for one merge module, whose lines count from 2."""
        return self({"a.py": before}, {A: overlay})
