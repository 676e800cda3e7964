"""The built wheels in an environment with torch: each set of cases runs in a process of its own.

What a case skips is listed here as well, with its reason.

The environment is made here and kept between runs; upstream's packages,
unpatched, lie beside the patched ones as the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import Installations, Unavailable
from environments.once import once
from upstream_tests import passed, read_outcomes, read_skipped
from verl_cases import ACTORS, THOROUGH, Installation, run_cases, write_reference
from verl_stacks import STACKS, Stack

# A stack's shared environment takes a minute to build; a second worker should run other tests meanwhile.
ORDER = {"all on a cpu": [pytest.mark.slow("first")]}
RUNS = [
    pytest.param(
        stack,
        name,
        id=f"{stack.verl}-{name}",
        marks=[*stack.marks, *[pytest.mark.thorough] * (name in THOROUGH), *ORDER.get(name, [pytest.mark.slow])],
    )
    for stack in STACKS
    for name in stack.processes
]

pytestmark = pytest.mark.index


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One stack, patched and not."""

    patched: Installation
    upstream: Installation
    name: str


@pytest.fixture(scope="module")
def installed(request: pytest.FixtureRequest, shared: Path) -> Installed:
    """Return a stack with all it needs, or skip with the reason."""
    stack: Stack = request.param
    installations = Installations(shared / "npu")
    try:
        environment = stack.environment()
        folders = stack.installed(installations, environment), stack.upstream(installations, environment)
    except Unavailable as reason:
        pytest.skip(str(reason))
    patched, upstream = (
        Installation(python=environment.python, packages=[folder], torch_npu=stack.torch_npu) for folder in folders
    )
    return Installed(patched=patched, upstream=upstream, name=stack.verl)


@pytest.fixture(scope="module")
def actor_reference(installed: Installed, shared: Path) -> Path:
    """Return a file with what upstream's actor computes on CPU."""

    def make(folder: Path) -> None:
        done = write_reference(installed.upstream, folder / "upstream.pt")
        assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-3000:]

    return once(shared, f"actor-{installed.name}", make) / "upstream.pt"


@pytest.mark.parametrize(("installed", "process"), RUNS, indirect=["installed"])
def test_cases(
    installed: Installed, process: str, request: pytest.FixtureRequest, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    report = tmp_path / "report.xml"
    reference = request.getfixturevalue("actor_reference") if process in ACTORS else None
    done = run_cases(process, installed.patched, installed.upstream, reference, report)

    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-3000:]
    assert passed(read_outcomes(report)) > 0
    for case, reason in read_skipped(report).items():
        with subtests.test(case):
            pytest.skip(f"{case}: {reason}")
