"""Standard front ends build an overlay's folder as `npu-overlays build` does."""

from __future__ import annotations

import json
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from environments.once import once
from support.environment import Environment, copy_environment
from support.overlays import edit, give_out, write_layer, write_overlay, write_stacks
from support.pythons import some_uv
from support.upstreams import make_upstream
from support.wheels import members, metadata

from .sample import CORE, LIB_OVERLAY, LICENCE, Sample
from .test_commands import wheel_of

pytestmark = pytest.mark.slow

_UNREACHABLE = '[url "file:///nowhere/"]\n\tinsteadOf = file:///\n'
_SETUPTOOLS = b"""\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "real"
version = "3.1"
description = "Built by setuptools"
readme = "README.md"
requires-python = ">=3.9"
dependencies = ["packaging", "colorama; sys_platform == 'win32'"]
keywords = ["one", "two words"]
authors = [{ name = "Solo" }, { name = "Ann", email = "ann@example.invalid" }, { email = "team@example.invalid" }]

[project.optional-dependencies]
fast = ["fastmath; python_version >= '3.9' or sys_platform == 'win32'"]
all = ["real[fast]"]

[project.scripts]
real-run = "real:main"

[tool.setuptools]
packages = ["real"]
"""


@pytest.fixture
def layered(locked: Sample, shared: Path, tmp_path: Path) -> Sample:
    """Return the sample with lib moved on by a commit, and a pin of it on two layers, one of which lies elsewhere."""
    made = once(shared, "layered", lambda folder: make_layered(locked.copy(folder)))
    environment = replace(copy_environment(made, tmp_path), index=locked.environment.index)
    upstream = replace(locked.lib, path=made / "newer")
    name = f"lib@{upstream.git('rev-parse', 'HEAD')[:7]}"
    return replace(locked, environment=environment, folder=tmp_path, lib=upstream, lib_name=name)


def make_layered(sample: Sample) -> None:
    """Move lib on, and write the pin with its layers into a copy of the sample."""
    clone = sample.folder / "newer"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    upstream = replace(sample.lib, path=clone, variables=sample.environment.variables)
    commit = upstream.commit({"src/lib/core.py": CORE.replace(b"scale(value)", b"scale(value, by=1)")})
    site = sample.folder / "site"
    write_layer(
        sample.overlays / "lib",
        project="lib",
        files={path: content for path, content in LIB_OVERLAY.items() if path.startswith(("tree/", "patches/"))},
    )
    (sample.overlays / "lib/tree/src/lib/npu.sh").chmod(0o755)
    write_layer(
        site / "lib",
        project="lib",
        config='name = "site"\n[[drop]]\nname = "src/lib/core.py:scale"\nwhy = "Said otherwise here."\n',
        files={
            "shared/both.py": (
                b"from npu_overlays.markers import replaced\n\n\n"
                b'@replaced(targets=["src/lib/core.py:scale"], why="Takes by.")\n'
                b"def scale(value, by=1):\n    return value * by * 5\n"
            ),
        },
    )
    folder = write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=upstream.url,
        packages=["src/lib"],
        files={
            "LICENSE": LICENCE,
            "tree/src/lib/build/kept.py": b'"""In a folder that version control ignores elsewhere."""\n',
        },
        overlay='layers = ["lib", "../../site/lib"]\n',
    )
    # Not what an overlay's own files are kept or left out by.
    (sample.folder / ".gitignore").write_text("build/\n*.yaml\n")
    (folder / ".gitignore").write_text("build/\nshared\n")
    sample.environment.succeed("git", "init", "--quiet", sample.folder)
    write_stacks(sample.overlays, "pair", {"pair": [folder.name, sample.app_name]})
    sample.environment.ok("lock", folder.name, "--overlays", sample.overlays)
    give_out(sample.overlays, folder.name)


def direct(sample: Sample, name: str, distribution: str) -> Path:
    """Build an overlay by the command and return its wheel."""
    out = sample.folder / "direct"
    sample.environment.ok("build", name, "--overlays", sample.overlays, "--out", out, "--source", "git")
    return wheel_of(out, distribution)


