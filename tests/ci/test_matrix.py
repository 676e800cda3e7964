"""The CI matrix: cells from what is on disk."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from npu_overlays.contracts.lockfile import Lock, write_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.errors import ConfigError
from npu_overlays.publish.ci_matrix import PYTHONS, Cell, cells_of, load_overlay_folder
from support.environment import Environment
from support.overlays import edit, write_overlay, write_stacks

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "89abcdef0123456789abcdef0123456789abcdef"
ARCHIVE = f"""
[[tool.overlay.upstream.archive]]
distribution = "demo"
version = "1.0"
file = "demo-1.0-py3-none-any.whl"
sha256 = "{"0" * 64}"
"""


def matrix(root: Path) -> list[Cell]:
    """Return the cells of all overlays in a folder."""
    return cells_of(load_overlay_folder(root))


def add(root: Path, commit: str, *, project: str = "demo", upstream: str = "") -> Path:
    """Write an overlay."""
    return write_overlay(
        root,
        project=project,
        commit=commit,
        repository="https://example.invalid/demo",
        packages=["demo"],
        files={},
        upstream=upstream,
    )


def lock(folder: Path, requires_python: str) -> None:
    """Write a lock by which upstream asks for these versions of Python."""
    metadata = UpstreamMetadata(version="1.0", fields={"requires-python": requires_python}, scripts={})
    write_lock(folder, Lock(commit=COMMIT, metadata=metadata, archives={}, contracts=()))


def test_has_a_cell_for_each_overlay_and_python_in_a_stable_order(tmp_path: Path) -> None:
    add(tmp_path, OTHER)
    add(tmp_path, COMMIT)
    cells = matrix(tmp_path)
    expected = product(("demo@0123456", "demo@89abcde"), PYTHONS)
    assert [cell["name"] for cell in cells] == [f"{overlay} py{python}" for overlay, python in expected]
    assert cells == matrix(tmp_path)


def test_an_added_folder_appears_without_any_other_change(tmp_path: Path) -> None:
    add(tmp_path, COMMIT)
    before = matrix(tmp_path)
    add(tmp_path, OTHER, project="another")
    after = matrix(tmp_path)
    assert [cell for cell in after if cell["project"] == "demo"] == before
    assert {cell["overlay"] for cell in after} == {"demo@0123456", "another@89abcde"}
    assert len(after) == 2 * len(before)


def test_a_cell_says_stack_and_sources(tmp_path: Path) -> None:
    root = tmp_path / "overlays"
    add(root, COMMIT, upstream=ARCHIVE)
    add(root, OTHER)
    write_stacks(root, "pair", {"pair": ["demo@0123456"]})
    cells = {cell["overlay"]: cell for cell in matrix(root) if cell["python"] == "3.12"}
    assert cells["demo@0123456"] == {
        "name": "demo@0123456 py3.12",
        "overlay": "demo@0123456",
        "project": "demo",
        "python": "3.12",
        "stack": "pair",
        "sources": "git archive",
        "artifact": "demo-npu-0123456-py3.12",
    }
    assert (cells["demo@89abcde"]["stack"], cells["demo@89abcde"]["sources"]) == ("", "git")


@pytest.mark.parametrize(
    ("requires", "expected"),
    [(">=3.9", PYTHONS), (">=3.11", PYTHONS[1:]), (">=3.10.2,<3.13", PYTHONS[:3]), ("", PYTHONS)],
)
def test_leaves_out_the_pythons_upstream_does_not_support(
    tmp_path: Path, requires: str, expected: tuple[str, ...]
) -> None:
    lock(add(tmp_path, COMMIT), requires)
    assert tuple(cell["python"] for cell in matrix(tmp_path)) == expected


def test_names_are_unique_and_artifact_names_are_accepted_everywhere(tmp_path: Path) -> None:
    add(tmp_path, COMMIT)
    add(tmp_path, OTHER)
    cells = matrix(tmp_path)
    assert len({cell["name"] for cell in cells}) == len({cell["artifact"] for cell in cells}) == len(cells)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", cell["artifact"]) for cell in cells)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no overlay"):
        matrix(tmp_path)


def test_reports_the_mistakes_of_every_overlay(tmp_path: Path) -> None:
    for commit in (COMMIT, OTHER):
        edit(add(tmp_path, commit) / "pyproject.toml", "revision = 1", "revision = 0")
    with pytest.raises(ConfigError) as caught:
        matrix(tmp_path)
    assert ["demo@0123456" in str(one) for one in caught.value.problems] == [True, False]


def test_the_command_prints_a_line_for_github_and_json_for_others(environment: Environment) -> None:
    add(environment.folder, COMMIT)
    command = ("matrix", "--overlays", environment.folder, "--format")
    (line,) = environment.ok(*command, "github").out.splitlines()
    name, _, value = line.partition("=")
    assert name == "batches"
    (batch,) = json.loads(value)
    assert batch["cells"] == environment.ok(*command, "json").json() == {"include": matrix(environment.folder)}


def test_the_command_prints_an_overlay_a_line_for_people(environment: Environment) -> None:
    add(environment.folder, COMMIT)
    heading, row = environment.ok("matrix", "--overlays", environment.folder, "--format", "table").out.splitlines()
    assert heading.split() == ["overlay", "Pythons", "stack", "sources"]
    assert row.split() == [matrix(environment.folder)[0]["overlay"], "3.10,", "3.11,", "3.12,", "3.13", "git"]
