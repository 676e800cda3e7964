"""Projects that nobody here knows: every shape of upstream, from the file a user writes to the installed wheel."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from environments.once import once
from support.environment import Environment, copy_environment
from support.marks import rarely
from support.overlays import edit
from support.venvs import Venv
from support.wheels import members, metadata, write_wheel

from .sample import Sample
from .test_commands import wheel_of

pytestmark = pytest.mark.slow
# What has it installed makes no difference.
served_by_uv = pytest.mark.parametrize("venv", [*rarely("pip"), "uv"], indirect=True)

ROOT = Path(__file__).parents[2]
MARKED = "from npu_overlays.markers import replaced, upstream, wrapped\n\n\n"
# What the files of ours are called everywhere, in what a user of another project sees.
# It examines other projects' running code as well.
DOCTOR = "npu-doctor"
OURS = re.compile(r"(?<![a-z])npu|ascend|\bverl\b|transformers", re.IGNORECASE)
ENTRY_POINTS = b"""\
[console_scripts]
demo-run = space.core.tools:main

[gui_scripts]
demo-show = space.core.tools:main

[space.plugins]
first = space.core.tools:Plugin
"""
FILES = {
    "space/core/__init__.py": b"from space.core.tools import answer\n",
    "space/core/tools.py": b"class Plugin:\n    pass\n\n\ndef answer():\n    return 41\n\n\n"
    b"def main():\n    print(answer())\n",
    # What a package holds for itself has metadata of its own.
    "space/core/_vendor/other-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
    "demo-1.5.dist-info/entry_points.txt": ENTRY_POINTS,
    "demo-1.5.dist-info/licenses/LICENSE": b"Free for all.\n",
}
CHANGE = f'{MARKED}@wrapped(why="One more is right.")\ndef answer():\n    return upstream() + 1\n'


def overlay_of(
    environment: Environment, archive: Path, change: Mapping[str, str], lines: str = "", *, packages: str = "space/core"
) -> str:
    """Write an overlay as docs/configuration.md shows it, pinning a release archive alone, and return its name."""
    folder = environment.folder / "overlays" / "demo@1.5"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    config = (
        '[build-system]\nrequires = ["npu-overlays"]\nbuild-backend = "npu_overlays.backend"\n\n'
        '[tool.overlay]\nproject = "demo"\nsuffix = "acme"\n'
        f'packages = ["{packages}"]\n'
        f"{lines}\n[[tool.overlay.upstream.archive]]\n"
        f'distribution = "demo"\nversion = "1.5"\nfile = "{archive.name}"\nsha256 = "{digest}"\n'
    )
    for path, text in {"pyproject.toml": config, **change}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder.name


def make_built(folder: Path) -> None:
    """Write the overlay of a namespace package's release, and build it."""
    environment = Environment(folder=folder)
    archive = write_wheel(environment.folder / "index", "demo", "1.5", FILES)
    name = overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    environment.ok("lock", name)
    checked = environment.ok("check", name)
    # A release alone is pinned: there is no commit that anything could be said of.
    assert checked.out == "demo@1.5: 1 change in 1 file, as declared\n"
    assert "commit" not in checked.err  # what takes its time is told there
    environment.ok("revise", name, "--why", "One more.")
    environment.ok("build", name, "--out", "out")


@pytest.fixture
def built(shared: Path, tmp_path: Path) -> Path:
    """Return a folder with the wheel of a namespace package's release, and its companion."""
    return copy_environment(once(shared, "third-project", make_built), tmp_path).folder / "out"


