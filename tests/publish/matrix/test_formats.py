"""Cells as GitHub and GitLab read them."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from npu_overlays.publish.ci_matrix import MATRIX_LIMIT, Cell, as_github, as_gitlab, batches

from .conftest import OverlayRepository

ROOT = Path(__file__).resolve().parents[3]
# GitLab's own, as check-jsonschema brings it; to import that would cost every worker three seconds.
SCHEMA = "check_jsonschema/builtin_schemas/vendor/gitlab-ci.json"
# What GitHub runs of one matrix.
LIMIT = 256


def cells(count: int) -> list[Cell]:
    """Return that many cells."""
    return [
        Cell(
            name=f"demo@{number:07x} py3.12",
            overlay=f"demo@{number:07x}",
            project="demo",
            python="3.12",
            stack="",
            sources="git",
            artifact=f"demo-npu-{number:07x}-py3.12",
        )
        for number in range(count)
    ]


def mistakes(text: str) -> list[str]:
    """Return what of a pipeline is not as GitLab's schema has it."""
    import jsonschema  # noqa: PLC0415  # it builds parsers for three seconds, and every worker imports this module

    schema = json.loads(Path(str(distribution("check-jsonschema").locate_file(SCHEMA))).read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [error.message for error in validator.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("count", [0, 1, MATRIX_LIMIT, MATRIX_LIMIT + 1, 800])
def test_no_matrix_has_more_cells_than_github_runs_and_none_is_empty(count: int) -> None:
    found = batches(cells(count))
    assert [one["batch"] for one in found] == list(range(1, len(found) + 1))
    assert all(0 < len(one["cells"]["include"]) < LIMIT for one in found)
    assert list(chain.from_iterable(one["cells"]["include"] for one in found)) == cells(count)


def test_the_line_for_github_is_one_line_also_where_nothing_is_to_be_run() -> None:
    assert as_github([]) == "batches=[]\n"
    line = as_github(cells(800))
    assert line.count("\n") == 1
    assert json.loads(line.removeprefix("batches=")) == batches(cells(800))


@pytest.mark.parametrize("count", [0, 1, 300])
def test_the_pipeline_for_gitlab_follows_its_schema(count: int) -> None:
    assert mistakes(as_gitlab(cells(count))) == []


def test_so_does_what_starts_it() -> None:
    text = (ROOT / "ci" / "gitlab.yml").read_text("utf-8")
    assert mistakes(text) == []
    pipeline = yaml.safe_load(text)
    (included,) = pipeline["run cells"]["trigger"]["include"]
    assert included["job"] == "cells"
    assert pipeline["cells"]["artifacts"]["paths"] == [included["artifact"]]


def test_the_schema_can_fail() -> None:
    assert mistakes(as_gitlab(cells(1)).replace("extends: .cell", "extends: 5"))


def test_gitlab_runs_the_same_cells_under_the_same_names(repository: OverlayRepository) -> None:
    listed = repository.environment.ok("matrix", cwd=repository.folder).json()["include"]
    text = repository.environment.ok("matrix", "--format", "gitlab", cwd=repository.folder).out
    pipeline: dict[str, Any] = yaml.safe_load(text)
    jobs = {name: job for name, job in pipeline.items() if name != "variables" and not name.startswith(".")}
    assert list(jobs) == [cell["name"] for cell in listed]
    for cell in listed:
        job = jobs[cell["name"]]
        assert job["extends"] in pipeline
        assert job["variables"] == {"OVERLAY": cell["overlay"], "PYTHON_VERSION": cell["python"]}
        assert job["artifacts"]["name"] == cell["artifact"]


def test_a_pipeline_with_nothing_to_do_says_so(repository: OverlayRepository) -> None:
    text = repository.environment.ok(
        "matrix", "--format", "gitlab", "--changed-since", "HEAD", cwd=repository.folder
    ).out
    assert list(yaml.safe_load(text)) == ["nothing to do"]
