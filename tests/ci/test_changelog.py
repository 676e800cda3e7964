"""The changelog: fragments go into its areas, and each area of a release fits a screen."""

from __future__ import annotations

import re
import subprocess
import sys

from .conftest import ROOT

SCREEN = 40
CHANGELOG = ROOT / "CHANGELOG.md"


def areas(text: str) -> list[tuple[str, int]]:
    """Return the areas of all releases in a changelog, each with its number of lines."""
    found = re.findall(r"(?ms)^### (.+?)$\n(.*?)(?=^##|\Z)", text)
    return [(name, len(body.strip().splitlines())) for name, body in found]


def too_long(text: str) -> list[str]:
    """Return the areas of a changelog that do not fit a screen."""
    return [name for name, lines in areas(text) if lines > SCREEN]


def compared(text: str) -> list[str]:
    """Return the words of a text that compare a version with an earlier one."""
    return re.findall(r"\b(?:no longer|so far|used to)\b", text)


def test_before_the_first_release_no_fragment_compares_with_an_earlier_version() -> None:
    assert compared("`port` no longer stops; it used to stop.") == ["no longer", "used to"]
    if re.findall(r"(?m)^## .*", CHANGELOG.read_text("utf-8")) == ["## 0.1.0 (not released yet)"]:
        fragments = {file.name: compared(file.read_text("utf-8")) for file in (ROOT / "changelog.d").glob("+*.md")}
        assert {name: words for name, words in fragments.items() if words} == {}


def test_towncrier_joins_every_fragment() -> None:
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_areas_of_the_changelog_are_those_of_fragments() -> None:
    names = re.findall(r'directory = "\w+", name = "(.+?)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert {name for name, _ in areas(CHANGELOG.read_text("utf-8"))} <= {*names}
    assert len(names) == 7


def test_every_area_fits_a_screen() -> None:
    made_up = "## 1.0\n\n### Long\n\n" + "- x\n" * (SCREEN + 1) + "\n### Short\n\n" + "- y\n" * SCREEN
    assert too_long(made_up) == ["Long"]
    assert too_long(CHANGELOG.read_text("utf-8")) == []
