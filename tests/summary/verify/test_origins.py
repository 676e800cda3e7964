"""Copies that Python would import instead of what was verified."""

from __future__ import annotations

import json
import os
import shutil
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from support.environment import Done
from support.patched import InstalledSite, copy_site
from support.venvs import Venv, make_venv

SAFE_PATH = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has -P from 3.11 on")
# Not of an environment of its own: the user's folder is no part of that.
PYTHON = str(Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}"))
FINDER = """\
import importlib.machinery, sys

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "verl":
            return importlib.machinery.PathFinder.find_spec(name, [{clone!r}])

def install():
    sys.meta_path.insert(0, Finder)
"""
EASY_INSTALL = """\
import sys; sys.__plen = len(sys.path)
{clone}
import sys; new = sys.path[sys.__plen:]; del sys.path[sys.__plen:]; sys.path[0:0] = new
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a checkout of upstream's verl."""
    folder = tmp_path / "clone"
    (folder / "verl").mkdir(parents=True)
    (folder / "verl/__init__.py").write_text("")
    return folder


def shadowed(report: dict[str, object]) -> str:
    """Return cause and text of the one finding there must be."""
    findings = report["findings"]
    assert isinstance(findings, list)
    assert [one["kind"] for one in findings] == ["shadowed"], findings
    assert report["exit"] == 1
    return f"{findings[0]['what']} | {findings[0]['cause']}"


def test_folder_one_stands_in(site: InstalledSite, clone: Path) -> None:
    said = shadowed(site.verify(cwd=clone))
    assert f"`import verl` gives {clone / 'verl'}, not {site.path('verl')}" in said
    assert "the current folder holds a copy" in said
    assert f"cd out of {clone}" in said


def test_pythonpath(site: InstalledSite, clone: Path) -> None:
    said = shadowed(site.verify(PYTHONPATH=f"{clone}{os.pathsep}{site.folder}"))
    assert f"take {clone} out of PYTHONPATH" in said


def test_copy_further_down_the_path_is_no_damage(site: InstalledSite, clone: Path) -> None:
    assert site.verify(PYTHONPATH=f"{site.folder}{os.pathsep}{clone}")["exit"] == 0


def test_plain_module_in_the_way(site: InstalledSite, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "verl.py").write_text("")
    assert f"gives {folder / 'verl.py'}" in shadowed(site.verify(cwd=folder))


def test_regular_package_beats_the_shipped_namespace_folder(site: InstalledSite, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "recipe").mkdir(parents=True)
    (other / "recipe/__init__.py").write_text("")
    # Wherever on the path it lies, a package with __init__.py wins over a folder without.
    said = shadowed(site.verify(PYTHONPATH=f"{site.folder}{os.pathsep}{other}"))
    assert f"`import recipe` gives {other / 'recipe'}" in said


