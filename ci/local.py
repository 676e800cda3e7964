"""Local: the jobs that the CI workflow would run, one after another on this machine, each in a fresh clone.

usage, from the top of a checkout:
  python ci/local.py                        every cell of the matrix, style and types, and all tests
  python ci/local.py verl@0.9.1             those that have this word in their name, or fit it: *-py3.12
  python ci/local.py --list                 only their names
  python ci/local.py --changed-since REV    the cells that a change touches

What a job runs is read from .github/workflows, what cells there are from `npu-overlays matrix`: neither is written down
twice. Committed is what counts: a clone holds nothing else. Each job's output goes to .cache/ci/NAME.log.
exit codes: 0 all passed; 1 one failed, or its Python is not here; 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from environments.pythons import find_python
from npu_overlays.commands.console import Console

WORKFLOWS = Path(".github", "workflows")
LOGS = Path(".cache", "ci")
_SHELL = ("bash", "-e", "-c")
_STATUS = ("git", "status", "--porcelain")
_HEADINGS = ("job", "outcome", "minutes", "output")
# What make, and this run of it, tell their children, and what a job is to choose for itself.
_OURS = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GITHUB_OUTPUT", "VIRTUAL_ENV", "PYTHONPATH"}
_OURS |= {"CELLS", "SINCE", "VENV", "TRIAL", "STACK", "OVERLAY", "TESTS"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job.

    Args:
        name: as CI calls it, with hyphens for blanks.
        python: the version it runs on.
        env: its variables.
        commands: what it runs, step by step.
    """

    name: str
    python: str
    env: Mapping[str, str]
    commands: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """The outcome of a job, and the seconds it took."""

    name: str
    what: str
    seconds: float


def main() -> int:
    """Run the jobs that are asked for and print a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="JOB", help="words or patterns of the names of jobs")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--changed-since", default="", metavar="REV", help="as of `npu-overlays matrix`")
    options = parser.parse_args()
    jobs = [*cells(options.changed_since), *others()]
    chosen = [job for job in jobs if not options.words or any(fits(job.name, word) for word in options.words)]
    if unknown := [word for word in options.words if not any(fits(job.name, word) for job in jobs)]:
        parser.error(f"no job fits {', '.join(unknown)}; there are: {', '.join(job.name for job in jobs)}")
    if options.list:
        print("\n".join(job.name for job in chosen))
        return 0
    if subprocess.run(_STATUS, check=True, stdout=subprocess.PIPE).stdout:
        print("What is not committed is not part of this run.", file=sys.stderr)
    return report([done for job in chosen for done in [told(run(job))]])


def cells(since: str) -> Iterator[Job]:
    """Yield the jobs of the matrix, as the workflow runs them."""
    (job,) = loaded("cells.yml")["jobs"].values()
    asked = ["matrix", *(["--changed-since", since] if since else [])]
    done = subprocess.run([sys.executable, "-m", "npu_overlays", *asked], check=True, stdout=subprocess.PIPE)
    for cell in json.loads(done.stdout)["include"]:
        env = {name: filled(value, cell) for name, value in job.get("env", {}).items()}
        yield Job(name=hyphenated(cell["name"]), python=cell["python"], env=env, commands=commands(job))


def others() -> Iterator[Job]:
    """Yield the jobs beside the matrix."""
    for job in loaded("ci.yml")["jobs"].values():
        if "steps" in job and "outputs" not in job:
            given = [step.get("with", {}) for step in job["steps"]]
            python = next(one["python-version"] for one in given if "python-version" in one)
            yield Job(name=hyphenated(job["name"]), python=python, env={}, commands=commands(job))


def loaded(name: str) -> Any:
    """Return a workflow as data."""
    return YAML(typ="safe").load((WORKFLOWS / name).read_text("utf-8"))


def commands(job: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the steps of a job run."""
    return tuple(step["run"] for step in job["steps"] if "run" in step)


def filled(text: str, cell: Mapping[str, str]) -> str:
    """Return a text of a workflow with what a cell says."""
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: cell[found[1]], text)


def hyphenated(name: str) -> str:
    """Return the name of a job as one word."""
    return name.replace(" ", "-")


def fits(name: str, word: str) -> bool:
    """Return whether a job is meant: by a pattern of its name, its overlay or its Python."""
    return fnmatchcase(name, word) or word == name.rpartition("-py")[0] or word == name.rpartition("-")[2]


def run(job: Job) -> JobOutcome:
    """Run a job in a fresh clone of what is committed."""
    python = find_python(job.python)
    if python is None:
        return JobOutcome(name=job.name, what=f"no Python {job.python} here", seconds=0)
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-ci-") as folder, log_of(job).open("wb") as log:
        for step in (f"git clone --quiet {shlex.quote(str(Path.cwd()))} .", *job.commands):
            log.write(f"$ {step}\n".encode())
            log.flush()
            done = subprocess.run(
                (*_SHELL, step),
                cwd=folder,
                env={**kept, "PYTHON": python, **job.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
            if done.returncode:
                what = f"failed: {step.splitlines()[0]}"
                return JobOutcome(name=job.name, what=what, seconds=time.monotonic() - began)
    return JobOutcome(name=job.name, what="passed", seconds=time.monotonic() - began)


def log_of(job: Job) -> Path:
    """Return where the output of a job goes."""
    return LOGS / f"{job.name}.log"


def told(outcome: JobOutcome) -> JobOutcome:
    """Print the outcome of a job as soon as it is known."""
    print(f"{outcome.name}: {outcome.what}", file=sys.stderr, flush=True)
    return outcome


def report(outcomes: list[JobOutcome]) -> int:
    """Print the table; returns the exit code."""
    rows = [
        (one.name, one.what, f"{one.seconds / 60:.1f}", str(LOGS / f"{one.name}.log") if one.seconds else "")
        for one in outcomes
    ]
    Console(json_output=False).table(_HEADINGS, rows)
    return 0 if all(one.what == "passed" for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
