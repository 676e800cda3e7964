"""Mistakes in an overlay's ``pyproject.toml``, all told at once."""

from __future__ import annotations

import re

import pytest

from support.overlays import edit

from .refusals import build, config, refused
from .sample import Sample


def test_every_mistake_of_a_configuration_is_told_at_once(sample: Sample) -> None:
    file = config(sample)
    for old, new in (
        ('suffix = "npu"', 'suffix = "N-PU"'),
        ("revision = 1", "revision = 0"),
        ('packages = ["src/lib"]', 'packages = ["../src/lib", "/lib", "src\\\\lib", "src/lib/", "lib", "src/lib"]'),
        ('repository = "', 'mirrors = 3\nrepository = "'),
        ('build-backend = "npu_overlays.backend"', ""),
        ("[build-system]", '[project]\nname = "lib"\n[tool.hatch.build]\n[build-system]'),
        ('count = 1"', ""),
    ):
        text = file.read_text()
        file.write_text(text.replace(old, new, 1))
    edit(file, "[tool.overlay.upstream]\n", 'extends = "x"\ndrop = ["y"]\n[tool.overlay.upstream]\n')
    edit(file, 'find = "file://lib/config"', 'find = ""\ncount = 0')
    edit(file, 'why = "There is', 'why = "" # "There is')
    refused(
        sample,
        build(sample),
        3,
        "tool.overlay.suffix: `N-PU` is not one word",
        "tool.overlay.revision: counts from 1, not 0",
        "tool.overlay.packages: `../src/lib` is not a plain path",
        "tool.overlay.packages: `/lib` is not a plain path",
        "tool.overlay.packages: `src\\lib` is not a plain path",
        "tool.overlay.packages: `src/lib/` is not a plain path",
        "tool.overlay.packages: two of them would be installed as `lib`",
        "tool.overlay.upstream.mirrors: must be a list, not 3",
        "tool.overlay.extends: unknown key",
        "tool.overlay.drop[1]: must be a table fix: write [[tool.overlay.drop]]",
        "tool.overlay.edit[1].find: is empty",
        "tool.overlay.edit[1].count: counts from 1, not 0",
        "tool.overlay.edit[1].why: is empty",
        'build-system: is missing or incomplete fix: write exactly: [build-system] requires = ["npu-overlays"]'
        ' build-backend = "npu_overlays.backend"',
        "project: is written by npu-overlays, from tool.overlay and the pin fix: delete the table [project]",
        "tool.hatch: is written by npu-overlays, from tool.overlay and the pin fix: delete the table [tool.hatch]",
    )


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[tool.overlay]", "[tool.overlay", "not valid TOML"),
        (
            "[tool.overlay]",
            "x = lib\n[tool.overlay]",
            "not valid TOML: Invalid value fix: write a value, and texts in quotes",
        ),
        ("[tool.overlay]", "[tool.other]", "tool.overlay.packages: missing"),
        ('project = "lib"', "", "tool.overlay.project: missing"),
        ('suffix = "npu"', "", "tool.overlay.suffix: missing"),
        ('purpose = "NPU"', 'purpose = "N\\u001b"', "holds characters that cannot be printed"),
        ("revision = 1", 'label = "my corp"', "`my corp` is not one word"),
        ("revision = 1", 'label = "gabcdef0"', "`gabcdef0` would read as a commit or a digest"),
        ("revision = 1", 'label = "mine"', "names lib@"),
        ('packages = ["src/lib"]', 'packages = ["src/lib", 3]', "3 is no path of a folder"),
        ('packages = ["src/lib"]', 'packages = [{ path = "src/lib", import = "a-b" }]', "`a-b` cannot be imported"),
        ('packages = ["src/lib"]', 'packages = [{ path = "src/lib" }]', "is no path of a folder"),
        ('packages = ["src/lib"]', "packages = []", "tool.overlay.packages: is empty"),
        ('project = "lib"', "project = 1", "tool.overlay.project: must be a text, not 1"),
        ('project = "lib"', 'project = "Lib"', "is not a normalised distribution name"),
        ('"npu_overlays.backend"', '"hatchling.build"', "must name npu-overlays, not hatchling.build"),
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


DROP = '[[tool.overlay.drop]]\nname = "x"\nwhy = "y"\n'


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        # Without the project, what its layers would give is unknown: a suffix, and operations to drop.
        (
            r'project = "lib"\nsuffix = "npu"\n((?s:.*?))(\[tool.overlay.upstream\])',
            rf"\1{DROP}\2",
            "tool.overlay.project: missing",
        ),
        (r"packages = .*", 'packages = "src/lib"', "tool.overlay.packages: must be a list"),
        (r"packages = .*", "packages = [3]", "tool.overlay.packages: 3 is no path"),
        (r"commit = .*", 'commit = "abc"', "is not a full commit id"),
        (r"revision = .*", 'revision = "1"', "tool.overlay.revision: must be"),
    ],
)
def test_one_mistake_is_one_error(sample: Sample, old: str, new: str, text: str) -> None:
    file = config(sample)
    content, count = re.subn(old, new, file.read_text(), count=1)
    assert count == 1
    file.write_text(content)
    done = build(sample)
    refused(sample, done, 3, text)
    assert done.err.count("error: ") == 1, done.err


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


def test_mistakes_of_several_overlays_are_told_together(sample: Sample) -> None:
    edit(sample.lib_overlay / "tree/src/lib/core.py", "class Engine:", "class Engin:")
    edit(sample.app_overlay / "tree/app/__init__.py", "def run", "def ran")
    for command in ("build", "check"):
        done = sample.environment.cli(command, "--overlays", sample.overlays)
        assert done.code == 5
        assert "Engin" in done.err
        assert "did you mean `run`?" in done.err
    edit(config(sample), "revision = 1", "revision = -1")
    edit(sample.app_overlay / "pyproject.toml", "revision = 1", "revision = -2")
    for commands in (("build",), ("list",), ("matrix",), ("check", "--all")):
        done = sample.environment.cli(*commands, "--overlays", sample.overlays)
        assert done.code == 3
        assert "not -1" in done.err
        assert "not -2" in done.err


def test_a_file_that_says_nothing_shows_all_that_it_has_to_hold(sample: Sample) -> None:
    config(sample).write_text("")
    done = build(sample)
    refused(sample, done, 3, "has no [tool.overlay], so it is no overlay", 'build-backend = "npu_overlays.backend"')
    assert done.err.count("fix:") == 1
    config(sample).write_text('[tool.overlay]\nproject = "lib"\nsuffix = "npu"\npackages = ["src/lib"]\n')
    refused(
        sample, build(sample), 3, "write the table [tool.overlay.upstream]", "build-system: is missing or incomplete"
    )


def test_a_release_alone_has_one_archive(sample: Sample) -> None:
    text = config(sample).read_text()
    commit = sample.lib.git("rev-parse", "main")
    text = text.replace(f'commit = "{commit}"\n', "").replace(
        "[[tool.overlay.edit]]", _SECOND + "[[tool.overlay.edit]]"
    )
    config(sample).write_text(text)
    refused(
        sample,
        build(sample),
        3,
        "several archives are named, and no commit: only one archive can be the pin",
        "keep one of them",
    )


_SECOND = f"""\
[[tool.overlay.upstream.archive]]
distribution = "lib"
version = "1.2.3"
file = "lib-1.2.3.tar.gz"
sha256 = "{"0" * 64}"

"""
