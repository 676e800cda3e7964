"""Our cases of verl: which of them one process runs, and over which packages → how each of them ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from environments import ROOT

CASES = ROOT / "tests" / "overlays" / "verl" / "cases"
# What one process runs: files of cases that have the same stand-ins for packages, and whether it has an NPU.
PROCESSES = {
    "training": (False, "training"),
    "training at length": (False, "training"),
    "cpu": (False, "cpu distributed actor attention versions"),
    "npu": (True, "emulated actor sharded_actor"),
    "drivers": (False, "drivers nothing_patched"),
    "drivers on a cluster": (False, "drivers"),
    "engines": (True, "mindspeed megatron engines switching turns"),
    "audits": (False, "nothing_patched"),
    "sharded": (False, "sharded_actor"),
    "platform": (False, "platform mixed_batches versions"),
    "platform of the npu": (True, "platform"),
    "images": (False, "mixed_batches"),
}
# What costs much and finds little beyond the others: which cases, marked so or not, in a process of their own.
THOROUGH = {
    "audits": "thorough",
    "drivers on a cluster": "thorough",
    "images": "thorough or not thorough",
    "sharded": "thorough",
    "training at length": "thorough or not thorough",
}
# The cases that ask upstream's own actor.
ACTORS = {"cpu", "npu", "sharded"}


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Packages that our cases run over.

    Args:
        python: an interpreter of an environment with all that they depend on.
        packages: folders for PYTHONPATH; of a module that several hold, the first is used.
        torch_npu: the version whose operators the emulated NPU has.
    """

    python: Path
    packages: Sequence[Path]
    torch_npu: str

    def run(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python over the packages, with nothing of the tests' own variables."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "PYTHON"))}
        return subprocess.run(
            [str(self.python), *map(str, arguments)],
            env={
                **kept,
                "HF_HUB_OFFLINE": "1",
                "EMULATED_TORCH_NPU": self.torch_npu,
                **variables,
                "PYTHONPATH": os.pathsep.join(map(str, self.packages)),
            },
            capture_output=True,
            text=True,
            check=False,
        )


def run_cases(
    process: str, installed: Installation, upstream: Installation, reference: Path | None, report: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the cases of one process, which write a JUnit report.

    Args:
        process: a name of `PROCESSES`.
        installed: the patched packages.
        upstream: the same, not patched.
        reference: what upstream's actor computes, as `actor.py` writes it; None where none of `ACTORS` is run.
        report: the file to write.
        options: pytest's, further.
    """
    emulated, names = PROCESSES[process]
    return installed.run(
        *("-m", "pytest", "-q", "-c", CASES / "pytest.ini", f"--junitxml={report}"),
        *("-m", THOROUGH.get(process, "not thorough")),
        *options,
        *(CASES / f"test_{name}.py" for name in names.split()),
        EMULATED_NPU=str(int(emulated)),
        UPSTREAM_ACTOR=str(reference or ""),
        UPSTREAM_PACKAGES=os.pathsep.join(map(str, upstream.packages)),
    )


def write_reference(upstream: Installation, file: Path) -> subprocess.CompletedProcess[str]:
    """Write what upstream's actor computes on CPU, for the cases of `ACTORS`."""
    return upstream.run(CASES / "actor.py", file)
