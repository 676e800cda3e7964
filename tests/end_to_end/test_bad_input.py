"""Bad input: a clear and complete error, the right exit code, and nothing written."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.environment import Done
from support.overlays import edit, write_overlay, write_stacks
from support.upstreams import METADATA, make_upstream
from support.wheels import write_wheel

from .sample import ARCHIVE, CORE, LIB_METADATA, Sample


def build(sample: Sample, *arguments: str | Path, **more: str) -> Done:
    """Build lib, or what is named, into ``out`` of the sample's folder."""
    chosen = arguments or (sample.lib_name,)
    return sample.environment.cli(
        "build", *chosen, "--overlays", sample.overlays, "--out", out(sample), cwd=None, **more
    )


def out(sample: Sample) -> Path:
    return sample.folder / "out"


def refused(sample: Sample, done: Done, code: int, *texts: str) -> None:
    """See that a build was refused, with these texts, as errors and not as a traceback, and wrote nothing."""
    assert done.code == code, done.out + done.err
    flat = " ".join(done.err.split())
    for text in texts:
        assert text in flat
    assert "Traceback" not in done.err
    assert "npu-overlays: unexpected" not in done.err
    assert done.out == ""
    assert not out(sample).exists() or not list(out(sample).iterdir())


def config(sample: Sample) -> Path:
    return sample.lib_overlay / "pyproject.toml"


# The command line and the folder of overlays


def test_an_unknown_overlay_names_the_nearest(sample: Sample) -> None:
    wrong = sample.lib_name[:-1] + "0"
    done = build(sample, wrong, "nothing@like", sample.app_name)
    refused(sample, done, 3, f"{wrong}: no such overlay", f"nearest: {sample.lib_name}", "nothing@like: no such")


def test_an_unknown_stack_names_those_there_are(sample: Sample) -> None:
    refused(sample, build(sample, "--stack", "pear"), 3, "pear: no such stack", "one of: pair")


def test_without_stacks_an_overlay_must_be_named(sample: Sample) -> None:
    (sample.overlays / "stacks.toml").unlink()
    done = sample.environment.cli("build", "--overlays", sample.overlays, "--out", out(sample))
    refused(sample, done, 3, "stacks.toml", "name an overlay")


def test_an_empty_folder_of_overlays_is_said_so(sample: Sample) -> None:
    for command in ("list", "matrix", "check"):
        more = ("--all",) if command == "check" else ()
        done = sample.environment.cli(command, *more, "--overlays", sample.folder / "nowhere")
        assert done.code == 3
        assert "holds no overlay" in done.err


def test_a_clone_for_a_project_that_is_not_built_is_a_mistake(sample: Sample) -> None:
    refused(sample, build(sample, sample.lib_name, "--upstream", "lob=/x"), 3, "--upstream lob", "one of: lib")


def test_an_unknown_source_in_the_environment_names_the_known(sample: Sample) -> None:
    refused(sample, build(sample, NPU_OVERLAYS_SOURCE="ftp"), 3, "NPU_OVERLAYS_SOURCE", "one of: auto, git, archive")


# pyproject.toml


