"""The scripts behind `make wheels` and `make train`: what they install, and what they say where that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from npu_doctor.stacks import CPU_INDEX
from npu_overlays.overlay.stacks import stacks_folder
from support.environment import Done
from support.overlays import edit

from .sample import Sample

ROOT = Path(__file__).parents[2]


def try_wheels(sample: Sample, *selection: str) -> Done:
    """Run the script in the sample's folder."""
    options = ("--environment", "trial", "--out", "wheels", "--", "--overlays", str(sample.overlays), *selection)
    return sample.environment.run(sys.executable, ROOT / "build_tools" / "try_wheels.py", *options, cwd=sample.folder)


@pytest.mark.slow
def test_installs_the_wheels_with_their_companions_and_prints_the_summary(sample: Sample) -> None:
    recipes = sample.folder / "wheels" / "npu_recipes-0.1.0-py3-none-any.whl"
    recipes.parent.mkdir()
    recipes.touch()
    done = try_wheels(sample)
    assert done.code == 0, done.err
    assert "$ trial/bin/python -I -m app_npu_summary\n" in done.out
    assert "Patch File1: " in done.out
    assert "more lines: run that command" in done.out
    listed, _, command = done.out.partition("\nThe wheels:\n")[2].partition("\nInstall them with what they require:\n")
    assert command.replace(f" --extra-index-url {CPU_INDEX}", "") == (
        "  pip install -c wheels/constraints-pair.txt --find-links wheels app-npu\n"
    )
    assert (sample.folder / "wheels" / "constraints-pair.txt").is_file()
    assert listed.splitlines() == [
        f"  wheels/lib_npu-{sample.lib_version}-py3-none-any.whl",
        f"  wheels/lib-{sample.lib_version}-py3-none-any.whl",
        f"  wheels/app_npu-{sample.app_version}-py3-none-any.whl",
        f"  wheels/app-{sample.app_version}-py3-none-any.whl",
        f"  wheels/{recipes.name}",
    ]
    installed = [path.name for path in (sample.folder / "trial").glob("lib/python*/site-packages/*.dist-info")]
    assert sorted(name.partition("-")[0] for name in installed) == ["app", "app_npu", "lib", "lib_npu"]


@pytest.mark.slow
def test_installs_anew_only_where_the_wheels_changed(sample: Sample) -> None:
    first = try_wheels(sample)
    second = try_wheels(sample)
    assert "-m pip" in first.out
    assert "-m pip" not in second.out
    assert second.out.endswith(first.out.partition("_summary\n")[2])
    one = try_wheels(sample, sample.lib_name)
    assert "-m pip" in one.out
    assert "app Patch Summary" not in one.out
    archive = replace(sample.environment, extra={"NPU_OVERLAYS_SOURCE": "archive"})
    noted = try_wheels(replace(sample, environment=archive), sample.lib_name)
    assert "it lacks 1 file of the commit" in noted.out.splitlines()[-1]
    assert "Install them" not in noted.out


def test_ends_with_what_the_build_said_where_that_failed(sample: Sample) -> None:
    done = try_wheels(sample, "lib@ffffff0")
    assert done.code == 3
    assert done.err.startswith(f"error: lib@ffffff0: no such overlay in {sample.overlays}")
    assert f"\n    fix: name one of {sample.app_name}, {sample.lib_name}; did you mean `{sample.lib_name}`?" in done.err
    assert not (sample.folder / "trial").exists()


@pytest.mark.slow
def test_two_overlays_of_one_project_are_not_installed_together(sample: Sample) -> None:
    other = sample.overlays / "lib-again"
    shutil.copytree(sample.lib_overlay, other)
    shutil.rmtree(stacks_folder(sample.overlays))
    for name in (sample.lib_overlay, other):
        edit(name / "pyproject.toml", "revision = 1", f"revision = {1 + (name == other)}")
        sample.environment.ok("lock", name)
    done = try_wheels(sample, str(sample.lib_overlay), str(other))
    assert done.code == 2
    assert f"{sample.lib_name} and {sample.lib_name} would both install lib" in done.err
    assert not (sample.folder / "trial").exists()


