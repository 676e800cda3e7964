"""Projects that nobody here knows: every shape of upstream, from the file a user writes to the installed wheel."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.environment import Environment
from support.venvs import Venv
from support.wheels import members, metadata, write_wheel

from .test_commands import wheel_of

ROOT = Path(__file__).parents[2]
MARKED = "from npu_overlays.markers import replaced, upstream, wrapped\n\n\n"
# What the files of ours are called everywhere, in what a user of another project sees.
OURS = re.compile(r"npu|ascend|\bverl\b|transformers", re.IGNORECASE)
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


def overlay_of(environment: Environment, archive: Path, change: Mapping[str, str], lines: str = "") -> str:
    """Write an overlay as docs/overlay-language.md shows it, pinning a release archive alone, and return its name."""
    folder = environment.folder / "overlays" / "demo@1.5"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    config = (
        '[build-system]\nrequires = ["npu-overlays"]\nbuild-backend = "npu_overlays.backend"\n\n'
        '[tool.overlay]\nproject = "demo"\nsuffix = "acme"\npackages = ["space/core"]\n'
        f"{lines}\n[[tool.overlay.upstream.archive]]\n"
        f'distribution = "demo"\nversion = "1.5"\nfile = "{archive.name}"\nsha256 = "{digest}"\n'
    )
    for path, text in {"pyproject.toml": config, **change}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder.name


@pytest.fixture
def built(environment: Environment) -> Path:
    """Return a folder with the wheel of a namespace package's release, and its companion."""
    archive = write_wheel(environment.folder / "index", "demo", "1.5", FILES)
    name = overlay_of(environment, archive, {"tree/space/core/tools.py": CHANGE})
    environment.ok("lock", name)
    checked = environment.ok("check", name)
    # A release alone is pinned: there is no commit that anything could be said of.
    assert (checked.out, checked.err) == ("demo@1.5: 1 change in 1 file, as declared\n", "")
    environment.ok("build", name, "--out", "out")
    return environment.folder / "out"


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
    assert not [path for path in files if "/doctor/" in path]
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
    assert not OURS.search(refused.err), refused.err
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
    (again,) = environment.ok("build", name, "--out", "out", "--json").json()
    assert again["rebuilt"] is False


def test_statements_are_verified_against_their_wheels(environment: Environment, built: Path) -> None:
    (statement,) = built.glob("*.intoto.json")
    assert "its statement" in environment.ok("verify-wheel", statement).out
    value = json.loads(statement.read_text())
    value["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["sha256"] = "0" * 64
    statement.write_text(json.dumps(value))
    done = environment.cli("verify-wheel", *sorted(built.iterdir()))
    assert done.code == 6
    assert "names other upstream bytes than" in done.err
    wheel_of(built, "demo_acme").write_bytes(b"")
    (built / "notes.txt").write_text("mine")
    done = environment.cli("verify-wheel", statement, built / "notes.txt")
    assert done.code == 6
    assert "gives another digest than" in done.err
    assert "neither a wheel nor a statement" in done.err


def documented() -> str:
    """Return the pyproject.toml that docs/overlay-language.md shows."""
    text = (ROOT / "docs" / "overlay-language.md").read_text("utf-8")
    (found,) = re.findall(r"<!-- example: pyproject -->\n```toml\n(.*?)```", text, flags=re.DOTALL)
    return str(found)


@pytest.mark.index
def test_the_documented_file_builds_as_it_stands(environment: Environment, venv: Venv) -> None:
    folder = environment.folder / "overlays" / "more-itertools@10.7.0"
    (environment.folder / "index").mkdir()
    (folder / "tree/more_itertools").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(documented())
    change = f'{MARKED}@wrapped(why="Half of them.")\ndef take(n, iterable):\n    return upstream(n // 2, iterable)\n'
    (folder / "tree/more_itertools/recipes.py").write_text(change)
    # The machine's own index, which the clean environment leaves out.
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    own: dict[str, Any] = {"PIP_CONFIG_FILE": None, "PIP_NO_INDEX": None, "PIP_FIND_LINKS": None, **index}
    locked = environment.cli("lock", folder.name, **own)
    if locked.code == 4:  # the source cannot be had
        pytest.skip(locked.err.splitlines()[0])
    assert locked.code == 0, locked.err
    environment.ok("build", folder.name, "--out", "out", **own)
    environment.ok("verify-wheel", *sorted((environment.folder / "out").iterdir()))
    venv.install("--no-deps", *sorted((environment.folder / "out").glob("*.whl")))
    assert venv.python("-c", "import more_itertools as m; print(m.take(4, range(9)))").out == "[0, 1]\n"
    assert venv.python("-m", "more_itertools_acme_summary", "--verify").code == 0