def test_failing_finder_leaves_it_untold(site: InstalledSite, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    code = "import sys\nclass F:\n  @staticmethod\n  def find_spec(n, p=None, t=None):\n"
    code += "    if n == 'verl': raise RuntimeError('broken')\n"
    (tmp_path / "hooks/sitecustomize.py").write_text(f"{code}sys.meta_path.insert(0, F)\n")
    report = site.verify(PYTHONPATH=f"{tmp_path / 'hooks'}{os.pathsep}{site.folder}")
    assert (report["exit"], report["findings"][0]["level"]) == (2, "unknown")
    assert "broken" in report["findings"][0]["what"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a virtual environment without pip."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder


@pytest.mark.parametrize("way", ["finder", "easy-install", "inserted", "computed"])
def test_editable_installs_that_come_first(site: InstalledSite, clone: Path, environment: Path, way: str) -> None:
    packages = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for old in packages.iterdir():
        old.unlink()
    if way == "finder":
        (packages / "__editable___verl_finder.py").write_text(FINDER.format(clone=str(clone)))
        (packages / "__editable__.verl-0.6.pth").write_text("import __editable___verl_finder as f; f.install()")
    elif way == "easy-install":
        (packages / "easy-install.pth").write_text(EASY_INSTALL.format(clone=clone))
    elif way == "inserted":
        (packages / "mine.pth").write_text(f"import sys; sys.path.insert(0, '{clone}')\n")
    else:
        line = "import os, sys; sys.path.insert(0, os.sep.join((os.environ['ABOVE'], 'enolc'[::-1])))\n"
        (packages / "mine.pth").write_text(line)
    (packages / "site.pth").write_text(f"{site.folder}\n")
    said = shadowed(site.verify(python=str(environment / "bin/python"), PYTHONPATH=None, ABOVE=str(clone.parent)))
    assert ("an editable install" in said) == (way == "finder")
    assert ("easy-install.pth adds the folder" in said) == (way == "easy-install")
    assert (f"remove that line from {packages / 'mine.pth'}" in said) == (way == "inserted")
    assert (f"{packages / 'mine.pth'} changes sys.path by code" in said) == (way == "computed")


def test_metadata_elsewhere_is_named(site: InstalledSite, tmp_path: Path) -> None:
    other = copy_site(site.patched, tmp_path / "other")
    shutil.rmtree(site.info("verl_npu"))
    report = site.verify(PYTHONPATH=f"{site.folder}{os.pathsep}{other.folder}")
    found = [one for one in report["findings"] if one["kind"] == "unregistered"]
    assert [f"the metadata lies in {other.folder}" in one["cause"] for one in found] == [True]


@pytest.fixture
def installed(site: InstalledSite, tmp_path: Path) -> Venv:
    """Return an environment in which the wheels are installed, and what a user installed for himself comes first."""
    made = make_venv(tmp_path / "venv", site.patched.environment)
    (made.site / "site.pth").write_text(f"{site.folder}\n")
    settings = made.folder / "pyvenv.cfg"
    settings.write_text(settings.read_text().replace("site-packages = false", "site-packages = true"))
    return made


def shadows(installed: Venv, *flags: str, cwd: Path, **more: str) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit code of a check, and level and place of each copy that it finds in the way."""
    command = (*flags, "-m", "verl_npu_summary", "--verify", "--json")
    done = installed.environment.run(installed.executable, *command, cwd=cwd, **more)
    assert done.err == ""
    found = [one for one in json.loads(done.out)["findings"] if one["kind"] == "shadowed"]
    return done.code, [(one["level"], *one["paths"]) for one in found]


@pytest.mark.parametrize("flags", ["", "-I", "-E", "-s", pytest.param("-P", marks=SAFE_PATH)])
def test_a_clone_is_found_however_the_check_that_is_started_in_it_is_isolated(
    installed: Venv, clone: Path, flags: str
) -> None:
    if flags in {"-I", "-P"}:  # else they run in place of the check's own imports
        for name in ("json", "importlib", "os", "marshal", "encodings", "__future__"):
            (clone / f"{name}.py").write_text("raise SystemExit('mine')\n")
    assert shadows(installed, *flags.split(), cwd=clone) == (1, [("damage", str(clone / "verl"))])


# By where a copy lies: the current folder, variables with `{}` for the folder of the test, and the copy that a run
# started there imports, which Python itself is asked for as well.
RUNS: dict[str, tuple[str, dict[str, str], str]] = {
    "the current folder": ("clone", {}, "clone/verl"),
    "a folder that PYTHONPATH names by a relative path": (".", {"PYTHONPATH": "clone"}, "clone/verl"),
    "an empty entry of PYTHONPATH": ("clone", {"PYTHONPATH": ":/nowhere", "PYTHONSAFEPATH": "1"}, "clone/verl"),
    "a zip file": (".", {"PYTHONPATH": "{}/shadow.zip"}, "shadow.zip/verl"),
    "a finder of sitecustomize": (".", {"PYTHONPATH": "{}/hooks"}, "clone/verl"),
    "what sitecustomize has imported": (".", {"PYTHONPATH": "{}/imports"}, "clone/verl"),
    "the user's site, which comes behind that of an environment": (".", {"PYTHONUSERBASE": "{}/base"}, ""),
    "the folder above a clone": ("above", {}, ""),
    "a script's folder of a clone": ("clone/verl/trainer", {}, ""),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_check_names_the_copy_that_a_run_imports(installed: Venv, clone: Path, tmp_path: Path, name: str) -> None:
    where, variables, copy = RUNS[name]
    (clone / "verl/trainer").mkdir()
    for target in ("above/verl/verl", f"base/lib/{installed.site.parent.name}/site-packages/verl"):
        shutil.copytree(clone / "verl", tmp_path / target)
    with zipfile.ZipFile(tmp_path / "shadow.zip", "w") as archive:
        archive.writestr("verl/__init__.py", "")
    (tmp_path / "hooks").mkdir()
    hook = f"import sys\nprint('hello')\n{FINDER.format(clone=str(clone))}\ninstall()\n"
    (tmp_path / "hooks/sitecustomize.py").write_text(hook)
    (tmp_path / "imports").mkdir()
    early = f"import sys\nsys.path.insert(0, {str(clone)!r})\nimport verl\ndel sys.path[0]\n"
    (tmp_path / "imports/sitecustomize.py").write_text(early)
    given = {key: value.replace("{}", str(tmp_path)) for key, value in variables.items()}

    run = installed.environment.run(
        installed.executable, "-c", "import verl; print(verl.__path__[0])", cwd=tmp_path / where, **given
    )
    expected = [("damage", str(tmp_path / copy))] if copy else []
    assert run.out.splitlines()[-1] == str(tmp_path / (copy or "site/verl"))
    assert shadows(installed, "-I", cwd=tmp_path / where, **given) == (len(expected), expected)


@SAFE_PATH
def test_what_rays_workers_alone_import_from_the_current_folder_is_noted(installed: Venv, clone: Path) -> None:
    """Ray puts the folder of a job first on its workers' path, whatever kept the job's own process from it."""
    assert shadows(installed, "-I", cwd=clone, PYTHONSAFEPATH="1") == (0, [("note", str(clone / "verl"))])


@pytest.mark.parametrize(("file", "code"), [("mine.py", 0), ("dapo.py", 1)])
def test_a_folder_of_a_namespace_package_is_in_the_way_where_it_has_a_name_of_ours(
    installed: Venv, tmp_path: Path, file: str, code: int
) -> None:
    (tmp_path / "work/recipe").mkdir(parents=True)
    (tmp_path / "work/recipe" / file).write_text("")
    expected = [("damage", str(tmp_path / "work/recipe"))] * code
    assert shadows(installed, "-I", cwd=tmp_path / "work") == (code, expected)


def test_a_python_that_cannot_be_started_leaves_it_untold(installed: Venv, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('no')\n")
    done = installed.environment.run(
        installed.executable, "-I", "-m", "verl_npu_summary", "--verify", PYTHONPATH=str(tmp_path)
    )
    assert done.code == 2
    said = "shadowed: cannot tell where `import recipe, verl, verl_npu_summary` leads: "
    assert f"{said}a Python started here fails: SystemExit: no\n" in done.out


def test_an_isolated_check_still_finds_what_comes_first_on_pythonpath(site: InstalledSite, tmp_path: Path) -> None:
    venv = make_venv(tmp_path / "venv", site.patched.environment)
    (venv.site / "site.pth").write_text(f"{site.folder}\n")
    shadow = tmp_path / "shadow"
    (shadow / "verl").mkdir(parents=True)
    (shadow / "verl" / "__init__.py").write_text("")
    # A module of the standard library there, or in the current folder, is not what runs the check.
    for folder in (shadow, tmp_path):
        (folder / "json.py").write_text("raise SystemExit('mine')\n")

    def verify(**more: str) -> Done:
        command = (venv.executable, "-I", "-m", "verl_npu_summary", "--verify")
        return site.patched.environment.run(*command, cwd=tmp_path, **more)

    alone = verify()
    assert (alone.code, alone.err) == (0, ""), alone.out
    shadowed = verify(PYTHONPATH=str(shadow))
    assert (shadowed.code, shadowed.err) == (1, "")
    assert str(shadow) in shadowed.out


@pytest.mark.parametrize("where", ["a second folder", "the user's", "the user's, switched off"])
def test_startup_hooks_of_other_folders_are_found(site: InstalledSite, tmp_path: Path, where: str) -> None:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    other = tmp_path / "base" / "lib" / version / "site-packages"
    other.mkdir(parents=True)
    (other / "patch.pth").write_text("import verl.workers; x()\n")
    more = {"a second folder": {"PYTHONPATH": f"{site.folder}{os.pathsep}{other}"}}
    users = {"PYTHONUSERBASE": str(tmp_path / "base"), "PYTHONNOUSERSITE": "1" if where.endswith("off") else None}
    run = "runpy.run_module('verl_npu_summary', run_name='__main__')"
    command = f"import runpy, sys; sys.path.append({str(site.folder)!r}); {run}"
    done = site.python("-I", "-c", command, "--verify", "--json", python=PYTHON, **more.get(where, users))
    found = [one["paths"] for one in json.loads(done.out)["findings"] if one["kind"] == "startup hook"]
    assert found == ([] if where.endswith("off") else [[str(other / "patch.pth")]]), done.out + done.err
