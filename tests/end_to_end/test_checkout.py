"""`checkout` and `export`, run: the work tree is what a build packs, and patches made of it lead there too."""

from __future__ import annotations

import re
import shlex
import zipfile
from itertools import chain
from pathlib import Path

import pytest

from support.overlays import edit

from .sample import LIB_FILES, Sample


def git(sample: Sample, folder: Path, *arguments: str) -> str:
    return sample.environment.succeed("git", "-C", folder, *arguments).out


def checked_out(sample: Sample, folder: Path, *arguments: str) -> Path:
    sample.environment.ok("checkout", sample.lib_name, folder, *arguments, "--overlays", sample.overlays)
    return folder


def files(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Return every file below a folder but git's own: its bytes, and whether it is executable."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in found}


def shipped(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {f"src/{name}": archive.read(name) for name in archive.namelist() if name.startswith("lib/")}


def test_the_work_tree_is_what_the_wheel_holds_and_the_commits_lead_there(
    locked: Sample, wheels: Path, tmp_path: Path
) -> None:
    folder = checked_out(locked, tmp_path / "checkout")
    tree = files(folder)
    (wheel,) = wheels.glob("lib_npu-*.whl")
    packed = shipped(wheel)
    assert {path: content for path, (content, _) in tree.items() if path.startswith("src/")} == packed
    assert tree["src/lib/npu.sh"][1]
    assert tree["src/lib/run.sh"] == (LIB_FILES["src/lib/run.sh"], True)
    assert git(locked, folder, "rev-parse", "upstream").strip() == locked.lib.git("rev-parse", "main")
    assert git(locked, folder, "status", "--porcelain", "--ignored") == ""
    assert git(locked, folder, "fsck", "--strict") == ""


def test_each_operation_is_a_commit_with_its_reason_and_can_be_read_back(locked: Sample, tmp_path: Path) -> None:
    folder = checked_out(locked, tmp_path / "checkout")
    keys = ("Overlay-Operation", "Overlay-Target", "Overlay-File")
    trailers = "".join(f"%(trailers:key={key},valueonly,separator=%x2C)%x09" for key in keys)
    log = git(locked, folder, "log", "--reverse", f"--format={trailers}%s", "upstream..")
    rows = [tuple(line.split("\t")) for line in log.splitlines()]
    core = f"{locked.lib_name}/tree/src/lib/core.py"
    assert rows[0] == (
        "patch", "src/lib/notes.txt", f"{locked.lib_name}/patches/notes.patch", "notes.patch: Four is missing."
    )  # fmt: skip
    assert ("wrapped", "src/lib/core.py:Engine.start", core, "Engine.start: Says that it is patched.") in rows
    assert {row[0] for row in rows} == {"patch", "edit", "file", "replaced", "wrapped", "added", "deleted", "edited"}
    assert len(rows) == 11
    start = git(locked, folder, "log", "--format=%(trailers:key=Forwarded,valueonly)", "--grep=Engine.start:")
    assert start.strip() == "https://example.invalid/pull/1"
    for commit in git(locked, folder, "rev-list", "upstream..").split():
        changed = git(locked, folder, "show", "--format=", "--name-only", commit).split()
        target = git(locked, folder, "log", "-1", "--format=%(trailers:key=Overlay-Target,valueonly)", commit)
        assert changed == [target.strip().partition(":")[0]]


def test_commits_depend_on_the_overlay_alone(locked: Sample, tmp_path: Path) -> None:
    first = checked_out(locked, tmp_path / "one")
    again = tmp_path / "two"
    locked.environment.ok(
        "checkout", locked.lib_name, again, "--overlays", locked.overlays, TZ="Asia/Shanghai", GIT_AUTHOR_NAME="Other"
    )
    assert git(locked, first, "rev-parse", "HEAD") == git(locked, again, "rev-parse", "HEAD")


def test_a_release_is_one_commit_of_its_files(locked: Sample, tmp_path: Path) -> None:
    folder = checked_out(locked, tmp_path / "checkout", "--source", "archive")
    assert git(locked, folder, "rev-list", "--count", "upstream").strip() == "1"
    assert "Release-Sha256: " in git(locked, folder, "log", "-1", "--format=%B", "upstream")
    assert "src/lib/stale.py" not in files(folder)  # what the commit has not is not shipped
    assert b"stopped at once" in files(folder)["src/lib/core.py"][0]


def test_settings_and_attributes_change_no_byte(own_upstream: Sample, locked: Sample, tmp_path: Path) -> None:
    """The user's settings, and attributes that upstream sets, could convert line ends and run programs."""
    sample = own_upstream
    (pinned,) = re.findall(r'commit = "(\w+)"', (sample.lib_overlay / "pyproject.toml").read_text("utf-8"))
    commit = sample.lib.commit({".gitattributes": b"core.py text eol=crlf ident\n*.txt filter=missing\n"})
    edit(sample.lib_overlay / "pyproject.toml", pinned, commit)
    edit(sample.lib_overlay / "pyproject.toml", locked.lib.url, sample.lib.url)
    renamed = sample.overlays / f"lib@{commit[:7]}"
    sample.lib_overlay.rename(renamed)
    (renamed / "overlay.lock").unlink()
    settings = "[core]\n\tautocrlf = true\n[init]\n\ttemplateDir = /nowhere\n"
    sample.environment.folder.joinpath("gitconfig").write_text(settings, "utf-8")
    folder = tmp_path / "checkout"
    sample.environment.ok("checkout", renamed, folder, "--source", "git", "--overlays", sample.overlays)
    assert files(folder)["src/lib/crlf.py"][0] == LIB_FILES["src/lib/crlf.py"]
    assert b"\r" not in files(folder)["src/lib/core.py"][0]
    assert git(sample, folder, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("present", "said"),
    [
        ("a file in it", "exists already, and is not empty"),
        ("a file", "is there already"),
        ("a link", "is there already"),
    ],
)
def test_what_is_there_stays(locked: Sample, tmp_path: Path, present: str, said: str) -> None:
    folder = tmp_path / "checkout"
    if present == "a file":
        folder.write_text("mine", "utf-8")
    elif present == "a link":
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        (folder / "mine").touch()
    done = locked.environment.cli("checkout", locked.lib_name, folder, "--overlays", locked.overlays)
    assert done.code == 2
    assert f"{folder}: {said}\n" in done.err
    assert "fix: name a folder that is not there yet" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkout"]


def test_an_overlay_that_does_not_fit_leaves_nothing(sample: Sample, tmp_path: Path) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", '"value * 2"', '"value * 5"')
    folder = tmp_path / "place" / "checkout"
    done = sample.environment.cli("checkout", sample.lib_name, folder, "--overlays", sample.overlays)
    assert done.code == 5
    assert "value * 5" in done.err
    assert not folder.exists()


def test_it_says_what_to_do_next_and_as_json_what_was_done(locked: Sample, tmp_path: Path) -> None:
    one, two = tmp_path / "a b", tmp_path / "two"
    done = locked.environment.ok("checkout", locked.lib_name, one, "--overlays", locked.overlays)
    assert f"{one}: 11 commits on top of {locked.lib_name.removeprefix('lib@')}" in done.out
    command = next(line for line in done.out.splitlines() if "log upstream.." in line).partition(":")[2].strip()
    assert locked.environment.succeed(*shlex.split(command)).out.count("\ncommit ") == 10
    values = locked.environment.ok("checkout", locked.lib_name, two, "--json", "--overlays", locked.overlays).json()
    assert values["overlay"] == locked.lib_name
    assert values["head"] == git(locked, two, "rev-parse", "HEAD").strip()
    units = chain.from_iterable(one["units"] for one in values["commits"])
    assert {unit["operation"] for unit in units} >= {"wrapped", "patch", "file"}