def test_every_mistake_of_a_configuration_is_told_at_once(sample: Sample) -> None:
    file = config(sample)
    for old, new in (
        ('name = "lib-npu"', 'name = "libnpu"'),
        ("revision = 1", "revision = 0"),
        ('packages = ["src/lib"]', 'packages = ["../src/lib", "/lib", "src\\\\lib", "src/lib/", "other/lib"]'),
        ('repository = "', 'mirrors = 3\nrepository = "'),
        ("core-metadata-version", "x-metadata-version"),
        ("[tool.hatch.build.hooks.npu-overlays]", ""),
        ('count = 1"', ""),
    ):
        text = file.read_text()
        file.write_text(text.replace(old, new, 1))
    edit(file, "[tool.overlay.upstream]\n", 'extens = "x"\ndrop = ["y"]\n[tool.overlay.upstream]\n')
    edit(file, 'find = "file://lib/config"', 'find = ""\ncount = 0')
    edit(file, 'why = "There is', 'why = "" # "There is')
    edit(file, '"version"]', '"versions"]')
    refused(
        sample,
        build(sample),
        3,
        "project.name: must be `lib-npu` for the project `lib`, not `libnpu`",
        "tool.overlay.revision: counts from 1, not 0",
        "tool.overlay.packages: `../src/lib` is not a plain path",
        "tool.overlay.packages: `/lib` is not a plain path",
        "tool.overlay.packages: `src\\lib` is not a plain path",
        "tool.overlay.packages: `src/lib/` is not a plain path",
        "tool.overlay.packages: two of them would be installed as `lib`",
        "tool.overlay.upstream.mirrors: must be a list, not 3",
        "tool.overlay.extens: unknown key",
        "tool.overlay.drop: there is nothing to drop without extends",
        "tool.overlay.edit[1].find: is empty",
        "tool.overlay.edit[1].count: counts from 1, not 0",
        "tool.overlay.edit[1].why: is empty",
        "tool.hatch.build.hooks.npu-overlays: missing",
        "tool.hatch.build.targets.wheel.core-metadata-version: missing",
        "project.dynamic: must announce what follows from the pin; missing: version",
    )


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[tool.overlay]", "[tool.overlay", "not valid TOML"),
        ("[tool.overlay]", "[tool.other]", "tool.overlay.project: missing"),
        ('project = "lib"', "project = 1", "tool.overlay.project: must be a text, not 1"),
        ('project = "lib"', 'project = "Lib"', "is not a normalised distribution name"),
        ('dynamic = ["authors", ', 'version = "1"\ndynamic = ["authors", ', "project.version: follows from the pin"),
        ('dynamic = ["authors", ', "dynamic = [", "missing: authors"),
        ('core-metadata-version = "2.4"', 'core-metadata-version = "2.5"', "2.5 is refused by some indexes"),
        ('"hatchling.build"', '"setuptools.build_meta"', "must be hatchling.build, not setuptools.build_meta"),
        ('replace = "pkg://lib.config"', 'replace = "file://lib/config"', "replace: is the same as find"),
        ('paths = ["src/lib/data/settings.yaml"]', 'paths = ["src/lib/core.py"]', "use @edited in a merge module"),
        ('paths = ["src/lib/data/settings.yaml"]', "paths = []", "edit[1].paths: is empty"),
        ('paths = ["src/lib/data/settings.yaml"]', 'paths = ["../x"]', "`../x` is not a plain path"),
        ('sha256 = "', 'sha256 = "x', "is not a sha256"),
        ('-none-any.whl"', '-none-any.exe"', "neither a wheel nor an sdist"),
        ('repository = "file://', 'repository = "https://me:secret@host', "holds a user name or password"),
        ('license-files = ["LICENSE"]\n', 'dependencies = ["a b"]\n', "`a b` is not a requirement"),
        ('commit = "', 'commit = "abc', "is not a full commit id"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(sample: Sample, old: str, new: str, text: str) -> None:
    file = config(sample)
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, new, 1))
    done = build(sample)
    refused(sample, done, 3, text, str(file))
    assert "secret" not in done.err