def test_a_python_that_a_wheel_is_not_for_is_named_before_anything_is_fetched(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "build_tools", tmp_path / "tools", ignore=shutil.ignore_patterns("npu_*", "__pycache__"))
    wheel = tmp_path / "verl-1-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("verl-1.dist-info/METADATA", "Name: verl\nVersion: 1\nRequires-Python: <3.13,>=3.10\n\n")
    program = "import sys, pathlib, try_recipe; print(try_recipe.unfit([pathlib.Path(sys.argv[1])], sys.argv[2]))"
    told = []
    for python in ("3.12.7", "3.13.0"):
        done = subprocess.run(
            [sys.executable, "-c", program, wheel, python],
            cwd=tmp_path / "tools",
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout)
    assert told[0] == "[]\n"
    assert "verl-1-py3-none-any.whl is for Python <3.13,>=3.10, and this is 3.13.0; begin anew" in told[1]


def test_a_wheel_of_ours_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "npu_doctor-0.1.0-py3-none-any.whl").touch()
    program = "import sys, pathlib, try_recipe; print(*try_recipe.found(pathlib.Path(sys.argv[1])), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], cwd=ROOT / "build_tools", capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1] == f"['{tmp_path} has no wheel of npu-recipes; make wheels']"


def torch_wheel(folder: Path, version: str) -> None:
    """Write a wheel of torch with nothing in it."""
    folder.mkdir(exist_ok=True)
    record = f"torch-{version}.dist-info"
    with ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{record}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n\n")
        archive.writestr(f"{record}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n")
        archive.writestr(f"{record}/RECORD", "")


def test_no_index_is_waited_for_long_and_each_is_named(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("import sys\nprint(sys.argv, file=open('asked', 'a'))\nsys.exit(1)\n")
    program = (
        "import sys, pathlib\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import try_recipe\n"
        "try_recipe.install_torch((sys.executable, 'pip.py'), pathlib.Path('wheels'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, ROOT / "build_tools"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [("'--retries', '1', '--timeout', '10'" in line) for line in asked] == [True] * 3
    assert [line.rpartition(" ")[2] for line in done.stdout.splitlines()[:2]] == ["pip", CPU_INDEX]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "pytorchs", "wheels", "installed"),
    [
        (["2.13.0+cpu", "2.13.0"], [], [], "2.13.0+cpu"),
        (["2.13.0"], ["2.13.0+cpu"], [], "2.13.0+cpu"),
        (["2.13.0"], [], ["2.13.0+cpu"], "2.13.0+cpu"),
        (["2.13.0", "2.15.0"], [], [], "2.13.0"),
        (["2.15.0"], [], [], ""),
    ],
)
def test_torch_comes_from_where_it_can_be_had(
    tmp_path: Path, own: list[str], pytorchs: list[str], wheels: list[str], installed: str
) -> None:
    """The build for CPUs of the user's index, PyTorch's own or the folder of the wheels, else the plain one."""
    places = {"own/torch": own, "pytorch/torch": pytorchs, "wheels": wheels}
    for place, versions in places.items():
        (tmp_path / place).mkdir(parents=True)
        for version in versions:
            torch_wheel(tmp_path / place, version)
        names = [file.name for file in (tmp_path / place).iterdir()]
        (tmp_path / place / "index.html").write_text("".join(f'<a href="{name}">{name}</a>' for name in names))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "trial"], check=True)
    program = (
        f"import sys, pathlib, try_recipe; try_recipe.CPU_INDEX = {(tmp_path / 'pytorch').as_uri()!r}\n"
        "pip = (sys.executable, '-m', 'pip', '--python', sys.argv[1], 'install', '--index-url', sys.argv[2])\n"
        "sys.exit(try_recipe.install_torch(pip, pathlib.Path(sys.argv[3])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "trial", (tmp_path / "own").as_uri(), tmp_path / "wheels"],
        cwd=ROOT / "build_tools",
        env={"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [path.name for path in (tmp_path / "trial").glob("lib/python*/site-packages/torch-*.dist-info")]
    assert found == [f"torch-{installed}.dist-info"] * bool(installed)
    assert ("fetching torch==2.13.0, which may be gigabytes" in done.stdout) == (installed in {"2.13.0", ""})
    if not installed:
        assert done.stderr.startswith("torch==2.13.0 cannot be installed: pip says `")
        assert f" into {tmp_path / 'wheels'}/, or name an index that has it: PIP_INDEX_URL=…" in done.stderr
