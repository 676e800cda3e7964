"""One version has one content: revisions are recorded, and what is otherwise says so in its version."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from npu_overlays.overlay.revisions import read_revisions
from npu_overlays.overlay.stacks import stacks_folder
from support.environment import Done
from support.marks import rarely
from support.overlays import edit, write_layer, write_stack
from support.tools import changed_tool
from support.wheels import contents

from .cell import CellEnvironment
from .sample import Sample

NPU = "tree/src/lib/npu.py"
_RELEASE = """\
[[tool.overlay.upstream.archive]]
distribution = "unlocked"
version = "1"
file = "unlocked-1-py3-none-any.whl"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
"""
DEVELOPMENT = r"\+npu\.1\.\d{17}\.dev[0-9a-f]{7}\.g"


def build(sample: Sample, *names: str, **more: Any) -> dict[str, Any]:
    """Build overlays, lib's where none is named, and return what is said of each, by its name."""
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out", "--source", "git", "--json")
    done = sample.environment.ok("build", *(names or [sample.lib_name]), *where, **more)
    return {one["overlay"]: one for one in done.json()}


def version(sample: Sample, **more: str) -> str:
    """Build lib and return the version of its wheel."""
    return Path(build(sample, **more)[sample.lib_name]["wheel"]).name.split("-")[1]


def named(sample: Sample, text: str) -> None:
    """Change the overlay of lib."""
    (sample.lib_overlay / NPU).write_text(f'NAME = "{text}"\n')


def revise(sample: Sample, *arguments: str | Path) -> Done:
    return sample.environment.cli("revise", *arguments, "--why", "It is new.", "--overlays", sample.overlays)


def numbers(sample: Sample) -> dict[str, list[int]]:
    """Return the numbers of the revisions that each overlay records."""
    numbers: dict[str, list[int]] = {}
    for folder in sorted(sample.overlays.glob("*@*")):
        numbers[folder.name] = [one.number for one in read_revisions(folder)]
    return numbers


def test_builds_of_an_overlay_follow_each_other_in_order(sample: Sample) -> None:
    versions = [version(sample)]
    # Two of these can happen within a millisecond, and a deletion leaves no date behind.
    for change in ("one", "two", ""):
        if change:
            named(sample, change)
        else:
            (sample.lib_overlay / "tree/src/lib/npu.sh").unlink()
        versions.append(version(sample))
    revise(sample, sample.lib_name)
    versions.append(version(sample))
    assert versions == sorted(set(versions), key=Version)
    assert [bool(re.search(DEVELOPMENT, one)) for one in versions] == [False, True, True, True, False]
    assert versions[0] == sample.lib_version
    assert versions[-1] == sample.lib_version.replace("+npu.1.", "+npu.2.")


def test_a_development_build_takes_the_place_of_the_one_before_and_of_nothing_else(sample: Sample) -> None:
    out = sample.folder / "out"
    build(sample)
    released = contents(out)
    for change in ("one", "two"):
        named(sample, change)
        build(sample)
        there = {name: content for name, content in contents(out).items() if not name.startswith("constraints")}
        new = there.keys() - released.keys()
        assert sorted(Path(name).suffix for name in new) == [".json", ".whl", ".whl"]
        assert len({name.split("-")[1].rstrip(".") for name in new}) == 1
        assert {name: there[name] for name in released if name in there} == {
            name: content for name, content in released.items() if not name.startswith("constraints")
        }
    (pinned,) = {name.split("-")[1] for name in new}
    assert f"lib-npu=={pinned}\nlib=={pinned}\n" in (out / "constraints-pair.txt").read_text()


def test_what_was_touched_and_is_the_same_keeps_its_version(sample: Sample) -> None:
    named(sample, "one")
    first = version(sample)
    (sample.lib_overlay / NPU).touch()
    assert version(sample) == first
    assert build(sample)[sample.lib_name]["rebuilt"] is False


def test_a_change_is_newer_than_what_lies_there_although_a_clock_was_set_back(sample: Sample) -> None:
    named(sample, "one")
    first = version(sample, SOURCE_DATE_EPOCH="4354819200")
    named(sample, "two")
    assert Version(version(sample)) > Version(first)