def test_what_hatchling_refuses_is_no_traceback(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    edit(lock, "Programming Language :: Python :: 3", "No Such Classifier :: At All")
    refused(sample, build(sample), 3, str(config(sample)), "hatchling refuses it", "No Such Classifier")


def test_a_short_commit_is_refused(sample: Sample) -> None:
    commit = sample.lib.git("rev-parse", "main")
    edit(config(sample), f'commit = "{commit}"', f'commit = "{commit[:7]}"')
    refused(sample, build(sample), 3, f"`{commit[:7]}` is not a full commit id", "write all 40 hex digits")


def test_a_folder_must_be_named_after_its_commit(sample: Sample) -> None:
    commit = sample.lib.git("rev-parse", "main")
    edit(config(sample), f'commit = "{commit}"', f'commit = "{"0" * 40}"')
    refused(sample, build(sample), 3, "names lib@0000000", f"but the folder is {sample.lib_name}")


def test_a_package_the_commit_does_not_hold_is_named(sample: Sample) -> None:
    edit(config(sample), 'packages = ["src/lib"]', 'packages = ["src/lib", "src/lob"]')
    refused(sample, build(sample, sample.lib_name, "--source", "git"), 3, "packages: the commit holds no `src/lob`")


def test_a_licence_file_the_commit_does_not_hold_is_named(sample: Sample) -> None:
    text = config(sample).read_text()
    before, _, after = text.rpartition('license-files = ["LICENSE"]')
    config(sample).write_text(f'{before}license-files = ["COPYING"]{after}')
    refused(sample, build(sample, sample.lib_name, "--source", "git"), 3, "license-files", "no `COPYING`")


def test_a_licence_that_is_not_upstreams_is_refused(sample: Sample) -> None:
    (sample.lib_overlay / "LICENSE").write_text("All mine.\n")
    refused(sample, build(sample), 5, "license-files", "copy upstream's LICENSE")


def test_mistakes_of_several_overlays_are_told_together(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", "class Engine:", "class Engin:")
    edit(sample.app_overlay / "tree/app/__init__.py", "def run", "def ran")
    for command in ("build", "check"):
        done = sample.environment.cli(command, "--overlays", sample.overlays)
        assert done.code == 5
        assert "Engin" in done.err
        assert "nearest: `run`" in done.err
    edit(config(sample), "revision = 1", "revision = -1")
    edit(sample.app_overlay / "pyproject.toml", "revision = 1", "revision = -2")
    for commands in (("build",), ("list",), ("matrix",), ("check", "--all")):
        done = sample.environment.cli(*commands, "--overlays", sample.overlays)
        assert done.code == 3
        assert "not -1" in done.err
        assert "not -2" in done.err


# stacks.toml


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("default = ", "not valid TOML"),
        ("default = 1\n[stacks]\n", "default: must be a text, not 1"),
        ('default = "b"\n[stacks]\na = ["{lib}"]\n', "default: `b` is not one of the stacks"),
        ('default = "a"\n[stacks]\na = ["lib@0000000"]\n', "stacks.a: no overlay `lib@0000000`"),
        ('default = "a"\n[stacks]\na = "{lib}"\n', "stacks.a: must be a list"),
        ('default = "a"\n[stacks]\na = []\n', "stacks.a: is empty"),
        ('default = "a"\nstacks = 1\n', "stacks: must be a table"),
        ('default = "a"\nstick = 1\n[stacks]\na = ["{lib}"]\n', "stick: unknown key"),
        ('default = "a"\n[stacks]\na = ["{lib}", "{lib}"]\n', "stacks.a: names two overlays of lib"),
    ],
)
def test_a_mistake_in_the_stacks_file_is_named(sample: Sample, content: str, text: str) -> None:
    (sample.overlays / "stacks.toml").write_text(content.replace("{lib}", sample.lib_name))
    refused(sample, sample.environment.cli("build", "--overlays", sample.overlays, "--out", out(sample)), 3, text)


def test_an_overlay_paired_in_two_ways_is_refused(sample: Sample) -> None:
    shutil.copytree(sample.app_overlay, sample.overlays / "web@0000000")
    stacks = {"pair": [sample.lib_name, sample.app_name], "other": [sample.lib_name, "web@0000000"]}
    write_stacks(sample.overlays, "pair", stacks)
    refused(sample, build(sample), 3, f"{sample.lib_name} is paired differently by several stacks")


# The upstream


