"""Intact installations are called intact, however they were made; the command's exit codes and output."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.marks import rarely
from support.patched import InstalledSite, Patched, compile_all, copy_site, zip_site
from support.pythons import ENDS, find_uv, some_python
from support.venvs import Venv

COMPILED: dict[str, Callable[[InstalledSite, str], None]] = {
    "not compiled": lambda _, __: None,
    "by date": lambda site, python: compile_all(site, python=python),
    "unchecked": lambda site, python: compile_all(site, "--invalidation-mode", "unchecked-hash", python=python),
    "checked": lambda site, python: compile_all(site, "--invalidation-mode", "checked-hash", python=python),
    "optimized": lambda site, python: compile_all(site, "-o", "0", "-o", "1", "-o", "2", python=python),
}


@pytest.mark.parametrize("version", ENDS)
def test_target_folder_is_intact_however_it_is_compiled(site: InstalledSite, version: str) -> None:
    python = some_python(version)
    for way, compile_ in COMPILED.items():
        compile_(site, python)
        report = site.verify(python=python)
        assert (report["exit"], report["status"], report["findings"]) == (0, "intact", []), way
        assert [one["name"] for one in report["distributions"]] == ["verl-npu", "transformers-npu"]
        assert all(len(one["manifest"]) == 64 and one["files"] > 30 for one in report["distributions"])


@pytest.mark.parametrize("version", ENDS)
def test_zip_file_is_intact(site: InstalledSite, tmp_path: Path, version: str) -> None:
    zip_site(site, tmp_path / "site.zip")
    report = site.verify(python=some_python(version), PYTHONPATH=str(tmp_path / "site.zip"))
    assert (report["exit"], report["findings"]) == (0, [])


def test_damage_in_a_zip_file_is_found(site: InstalledSite, tmp_path: Path) -> None:
    site.write("verl/trainer.py", b"")
    site.write("transformers/utils.pyc", b"x")
    zip_site(site, tmp_path / "site.zip")
    report = site.verify(PYTHONPATH=str(tmp_path / "site.zip"))
    assert (report["exit"], {one["kind"] for one in report["findings"]}) == (1, {"modified", "imported instead"})
    assert all("make" in command and "again" in command for command in report["repairs"])


def test_read_only_folder_is_intact(site: InstalledSite) -> None:
    compile_all(site)
    for entry in [site.folder, *site.folder.rglob("*")]:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    try:
        assert site.verify(PYTHONDONTWRITEBYTECODE=None)["exit"] == 0
    finally:
        for entry in [site.folder, *site.folder.rglob("*")]:
            entry.chmod(0o755 if entry.is_dir() else 0o644)


def test_relative_path_and_the_folder_itself_are_intact(site: InstalledSite) -> None:
    assert site.verify(PYTHONPATH="site")["exit"] == 0
    assert site.verify(PYTHONPATH=None, cwd=site.folder)["exit"] == 0


def test_links_to_the_same_bytes_are_intact(site: InstalledSite, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(site.folder, store)
    for file in [entry for entry in site.folder.rglob("*") if entry.is_file()]:
        file.unlink()
        file.symlink_to(store / file.relative_to(site.folder))
    assert site.verify()["exit"] == 0


def test_what_uninstalls_and_network_file_systems_leave_is_no_damage(site: InstalledSite) -> None:
    site.path("verl/old/deep/__pycache__").mkdir(parents=True)
    site.write("verl/old/deep/__pycache__/x.cpython-39.pyc", b"")
    site.write("verl/.nfs000000001", b"")
    site.write("verl/__pycache__/gone.cpython-311.pyc", b"")
    # Python itself never looks at these.
    for level in ("9", "²", "9" * 30):
        site.write(f"verl/__pycache__/trainer.{sys.implementation.cache_tag}.opt-{level}.pyc", b"")
    assert site.verify()["exit"] == 0


def test_the_format_of_the_summary_names_that_of_a_verification(site: InstalledSite) -> None:
    done = site.python("-m", "verl_npu_summary", "--verify", "--format", "json")
    assert (done.code, done.json()["status"]) == (0, "intact")


def test_pipe_in_place_of_bytecode_is_not_waited_for(site: InstalledSite) -> None:
    compile_all(site)
    compiled = site.path(f"verl/__pycache__/trainer.{sys.implementation.cache_tag}.pyc")
    compiled.unlink()
    os.mkfifo(compiled)  # nobody will ever write to it
    command = ("timeout", "60", sys.executable, "-m", "verl_npu_summary", "--verify")
    assert site.patched.environment.run(*command, PYTHONPATH=str(site.folder)).code == 0


def test_bytecode_that_python_compiles_again_is_no_damage(site: InstalledSite) -> None:
    path = site.path("transformers/models/model.py")
    other = path.with_name("other.py")
    other.write_bytes(path.read_bytes().replace(b"eps = 1", b"eps = 2"))
    os.utime(other, (1, 1))  # the date that the bytecode says its source has
    py_compile.compile(str(other), cfile=importlib.util.cache_from_source(str(path)), doraise=True)
    other.unlink()
    assert site.verify()["exit"] == 0
    os.utime(path, (1, 1))
    assert {one["kind"] for one in site.verify()["findings"]} == {"stale bytecode"}


@pytest.mark.slow
def test_bytecode_folder_elsewhere_is_looked_into(site: InstalledSite, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "pyc")
    done = site.python(
        "-c", "import transformers.models.model", PYTHONDONTWRITEBYTECODE=None, PYTHONPYCACHEPREFIX=elsewhere
    )
    assert done.code == 0, done.err
    assert site.verify(PYTHONPYCACHEPREFIX=elsewhere)["exit"] == 0
    path = site.path("transformers/models/model.py")
    status = path.stat()
    site.write("transformers/models/model.py", path.read_bytes().replace(b"eps = 1", b"eps = 2"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    kinds = {one["kind"] for one in site.verify(PYTHONPYCACHEPREFIX=elsewhere)["findings"]}
    assert kinds == {"modified", "stale bytecode"}
    assert {one["kind"] for one in site.verify()["findings"]} == {"modified"}


def test_chosen_distribution_alone_is_verified(site: InstalledSite) -> None:
    site.write("verl/trainer.py", b"")
    assert site.verify("--distribution", "transformers")["exit"] == 0
    assert site.verify("--distribution", "verl")["exit"] == 1


def test_text_says_what_json_says(site: InstalledSite) -> None:
    done = site.python("-m", "transformers_npu_summary", "--verify")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split(":")[1].split(",")[1].split("(")[0].strip() for line in lines[::2]] == ["intact"] * 2
    assert all(line.endswith(", from the commit") for line in lines[1::2])
    site.write("verl/trainer.py", b"")
    done = site.python("-m", "transformers_npu_summary", "--verify")
    assert done.code == 1
    assert "NOT INTACT" in done.out
    assert "modified: 1 file differs from what was built\n      verl/trainer.py\n    cause: " in done.out


def test_neither_package_is_imported(site: InstalledSite) -> None:
    for name in ("verl", "transformers"):
        site.write(f"{name}/__init__.py", b"raise SystemExit(99)\n")
    assert site.verify()["exit"] == 1


def test_json_is_told_even_when_nothing_can_be_compared(site: InstalledSite) -> None:
    for package in ("verl_npu", "transformers_npu"):
        site.path(f"{package}_summary/manifest.json").unlink()
        (site.info(package) / "RECORD").unlink()
    report = site.verify()
    assert (report["exit"], report["status"]) == (1, "damaged")
    unknown = [one for one in report["findings"] if one["level"] == "unknown"]
    assert len(unknown) == 2


@pytest.mark.slow
@pytest.mark.parametrize("venv", [*rarely("pip"), "uv"], indirect=True)
def test_environment_is_intact_and_repairs_itself(patched: Patched, venv: Venv) -> None:
    uv = find_uv() or ""
    path = f"{Path(uv).parent}{os.pathsep}{os.environ['PATH']}"
    # It has no pip of its own; the printed commands ask another's.
    inside = Venv(folder=venv.folder, environment=patched.environment, installer=venv.installer)

    def kinds() -> set[str]:
        done = inside.python("-m", "verl_npu_summary", "--verify", "--json")
        assert done.code in {0, 1}, done.err
        return {one["kind"] for one in done.json()["findings"]}

    def repair(*, removals: int = 0) -> None:
        commands = inside.python("-m", "verl_npu_summary", "--verify", "--json").json()["repairs"]
        assert commands
        assert sum(command.startswith("rm -rf ") for command in commands) == removals
        for command in commands:
            patched.environment.succeed("sh", "-c", command, PATH=path)
        assert kinds() == set()

    inside.install("verl-npu")
    assert kinds() == set()
    # An installer takes ours for that version, so only the file itself goes over it.
    inside.install("--no-deps", "transformers==4.5.6")
    assert kinds() == set()
    release = patched.wheels / "transformers-4.5.6-py3-none-any.whl"
    inside.install("--no-deps", release)
    assert kinds() == {"companion replaced", "modified"}
    repair()
    # What upstream's distribution brought goes with it; what lies beside that has to be removed.
    inside.install("--no-deps", release)
    (record,) = venv.folder.glob("lib/python*/site-packages/transformers-*.dist-info/RECORD")
    for name in ("newer.py", "newer/part.py", "hand.py", "mixed/part.py", "mixed/hand.py"):
        added = record.parents[1] / "transformers" / name
        added.parent.mkdir(exist_ok=True)
        added.write_bytes(b"x = 1\n")
        if "hand" not in name:
            record.write_text(f"{record.read_text('utf-8')}transformers/{name},,\n", "utf-8")
    assert kinds() == {"companion replaced", "modified", "added"}
    repair(removals=2)
    inside.install("--no-deps", release)
    inside.uninstall("transformers")
    assert kinds() == {"companion missing", "missing"}
    repair()
    # pip refuses to replace what has no RECORD.
    for name in ("transformers", "verl_npu"):
        (record,) = venv.folder.glob(f"lib/python*/site-packages/{name}-*.dist-info/RECORD")
        record.unlink()
    assert kinds() == {"companion damaged", "metadata damaged"}
    repair(removals=2)


def test_copy_of_a_venv_folder_is_its_own_subject(patched: Patched, tmp_path: Path) -> None:
    first, second = (copy_site(patched, tmp_path / name) for name in ("a", "b"))
    report = first.verify(PYTHONPATH=f"{first.folder}{os.pathsep}{second.folder}")
    assert report["exit"] == 0
    assert {(one["kind"], one["level"]) for one in report["findings"]} == {("second copy", "note")}
