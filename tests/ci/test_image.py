"""docker/: the file is well-formed and fetches nothing, and its steps do in a plain environment what they say."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from support.environment import Done, Environment
from support.patched import Patched
from support.wheelhouse import DOCTOR, make_own_wheels
from support.wheels import pack_installed, write_wheel

from .conftest import ROOT

DOCKERFILE = ROOT / "docker" / "Dockerfile"
SWAP = ROOT / "docker" / "swap.sh"
# One that npu-doctor knows; what its overlays are is not looked at.
STACK = "verl-0.7.1"
DOCTOR_WHEEL = "npu_doctor-1.0-py3-none-any.whl"
PINS = """\
# A stack
# of transformers@0123456:
transformers-npu==4.5.6+npu.1.g0123456
transformers==4.5.6+npu.1.g0123456
# of verl@89abcde:
verl-npu==0.6.1+npu.1.g89abcde
verl==0.6.1+npu.1.g89abcde
# of the index:
torch==2.10.0
"""


def swap(environment: Environment, *arguments: str | Path, **variables: str) -> Done:
    """Run the script."""
    return environment.run("bash", SWAP, *arguments, cwd=None, **variables)


@pytest.fixture
def noting(environment: Environment) -> Path:
    """Return a Python that notes what it is asked for, and fails where a file says so."""
    file = environment.folder / "python"
    log, fails = environment.folder / "log", environment.folder / "fails"
    file.write_text(f'#!/bin/sh\necho "$@" >> {log}\ncase "$*" in *"$(cat {fails})"*) exit 1;; esac\n', "utf-8")
    file.chmod(0o755)
    fails.write_text("nothing of the kind", "utf-8")
    return file


@pytest.fixture
def wheels(environment: Environment) -> Path:
    """Return a folder with the constraints of a stack, and npu-doctor."""
    folder = environment.folder / "wheels"
    folder.mkdir()
    (folder / DOCTOR_WHEEL).touch()
    (folder / f"constraints-{STACK}.txt").write_text(PINS, "utf-8")
    return folder


def asked(environment: Environment) -> list[list[str]]:
    """Return what that Python was asked for, without the options of pip that are always there."""
    lines = (environment.folder / "log").read_text("utf-8").splitlines()
    found = [line.split() for line in lines]
    assert all("--no-index" in words for words in found if "pip" in words)
    told = {"--verify", "npu-doctor", "npu_doctor"}
    return [list(filter(lambda word: "==" in word or word in told, words)) for words in found]


def test_companions_go_first_and_verify_and_doctor_come_last(
    environment: Environment, wheels: Path, noting: Path
) -> None:
    done = swap(environment, wheels, STACK, PYTHON=str(noting))
    assert done.code == 0, done.err
    assert asked(environment) == [
        ["transformers==4.5.6+npu.1.g0123456", "verl==0.6.1+npu.1.g89abcde"],
        ["transformers-npu==4.5.6+npu.1.g0123456", "verl-npu==0.6.1+npu.1.g89abcde"],
        ["npu-doctor"],
        ["--verify"],
        ["npu_doctor"],
    ]


@pytest.mark.parametrize(
    ("fails", "strict", "ends"),
    [
        ("--upgrade transformers==", "", (1, 1)),
        ("--verify", "", (1, 4)),
        ("-m npu_doctor", "", (0, 5)),
        ("-m npu_doctor", "strict", (1, 5)),
    ],
)
def test_ends_where_a_step_fails_but_for_the_doctor(
    noting: Path, wheels: Path, fails: str, strict: str, ends: tuple[int, int]
) -> None:
    environment = Environment(folder=wheels.parent)
    (environment.folder / "fails").write_text(fails, "utf-8")
    done = swap(environment, wheels, STACK, PYTHON=str(noting), DOCTOR=strict)
    assert (done.code, len(asked(environment))) == ends


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "there is no such file"),
        ("# A stack\ntorch==2.10.0\n", "names no wheels of ours"),
        (f"{PINS}# not built beside this file: other@1234567\n", "not all wheels of the stack lie beside it"),
    ],
)
def test_wheels_that_are_not_there_are_said_with_what_builds_them(
    environment: Environment, wheels: Path, noting: Path, text: str | None, what: str
) -> None:
    constraints = wheels / f"constraints-{STACK}.txt"
    constraints.unlink()
    if text is not None:
        constraints.write_text(text, "utf-8")
    done = swap(environment, wheels, STACK, PYTHON=str(noting))
    assert done.code == 2
    assert f"{constraints}: {what}" in done.err
    assert f"fix: npu-overlays build --stack {STACK} --out {wheels}" in done.err
    assert not (environment.folder / "log").exists()


def test_nothing_is_exchanged_without_the_doctor(environment: Environment, wheels: Path, noting: Path) -> None:
    (wheels / DOCTOR_WHEEL).unlink()
    done = swap(environment, wheels, STACK, PYTHON=str(noting))
    assert done.code == 2
    assert "has no wheel of npu-doctor" in done.err
    assert not (environment.folder / "log").exists()


def test_says_how_it_is_used(environment: Environment) -> None:
    done = swap(environment)
    assert done.code == 2
    assert "usage: swap.sh FOLDER STACK" in done.err


@pytest.mark.thorough
def test_in_a_plain_environment_ours_take_the_place_of_upstream_s(environment: Environment, patched: Patched) -> None:
    folder = environment.folder / "wheels"
    shutil.copytree(patched.wheels, folder)
    shutil.copy(folder / "constraints-pair.txt", folder / f"constraints-{STACK}.txt")
    make_own_wheels(folder, DOCTOR)
    pack_installed(folder, "packaging")
    environment.succeed(sys.executable, "-m", "venv", "plain")
    python = environment.folder / "plain" / "bin" / "python"
    install = ("-m", "pip", "install", "--no-index", "--find-links", folder)
    # As verl's images have it: verl from a clone, by a link. Transformers by its file: 4.5.6 asked for by name is ours.
    clone = environment.folder / "clone"
    (clone / "verl").mkdir(parents=True)
    (clone / "verl" / "__init__.py").write_text("FROM = 'a clone'\n", "utf-8")
    link = {"__editable__.verl-0.6.1.pth": f"{clone}\n".encode()}
    upstream = write_wheel(environment.folder, "verl", "0.6.1", link), folder / "transformers-4.5.6-py3-none-any.whl"
    environment.succeed(python, *install, *upstream, "packaging")
    assert environment.succeed(python, "-I", "-c", "import verl; print(verl.FROM)").out == "a clone\n"
    done = swap(environment, folder, STACK, PYTHON=str(python), HTTPS_PROXY="http://127.0.0.1:9")
    assert done.code == 0, done.out + done.err
    assert "CANN" in done.out  # what the doctor has to say of a machine without any
    told = environment.succeed(python, "-I", "-c", "import verl.trainer; print(verl.trainer.fit())")
    assert told.out == "1\n"
    listed = environment.succeed(python, "-m", "pip", "list", "--format", "freeze").out.splitlines()
    assert {f"verl-npu=={patched.version('verl_npu')}", f"verl=={patched.version('verl_npu')}"} <= set(listed)
    again = swap(environment, folder, STACK, PYTHON=str(python))
    assert again.code == 0, again.out + again.err
    (trainer,) = (environment.folder / "plain").glob("lib/python*/site-packages/verl/trainer.py")
    trainer.write_text("changed = 1\n", "utf-8")
    assert environment.run(python, "-I", "-m", "verl_npu_summary", "--verify").code == 1


def lint(file: Path) -> Done:
    """Run the linter of Dockerfiles, and of the shell in them, with nothing of a user's configuration."""
    tool = Path(sys.executable).with_name("hadolint")
    return Environment(folder=file.parent).run(tool, "--no-color", file, cwd=file.parent)


def test_the_image_passes_the_linter_which_can_fail(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_bytes(DOCKERFILE.read_bytes())
    done = lint(file)
    assert done.code == 0, done.out
    file.write_text(f"{file.read_text('utf-8')}RUN sudo true\n", "utf-8")
    assert "DL3004" in lint(file).out


def test_the_image_takes_what_the_script_asks_for_and_fetches_nothing() -> None:
    text = DOCKERFILE.read_text("utf-8")
    mounted = re.findall(r"source=([\w./]+)", text)
    assert "docker/swap.sh" in mounted
    assert {"wheels", "docker/swap.sh"} == set(mounted)
    kept = re.findall(r"(?m)^!(.+)$", DOCKERFILE.with_suffix(".dockerignore").read_text("utf-8"))
    assert set(kept) == set(mounted)
    assert not re.search(r"https?:|apt|curl|wget|git ", re.sub(r"(?m)^#.*", "", text))