def test_a_commit_the_repository_does_not_hold_is_said_so(sample: Sample) -> None:
    folder = write_overlay(
        sample.overlays,
        project="lib",
        commit="a" * 40,
        repository=sample.lib.url,
        packages=["src/lib"],
        files={},
    )
    done = sample.environment.cli("lock", folder.name, "--overlays", sample.overlays)
    refused(sample, done, 4, f"does not hold commit {'a' * 40}", "--upstream lib=PATH")
    assert not (folder / "overlay.lock").exists()


@pytest.mark.parametrize("url", ["file:///nowhere/lib", "http://127.0.0.1:9/lib", "https://nowhere.invalid/lib"])
def test_an_unreachable_host_says_what_to_try_next(sample: Sample, url: str) -> None:
    edit(config(sample), f'repository = "{sample.lib.url}"', f'repository = "{url}"\nmirrors = ["file:///neither"]')
    done = build(sample, sample.lib_name, "--source", "git")
    refused(sample, done, 4, f"error: {url}", "error: file:///neither", "--upstream lib=PATH")


def test_neither_git_nor_index_tells_of_both(sample: Sample) -> None:
    edit(config(sample), f'repository = "{sample.lib.url}"', 'repository = "file:///nowhere"')
    done = build(sample, PIP_FIND_LINKS=str(sample.folder))
    refused(sample, done, 4, "file:///nowhere", ARCHIVE, "No matching distribution found")


def test_an_archive_with_another_digest_is_refused(sample: Sample) -> None:
    files = {"lib/core.py": b"evil = 1\n"}
    write_wheel(sample.folder / "index", "lib", "1.2.3", files, metadata=LIB_METADATA)
    done = build(sample, sample.lib_name, "--source", "archive", PIP_FIND_LINKS=str(sample.folder / "index"))
    refused(sample, done, 4, ARCHIVE, "is pinned, but the index gave")


def test_a_truncated_archive_is_refused(sample: Sample) -> None:
    whole = (sample.environment.index or Path()) / ARCHIVE
    (sample.folder / "index").mkdir()
    (sample.folder / "index" / ARCHIVE).write_bytes(whole.read_bytes()[:-200])
    done = build(sample, sample.lib_name, "--source", "archive", PIP_FIND_LINKS=str(sample.folder / "index"))
    refused(sample, done, 4, ARCHIVE)
    # The cache is as good as before: the whole one can be had at once.
    assert build(sample, sample.lib_name, "--source", "archive").code == 0


def test_an_archive_the_lock_does_not_know_is_refused(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lock.write_text(lock.read_text().replace(f'"{ARCHIVE}"', '"other.whl"'))
    done = build(sample, sample.lib_name, "--source", "archive")
    refused(sample, done, 3, "overlay.lock: archives", f"says nothing of {ARCHIVE}", "npu-overlays lock")


def test_an_archive_that_differs_from_the_commit_cannot_be_locked(sample: Sample) -> None:
    files = {"lib/core.py": b"other = 1\n"}
    archive = write_wheel(sample.folder / "index", "lib", "1.2.3", files, metadata=LIB_METADATA)
    text = config(sample).read_text()
    start = text.index('sha256 = "') + len('sha256 = "')
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    config(sample).write_text(text[:start] + digest + text[start + 64 :])
    before = (sample.lib_overlay / "overlay.lock").read_bytes()
    done = sample.environment.cli(
        "lock", sample.lib_name, "--overlays", sample.overlays, PIP_FIND_LINKS=str(archive.parent)
    )
    refused(sample, done, 5, f"1 files of {ARCHIVE} differ from the commit: src/lib/core.py")
    assert (sample.lib_overlay / "overlay.lock").read_bytes() == before


def test_symbolic_links_in_a_shipped_package_are_refused(sample: Sample) -> None:
    upstream, _ = make_upstream(sample.folder / "linked", sample.environment, {METADATA: LIB_METADATA.encode()})
    (upstream.path / "lib").mkdir()
    (upstream.path / "lib" / "link.py").symlink_to("../other.py")
    commit = upstream.commit({"lib/__init__.py": b"", "LICENSE": b"Free for all.\n"})
    folder = write_overlay(
        sample.overlays, project="lib", commit=commit, repository=upstream.url, packages=["lib"], files={}
    )
    done = sample.environment.cli("lock", folder.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "symbolic links or submodules: lib/link.py")


# Files of the overlay


def test_symbolic_links_in_an_overlay_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "tree/src/lib/link.py").symlink_to("/etc/passwd")
    (sample.lib_overlay / "tree/src/lib/folder").symlink_to("/etc")
    (sample.lib_overlay / "patches/link.patch").symlink_to("notes.patch")
    refused(
        sample,
        build(sample),
        5,
        "tree/src/lib/link.py: is not a regular file",
        "tree/src/lib/folder: is not a regular file",
        "patches/link.patch: is not a regular file",
    )


