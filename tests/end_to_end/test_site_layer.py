"""A site puts a layer of its own on top of another repository's, without a copy of it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content
from support.environment import Environment
from support.overlays import edit, give_out, write_layer, write_overlay
from support.venvs import make_venv
from support.wheels import members, write_wheel

from .refusals import refused
from .sample import LIB_OVERLAY, LICENCE, Sample
from .test_commands import wheel_of

OWN = b"""\
from npu_overlays.markers import added, replaced


@added(why="Acme asks for it.")
def acme():
    return "acme"


@replaced(why="Acme counts otherwise.")
def scale(value):
    return value * 7
"""
DROP = '[[tool.overlay.drop]]\nname = "src/lib/core.py:scale"\nwhy = "Said otherwise here."\n'


def site(sample: Sample, layers: str, *, own: bytes = OWN, config: str = DROP) -> Path:
    """Write a repository beside the one of the layers, with one pin labelled acme, and return the pin's folder."""
    root = sample.folder / "acme" / "overlays"
    made = write_overlay(
        root,
        project="lib",
        commit=sample.lib.git("rev-parse", "main"),
        repository=sample.lib.url,
        packages=["src/lib"],
        files={"tree/src/lib/core.py": own, "LICENSE": LICENCE},
        overlay=f'label = "acme"\nlayers = [{layers}]\n{config}',
    )
    return made.rename(made.with_name(f"{made.name}-acme"))


@pytest.fixture
def ours(sample: Sample) -> Sample:
    """Return the sample with a layer of lib."""
    files = {path: content for path, content in LIB_OVERLAY.items() if path.startswith(("tree/", "patches/"))}
    write_layer(sample.overlays / "lib", project="lib", files=files)
    return sample


@pytest.mark.slow
def test_a_sites_own_layer_is_locked_checked_built_and_installed(ours: Sample, tmp_path: Path) -> None:
    pin = site(ours, '"../../../overlays/lib"')
    run = ours.environment.ok
    where = ("--overlays", pin.parent)
    run("lock", pin.name, *where)
    give_out(pin.parent)
    assert f"{pin.name}: 12 changes" in run("check", pin.name, *where).out
    shown = run("show", pin.name, *where).out
    assert f"added     acme  [{pin.name}]" in shown
    assert "wrapped   Engine.start  [lib]" in shown
    assert "src/lib/core.py:scale  [" in shown
    out = tmp_path / "out"
    run("build", pin.name, *where, "--out", out, "--source", "git")

    built = wheel_of(out, "lib_npu")
    assert f"+npu.1.acme.g{ours.lib_name.partition('@')[2]}-" in built.name
    changes = json.loads(members(built)["lib_npu_summary/changes.json"])
    assert (changes["overlay"]["name"], changes["overlay"]["layers"]) == (pin.name, ["lib"])
    summary = run("summary", built, "--why").out
    assert f"layer: {pin.name}" in summary
    assert "layer: lib\n" in summary

    write_wheel(tmp_path / "index", "fastmath", "1.5", {"fastmath.py": b""})
    write_wheel(tmp_path / "index", "anymath", "1.0", {"anymath.py": b""})
    write_wheel(tmp_path / "index", "packaging", "24.0", {"packaging/__init__.py": b""})
    environment = Environment(folder=tmp_path, index=tmp_path / "index")
    venv = make_venv(tmp_path / "venv", environment)
    venv.install(*sorted(out.glob("*.whl")))
    told = venv.python("-c", "from lib import core; print(core.acme(), core.scale(2), core.Engine().start())").out
    assert told.strip() == "acme 14 npu+upstream"
    assert venv.python("-m", "lib_npu_summary", "--verify").code == 0


@pytest.mark.slow
def test_the_layer_lies_wherever_it_is_and_its_content_counts(ours: Sample, tmp_path: Path) -> None:
    """Where a layer lies does not go into a wheel; what it says does."""
    elsewhere = tmp_path / "elsewhere" / "lib"
    shutil.copytree(ours.overlays / "lib", elsewhere)
    digests = []
    for number, folder in enumerate((ours.overlays / "lib", elsewhere, elsewhere)):
        if number == 2:
            (elsewhere / "tree/src/lib/npu.py").write_bytes(b'"""Other words."""\n')
        pin = site(ours, '"lib"')
        link = pin.parent / "lib"
        link.symlink_to(folder)
        ours.environment.ok("lock", pin.name, "--overlays", pin.parent)
        ours.environment.ok("build", pin.name, "--overlays", pin.parent, "--out", tmp_path / "out", "--source", "git")
        record = json.loads(members(wheel_of(tmp_path / "out", "lib_npu"))["lib_npu_summary/changes.json"])
        digests.append(record["overlay"]["sha256"])
        shutil.rmtree(ours.folder / "acme")
    assert digests[0] == digests[1] != digests[2]


def test_a_layer_of_an_installed_distribution_is_named_by_it(
    ours: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"lib_layer/lib/{path.relative_to(ours.overlays / 'lib')}": path.read_bytes()
        for path in (ours.overlays / "lib").rglob("*")
        if path.is_file()
    }
    wheel = write_wheel(tmp_path, "liblayer", "3", files)
    arguments = ("install", "--quiet", "--no-deps", "--no-index", "--target", tmp_path / "site", wheel)
    ours.environment.succeed(sys.executable, "-m", "pip", *arguments)
    pin = site(ours, '{ distribution = "liblayer" }')
    done = ours.environment.cli("show", pin.name, "--overlays", pin.parent)
    refused(ours, done, 3, "no distribution `liblayer` is installed where npu-overlays is fix: install it")
    assert "nothing to drop" not in done.err

    monkeypatch.syspath_prepend(tmp_path / "site")
    content = load_content(load_overlay(pin), "1.2.3")
    assert content.layers == ("lib",)
    assert {one.layer for one in content.operations} == {"lib", pin.name}


def test_what_both_layers_say_is_refused_until_it_is_left_out_with_a_reason(ours: Sample) -> None:
    pin = site(ours, '"../../../overlays/lib"', config="")
    arguments = ("lock", pin.name, "--overlays", pin.parent)
    refused(
        ours,
        ours.environment.cli(*arguments),
        5,
        f"{pin.name}/tree/src/lib/core.py:10: second operation on `scale` of src/lib/core.py; the first is lib/tree/",
        f'leave out that of lib: a table [[drop]] of {pin.name} with name = "src/lib/core.py:scale" and why',
    )
    edit(pin / "pyproject.toml", "[tool.overlay.upstream]", f"{DROP}\n[tool.overlay.upstream]")
    ours.environment.ok(*arguments)
    edit(pin / "pyproject.toml", 'why = "Said otherwise here."\n', "")
    refused(ours, ours.environment.cli(*arguments), 3, "tool.overlay.drop[1].why: missing")