def test_a_release_of_a_namespace_package_needs_no_commit_and_no_licence(environment: Environment, built: Path) -> None:
    wheel = wheel_of(built, "demo_acme")
    digest = hashlib.sha256((environment.folder / "index/demo-1.5-py3-none-any.whl").read_bytes()).hexdigest()
    version = f"1.5+acme.1.a{digest[:7]}"
    assert wheel.name == f"demo_acme-{version}-py3-none-any.whl"
    files = members(wheel)
    info = f"demo_acme-{version}.dist-info"
    assert {path for path in files if path.startswith("space/")} == {
        path for path in FILES if path.startswith("space/")
    }
    assert files[f"{info}/licenses/LICENSE"] == b"Free for all.\n"
    points = files[f"{info}/entry_points.txt"].decode()
    for line in ("[gui_scripts]", "[space.plugins]", "first = space.core.tools:Plugin", "demo-run = space.core"):
        assert line in points
    assert metadata(wheel)["Summary"] == "(patched)"
    assert metadata(wheel)["Requires-Python"] == ">=3.10"
    assert "# Changed by demo-acme (wrapped): One more is right." in files["space/core/tools.py"].decode()
    assert "doctor" not in (metadata(wheel).get_all("Provides-Extra") or ())
    said = environment.ok("verify-wheel", *sorted(built.iterdir())).out
    assert "made of demo 1.5, release archive, from demo-1.5-py3-none-any.whl" in said.replace("\n", " ")
    environment.python("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "again", "overlays/demo@1.5")
    assert wheel_of(environment.folder / "again", "demo_acme").read_bytes() == wheel.read_bytes()


def test_what_its_user_sees_speaks_of_that_project_alone(built: Path, venv: Venv) -> None:
    venv.install("--no-deps", *sorted(built.glob("*.whl")))
    assert venv.python("-c", "import space.core; print(space.core.answer())").out == "42\n"
    for arguments in ((), ("--help",), ("--why",), ("--version",), ("--verify",), ("--format", "yaml")):
        done = venv.python("-m", "demo_acme_summary", *arguments)
        assert done.code == 0, done.out + done.err
        assert not OURS.search(done.out.replace(str(venv.folder), "")), done.out
    refused = venv.python("-m", "demo_acme_summary", "--doctor")
    assert refused.code == 2
    assert not OURS.search(refused.err.replace(str(venv.folder), "").replace(DOCTOR, "")), refused.err
    told = venv.python("-m", "demo_acme_summary", "--version").out
    assert "(demo 1.5, release archive, from demo-1.5-py3-none-any.whl, overlay demo@1.5 revision 1)" in told


def test_of_a_release_everything_named_has_to_be_there_and_its_archive_is_what_is_pinned(
    environment: Environment,
) -> None:
    files = {**FILES, "space/more/a.py": b"", "more.pth": b""}
    archive = write_wheel(environment.folder / "index", "demo", "1.5", files)
    name = overlay_of(environment, archive, {}, 'license-files = ["COPYING"]\n')
    config = environment.folder / "overlays" / name / "pyproject.toml"
    config.write_text(config.read_text().replace('"space/core"', '"space/core", "space/cor"'))
    done = environment.cli("lock", name)
    assert done.code == 3
    assert f"tool.overlay.packages: {archive.name} holds no `space/cor`" in done.err
    assert f"tool.overlay.license-files: {archive.name} holds no `COPYING`" in done.err
    overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    done = environment.cli("lock", name)
    assert done.code == 5
    assert "upstream also installs `more.pth`, `space/more`" in done.err
    assert archive.name in environment.ok("show", name).out
    assert {cell["sources"] for cell in environment.ok("matrix").json()["include"]} == {"archive"}


def test_a_release_for_one_platform_stays_for_that_platform(environment: Environment) -> None:
    tag = "cp399-cp399-manylinux_2_24_aarch64.manylinux_2_28_aarch64"
    files = {**FILES, "space/core/fast.so": b"\x7fELF"}
    archive = write_wheel(environment.folder / "index", "demo", "1.5", files, tag=tag)
    name = overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    environment.ok("lock", name)
    environment.ok("build", name, "--out", "out")
    wheel = wheel_of(environment.folder / "out", "demo_acme")
    assert wheel.name.endswith(f"-{tag}.whl")
    assert b"Root-Is-Purelib: false" in members(wheel)[f"{wheel.name.split('-cp')[0]}.dist-info/WHEEL"]
    environment.ok("verify-wheel", *sorted((environment.folder / "out").iterdir()))
    environment.ok("sdist", name, "--out", environment.folder / "sdists")  # which builds the wheel again and compares
    (again,) = environment.ok("build", name, "--out", "out", "--json").json()
    assert again["rebuilt"] is False


MODULE = {
    "demo.py": b"def answer():\n    return 41\n",
    # Where build backends put it before there was a folder for it.
    "demo-1.5.dist-info/LICENSE.txt": b"Free for all.\n",
}


@served_by_uv
def test_a_module_alone_is_overlaid_as_a_package_is(environment: Environment, venv: Venv) -> None:
    archive = write_wheel(environment.folder / "index", "demo", "1.5", MODULE)
    name = overlay_of(environment, archive, {"tree/demo.py": CHANGE}, packages="demo.py")
    environment.ok("lock", name)
    environment.ok("build", name, "--out", "out")
    out = environment.folder / "out"
    files = members(wheel_of(out, "demo_acme"))
    assert [path for path in files if not path.startswith("demo_acme")] == ["demo.py"]
    assert [content for path, content in files.items() if path.endswith("/licenses/LICENSE.txt")] == [
        b"Free for all.\n"
    ]
    environment.ok("verify-wheel", *sorted(out.iterdir()))
    venv.install("--no-deps", *sorted(out.glob("*.whl")))
    assert venv.python("-c", "import demo; print(demo.answer())").out == "42\n"
    assert "intact" in venv.python("-m", "demo_acme_summary", "--verify").out
    module = venv.site / "demo.py"
    shadow = venv.folder / "elsewhere"
    shadow.mkdir()
    (shadow / "demo.py").write_bytes(MODULE["demo.py"])
    (venv.site / "first.pth").write_text("import sys; import demo; demo.answer = len\n")
    module.write_bytes(module.read_bytes() + b"# more\n")
    command = (venv.executable, "-m", "demo_acme_summary", "--verify")
    done = venv.environment.run(*command, PYTHONPATH=str(shadow))
    assert done.code == 1
    for text in ("modified: 1 file", "demo.py", "startup hook", f"`import demo` gives {shadow}/demo.py, not {module}"):
        assert text in done.out, done.out
    module.unlink()
    assert "missing: 1 file" in venv.python("-m", "demo_acme_summary", "--verify").out


def test_what_is_shipped_of_a_wheel_is_there_and_nothing_else_is_passed_over(environment: Environment) -> None:
    files = {**MODULE, "other.py": b"", "demo.pth": b""}
    archive = write_wheel(environment.folder / "index", "demo", "1.5", files)
    done = environment.cli("lock", overlay_of(environment, archive, {}, packages="dem"))
    assert done.code == 4
    assert "holds none of the shipped packages: dem\n    fix: name a module that it has: demo.py, other.py" in done.err
    for packages in (".data", ".data/headers"):
        name = overlay_of(environment, archive, {"tree/demo.py": CHANGE}, packages=f'demo.py", "{packages}')
        done = environment.cli("lock", name)
        assert done.code == 3
        said = f"tool.overlay.packages: `{packages}` cannot be shipped\n    fix: name .data/scripts or .data/data\n"
        assert said in done.err
    done = environment.cli("lock", overlay_of(environment, archive, {"tree/demo.py": CHANGE}, packages="demo.py"))
    assert done.code == 5
    assert "upstream also installs `demo.pth`, `other.py`" in done.err
    assert (
        'fix: add "demo.pth", "other.py" to packages; or, where they may be missing, say so: not-built = ["demo.pth",'
        in done.err
    )
    name = overlay_of(environment, archive, {}, 'not-built = ["demo.pth", "other.py", "othr.py"]', packages="demo.py")
    done = environment.cli("lock", name)
    assert done.code == 5
    assert done.err.count("not-built: `") == 1
    assert "tool.overlay.not-built: `othr.py` names nothing upstream has\n    fix: delete the entry" in done.err


def test_what_the_release_of_a_pinned_commit_installs_besides_is_told_by_lock(sample: Sample) -> None:
    config = sample.lib_overlay / "pyproject.toml"
    edit(config, 'not-built = ["tests"]', 'not-built = ["scripts", "test"]')
    done = sample.environment.cli("lock", sample.lib_name)
    assert done.code == 5
    assert "tool.overlay.packages: upstream also installs `tests`" in done.err
    # Only the commit has `scripts`; of `test` there is none in either.
    assert re.findall("not-built: `(.*)` names nothing", done.err) == ["test"]
    # Without a repository at hand the archive that stands in for it tells as much; what the commit has, it cannot.
    done = sample.environment.cli("lock", sample.lib_name, "--source", "archive")
    assert done.code == 5
    assert "tool.overlay.packages: upstream also installs `tests`" in done.err
    assert "names nothing" not in done.err


def test_a_release_alone_cannot_be_had_from_git_even_where_it_is_built_already(
    environment: Environment, built: Path
) -> None:
    done = environment.cli("build", "demo@1.5", "--out", str(built), "--source", "git")
    assert done.code == 4
    assert "only a release archive is pinned, no commit that a repository could be asked for" in done.err
    assert "leave out --source git" in done.err
    assert "(up to date)" in environment.ok("build", "demo@1.5", "--out", str(built)).out
    assert "(up to date)" in environment.ok("build", "demo@1.5", "--out", str(built), "--source", "archive").out


def test_import_names_and_bills_of_materials_of_a_release_are_kept(environment: Environment) -> None:
    headers = "Metadata-Version: 2.5\nName: demo\nVersion: 1.5\nImport-Name: space.core\n"
    headers += "Import-Name: space.core._vendor ; private\nImport-Name: gone\nImport-Namespace: space\n"
    bill = b'{"bomFormat": "CycloneDX"}'
    files = {**FILES, "demo-1.5.dist-info/sboms/auditwheel.cdx.json": bill}
    archive = write_wheel(environment.folder / "index", "demo", "1.5", files, metadata=headers)
    name = overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    environment.ok("lock", name)
    environment.ok("build", name, "--out", "out")
    wheel = wheel_of(environment.folder / "out", "demo_acme")
    told = metadata(wheel)
    assert told["Metadata-Version"] == "2.5"
    assert told.get_all("Import-Name") == ["demo_acme_summary", "space.core", "space.core._vendor; private"]
    assert told.get_all("Import-Namespace") == ["space"]
    (kept,) = (content for path, content in members(wheel).items() if path.endswith("/sboms/auditwheel.cdx.json"))
    assert kept == bill
    companion = metadata(wheel_of(environment.folder / "out", "demo"))
    assert (companion["Metadata-Version"], companion["Import-Name"]) == ("2.4", None)
    environment.ok("verify-wheel", *sorted((environment.folder / "out").iterdir()))


@served_by_uv
def test_no_word_of_a_plugin_that_is_none_of_its_business(built: Path, venv: Venv) -> None:
    venv.install("--no-deps", *sorted(built.glob("*.whl")))
    (venv.site / "verl_npu").mkdir()
    (venv.site / "verl_npu" / "__init__.py").write_text("")
    (venv.site / "verl_npu" / "plugin.py").write_text("")
    (venv.site / "verl_npu.pth").write_text("import verl_npu\n")
    (venv.site / "space" / "core" / "a.rej").write_text("")
    done = venv.python("-m", "demo_acme_summary", "--verify")
    assert done.code == 1
    assert "rejected patch" in done.out
    assert not OURS.search(done.out.replace(str(venv.folder), "")), done.out


@served_by_uv
def test_what_was_compiled_for_another_machine_is_told_where_it_is_installed(
    environment: Environment, venv: Venv
) -> None:
    tag = "cp399-cp399-manylinux_2_28_aarch64"
    here, there = EXTENSION_SUFFIXES[0], ".cpython-399-aarch64-linux-gnu.so"
    names = (f"fast{there}", f"both{there}", f"both{here}", "libother.2.so")
    files = {**FILES, **{f"space/core/{name}": b"\x7fELF" for name in names}}
    archive = write_wheel(environment.folder / "index", "demo", "1.5", files, tag=tag)
    name = overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    environment.ok("lock", name)
    environment.ok("build", name, "--out", "out")
    for wheel in (environment.folder / "out").glob("*.whl"):  # no installer would take it: copied, as folders are
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(venv.site)
    done = venv.python("-m", "demo_acme_summary", "--verify")
    assert done.code == 1
    assert "another platform: 1 compiled file that this Python cannot import" in done.out
    assert f"space/core/fast{there}\n    cause: installed for another Python or machine ({tag})" in done.out
    assert "wrong tag" not in done.out
    (info,) = venv.site.glob("demo_acme-*.dist-info")
    before = (info / "WHEEL").read_bytes()
    after = before.replace(tag.encode(), b"py3-none-any")
    (info / "WHEEL").write_bytes(after)
    digests = [base64.urlsafe_b64encode(hashlib.sha256(one).digest()).rstrip(b"=").decode() for one in (before, after)]
    edit(info / "RECORD", f"{digests[0]},{len(before)}", f"{digests[1]},{len(after)}")
    done = venv.python("-m", "demo_acme_summary", "--verify")
    assert "wrong tag: 4 compiled files, and its WHEEL file says that it is for any platform" in done.out, done.out


def test_statements_are_verified_against_their_wheels(environment: Environment, built: Path) -> None:
    (statement,) = built.glob("*.intoto.json")
    assert "its statement" in environment.ok("verify-wheel", statement).out
    said = statement.read_text()
    for number, wrong in (
        (0, "names other upstream bytes than"),
        (1, "names files of the overlay whose digests do not give"),
    ):
        value = json.loads(said)
        value["predicate"]["buildDefinition"]["resolvedDependencies"][number]["digest"]["sha256"] = "0" * 64
        statement.write_text(json.dumps(value))
        done = environment.cli("verify-wheel", *sorted(built.iterdir()))
        assert done.code == 6
        assert wrong in done.err
    wheel_of(built, "demo_acme").write_bytes(b"")
    (built / "notes.txt").write_text("mine")
    done = environment.cli("verify-wheel", statement, built / "notes.txt")
    assert done.code == 6
    assert "gives another digest than" in done.err
    assert "neither a wheel nor a statement" in done.err