@pytest.mark.parametrize("path", ["../outside.txt", "/outside.txt", "src/../../outside.txt", ".git/hooks/x"])
def test_a_patch_that_leads_outside_is_refused(sample: Sample, path: str) -> None:
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", path)
    (sample.lib_overlay / "patches/notes.patch").write_text(text)
    refused(sample, build(sample), 5, "notes.patch", "not a plain path inside the repository")
    assert not (sample.folder.parent / "outside.txt").exists()


def test_what_would_not_be_shipped_is_refused(sample: Sample) -> None:
    tree = sample.lib_overlay / "tree"
    (tree / "other").mkdir()
    (tree / "other/new.py").write_text("x = 1\n")
    (tree / "tests").mkdir()
    (tree / "tests/__init__.py").write_text(
        'from npu_overlays.markers import added\n\nX = added(1, why="For nothing.")\n'
    )
    edit(config(sample), 'paths = ["src/lib/data/settings.yaml"]', 'paths = ["README.md"]')
    text = (sample.lib_overlay / "patches/notes.patch").read_text().replace("src/lib/notes.txt", "packaging/METADATA")
    (sample.lib_overlay / "patches/meta.patch").write_text(text)
    refused(
        sample,
        build(sample),
        5,
        "is not shipped: other/new.py",
        "is not shipped: tests/__init__.py",
        "is not shipped: README.md",
        "is not shipped: packaging/METADATA",
    )


def test_files_of_the_wrong_kind_are_refused(sample: Sample) -> None:
    (sample.lib_overlay / "patches/readme.txt").write_text("x")
    (sample.lib_overlay / "shared").mkdir()
    (sample.lib_overlay / "shared/data.yaml").write_text("x: 1")
    refused(sample, build(sample), 5, "patches/ holds *.patch files", "shared/ holds Python definitions")


# Lineage


def another_commit(sample: Sample, extends: str, files: dict[str, bytes], *, more: str = "") -> Path:
    """Write an overlay on a further, empty commit of lib."""
    commit = sample.lib.commit({})
    sample.lib.git("reset", "--hard", "--quiet", "HEAD~1")
    return write_overlay(
        sample.overlays,
        project="lib",
        commit=commit,
        repository=sample.lib.url,
        packages=["src/lib"],
        files=files,
        overlay=f'extends = "{extends}"\n{more}',
    )


@pytest.fixture
def own_upstream(sample: Sample) -> Sample:
    """Return the sample with a clone of lib's repository that the test may commit to."""
    clone = sample.folder / "upstream-lib"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    own = replace(sample.lib, path=clone, environment=sample.environment)
    return replace(sample, lib=own)


def test_a_circle_of_extends_is_shown(own_upstream: Sample) -> None:
    sample = own_upstream
    newer = another_commit(sample, sample.lib_name, {})
    text = config(sample).read_text()
    config(sample).write_text(text.replace("revision = 1\n", f'revision = 1\nextends = "{newer.name}"\n', 1))
    circle = f"{sample.lib_name} → {newer.name} → {sample.lib_name}"
    refused(sample, build(sample), 3, f"goes round in a circle: {circle}", "break the circle")


