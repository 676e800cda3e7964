"""The site of this repository's documents and of a folder of wheels, built once a run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from environments.once import once
from support.environment import Environment

from .shelves import fill

ROOT = Path(__file__).resolve().parents[3]
REPORT = "<!DOCTYPE html>\n<html><head><title>Drift of verl &amp; more</title></head><body><h1>Drift</h1></body></html>"


@pytest.fixture(scope="session")
def wheels(shared: Path) -> Path:
    """Return a folder of wheels; it is not to be changed."""
    return once(shared, "website-wheels", fill)


@pytest.fixture(scope="session")
def site(shared: Path, wheels: Path) -> Path:
    """Return a site with all that one can have; it is not to be changed."""

    def make(folder: Path) -> None:
        (folder / "verl drift.html").write_text(REPORT, "utf-8")
        options = ("--documents", ROOT / "docs", "--out", folder / "site", "--drift", folder / "verl drift.html")
        Environment(folder=folder).ok("site", wheels, *options)

    return once(shared, "website", make) / "site"


def write_project(folder: Path, texts: Mapping[str, str], listed: Sequence[str] = ()) -> Path:
    """Write a Sphinx project with the settings of ours and some documents, and return its folder.

    Args:
        folder: which gets a folder ``docs``.
        texts: documents by their paths from there; one without a Chinese page has the same text in Chinese.
        listed: names of the documents in the table of contents of ``index`` in each language.
    """
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("*.md", "*.mo", "*.svg", "*.png", "*.json"))
    shutil.copy(ROOT / "docs" / "_static" / "favicon.svg", docs / "_static")
    contents = "\n".join(["", "```{toctree}", ":hidden:", "", *listed, "```", ""])
    english = {path: text for path, text in texts.items() if re.fullmatch(r"[^.]*\.md", Path(path).name)}
    same = {path.removesuffix(".md") + ".zh-CN.md": text for path, text in english.items()}
    for path, text in {**same, **texts}.items():
        file = docs / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + (contents if path.startswith("index") and listed else ""), "utf-8")
    return docs
