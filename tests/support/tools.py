"""Another npu-overlays: the one that is tested, with a small change to what travels in wheels."""

from __future__ import annotations

import shutil
from pathlib import Path

import npu_summary

from .overlays import edit


def changed_tool(folder: Path) -> Path:
    """Write the code of the tool into `folder` with another colour in the summary's page, and return the folder."""
    shutil.copytree(Path(npu_summary.__file__).parents[1], folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    edit(folder / "npu_summary/page/page.css", "#0550ae", "#0550af")
    return folder
