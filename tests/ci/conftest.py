"""The repository's own files, as the tests of what CI and a newcomer run read them."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def makefile_targets() -> set[str]:
    """Return the targets `make help` lists."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):.*  ## ", text, flags=re.MULTILINE))


def steps(workflow: Path) -> list[dict[str, Any]]:
    """Return all steps of all jobs of a workflow."""
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return list(chain.from_iterable(job.get("steps", []) for job in jobs.values()))


@pytest.fixture(params=WORKFLOWS, ids=lambda workflow: workflow.name)
def workflow(request: pytest.FixtureRequest) -> Path:
    """Return each workflow in turn."""
    path: Path = request.param
    return path