def test_extending_itself_nothing_or_another_project_is_refused(sample: Sample) -> None:
    text = config(sample).read_text()
    for extends, message in (
        (sample.lib_name, "goes round in a circle"),
        ("lib@0000000", "no such overlay"),
        (sample.app_name, "is an overlay of another project"),
    ):
        config(sample).write_text(text.replace("revision = 1\n", f'revision = 1\nextends = "{extends}"\n', 1))
        refused(sample, build(sample), 3, message)


def test_duplicates_through_extends_say_how_to_drop_the_inherited_one(own_upstream: Sample) -> None:
    sample = own_upstream
    again = {
        "tree/src/lib/core.py": (
            b'from npu_overlays.markers import replaced\n\n\n@replaced(why="Again.")\ndef scale(value):\n    return 4\n'
        ),
        "tree/src/lib/npu.py": b'"""Again."""\n',
    }
    newer = another_commit(sample, sample.lib_name, again)
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "tree/src/lib/npu.py: the same file as", '"src/lib/npu.py" in tool.overlay.drop')
    drop = 'drop = ["src/lib/npu.py"]\n'
    edit(newer / "pyproject.toml", "[tool.overlay.upstream]", f"{drop}[tool.overlay.upstream]")
    done = sample.environment.cli("lock", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "second operation on `scale`", '"src/lib/core.py:scale" in tool.overlay.drop')
    edit(newer / "pyproject.toml", drop, 'drop = ["src/lib/npu.py", "src/lib/core.py:scale"]\n')
    sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)


def test_locking_tells_which_inherited_definitions_changed(own_upstream: Sample) -> None:
    sample = own_upstream
    moved = CORE.replace(b'return "stopped"', b'return "halted"').replace(b"times: int = 1", b"times: int = 2")
    sample.lib.commit({"src/lib/core.py": moved})
    newer = another_commit(sample, sample.lib_name, {})
    done = sample.environment.ok("lock", newer.name, "--overlays", sample.overlays)
    assert "look at `Engine.stop` of src/lib/core.py: its definition changed since the base" in done.err
    assert "look at `Engine.start` of src/lib/core.py: its signature changed since the base" in done.err
    assert done.err.count("look at") == 2


def test_a_drop_that_drops_nothing_is_refused(own_upstream: Sample) -> None:
    sample = own_upstream
    newer = another_commit(sample, sample.lib_name, {}, more='drop = ["src/lib/core.py:absent"]\n')
    done = sample.environment.cli("show", newer.name, "--overlays", sample.overlays)
    refused(sample, done, 5, "`src/lib/core.py:absent` drops nothing")


# The lock


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("", "", "missing"),
        ("lock-version = 1", "lock-version = 99", "its layout is version 99"),
        ("lock-version = 1", "<<<<<<< HEAD", "not valid TOML"),
        ("[metadata]", "[metadatum]", "damaged"),
        ('version = "1.2.3"', "version = 3", "damaged"),
        ('version = "1.2.3"', 'version = "new"', "damaged"),
        ('readme = "README.md"', 'unheard = "of"', "damaged"),
        ("compared = true", "compered = true", "damaged"),
        ('symbol = "LIMIT"', "symbol = 1", "damaged"),
        ("[metadata.fields]", "[metadata.field]", "damaged"),
        ('commit = "', 'commit = "0', "made for commit 0"),
    ],
)
def test_a_damaged_lock_says_how_to_make_it_anew(sample: Sample, old: str, new: str, text: str) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    if old:
        edit(lock, old, new)
    else:
        lock.unlink()
    refused(sample, build(sample), 3, f"{lock}: {text}", f"npu-overlays lock {sample.lib_name}")


