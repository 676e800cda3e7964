"""Workflows: valid, safe, and holding no command that a person could not run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from npu_overlays.cli import main
from support.environment import Environment

from .conftest import ROOT, WORKFLOWS, makefile_targets, steps

CHECK_SCHEMA = ("check-jsonschema", "--builtin-schema", "vendor.github-workflows")
# The strictest of its personas.
CHECK_SECURITY = ("zizmor", "--offline", "--persona=auditor")
BAD = """\
on: pull_request_target
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: echo "${{ github.event.pull_request.title }}"
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a tool that lies beside the Python of the tests."""
    tool = Path(sys.executable).parent / command[0]
    parts = [str(tool), *(str(part) for part in command[1:])]
    return subprocess.run(parts, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def loaded(workflow: Path) -> Any:
    """Return a workflow as data."""
    return yaml.safe_load(workflow.read_text("utf-8"))


def test_there_are_workflows() -> None:
    assert WORKFLOWS


def test_follow_the_schema(workflow: Path) -> None:
    done = run(*CHECK_SCHEMA, workflow)
    assert done.returncode == 0, done.stdout


def test_the_schema_check_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text(BAD.replace("runs-on", "run-on"), "utf-8")
    done = run(*CHECK_SCHEMA, bad)
    assert done.returncode != 0
    assert "run-on" in done.stdout


def test_pass_the_security_linter(workflow: Path) -> None:
    done = run(*CHECK_SECURITY, workflow)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_security_linter_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / ".github" / "workflows" / "bad.yml"
    bad.parent.mkdir(parents=True)
    bad.write_text(BAD, "utf-8")
    done = run(*CHECK_SECURITY, bad)
    assert done.returncode != 0
    for audit in ("dangerous-triggers", "excessive-permissions", "template-injection", "unpinned-uses", "artipacked"):
        assert audit in done.stdout


def test_actions_are_pinned_by_commit_with_their_version(workflow: Path) -> None:
    lines = re.findall(r"uses: (.*)", workflow.read_text("utf-8"))
    assert lines
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in lines), lines


def test_no_job_keeps_credentials_or_may_write(workflow: Path) -> None:
    data = loaded(workflow)
    assert data["permissions"] == {}
    assert all(job["permissions"] == {"contents": "read"} for job in data["jobs"].values())
    checkouts = [step for step in steps(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(data["jobs"])
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_command_is_one_a_person_can_run(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    subcommands = set(re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, flags=re.MULTILINE))
    assert {"build", "matrix"} <= subcommands
    commands = [line for step in steps(workflow) for line in step.get("run", "").splitlines()]
    assert commands
    for command in commands:
        tool, name, *_ = command.split()
        assert name in {"make": makefile_targets(), "npu-overlays": subcommands}[tool], command


def test_no_workflow_names_an_overlay_or_a_stack(workflow: Path) -> None:
    names = [folder.name for folder in (ROOT / "overlays").glob("*@*")]
    assert names
    text = workflow.read_text("utf-8")
    assert not [name for name in names if name in text or name.partition("@")[2] in text]


def test_a_cell_has_all_that_the_build_job_asks_for(environment: Environment) -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    asked = set(re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text))
    cells = environment.ok("matrix", "--overlays", ROOT / "overlays").json()["include"]
    assert asked
    assert all(asked <= set(cell) and all(cell[key] for key in asked) for cell in cells)


def test_the_matrix_job_hands_on_the_line_the_command_prints(environment: Environment) -> None:
    jobs = loaded(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    (output,) = jobs["matrix"]["outputs"]
    line = environment.ok("matrix", "--overlays", ROOT / "overlays", "--format", "github").out
    assert line.startswith(f"{output}=")
    assert f"needs.matrix.outputs.{output}" in jobs["build"]["strategy"]["matrix"]