def test_the_revision_itself_comes_back_and_how_to_install_it_is_said(sample: Sample) -> None:
    before = (sample.lib_overlay / NPU).read_bytes()
    named(sample, "one")
    newer = version(sample)
    (sample.lib_overlay / NPU).write_bytes(before)
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out", "--source", "git")
    done = sample.environment.ok("build", sample.lib_name, *where)
    assert f"older than what lay there, {newer}" in done.err
    assert f'pip install "lib-npu=={sample.lib_version}" "lib=={sample.lib_version}"' in done.err
    assert [file.name for file in (sample.folder / "out").glob(f"*{newer}*")] == []


@pytest.mark.slow
def test_installing_after_a_change_installs_the_change(empty: CellEnvironment, sample: Sample) -> None:
    cell, out = empty.seeing("index"), sample.folder / "out"
    links = ("--find-links", cell.shelf.folder / "index", "--find-links", out)
    for change in ("one", "two", "three", "revised"):
        named(sample, change)
        if change == "revised":
            revise(sample, sample.lib_name)
        build(sample)
        cell.install("--upgrade", *links, "lib-npu")
        assert cell.venv.python("-c", "from lib import npu; print(npu.NAME)").out.strip() == change
        assert cell.venv.python("-m", "lib_npu_summary", "--verify").code == 0


def layer(sample: Sample) -> None:
    write_layer(sample.overlays / "lib", project="lib", files={"tree/src/lib/more.py": b"MORE = 1\n"})


def stack(sample: Sample) -> None:
    component = {"name": "torch", "version": "2.7.1", "install": "index"}
    file = stacks_folder(sample.overlays) / "pair.json"
    write_stack(file.parent, "pair", **{**json.loads(file.read_text()), "components": [component]})


CHANGES: dict[str, Callable[[Sample], object]] = {
    "file": lambda sample: named(sample, "other"),
    "mode": lambda sample: (sample.lib_overlay / "tree/src/lib/npu.sh").chmod(0o644),
    "lock": lambda sample: edit(
        sample.lib_overlay / "overlay.lock", 'description = "A library"', 'description = "The library"'
    ),
    "settings": lambda sample: edit(sample.lib_overlay / "pyproject.toml", 'purpose = "NPU"', 'purpose = "NPUs"'),
    "licence": lambda sample: (sample.lib_overlay / "NOTICE").unlink(),
    "revision": lambda sample: edit(sample.lib_overlay / "pyproject.toml", "revision = 1", "revision = 2"),
    "record": lambda sample: (sample.lib_overlay / "revisions.toml").unlink(),
    "layer": layer,
    "stack": stack,
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_wheel_follows_from_is_part_of_a_revision(sample: Sample, change: str) -> None:
    CHANGES[change](sample)
    assert build(sample)[sample.lib_name]["development"] is True


def test_a_partner_counts_by_its_revision_and_not_by_its_files(sample: Sample) -> None:
    named(sample, "other")
    built = build(sample, sample.lib_name, sample.app_name)
    assert {name: one["development"] for name, one in built.items()} == {sample.lib_name: True, sample.app_name: False}
    edit(sample.lib_overlay / "pyproject.toml", "revision = 1", "revision = 2")
    assert build(sample, sample.app_name)[sample.app_name]["development"] is True


@pytest.mark.slow
@pytest.mark.parametrize("command", ["build", "sdist", *rarely("jobs")])
def test_other_bytes_of_a_newer_tool_are_refused_and_those_that_lie_there_stay(
    sample: Sample, tmp_path: Path, command: str
) -> None:
    out, tool = sample.folder / "out", str(changed_tool(tmp_path / "tool"))
    more = (sample.app_name, "--jobs", "2") if command == "jobs" else ()
    what = "build" if command == "jobs" else command
    line = (what, sample.lib_name, *more, "--overlays", sample.overlays, "--out", out, "--source", "git")
    sample.environment.ok(*line)
    before = contents(out)
    done = sample.environment.cli(*line, PYTHONPATH=tool)
    assert done.code == 6
    assert f"{out}/lib_npu-{sample.lib_version}" in done.err
    assert "other bytes lie there under this version" in done.err
    assert f'fix: run `npu-overlays revise {sample.lib_name} --why "…"` and build again' in done.err
    assert contents(out) == before
    sample.environment.ok(*line, "--replace", PYTHONPATH=tool)
    assert before.keys() == contents(out).keys()
    assert contents(out) != before


@pytest.mark.slow
def test_a_front_end_writes_no_other_bytes_either(sample: Sample, tmp_path: Path) -> None:
    out, tool = sample.folder / "out", str(changed_tool(tmp_path / "tool"))
    line = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, sample.lib_overlay)
    sample.environment.succeed(*line, NPU_OVERLAYS_SOURCE="git")
    before = contents(out)
    done = sample.environment.run(*line, NPU_OVERLAYS_SOURCE="git", PYTHONPATH=tool)
    assert done.code == 1
    assert "other bytes lie there under this version" in done.out + done.err
    assert contents(out) == before


