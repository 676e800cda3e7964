"""Verdict: what npu-doctor says of the machine, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

PATIENCE = 120


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is known of the machine.

    Args:
        text: the verdict in a line.
        report: what the doctor found, as it says it; None where it could not be asked.
    """

    text: str
    report: Any


def ask_doctor(stack: str, *, deterministic: bool) -> Verdict:
    """Return the doctor's verdict on this machine, for a stack unless that is empty; or that there is no doctor."""
    if find_spec("npu_doctor") is None:
        return Verdict(text="npu-doctor is not installed: nobody has looked at this machine", report=None)
    command = [sys.executable, "-I", "-m", "npu_doctor", "--json"]
    command += ["--stack", stack] if stack else []
    command += ["--deterministic"] if deterministic else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        report = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        return Verdict(text=f"npu-doctor could not tell: {error}", report=None)
    words = {0: "all is well", 1: "something is not as it should be", 2: "it could not be told"}
    told = words.get(done.returncode, f"it ended with {done.returncode}")
    shown = " ".join(word for word in command[1:] if word != "--json")
    return Verdict(text=f"{told} (`python {shown}` prints why)", report=report)
