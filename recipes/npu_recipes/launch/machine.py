"""The machine: what npu-doctor says about it, and which copies would be trained in place of the patched packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from npu_recipes.errors import Problem
from npu_recipes.launch.overrides import assigned
from npu_recipes.launch.plan import Plan
from npu_summary import verify

_PATIENCE = 120
_WORKING_DIR = "ray_kwargs.ray_init.runtime_env.working_dir"
_VERDICTS = {0: "all is well", 1: "something is not as it should be", 2: "it could not be told"}


@dataclass(frozen=True, kw_only=True)
class MachineVerdict:
    """The doctor's verdict in a line, and its whole report as JSON has it; None if it could not be asked."""

    text: str
    report: Any


def ask_doctor(stack: str, *, deterministic: bool) -> MachineVerdict:
    """Return the doctor's verdict on this machine, for a stack unless that is empty; or that there is no doctor."""
    if find_spec("npu_doctor") is None:
        return MachineVerdict(text="npu-doctor is not installed: nobody has looked at this machine", report=None)
    command = [sys.executable, "-I", "-m", "npu_doctor", "--json"]
    command += ["--stack", stack] if stack else []
    command += ["--deterministic"] if deterministic else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        report = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        return MachineVerdict(text=f"npu-doctor could not tell: {error}", report=None)
    verdict = _VERDICTS.get(done.returncode, f"it ended with {done.returncode}")
    command.remove("--json")
    return MachineVerdict(text=f"{verdict} (`python {' '.join(command[1:])}` prints why)", report=report)


def shadows(plan: Plan) -> Iterator[Problem]:
    """Yield each copy that would be imported in place of a patched package, such as a clone in the current folder.

    `python -P` would not help: it hides the current folder from the trainer, but Ray's workers still search it, and the
    `working_dir` of the job.
    """
    for one in verify.elsewhere(working_dir=assigned(plan.overrides, _WORKING_DIR) or ""):
        # A Python that cannot be asked cannot train either, and reports more about it. torchrun starts no Ray workers.
        if one.level == "damage" or (one.level == "note" and not plan.trainer.torchrun):
            cause, _, remedy = one.cause.partition("; to repair, ")
            what = f"{one.what}: {cause}" if cause else one.what
            yield Problem(where=one.distribution, what=what, fix=remedy or "start elsewhere: cd out of this folder")