def test_pip_builds_the_same_wheel(sample: Sample, wheels: Path, tmp_path: Path) -> None:
    for folder, name in ((sample.lib_overlay, "lib_npu"), (sample.app_overlay, "app_npu")):
        arguments = ("--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path / "out", folder)
        sample.environment.python("-m", "pip", "wheel", *arguments)
        assert wheel_of(tmp_path / "out", name).read_bytes() == wheel_of(wheels, name).read_bytes()


@pytest.mark.index
@pytest.mark.thorough
@pytest.mark.parametrize("source", ["git", "archive"])
def test_pip_builds_it_in_isolation(sample: Sample, wheelhouse: Path, tmp_path: Path, source: str) -> None:
    expected = direct(sample, sample.lib_name, "lib_npu")
    if source == "archive":
        (sample.folder / "gitconfig").write_text(_UNREACHABLE)
        (sample.folder / "cache").rename(sample.folder / "old-cache")
    links = f"{wheelhouse} {sample.environment.index}"
    arguments = ("--no-deps", "--wheel-dir", tmp_path / "out", sample.lib_overlay)
    sample.environment.python("-m", "pip", "wheel", *arguments, PIP_FIND_LINKS=links)
    built = wheel_of(tmp_path / "out", "lib_npu")
    if source == "git":
        assert built.read_bytes() == expected.read_bytes()
    else:
        assert "lib/extra.py" not in members(built)


def test_build_makes_an_sdist_and_from_it_the_same_wheel(layered: Sample, tmp_path: Path) -> None:
    expected = direct(layered, layered.lib_name, "lib_npu")
    out = tmp_path / "out"
    layered.environment.python("-m", "build", "--no-isolation", "--outdir", out, layered.lib_overlay)
    built = wheel_of(out, "lib_npu")
    assert members(built) == members(expected)
    assert built.read_bytes() == expected.read_bytes()


@pytest.mark.thorough
def test_the_sdist_of_one_whose_partner_is_made_of_layers_gives_the_same_wheel(layered: Sample, tmp_path: Path) -> None:
    expected = direct(layered, layered.app_name, "app_npu")
    out = tmp_path / "out"
    layered.environment.python("-m", "build", "--no-isolation", "--outdir", out, layered.app_overlay)
    assert wheel_of(out, "app_npu").read_bytes() == expected.read_bytes()


def test_the_sdist_holds_the_pin_and_its_layers(layered: Sample, tmp_path: Path) -> None:
    arguments = ("--sdist", "--no-isolation", "--outdir", tmp_path / "out", layered.lib_overlay)
    layered.environment.python("-m", "build", *arguments)
    (sdist,) = (tmp_path / "out").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    top = f"lib_npu-{layered.lib_version}"
    assert len(names) == len(set(names))
    assert {name.removeprefix(f"{top}/").partition("/")[0] for name in names} == {
        "LICENSE",
        "PKG-INFO",
        "_overlays",
        "overlay.lock",
        "pyproject.toml",
        "revisions.toml",
        "tree",
        ".gitignore",
    }
    for file in ("0/lib/layer.toml", "0/lib/tree/src/lib/core.py", "0/lib/patches/notes.patch", "1/lib/shared/both.py"):
        assert f"{top}/_overlays/layers/{file}" in names
    for file in ("pyproject.toml", "overlay.lock"):
        assert f"{top}/_overlays/{layered.app_name}/{file}" in names
    assert f"{top}/_overlays/stacks/pair.json" in names
    assert f"{top}/tree/src/lib/build/kept.py" in names


def test_a_layered_pin_has_all_but_what_a_layer_drops(layered: Sample) -> None:
    wheel = direct(layered, layered.lib_name, "lib_npu")
    files = members(wheel)
    assert b"value * by * 5" in files["lib/core.py"]
    assert b"LIMIT = 64" in files["lib/core.py"]
    assert files["lib/notes.txt"].endswith(b"four\n")
    assert files["lib/npu.sh"].startswith(b"#!/bin/sh")
    changes = json.loads(files["lib_npu_summary/changes.json"])
    assert changes["overlay"]["layers"] == ["lib", "site"]
    (core,) = (file for file in changes["files"] if file["path"] == "src/lib/core.py")
    assert {one["name"]: one["overlay"] for one in core["module_changes"]}["scale"] == "site"


@pytest.mark.index
@pytest.mark.thorough
def test_build_makes_both_in_isolation(sample: Sample, wheels: Path, wheelhouse: Path, tmp_path: Path) -> None:
    arguments = ("--outdir", tmp_path / "out", sample.app_overlay)
    sample.environment.python("-m", "build", *arguments, PIP_FIND_LINKS=str(wheelhouse))
    built = wheel_of(tmp_path / "out", "app_npu")
    assert built.read_bytes() == wheel_of(wheels, "app_npu").read_bytes()


@pytest.mark.index
@pytest.mark.thorough  # in isolation, as uv knows it only; what it calls is what pip and build call
def test_uv_builds_the_same_wheel(sample: Sample, wheels: Path, wheelhouse: Path, tmp_path: Path) -> None:
    uv = some_uv()
    arguments = ("build", "--python", sys.executable, "--out-dir", tmp_path / "out", sample.lib_overlay)
    environment = {"UV_FIND_LINKS": str(wheelhouse), "UV_CACHE_DIR": str(tmp_path / "uv-cache")}
    sample.environment.succeed(uv, *arguments, **environment, cwd=None)
    assert wheel_of(tmp_path / "out", "lib_npu").read_bytes() == wheel_of(wheels, "lib_npu").read_bytes()
    assert len(list((tmp_path / "out").glob("*.tar.gz"))) == 1


def test_an_editable_install_is_refused_with_the_reason(sample: Sample) -> None:
    arguments = ("install", "--dry-run", "--no-deps", "--no-build-isolation", "--editable", sample.lib_overlay)
    done = sample.environment.run(sys.executable, "-m", "pip", *arguments)
    assert done.code != 0
    assert "an overlay has no editable wheel" in done.err + done.out


def test_a_front_end_shows_every_mistake(sample: Sample, tmp_path: Path) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", "class Engine:", "class Engin:")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    arguments = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path / "out", sample.lib_overlay)
    done = sample.environment.run(sys.executable, "-m", "pip", *arguments, TMPDIR=str(temporary))
    assert done.code != 0
    for symbol in ("Engin.start", "Engin.stop", "Engin.obsolete"):
        assert symbol in done.err + done.out
    assert not list((tmp_path / "out").glob("*.whl"))
    assert [path.name for path in temporary.iterdir() if path.name.startswith("npu-overlays")] == []


@pytest.mark.index
def test_metadata_of_a_real_backend_is_locked(environment: Environment, wheelhouse: Path) -> None:
    files = {
        "pyproject.toml": _SETUPTOOLS,
        "README.md": b"# real\n",
        "LICENSE": LICENCE,
        "real/__init__.py": b"def main():\n    return 1\n",
    }
    upstream, commit = make_upstream(environment.folder / "real", environment, files)
    overlays = environment.folder / "overlays"
    merge_module = (
        b'from npu_overlays.markers import replaced\n\n\n@replaced(why="Two is right.")\ndef main():\n    return 2\n'
    )
    folder = write_overlay(
        overlays,
        project="real",
        commit=commit,
        repository=upstream.url,
        packages=["real"],
        files={"tree/real/__init__.py": merge_module},
    )
    environment.ok("lock", folder.name, "--overlays", overlays, PIP_FIND_LINKS=str(wheelhouse))
    give_out(overlays)
    environment.ok("build", folder.name, "--overlays", overlays, "--out", environment.folder / "out")
    wheel = wheel_of(environment.folder / "out", "real_npu")
    own = metadata(wheel)
    version = own["Version"]
    assert version == f"3.1+npu.1.g{commit[:7]}"
    assert set(own.get_all("Requires-Dist", [])) == {
        "packaging",
        "colorama; sys_platform == 'win32'",
        "fastmath; (python_version >= '3.9' or sys_platform == 'win32') and extra == 'fast'",
        f"real-npu[fast]=={version}; extra == 'all'",
        "npu-doctor; extra == 'doctor'",
        f"real=={version}",
    }
    assert set(own["Keywords"].split(",")) == {"one", "two words"}
    assert own["Requires-Python"] == ">=3.10,>=3.9"
    assert own["Author"] == "Solo"
    assert own["Author-email"] == "Ann <ann@example.invalid>, team@example.invalid"
    scripts = members(wheel)[f"real_npu-{version}.dist-info/entry_points.txt"]
    assert scripts == b"[console_scripts]\nreal-run = real:main\n"
