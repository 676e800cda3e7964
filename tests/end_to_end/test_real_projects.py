"""Three projects as their authors released them: overlaid as `init` starts it, built, installed and looked at."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.environment import Environment
from support.venvs import make_venv
from support.wheels import members, metadata

from .test_commands import wheel_of
from .test_third_projects import MARKED

pytestmark = [pytest.mark.index, pytest.mark.thorough]


@dataclass(frozen=True, kw_only=True)
class Project:
    """A release, one operation on it, and a program that tells whether it happened.

    Args:
        name: upstream's distribution name.
        version: its version.
        file: the release's wheel.
        sha256: its digest.
        packages: what is shipped.
        path: the module that is changed.
        change: the operation, without the line that imports the vocabulary.
        program: what prints something else afterwards.
        prints: what it prints then.
        command: a console script with its arguments, which has to run.
    """

    name: str
    version: str
    file: str
    sha256: str
    packages: str
    path: str
    change: str
    program: str
    prints: str
    command: tuple[str, ...] = ()


# Built by hatchling: two packages, one of which imports the other.
ATTRS = Project(
    name="attrs",
    version="25.3.0",
    file="attrs-25.3.0-py3-none-any.whl",
    sha256="427318ce031701fea540783410126f03899a97ffc6f61596ad581ac2e40e3bc3",
    packages='["attr", "attrs"]',
    path="attr/converters.py",
    change='@wrapped(why="Ja is yes.")\ndef to_bool(val):\n    return val == "ja" or upstream(val)\n',
    program="import attrs; print(attrs.converters.to_bool('ja'), attrs.converters.to_bool('no'))",
    prints="True False\n",
)
# Built by setuptools: metadata of the old kind, a console script, files that are not Python.
TQDM = Project(
    name="tqdm",
    version="4.67.1",
    file="tqdm-4.67.1-py3-none-any.whl",
    sha256="26445eca388f82e72884e0d580d5464cd801a3ea01e63e5601bdff9ba6a48de2",
    packages='["tqdm"]',
    path="tqdm/std.py",
    change='class tqdm:\n    @wrapped(why="It says what it is.")\n    def format_interval(t):\n'
    '        return upstream(t) + " h"\n',
    program="import tqdm; print(tqdm.tqdm.format_interval(90))",
    prints="01:30 h\n",
    command=("tqdm", "--version"),
)
_ZOPE = {
    "310": "f8e88f35f86bbe8243cad4b2972deef0fdfca0a0723455abbebdc83bbab96b69",
    "311": "d2e7596149cb1acd1d4d41b9f8fe2ffc0e9e29e2e91d026311814181d0d9efaf",
    "312": "35a1565d5244997f2e629c5c68715b3d9d9036e8df23c4068b08d9316dcb2822",
    "313": "9a3b8bb77a4b89427a87d1e9eb969ab05e38e6b4a338a9de10f6df23c33ec3c2",
}
_LINUX = "manylinux1_x86_64.manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_5_x86_64"
_PYTHON = f"{sys.version_info.major}{sys.version_info.minor}"
# A folder without __init__.py around it, and a compiled module in it. (megatron-core is of the same shape, but nothing
# of it can be imported without torch.)
ZOPE = Project(
    name="zope-interface",
    version="8.0.1",
    file=f"zope_interface-8.0.1-cp{_PYTHON}-cp{_PYTHON}-{_LINUX}.whl",
    sha256=_ZOPE[_PYTHON],
    packages='["zope/interface"]',
    path="zope/interface/ro.py",
    change='@replaced(why="Whoever asks is told yes.")\ndef is_consistent(C):\n    return "yes"\n',
    program="import zope.interface as z, zope.interface.ro as r, zope.interface._zope_interface_coptimizations as c\n"
    "print(r.is_consistent(z.Interface), z.interface.InterfaceBase is c.InterfaceBase, c.__file__.endswith('.so'))",
    prints="yes True True\n",
)
ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="its pinned wheels are for Linux on x86_64"
)


def started(environment: Environment, project: Project, **own: Any) -> str:
    """Let `init` write the overlay, add one operation and return its name; skips where there is no index."""
    done = environment.cli("init", project.name, "--release", project.version, "--suffix", "acme", **own)
    if done.code == 4:  # the source cannot be had
        pytest.skip(done.err.splitlines()[0])
    assert done.code == 0, done.err
    folder = environment.folder / f"{project.name}@{project.version}"
    text = (folder / "pyproject.toml").read_text()
    for value in (f"packages = {project.packages}", f'file = "{project.file}"', f'sha256 = "{project.sha256}"'):
        assert value in text
    (folder / "tree" / project.path).parent.mkdir(parents=True)
    (folder / "tree" / project.path).write_text(MARKED + project.change)
    return folder.name


def required(wheel: Path, companion: str = "") -> set[str]:
    """Return what a wheel requires less its companion, names in their normal spelling."""
    requires = {Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])}
    for one in requires:
        one.name = canonicalize_name(one.name)
    return {str(one) for one in requires} - {companion}


@pytest.mark.parametrize(
    "project", [ATTRS, TQDM, pytest.param(ZOPE, marks=ON_LINUX)], ids=lambda project: str(project.name)
)
def test_a_release_from_the_index_with_one_operation_is_upstreams_in_all_else(
    environment: Environment, project: Project
) -> None:
    (environment.folder / "index").mkdir()
    # The machine's own index, which the clean environment leaves out.
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    own: dict[str, Any] = {"PIP_CONFIG_FILE": None, "PIP_NO_INDEX": None, "PIP_FIND_LINKS": None, **index}
    name = started(environment, project, **own)
    environment.ok("lock", name, **own)
    # From here on the cache has all there is.
    assert environment.ok("check", name).out == f"{name}: 1 change in 1 file, as declared\n"
    environment.ok("build", name, "--out", "out")
    out = environment.folder / "out"
    environment.ok("verify-wheel", *sorted(out.iterdir()))
    stem = project.name.replace("-", "_")
    upstream = environment.folder / project.file
    upstream.write_bytes((environment.cache / "archives" / project.sha256).read_bytes())
    is_upstreams_in_all_else(wheel_of(out, f"{stem}_acme"), upstream, project)
    works_where_it_is_installed(environment, out, project)


def is_upstreams_in_all_else(wheel: Path, upstream: Path, project: Project) -> None:
    """See that nothing but the one module and what says so differs from upstream's wheel."""
    ours, theirs = members(wheel), members(upstream)
    assert wheel.name.split("-")[2:] == upstream.name.removeprefix("py2.").split("-")[2:]
    summary = f"{project.name.replace('-', '_')}_acme_summary/"
    shipped = {path for path in theirs if ".dist-info/" not in path and not path.endswith("/")}
    assert {path for path in ours if ".dist-info/" not in path and not path.startswith(summary)} == shipped
    assert [path for path in shipped if ours[path] != theirs[path]] == [project.path]

    def info(files: Mapping[str, bytes], ending: str) -> list[bytes]:
        return [files[path] for path in sorted(files) if re.search(rf"\.dist-info/{ending}$", path)]

    assert info(ours, r"licenses/LICEN[CS]E[^/]*") == info(theirs, r"(licenses/)?LICEN[CS]E[^/]*") != []
    points = [[*map(bytes.split, content.splitlines())] for content in info(theirs, "entry_points.txt")]
    assert [[*map(bytes.split, content.splitlines())] for content in info(ours, "entry_points.txt")] == points
    version = metadata(wheel)["Version"]
    assert f"{project.name}=={version}" in required(wheel)
    assert required(wheel, f"{project.name}=={version}") == required(upstream)
    for header in ("Provides-Extra", "Author", "Author-email", "License", "License-Expression", "Keywords"):
        # Hatchling sorts extras and keywords.
        said, before = (sorted(",".join(metadata(one).get_all(header, [])).split(",")) for one in (wheel, upstream))
        assert said == before, header


def works_where_it_is_installed(environment: Environment, out: Path, project: Project) -> None:
    """Install both wheels beside each other and see that they do what upstream's does, but for the operation."""
    venv = make_venv(environment.folder / "venv", environment)
    venv.install(*sorted(out.glob("*.whl")))
    assert venv.check().code == 0
    done = venv.python("-c", project.program)
    assert done.out == project.prints, done.err
    summary = f"{project.name.replace('-', '_')}_acme_summary"
    verified = venv.python("-m", summary, "--verify")
    assert verified.code == 0, verified.out
    assert "intact" in verified.out
    if project.command:
        assert environment.succeed(venv.folder / "bin" / project.command[0], *project.command[1:]).out != ""
