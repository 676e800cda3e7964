"""Our cases of verl: which of them one process runs, and over which packages → how each of them ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from environments import ROOT, Installations, torch_environment
from environments.installer import place
from npu_overlays.progress import step
from verl_stacks import Stack

Endings = Mapping[str, str]

CASES = ROOT / "tests" / "overlays" / "verl" / "cases"
# What one process runs: files of cases that have the same stand-ins for packages, and whether it has an NPU. Torch and
# verl are imported for 12 s of CPU, so a verl whose files need no stand-ins has them all in one.
PROCESSES = {
    "all on a cpu": (False, "training platform mixed_batches versions drivers nothing_patched"),
    "training at length": (False, "training"),
    "cpu": (False, "cpu distributed actor attention versions"),
    "npu": (True, "emulated actor sharded_actor"),
    "drivers": (False, "drivers nothing_patched"),
    "drivers on a cluster": (False, "drivers"),
    "engines": (True, "mindspeed megatron engines switching turns"),
    "audits": (False, "nothing_patched"),
    "sharded": (False, "sharded_actor"),
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
# Those on two ranks take as long as most others together, and what they reach of the overlay, one rank reaches.
ALONE = ("-k", "not sharded_actor")
_REQUIREMENTS = ("pytest-timeout",)
# Some commits import it where no image is read; it needs torchvision, of which there is none for this torch.
_STAND_IN = ("qwen_vl_utils.py", "fetch_image = fetch_video = process_vision_info = None\n")
_OPTIONS = ("--continue-on-collection-errors", "--timeout=300")


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


def install_beside(
    stack: Stack, wheels: Iterable[Path], upstream: Path, installations: Installations, folder: Path
) -> tuple[Installation, Installation]:
    """Install wheels of a verl beside all else that a stack holds.

    Args:
        stack: whose transformers and environment are used.
        wheels: the patched verl and its companion.
        upstream: a folder with the packages that they were made from.
        installations: where wheels of overlays are built.
        folder: what they are installed into.

    Returns:
        the patched packages, and the same not patched.
    """
    environment = stack.environment()
    place(environment.python, (*wheels, *installations.wheels(stack.transformers), installations.doctor()), folder)
    (folder / _STAND_IN[0]).write_text(_STAND_IN[1], "utf-8")
    extra = installations.packages(torch_environment(), "of-our-cases", _REQUIREMENTS)
    patched, reference = (
        Installation(python=environment.python, packages=[*one, extra], torch_npu=stack.torch_npu)
        for one in ([folder], [upstream, stack.upstream(installations, environment)])
    )
    return patched, reference


def case_endings(
    processes: Iterable[str], patched: Installation, upstream: Installation, folder: Path, *options: str
) -> Endings:
    """Return how each case ends, by its process and name; reports and logs go into a folder.

    Args:
        processes: names of `PROCESSES`; those of `THOROUGH` are left out.
        patched: the patched packages.
        upstream: the same, not patched.
        folder: for reports and logs.
        options: pytest's, further.
    """
    wanted = [process for process in processes if process not in THOROUGH]
    if ACTORS.intersection(wanted):
        done = write_reference(upstream, folder / "actor.pt")
        (folder / "actor.log").write_text(done.stdout + done.stderr, "utf-8")
    found: dict[str, str] = {}
    for process in wanted:
        step(f"running our cases: {process}")
        report = folder / f"{process}.xml"
        # Of its own: pytest deletes what others' runs left in the common one, for minutes where that is much.
        temporary = f"--basetemp={folder / 'pytest'}"
        done = run_cases(process, patched, upstream, folder / "actor.pt", report, temporary, *_OPTIONS, *options)
        (folder / f"{process}.log").write_text(done.stdout + done.stderr, "utf-8")
        found |= {f"{process}: {case}": ending for case, ending in read_endings(report).items()}
    return found


def read_endings(report: Path) -> Endings:
    """Return how each case of a JUnit report ends: "passed", or "skipped" or "failed" and why, in one line."""
    if not report.is_file():
        return {"all": "failed: Python ended without a report"}
    return {
        f"{case.get('classname')}.{case.get('name')}".removeprefix("."): _ending(case)
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314  # pytest has just written it
    }


def _ending(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            said = child.get("message") or ""
            # Of a whole file, which says why at its end.
            said = (child.text or "").rstrip().rpartition("\n")[2] if said.startswith("collection ") else said
            said = " ".join(said.removeprefix("E ").split())
            return f"{'skipped' if child.tag == 'skipped' else 'failed'}: {said[:300]}"
    return "passed"