@pytest.mark.slow
def test_the_inputs_that_differ_are_named_and_the_others_are_built_where_that_is_asked(
    sample: Sample, tmp_path: Path
) -> None:
    build(sample)
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out", "--source", "git", "--keep-going")
    tool = str(changed_tool(tmp_path / "tool"))
    done = sample.environment.cli("build", sample.lib_name, sample.app_name, *where, PYTHONPATH=tool)
    assert done.code == 6
    assert "they followed from other inputs: npu-overlays itself, sha256" in done.err
    assert "1 failed, 1 built" in done.out


def test_a_newer_tool_gives_a_development_build_another_version(sample: Sample, tmp_path: Path) -> None:
    named(sample, "one")
    first = version(sample)
    assert Version(version(sample, PYTHONPATH=str(changed_tool(tmp_path / "tool")))) > Version(first)


@pytest.mark.slow
def test_an_sdist_has_the_version_of_what_is_in_it(sample: Sample) -> None:
    named(sample, "one")
    wheel = Path(build(sample)[sample.lib_name]["wheel"])
    arguments = ("--sdist", "--no-isolation", "--outdir", sample.folder / "dist", sample.lib_overlay)
    sample.environment.python("-m", "build", *arguments, NPU_OVERLAYS_SOURCE="git")
    (sdist,) = (sample.folder / "dist").iterdir()
    assert sdist.name == f"{wheel.name.partition('-py3')[0]}.tar.gz"
    shutil.unpack_archive(sdist, sample.folder / "unpacked")
    (folder,) = (sample.folder / "unpacked").iterdir()
    again = sample.folder / "again"
    pip = ("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", again)
    sample.environment.python(*pip, folder)
    assert (again / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_revision_says_why_and_those_that_are_paired_with_it_are_revised_too(sample: Sample) -> None:
    done = revise(sample, sample.lib_name)
    assert done.out == (
        f"{sample.lib_name}: revision 2\n{sample.app_name}: revision 2, as it is paired with {sample.lib_name}\n"
    )
    assert "revision = 2\n" in (sample.lib_overlay / "pyproject.toml").read_text()
    shown = sample.environment.ok("show", sample.lib_name, "--overlays", sample.overlays).out
    assert "\nrevision 1: It is new.\nrevision 2: It is new.\n" in shown
    built = build(sample, sample.lib_name, sample.app_name)
    assert {one["development"] for one in built.values()} == {False}


def test_a_development_build_names_the_command_for_its_first_or_next_revision(sample: Sample) -> None:
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out", "--source", "git")
    command = f'npu-overlays revise {sample.lib_name} --why "…"'
    named(sample, "one")
    said = sample.environment.ok("build", sample.lib_name, *where).err
    assert f"differs from its last revision; to record the next: {command}" in " ".join(said.split())
    edit(sample.lib_overlay / "pyproject.toml", "revision = 1\n", "")
    (sample.lib_overlay / "revisions.toml").unlink()
    said = sample.environment.ok("build", sample.lib_name, *where).err
    assert f"has no revision yet; to record the first: {command}" in " ".join(said.split())


def test_all_means_what_changed(sample: Sample) -> None:
    assert revise(sample, "--all").out == "every overlay is as its last revision\n"
    edit(sample.app_overlay / "overlay.lock", 'description = "An application"', 'description = "The application"')
    assert revise(sample, "--all").out == f"{sample.app_name}: revision 2\n"
    assert numbers(sample) == {sample.app_name: [1, 2], sample.lib_name: [1]}


def test_a_layer_means_every_pin_on_it(sample: Sample) -> None:
    bare = sample.lib_overlay.with_name(f"{sample.lib_name}-bare")
    shutil.copytree(sample.lib_overlay, bare)
    edit(bare / "pyproject.toml", "revision = 1\n", 'label = "bare"\nlayers = []\n')
    (bare / "revisions.toml").unlink()
    layer(sample)
    done = revise(sample, "lib")
    assert done.out.splitlines()[0] == f"{sample.lib_name}: revision 2"
    assert numbers(sample) == {sample.app_name: [1, 2], sample.lib_name: [1, 2], bare.name: []}


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("--why", "x"), 2, "which overlays are meant is not clear"),
        (("--all", "NAME", "--why", "x"), 2, "which overlays are meant is not clear"),
        (("NAME", "--why", " "), 2, "--why: is empty"),
        (("NAME", "nosuch", "nor@this", "--why", "x"), 3, "nosuch: no such overlay"),
        (("NAME", "unlocked@1", "--why", "x"), 3, "npu-overlays lock unlocked@1"),
    ],
)
def test_nothing_is_revised_where_something_is_wrong(
    sample: Sample, arguments: tuple[str, ...], code: int, what: str
) -> None:
    shutil.copytree(sample.app_overlay, sample.overlays / "unlocked@1")
    (sample.overlays / "unlocked@1/overlay.lock").unlink()
    config = (sample.overlays / "unlocked@1/pyproject.toml").read_text()
    config = re.sub(r"repository = .*\ncommit = .*\n", _RELEASE, config.replace('"app"', '"unlocked"', 1))
    (sample.overlays / "unlocked@1/pyproject.toml").write_text(config)
    names = [sample.lib_name if one == "NAME" else one for one in arguments]
    done = sample.environment.cli("revise", *names, "--overlays", sample.overlays)
    assert (done.code, done.out) == (code, "")
    assert what in done.err
    assert numbers(sample)[sample.lib_name] == [1]
    assert "revision = 1\n" in (sample.lib_overlay / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[revision]]\nnumber = 1\n", "1: revision[1].why: missing"),
        ("[[revision]]\nnumber = 0\nwhy = 'x'\nsha256 = ''\n", "2: revision[1].number: counts from 1, not 0"),
        (
            "[[revision]]\nnumber = 1\nwhy = 'x'\nsha256 = ''\n" * 2,
            "1: revision: the numbers are 1, 1: each must be higher",
        ),
        ("<<<<<<< HEAD\n", "1: not valid TOML"),
    ],
)
def test_a_malformed_record_is_refused(sample: Sample, text: str, what: str) -> None:
    (sample.lib_overlay / "revisions.toml").write_text(text)
    done = sample.environment.cli("build", sample.lib_name, "--overlays", sample.overlays)
    assert done.code == 3
    assert f"{sample.lib_overlay}/revisions.toml:{what}" in done.err


DATES = {"0": "19700101000000000", "4354819200": "21080101000000000", "315532800": "19800101000000000"}


@pytest.mark.parametrize("date", DATES)
def test_a_development_build_is_dated_by_the_variable(sample: Sample, date: str) -> None:
    named(sample, "one")
    assert f"+npu.1.{DATES[date]}.dev" in version(sample, SOURCE_DATE_EPOCH=date)


@pytest.mark.parametrize(
    "date", ["1.5", "abc", "-1", " 1", "1_0", "٣", "253402300800", pytest.param("9" * 5000, id="long")]
)
@pytest.mark.parametrize("command", ["build", "sdist"])
def test_a_date_that_is_none_is_refused_by_the_name_of_its_variable(sample: Sample, command: str, date: str) -> None:
    where = ("--overlays", sample.overlays, "--out", sample.folder / "out")
    done = sample.environment.cli(command, sample.lib_name, *where, SOURCE_DATE_EPOCH=date)
    assert done.code == 2
    assert f"error: SOURCE_DATE_EPOCH: `{date}` is no time: it takes whole seconds since 1970" in done.err
    assert not (sample.folder / "out").exists()
