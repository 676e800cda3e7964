"""Workflows: valid, safe, and holding no command that a person could not run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from npu_overlays.cli import main
from npu_overlays.overlay.inputs import PORT_FILE
from npu_overlays.publish.ci_matrix import PYTHONS
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


# What a job may do beside reading the repository; all others may do nothing else.
WRITES = {
    ("release.yml", "attest"): {"id-token": "write", "attestations": "write"},
    ("release.yml", "publish"): {"contents": "write"},
    ("release.yml", "site"): {"contents": "read", "actions": "read"},
    ("release.yml", "pages"): {"pages": "write", "id-token": "write"},
    ("drift.yml", "issue"): {"contents": "read", "issues": "write"},
    ("follow.yml", "pull-requests"): {"contents": "write", "pull-requests": "write"},
}


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


@pytest.mark.slow
def test_follow_the_schema() -> None:
    done = run(*CHECK_SCHEMA, *WORKFLOWS)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_schema_check_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text(BAD.replace("runs-on", "run-on"), "utf-8")
    done = run(*CHECK_SCHEMA, bad)
    assert done.returncode != 0
    assert "run-on" in done.stdout


def test_pass_the_security_linter() -> None:
    done = run(*CHECK_SECURITY, *WORKFLOWS)
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
    own = [line.partition(" ")[0] for line in lines if line.startswith("./")]
    assert lines
    assert all((ROOT / line).is_file() for line in own), own
    others = [line for line in lines if not line.startswith("./")]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in others), lines


def test_one_version_of_each_action_is_used_everywhere() -> None:
    lines = {*re.findall(r"uses: ([^.].*)", "\n".join(one.read_text("utf-8") for one in WORKFLOWS))}
    assert len({line.partition("@")[0] for line in lines}) == len(lines)


def test_ports_are_handed_on_with_the_state_of_those_that_are_not_finished() -> None:
    (upload,) = (
        one for one in steps(ROOT / ".github/workflows/follow.yml") if "upload-artifact" in one.get("uses", "")
    )
    assert PORT_FILE.startswith(".")
    assert upload["with"]["include-hidden-files"] is True


def test_no_job_keeps_credentials_or_may_write_more_than_it_has_to(workflow: Path) -> None:
    data = loaded(workflow)
    assert data["permissions"] == {}
    for name, job in data["jobs"].items():
        assert job["permissions"] == WRITES.get((workflow.name, name), {"contents": "read"}), name
        checkouts = [step for step in job.get("steps", []) if step.get("uses", "").startswith("actions/checkout@")]
        # Who runs a command has what it is in; who only passes files on has not.
        assert len(checkouts) == any("run" in step for step in job.get("steps", [])), name
        assert all(step["with"]["persist-credentials"] is False for step in checkouts), name


def test_every_permission_has_a_reason_beside_it(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    kinds = "actions|contents|issues|pages|pull-requests|id-token|attestations"
    granted = re.findall(rf"^ +(?:{kinds}): \w+(.*)$", text, flags=re.MULTILINE)
    assert len(granted) == sum(len(job["permissions"]) for job in loaded(workflow)["jobs"].values())
    assert all(re.fullmatch(r" # \w.{10,}", reason) for reason in granted), granted


def test_only_a_tag_gives_anything_out() -> None:
    """Whatever may write needs, at some remove, a job that only a pushed tag begins."""
    data = loaded(ROOT / ".github" / "workflows" / "release.yml")
    assert data[True]["push"] == {"tags": ["v*"]}
    jobs = data["jobs"]
    assert jobs["attest"]["if"] == "github.event_name == 'push'"

    def behind(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        if isinstance(needs, str):
            needs = [needs]
        return {name}.union(*map(behind, needs))

    for name, job in jobs.items():
        writes = "write" in job["permissions"].values()
        assert ("attest" in behind(name)) >= writes, name
        assert ({"same-bytes", "installed"} <= behind(name)) >= writes, name


def test_a_release_is_tried_on_every_supported_python() -> None:
    jobs = loaded(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    for name in ("same-bytes", "installed"):
        assert tuple(jobs[name]["strategy"]["matrix"]["python"]) == PYTHONS


def test_a_push_never_cancels_the_cells_that_only_an_earlier_one_touches() -> None:
    data = loaded(ROOT / ".github" / "workflows" / "ci.yml")
    assert "github.sha" in data["concurrency"]["group"]
    assert "github.ref" not in data["concurrency"]["group"]


def test_every_command_is_one_a_person_can_run(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    subcommands = set(re.findall(r"^  ([a-z-]+) ", capsys.readouterr().out, flags=re.MULTILINE))
    assert {"build", "matrix"} <= subcommands
    commands = "\n".join(step.get("run", "") for step in steps(workflow)).split("\n")
    commands = [line for line in commands if line]
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
    text = (ROOT / ".github" / "workflows" / "cells.yml").read_text("utf-8")
    asked = set(re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text))
    cells = environment.ok("matrix", "--overlays", ROOT / "overlays").json()["include"]
    assert asked
    for cell in cells:
        assert all(cell.get(key) for key in asked), cell


def test_the_matrix_job_hands_on_the_line_the_command_prints(environment: Environment) -> None:
    jobs = loaded(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    (output,) = jobs["matrix"]["outputs"]
    line = environment.ok("matrix", "--overlays", ROOT / "overlays", "--format", "github").out
    assert line.startswith(f"{output}=")
    build = jobs["build"]
    assert f"needs.matrix.outputs.{output}" in build["strategy"]["matrix"]["include"]
    assert f"needs.matrix.outputs.{output} != '[]'" in build["if"]  # no matrix may be empty
    asked = {*re.findall(r"matrix\.(\w+)", " ".join(build["with"].values()))}
    assert all(asked <= set(batch) for batch in json.loads(line.partition("=")[2]))
    assert set(build["with"]) == set(loaded(ROOT / build["uses"])[True]["workflow_call"]["inputs"])
