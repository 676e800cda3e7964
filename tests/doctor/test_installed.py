"""npu-doctor, installed beside the patched wheels by pip and by uv: reached by its own name and from a summary."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.environment import Environment
from support.marks import VENV_MOSTLY_BY_UV
from support.patched import Patched, make_patched
from support.venvs import Venv
from support.wheelhouse import DOCTOR, make_own_wheels
from support.wheels import metadata, write_wheel


@pytest.fixture
def shelf(shared: Path, venv: Venv) -> Path:
    """Return the folder the environment's installer looks in: patched wheels, npu-doctor, and what that requires."""
    folder = venv.environment.folder / "index"
    patched = make_patched(shared)
    for wheels in (patched.wheels, patched.doctor):
        shutil.copytree(wheels, folder, dirs_exist_ok=True)
    return folder


def ask(venv: Venv, *arguments: str) -> tuple[int, str]:
    done = venv.python("-m", *arguments)
    assert "Traceback" not in done.err
    return done.code, done.out


@VENV_MOSTLY_BY_UV
@pytest.mark.usefixtures("shelf")
def test_the_extra_brings_it_and_a_summary_hands_over(venv: Venv) -> None:
    venv.install("verl-npu[doctor]")
    code, report = ask(venv, "npu_doctor", "--no-import")
    assert code == 1
    assert "torch_npu: not installed" in report
    assert ask(venv, "verl_npu_summary", "--doctor", "--no-import") == (code, report)
    audited = ask(venv, "npu_doctor", "audit")
    assert audited == (0, "6 modules audited: everything is what its file defines\n")
    assert ask(venv, "transformers_npu_summary", "--audit") == audited
    assert "Ray cannot be imported here" in ask(venv, "npu_doctor", "cluster")[1]
    assert ask(venv, "verl_npu_summary", "--verify", "--ray") == ask(venv, "npu_doctor", "cluster")
    # Neither owns a file of the other's, so either can go.
    assert venv.check().code == 0
    venv.uninstall("npu-doctor")
    assert ask(venv, "verl_npu_summary", "--verify")[0] == 0
    refused = venv.python("-m", "verl_npu_summary", "--doctor")
    assert (refused.code, "-m pip install npu-doctor" in refused.err) == (2, True)


@VENV_MOSTLY_BY_UV
def test_alone_it_tells_of_a_machine_and_that_nothing_is_patched(venv: Venv, shelf: Path) -> None:
    venv.install("npu-doctor")
    assert ask(venv, "npu_doctor", "--no-import")[0] == 1
    code, report = ask(venv, "npu_doctor", "audit")
    assert (code, "error: no patched distribution is installed here" in report) == (2, True)
    assert metadata(next(shelf.glob("verl_npu-*.whl"))).get_all("Provides-Extra") == ["doctor"]


@VENV_MOSTLY_BY_UV
def test_a_bound_at_the_pin_that_pip_accepts_and_code_refuses_is_named(venv: Venv, shelf: Path) -> None:
    gate = b"from importlib.metadata import version\n\nassert version('transformers') <= '4.5.6'\n"
    write_wheel(shelf, "gates", "1.0", {"gates.py": gate}, metadata="Requires-Dist: transformers<=4.5.6\n")
    venv.install("verl-npu[doctor]", "gates")
    assert venv.check().code == 0
    assert "AssertionError" in venv.python("-c", "import gates").err

    rows = json.loads(ask(venv, "npu_doctor", "--no-import", "--json")[1])["rows"]
    found = {row["component"]: (row["level"], row["found"]) for row in rows if row["check"] == "install.bounds"}
    version = next(shelf.glob("transformers_npu-*.whl")).name.split("-")[1]
    assert found == {
        "version of transformers in gates": ("broken", f"{version}, compared with 4.5.6 in {venv.site}/gates.py:3"),
        "transformers for gates": ("matched", version),
    }


def test_its_wheel_is_the_same_every_time_and_asks_for_little(patched: Patched, tmp_path: Path) -> None:
    make_own_wheels(tmp_path / "again", DOCTOR)
    (first,), (second,) = (folder.glob("npu_doctor-*.whl") for folder in (patched.doctor, tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()
    assert metadata(first).get_all("Requires-Dist") == ["packaging>=22"]
    done = Environment(folder=tmp_path).cli("verify-wheel", first, COLUMNS="1000")
    alone = "it has no statement, so only its own RECORD vouches for its files"
    assert done.out == f"{first}: npu-doctor 0.1.0, which examines machines; {alone}\n"
