"""Every example in the help of npu-doctor and of a wheel's summary runs where the wheels are installed."""

from __future__ import annotations

import sys

import pytest

from npu_doctor import arguments as doctor
from npu_summary.cli import usage
from support.examples import examples
from support.patched import InstalledSite

pytestmark = pytest.mark.slow

# Here are no NPU, torch and Ray: the doctor finds that, with exit code 1, and no cluster answers.
_FOUND = {"audit": 0, "cluster": 2}


def code_of(site: InstalledSite, example: str) -> int:
    """Return the exit code of an example, run in a shell; nothing may end in a traceback."""
    program = example.replace("python", sys.executable, 1).partition("|")[0]
    path = str(site.folder)
    done = site.patched.environment.run("sh", "-c", program, cwd=site.folder.parent, PYTHONPATH=path)
    assert "Traceback" not in done.err
    return done.code


def test_the_examples_of_the_summary_run(site: InstalledSite) -> None:
    (site.folder.parent / "train.log").write_text("Traceback (most recent call last):\nValueError: x\n")
    shown = examples(usage("verl_npu_summary"))
    assert {example: code_of(site, example) for example in shown} == dict.fromkeys(shown, 0)


@pytest.mark.thorough
def test_the_examples_of_the_doctor_run(site: InstalledSite) -> None:
    (site.folder.parent / "lab.json").write_text('{"schema": 1}')
    (site.folder.parent / "train.py").write_text("import verl.trainer\n")
    shown = examples(doctor.parse(["--help"]).help, "the three most common tasks")
    for command in doctor.COMMANDS:
        shown += examples(doctor.parse([command, "--help"]).help)
    codes = {example: _FOUND.get(f"{example} ".split(" ")[3], 1) for example in shown}
    assert {example: code_of(site, example) for example in shown} == codes
