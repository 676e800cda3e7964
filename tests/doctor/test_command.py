"""The command as users run it: laid down beside the summary package, under every supported Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import packaging
import pytest

import npu_doctor
import npu_summary
from environments.once import once
from npu_doctor.knowledge import FOLDER
from support.pythons import ENDS, some_python

from .machine import SMI, Machine

PROGRAM = """
import sys
from npu_doctor.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(params=ENDS)
def python(request: pytest.FixtureRequest) -> str:
    return some_python(request.param)


@pytest.fixture(scope="session")
def site(shared: Path) -> Path:
    """Return a folder for the path with npu-doctor, compiled for the Python of the tests; it is not to be changed."""
    return once(shared, "laid-down-doctor", lay_down)


def lay_down(site: Path) -> None:
    """Lay down what npu-doctor's wheel holds, and what that requires."""
    for package in (npu_doctor, npu_summary, packaging):
        source = Path(package.__path__[0])
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    shutil.copytree(FOLDER, site / "npu_doctor" / "data", dirs_exist_ok=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(site)], check=True)


def run(python: str, site: Path, folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the doctor from a site folder, in another one, with nothing of the project on the path."""
    return subprocess.run(
        [python, "-B", "-I", "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{PROGRAM}", *arguments],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", **env},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_machine_without_anything_is_told_what_the_stack_needs(site: Path, python: str, tmp_path: Path) -> None:
    done = run(python, site, tmp_path, "--stack", "vllm-0.11", "--no-import")
    assert (done.returncode, done.stderr) == (1, "")
    assert "BROKEN      cann: not found (expected: 8.3.RC1)" in done.stdout
    assert "exit 1" in done.stdout


def test_what_it_requires_and_is_not_there_is_named(site: Path, python: str, tmp_path: Path) -> None:
    for package in ("npu_doctor", "npu_summary"):
        shutil.copytree(site / package, tmp_path / "site" / package)
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n{PROGRAM}"
    done = subprocess.run(
        [python, "-I", "-S", "-c", program, "--no-import"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("npu_doctor: error: packaging, which npu-doctor requires, is not installed; ")
    assert done.stderr.endswith("-m pip install 'packaging>=22'\n")


def test_json_is_json_in_any_locale(site: Path, python: str, tmp_path: Path) -> None:
    done = run(python, site, tmp_path, "--json", "--deterministic", "--no-import", HCCL_CONNECT_TIMEOUT="größe")
    value = json.loads(done.stdout)
    assert value["exit_code"] == done.returncode == 1
    assert {"schema", "stack", "nearest", "counts", "rows", "packages", "facts"} <= set(value)
    assert {"component", "level", "found", "expected", "why", "fix", "see", "symptom", "check"} == set(value["rows"][0])


def test_torch_is_never_imported_by_the_doctor_itself(site: Path, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    for name in ("torch", "torch_npu", "verl", "vllm", "transformers", "acl"):
        (poison / name).mkdir(parents=True)
        (poison / name / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write('{name} ')\n")
    program = f"sys.path.append({str(poison)!r})\n"
    command = f"import sys\nsys.path.insert(0, {str(site)!r})\n{program}{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-B", "-I", "-c", command, "--no-import"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert "Imported from:" in done.stdout
    assert str(poison / "torch" / "__init__.py") in done.stdout
    assert not (tmp_path / "imported").exists()


def test_an_unknown_stack_is_wrong_usage(site: Path, tmp_path: Path) -> None:
    done = run(sys.executable, site, tmp_path, "--stack", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no stack `x`; there are: verl-0.9.1, mindspeed-rl-2.3" in done.stderr


def test_a_data_file_that_is_not_there_is_named(site: Path, tmp_path: Path) -> None:
    done = run(sys.executable, site, tmp_path, "--data", "gone.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone.json: cannot be read: No such file or directory; name a JSON file that is there" in done.stderr


def test_help_lists_the_stacks_and_the_exit_codes(site: Path, tmp_path: Path) -> None:
    done = run(sys.executable, site, tmp_path, "--help")
    assert done.returncode == 0
    assert "vllm-0.11" in done.stdout
    assert "exit codes" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--verify", "--audit"], "give --verify or --audit, not both"),
        (["--doctor", "--audit"], "give --doctor or --audit, not both"),
        (["--verify", "--ray", "--audit"], "give --audit or --ray, not both"),
        (["--verify", "--doctor"], "run --verify and --doctor one after the other; together they go with --ray"),
        (["--audit", "--stack", "x"], "unrecognized arguments: --stack"),
        (["--audit", "--no-import"], "unrecognized arguments: --no-import"),
        (["--doctor", "--distribution", "verl"], "unrecognized arguments: --distribution verl"),
        (["--verify", "--ray", "--doctor", "--data", "x.json"], "unrecognized arguments: --data x.json"),
        (["--doctor", "--script", "x.py"], "unrecognized arguments: --script x.py"),
        (["--doct"], "unrecognized arguments: --doct"),
        (["--determ"], "did you mean --deterministic? unrecognized arguments: --determ"),
        (["audit", "--why"], "unrecognized arguments: --why"),
        (["--audit", "--", "--steps", "1"], "unrecognized arguments: --steps 1"),
        (["--verify", "--ray", "--timeout", "0"], "invalid seconds value: '0'"),
        (["adit"], "did you mean audit? there is no command 'adit'"),
        (["nurse"], "python -m npu_doctor: error: there is no command 'nurse'; the commands: doctor, audit, cluster"),
    ],
)
def test_wrong_usage_is_refused_with_2(site: Path, tmp_path: Path, args: list[str], message: str) -> None:
    done = run(sys.executable, site, tmp_path, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.startswith("usage: python -m npu_doctor")


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("doctor", ("--stack NAME", "--deterministic", "--data FILE", "--no-import", "--json")),
        ("audit", ("--import MODULE", "--script FILE", "--distribution NAME", "--json")),
        ("cluster", ("--ray [ADDRESS]", "--timeout SECONDS", "--doctor", "--stack NAME", "--json")),
    ],
)
def test_help_of_each_command_teaches_its_options(
    site: Path, tmp_path: Path, command: str, flags: tuple[str, ...]
) -> None:
    done = run(sys.executable, site, tmp_path, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for taught in (*flags, "examples:", "exit codes:"):
        assert taught in done.stdout


def test_a_closed_reader_is_no_error(site: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-B",
        "-I",
        "-c",
        f"import sys; sys.path.insert(0, {str(site)!r})\n{PROGRAM}",
        "--no-import",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_npu_smi_that_never_answers_is_unknown(machine: Machine) -> None:
    machine.patience = 0.3
    script = machine.bin / "npu-smi"
    script.write_text("#!/bin/sh\n/bin/sleep 30 & wait\n")
    found = [row for row in machine.report().rows if row.component == "npu-smi info"]
    assert [(row.level, row.found) for row in found] == [("unknown", "npu-smi: no answer within 0.3 s")]


def test_a_machine_without_npu_smi_is_unknown(machine: Machine) -> None:
    (machine.bin / "npu-smi").unlink()
    found = [row for row in machine.report().rows if row.component == "npu-smi info"]
    assert [(row.level, row.found) for row in found] == [("unknown", "npu-smi is not on PATH")]
    assert machine.report().exit_code == 2


def test_an_a3_with_two_chips_for_each_npu_is_read(machine: Machine) -> None:
    a3 = SMI.replace("910B3     ", "Ascend910 ").replace(
        "| 0                         | 0000:19", "| 1     1                   | 0000:19"
    )
    machine.command("npu-smi", a3)
    report = machine.report()
    assert report.facts["chips"] == "Ascend910, Ascend910"


def test_the_facts_of_a_machine_can_be_compared(machine: Machine) -> None:
    facts = machine.report().facts
    assert facts["cann"] == "8.3.RC1"
    assert facts["cann_runtime"] == "8.0.0.1.235:8.3.RC1"
    assert facts["hdk"] == "25.3.rc1"
    assert facts["machine"] == "aarch64"


@pytest.mark.parametrize("entry", ["", ".", "here", "./here"])
def test_a_command_of_the_current_folder_is_never_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    (machine.bin / "npu-smi").unlink()
    monkeypatch.chdir(machine.root)
    for folder in (machine.root, machine.root / "here"):
        folder.mkdir(exist_ok=True)
        (folder / "npu-smi").write_text("#!/bin/sh\n/bin/touch ran\n")
        (folder / "npu-smi").chmod(0o755)
    machine.env["PATH"] = f"{machine.env['PATH']}:{entry}"
    (found,) = [row for row in machine.report().rows if row.component == "npu-smi info"]
    assert found.found == "npu-smi is not on PATH"
    assert not (machine.root / "ran").exists()
