"""What the site shows of wheels, and what is refused before Sphinx runs."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from npu_doctor.knowledge import load
from npu_doctor.stacks import constraints_name
from npu_overlays.errors import OutputError
from npu_overlays.publish.site_data import PLACEHOLDER, commands, read_patched_wheels, site_data
from npu_overlays.wheels.constraints import constraints_text
from support.environment import Environment

from .conftest import ROOT
from .shelves import STACK, VERSIONS


def test_a_stack_is_offered_where_its_constraints_and_all_of_its_wheels_are_there(wheels: Path, tmp_path: Path) -> None:
    found = read_patched_wheels([wheels])
    assert [wheel.name for wheel in found] == ["attrs-npu", "transformers-npu", "verl-npu"]
    data = site_data(found, [wheels], load(), "")
    (offered,) = data["stacks"]
    assert offered["name"] == STACK
    assert [wheel["version"] for wheel in offered["wheels"]] == [VERSIONS["transformers"], VERSIONS["verl"]]
    assert [wheel["name"] for wheel in data["others"]] == ["attrs-npu"]
    consistent = {stack.name for stack in load().stacks if not stack.record}
    assert {stack["name"] for stack in data["missing"]} == consistent - {STACK}
    (sglang,) = (stack for stack in data["missing"] if stack["name"] == "sglang-0.5.2")
    assert [overlay.partition("@")[0] for overlay in sglang["overlays"]] == ["transformers", "verl"]
    assert {"CANN 8.3.RC1", "sglang 0.5.2"} <= set(sglang["parts"])
    part = tmp_path / "part"
    part.mkdir()
    for file in (*wheels.glob("verl*"), *wheels.glob("constraints*")):
        shutil.copy(file, part)
    lone = site_data(read_patched_wheels([part]), [part], load(), "")
    assert (lone["stacks"], len(lone["missing"])) == ([], len(consistent))


@pytest.mark.parametrize("index", ["", "https://pypi.example.org/npu/"])
def test_commands_are_those_of_the_page_of_trainers(wheels: Path, index: str) -> None:
    data = site_data(read_patched_wheels([wheels]), [wheels], load(), index)
    address = index or PLACEHOLDER
    assert data["placeholder"] == ("" if index else PLACEHOLDER)
    given = f"-c {address}constraints-{STACK}.txt"
    (stack,), (other,) = data["stacks"], data["others"]
    assert stack["pip"] == f"pip install {given} --extra-index-url {address} 'verl-npu[npu,doctor]'"
    assert stack["uv"] == f"uv pip install {given} --index {address} 'verl-npu[npu,doctor]'"
    assert other["pip"] == f"pip install --extra-index-url {address} attrs-npu==25.1.0+npu.1.g0123456"
    page = (ROOT / "docs" / "train.md").read_text("utf-8")
    shown = commands("verl-npu", PLACEHOLDER, f"constraints-{STACK}.txt")
    assert all(command in page for command in shown.values())
    assert all(shlex.split(command)[-1] == "verl-npu" for command in shown.values())


def test_a_stack_whose_wheel_has_the_extra_of_another_is_given_by_its_components(wheels: Path, tmp_path: Path) -> None:
    stack = load().stack("sglang-0.5.2")
    ours = {}
    for overlay in stack.overlays:
        name = overlay.partition("@")[0]
        ours[overlay] = [f"{name}-npu=={VERSIONS[name]}"]
    (tmp_path / constraints_name(stack.name)).write_text(constraints_text(stack, load(), ours), "utf-8")
    (offered,) = site_data(read_patched_wheels([wheels]), [tmp_path], load(), "")["stacks"]
    assert offered["pip"].partition(f"{PLACEHOLDER} ")[2].startswith("verl-npu torch torch-npu numpy ")
    assert offered["uv"].endswith(offered["pip"].partition(f"{PLACEHOLDER} ")[2])


def test_all_wheels_that_cannot_be_read_are_named(wheels: Path, tmp_path: Path) -> None:
    for name in ("a-1-py3-none-any.whl", "b-1-py3-none-any.whl"):
        (tmp_path / name).write_bytes(b"no wheel")
    with pytest.raises(OutputError) as refused:
        read_patched_wheels([wheels, tmp_path])
    assert len(refused.value.problems) == 2


def test_a_folder_that_is_no_site_is_left_alone(environment: Environment) -> None:
    out = environment.folder / "precious"
    out.mkdir()
    (out / "thesis.txt").touch()
    done = environment.cli("site", "--documents", ROOT / "docs", "--out", out)
    assert (done.code, [file.name for file in out.iterdir()]) == (6, ["thesis.txt"])
    assert "is no site" in done.err
    assert "fix: name another folder with --out" in done.err


def test_inputs_of_another_kind_are_refused(environment: Environment) -> None:
    (environment.folder / "a.html").write_text("{}")
    done = environment.cli("site", "--documents", ROOT / "docs", "--drift", "a.html", "--drift", "b.html")
    assert done.code == 6
    assert "a.html: is no report" in done.err
    assert "b.html: cannot be read" in done.err
    assert "file:///x" in environment.cli("site", "--index-url", "file:///x").err
    done = environment.cli("site", "--documents", environment.folder)
    assert (done.code, "has no conf.py" in done.err) == (3, True)
    assert not (environment.folder / "site").exists()
