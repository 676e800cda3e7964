"""Where packages come from: file, commit and digest; strays, placeholders, two owners, copies that come first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from npu_doctor.packages import Packages
from support.venvs import make_venv

from .machine import MINDSPEED, Machine, changes, clone, write

if TYPE_CHECKING:
    from pathlib import Path

    from npu_doctor.model import Origin, Row
    from support.patched import InstalledSite


def origin(machine: Machine, package: str) -> Origin:
    return next(one for one in machine.report().origins if one.package == package)


def rows(machine: Machine, check: str) -> list[Row]:
    return [row for row in machine.report().rows if row.check == f"origin.{check}"]


def test_a_wheel_is_told_with_file_version_and_the_commit_in_its_version(machine: Machine) -> None:
    found = origin(machine, "verl")
    assert (found.distribution, found.version, found.kind) == ("verl-npu", "0.6.1+npu.1.gd62da49", "wheel")
    assert (found.file, found.commit) == (str(machine.site / "verl" / "__init__.py"), "d62da49")


def test_a_patched_wheel_is_told_with_what_it_was_made_of(machine: Machine) -> None:
    assert not origin(machine, "verl").made
    record = changes("verl@d62da49")
    write(machine.site / "verl_npu_summary" / "changes.json", json.dumps(record))
    made = f"verl 0.6.1 at {'d' * 40}, from verl-0.6.1-py3-none-any.whl, which lacks 2 files of the commit"
    assert origin(machine, "verl").made == made
    assert f"      made of {made}\n" in machine.report().to_text()
    write(machine.site / "verl_npu_summary" / "changes.json", "{")
    assert not origin(machine, "verl").made


def test_a_git_install_is_told_with_the_commit_of_its_pep_610_record(machine: Machine) -> None:
    record = {
        "url": "https://x.invalid/vllm",
        "vcs_info": {"vcs": "git", "commit_id": "c" * 40, "requested_revision": "main"},
    }
    machine.install("vllm", "0.10.1", {"vllm/__init__.py": ""}, direct_url=record)
    found = origin(machine, "vllm")
    assert (found.kind, found.commit, found.branch) == ("git", "c" * 40, "main")


def test_an_editable_install_is_told_with_the_commit_of_its_real_clone(machine: Machine, tmp_path: Path) -> None:
    source = tmp_path / "src" / "vllm"
    write(source / "vllm" / "__init__.py", "")
    identity = {f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **identity}
    for command in (["init", "-q", "-b", "work"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=source, check=True, env=env)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, check=True, capture_output=True, text=True)
    record = {"url": source.as_uri(), "dir_info": {"editable": True}}
    machine.install("vllm", "0.10.1", direct_url=record)
    machine.module(
        "__editable___vllm_0_10_1_finder.py", f"MAPPING: dict[str, str] = {{'vllm': {str(source / 'vllm')!r}}}\n"
    )
    found = origin(machine, "vllm")
    assert (found.kind, found.commit, found.branch) == ("editable", done.stdout.strip(), "work")
    assert found.file == str(source / "vllm" / "__init__.py")
    subprocess.run(["git", "pack-refs", "--all"], cwd=source, check=True)
    assert origin(machine, "vllm").commit == done.stdout.strip()
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other"], cwd=source, check=True)
    machine.path.insert(0, str(tmp_path / "tree"))
    found = origin(machine, "vllm")
    assert (found.commit, found.branch) == (done.stdout.strip(), "other")


def test_an_egg_of_setup_py_install_is_found_with_its_commit(machine: Machine) -> None:
    machine.uninstall("vllm-ascend")
    egg = machine.site / "vllm_ascend-0.10.0rc2.dev53+g1de16ead8-py3.10-linux-aarch64.egg"
    write(egg / "EGG-INFO" / "PKG-INFO", "Name: vllm_ascend\nVersion: 0.10.0rc2.dev53+g1de16ead8\n")
    write(egg / "EGG-INFO" / "requires.txt", "numpy<2.0.0\ntorch-npu==2.7.1.dev20250724\n\n[extra]\nvllm\n")
    write(egg / "vllm_ascend" / "__init__.py", "")
    machine.path.append(str(egg))
    found = origin(machine, "vllm_ascend")
    assert (found.kind, found.version, found.commit) == ("egg", "0.10.0rc2.dev53+g1de16ead8", "1de16ead8")
    assert [row.level for row in machine.rows(3)] == ["compatible"]


def test_digests_differ_exactly_where_the_python_files_do(machine: Machine) -> None:
    before = origin(machine, "verl").sha256
    machine.module("verl/__pycache__/x.pyc", "compiled")
    assert origin(machine, "verl").sha256 == before
    machine.module("verl/utils/vllm/patch.py", "changed\n")
    assert origin(machine, "verl").sha256 != before
    assert len(before) == 64


def test_a_branch_of_mindspeed_finds_its_row_in_the_table(machine: Machine) -> None:
    clone(machine.clones / "MindSpeed", MINDSPEED, "26.0.0_core_r0.12.1")
    found = {row.component: row.level for row in machine.report().rows if "mindspeed" in row.component}
    assert found["cann with mindspeed 26.0.0_core_r0.12.1"] == "broken"
    assert found["megatron_core with mindspeed 26.0.0_core_r0.12.1"] == "matched"


def test_tests_and_scripts_of_the_index_wheel_are_strays(machine: Machine) -> None:
    machine.install("verl", "0.6.1", {"tests/__init__.py": "", "scripts/x.py": "", "verl/__init__.py": ""})
    assert [(row.component, row.level, row.found) for row in rows(machine, "stray")] == [
        ("top-level tests", "compatible", "installed by verl"),
        ("top-level scripts", "compatible", "installed by verl"),
    ]
    machine.install_verl("0.6.1")
    assert rows(machine, "stray") == []


def test_a_placeholder_distribution_is_broken(machine: Machine) -> None:
    machine.path = [entry for entry in machine.path if "MindSpeed" not in entry]
    machine.install("mindspeed", "0.0.1", {"mindspeed/__init__.py": ""})
    assert [(row.level, row.found) for row in rows(machine, "placeholders")] == [
        ("broken", "0.0.1, without mindspeed.megatron_adaptor")
    ]


def test_two_owners_of_one_file_are_broken_where_their_content_differs(machine: Machine) -> None:
    assert rows(machine, "owners") == []
    machine.install("opencv-python", "4.11.0.86", {"cv2/__init__.py": "# with a window\n"})
    found = rows(machine, "owners")
    assert [(row.component, row.level) for row in found] == [("opencv-python and opencv-python-headless", "broken")]
    assert found[0].fix == "pip uninstall -y opencv-python opencv-python-headless, then install the one that is wanted"


def test_two_owners_of_one_equal_file_are_no_matter(machine: Machine) -> None:
    machine.install("opencv-python", "4.11.0.86", {"cv2/__init__.py": ""})
    assert rows(machine, "owners") == []


def test_two_versions_of_one_distribution_on_the_path_are_broken(machine: Machine, tmp_path: Path) -> None:
    write(tmp_path / "user" / "numpy-2.0.0.dist-info" / "METADATA", "Name: numpy\nVersion: 2.0.0\n")
    machine.path.append(str(tmp_path / "user"))
    assert [(row.component, row.level) for row in rows(machine, "duplicates")] == [("numpy", "broken")]


@pytest.mark.parametrize("is_clone", [False, True])
def test_a_copy_that_comes_before_the_installed_one_is_broken(machine: Machine, tmp_path: Path, is_clone: bool) -> None:
    assert rows(machine, "outside") == []
    copy = write(tmp_path / "work" / "transformers" / "__init__.py", "")
    if is_clone:
        clone(tmp_path / "work", "c" * 40)
    machine.path.insert(0, str(tmp_path / "work"))
    assert [(row.component, row.level, row.found) for row in rows(machine, "outside")] == [
        ("transformers", "broken", str(copy))
    ]
    found = origin(machine, "transformers")
    assert (found.kind, found.distribution, found.commit) == ("path", "", "c" * 40 if is_clone else "")


@pytest.mark.slow
def test_the_copy_of_the_current_folder_is_named_though_the_check_is_kept_from_it(
    site: InstalledSite, tmp_path: Path
) -> None:
    made = make_venv(tmp_path / "venv", site.patched.environment)
    (made.site / "site.pth").write_text(f"{site.folder}\n")
    copy = write(tmp_path / "clone/verl/__init__.py", "")

    def ask(*arguments: str, cwd: Path) -> tuple[int, dict[str, Any]]:
        command = ("-I", "-m", "npu_doctor", *arguments, "--json")
        done = site.patched.environment.run(made.executable, *command, cwd=cwd)
        return done.code, json.loads(done.out)

    for cwd, file in ((tmp_path, site.path("verl/__init__.py")), (tmp_path / "clone", copy)):
        _, found = ask("--no-import", cwd=cwd)
        assert [one["file"] for one in found["packages"] if one["package"] == "verl"] == [str(file)]
        outside = [one["found"] for one in found["rows"] if one["check"] == "origin.outside"]
        assert outside == ([str(copy)] if file == copy else [])
        # An audit of the installed copy says nothing of a run that imports another.
        code, found = ask("audit", cwd=cwd)
        said = f"`import verl` gives {copy.parent}, not {site.path('verl')}, in a Python started here: "
        assert (code, [one.startswith(said) for one in found["problems"]]) == ((2, [True]) if file == copy else (0, []))


def test_a_companion_whose_patched_package_is_gone_is_broken(machine: Machine) -> None:
    version = "0.6.1+npu.1.gd62da49"
    machine.install("verl", version, {"verl.py": "raise ImportError\n"})
    assert rows(machine, "lost") == []
    shutil.rmtree(machine.site / "verl")
    (found,) = rows(machine, "lost")
    assert (found.component, found.level, found.expected) == ("verl", "broken", f"the files of verl-npu {version}")
    assert found.found.startswith(str(machine.site / "verl.py"))
    assert found.fix == f"pip install --force-reinstall --no-deps verl=={version} verl-npu=={version}"


@pytest.mark.parametrize(
    "name",
    ["vllm", "vllm.lora", "vllm.lora.models", "transformers.integrations", "google.protobuf", "megatron.training"],
)
def test_modules_are_located_where_python_would_import_them(machine: Machine, name: str) -> None:
    from importlib.machinery import PathFinder  # noqa: PLC0415  # the judge, for this test only

    path: list[str] | None = list(machine.path)
    spec = None
    parts = name.split(".")
    for number in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: number + 1]), path)
        assert spec is not None
        path = list(spec.submodule_search_locations or ())
    located = Packages(machine.path).locate(name)
    assert located is not None
    assert located.file == (spec.origin if spec else None)


def test_a_regular_package_wins_over_an_earlier_namespace_as_in_python(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "first" / "vllm").mkdir(parents=True)
    machine.path.insert(0, str(tmp_path / "first"))
    assert origin(machine, "vllm").file == str(machine.site / "vllm" / "__init__.py")


def test_the_copy_that_is_imported_first_stands_first_where_its_folder_is_on_the_path_twice(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "core.py").touch()
    (tmp_path / "again").symlink_to(tmp_path / "first")
    path = [str(tmp_path / name) for name in ("first", "second", "again")]

    found = [copy.file for copy in Packages(path).copies("core")]

    assert found == [f"{tmp_path}/first/core.py", f"{tmp_path}/second/core.py"]