def test_an_empty_or_truncated_lock_is_damaged(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    content = lock.read_bytes()
    for damaged in (b"", content[:200], b"\xff\xfe" + content):
        lock.write_bytes(damaged)
        refused(sample, build(sample), 3, f"npu-overlays lock {sample.lib_name}")


def test_changed_contracts_are_told_by_symbol_all_at_once(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lines = lock.read_text().splitlines()
    changed = [f'{line[:-2]}z"' if line.startswith(("fingerprint", "signature")) else line for line in lines]
    lock.write_text("\n".join(changed))
    refused(
        sample,
        build(sample),
        5,
        "upstream's definition of `Engine.stop` in src/lib/core.py is not the one this was written for",
        "upstream's definition of `Engine.obsolete`",
        "upstream's definition of `LIMIT`",
        "upstream's signature of `Engine.start`",
        "adapt the operation",
    )


def test_a_changed_body_of_a_wrapped_function_is_only_a_notice(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    before, start, after = lock.read_text().partition('symbol = "Engine.start"')
    lock.write_text(before + start + after.replace('fingerprint = "', 'fingerprint = "z', 1))
    done = sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    assert "the body of the wrapped `Engine.start` changed upstream" in done.err


def test_an_operation_without_contract_and_a_contract_without_operation_are_refused(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    edit(lock, 'symbol = "LIMIT"', 'symbol = "LIMITS"')
    refused(sample, build(sample), 5, "`LIMIT` of src/lib/core.py is not in", "holds a contract for `LIMITS`")


def test_a_lock_that_cannot_be_written_is_left_alone(sample: Sample) -> None:
    lock = sample.lib_overlay / "overlay.lock"
    lock.unlink()
    lock.mkdir()
    before = sorted(sample.lib_overlay.iterdir())
    done = sample.environment.cli("lock", sample.lib_name, "--overlays", sample.overlays)
    refused(sample, done, 6, str(lock), "cannot be written")
    assert sorted(path for path in sample.lib_overlay.iterdir() if path.name != "README.md") == [
        path for path in before if path.name != "README.md"
    ]


# The output


def test_an_output_that_is_a_file_is_refused(sample: Sample) -> None:
    (sample.folder / "file").write_text("mine")
    done = sample.environment.cli(
        "build", sample.lib_name, "--overlays", sample.overlays, "--out", sample.folder / "file"
    )
    refused(sample, done, 6, "cannot be written", "--out")
    assert (sample.folder / "file").read_text() == "mine"


def test_a_wheel_too_large_for_the_disk_leaves_nothing(sample: Sample) -> None:
    sample.environment.ok("check", sample.lib_name, "--overlays", sample.overlays)
    temporary = sample.folder / "temporary"
    temporary.mkdir()
    done = sample.environment.run(
        "bash",
        "-c",
        'ulimit -f 24; exec "$0" -m npu_overlays "$@"',
        sys.executable,
        "build",
        sample.lib_name,
        "--overlays",
        sample.overlays,
        "--out",
        out(sample),
        TMPDIR=str(temporary),
    )
    refused(sample, done, 6, "cannot be written: File too large")
    assert list(temporary.iterdir()) == []


_MOUNTED = """
mount -t tmpfs -o "$1" none "$2" && echo mounted || exit
"$3" -m npu_overlays build "$4" --overlays "$5" --out "$2/out"
code=$?
echo left:
find "$2" -type f
exit $code
"""


@pytest.mark.parametrize("mount", ["size=24k", "ro"])
def test_a_full_or_read_only_disk_leaves_nothing(sample: Sample, mount: str) -> None:
    folder = sample.folder / "mounted"
    folder.mkdir()
    unshare = ("unshare", "--map-root-user", "--mount")
    mounting = ("bash", "-c", _MOUNTED, "bash", mount, folder, sys.executable, sample.lib_name, sample.overlays)
    done = sample.environment.run(*unshare, *mounting)
    if "mounted" not in done.out:
        pytest.skip(f"this system lets no test mount a file system: {done.err.strip()}")
    assert done.code == 6, done.err
    reason = "No space left on device" if mount.startswith("size") else "Read-only file system"
    assert f"cannot be written: {reason}" in done.err
    assert done.out == "mounted\nleft:\n"
