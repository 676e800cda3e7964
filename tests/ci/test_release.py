"""What `make release` and its companions run: sums, notes, and what gh is asked for."""

from __future__ import annotations

import shutil
import sys
import zipfile
from itertools import chain
from pathlib import Path

import pytest

from npu_overlays.contracts.lockfile import Lock, write_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from support.environment import Done, Environment
from support.overlays import write_overlay
from support.patched import Patched

from .conftest import ROOT

# Notes what it is asked for, and answers as the files beside it say.
GH = """\
#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
case "$1 $2" in
	"release download") mkdir -p "$5" && echo "$3" > "$5/demo-$3.whl" ;;
	*) cat "$here/$1-$2" 2>/dev/null ;;
esac
test ! -e "$here/fails-$1-$2"
"""


@pytest.fixture
def gh(environment: Environment) -> Path:
    """Return the folder of a gh of our own, in an environment that has it first on its path."""
    tools = environment.folder / "tools"
    tools.mkdir()
    (tools / "gh").write_text(GH, "utf-8")
    (tools / "gh").chmod(0o755)
    environment.extra["PATH"] = f"{tools}:{environment.variables()['PATH']}"
    shutil.copytree(ROOT / "ci", environment.folder / "ci")
    return tools


def asked(gh: Path) -> list[list[str]]:
    """Return what gh was asked for."""
    file = gh / "asked"
    return [line.split() for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def python(environment: Environment, *arguments: str | Path) -> Done:
    """Run a script with the Python of the tests."""
    return environment.run(sys.executable, *arguments)


def files(folder: Path, **content: str) -> Path:
    """Write files, with a dot for the last underscore of each name, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text, "utf-8")
    return folder


def test_sums_are_such_as_sha256sum_reads(environment: Environment) -> None:
    folder = files(environment.folder / "files", a_whl="a", b_json="b")
    sums = ROOT / "ci" / "sums.py"
    assert python(environment, sums, "write", folder).code == 0
    assert [line.split()[1] for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines()] == ["a.whl", "b.json"]
    environment.succeed("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    before = (folder / "SHA256SUMS").read_bytes()
    assert python(environment, sums, "write", folder).code == 0
    assert (folder / "SHA256SUMS").read_bytes() == before


@pytest.mark.parametrize(
    ("again", "what"),
    [
        ({"a_whl": "a", "b_json": "another"}, ""),
        ({"a_whl": "another"}, "a.whl: has other bytes here"),
        ({"b_json": "b"}, "a.whl: is not made here"),
        ({"a_whl": "a", "c_whl": "c"}, "c.whl: is made here only"),
    ],
)
def test_another_folder_has_the_same_bytes_or_it_is_said_which_not(
    environment: Environment, again: dict[str, str], what: str
) -> None:
    folder = files(environment.folder / "files", a_whl="a", b_json="b")
    python(environment, ROOT / "ci" / "sums.py", "write", folder)
    done = python(environment, ROOT / "ci" / "sums.py", "same", folder, files(environment.folder / "again", **again))
    assert done.code == bool(what)
    assert what in done.err
    assert ("fix: npu-overlays reproduce" in done.err) == bool(what)


def test_sums_of_nothing_are_refused(environment: Environment) -> None:
    empty = files(environment.folder / "empty")
    assert python(environment, ROOT / "ci" / "sums.py", "write", empty).code == 2
    assert python(environment, ROOT / "ci" / "sums.py", "same", empty, empty).code == 2
    (empty / "SHA256SUMS").touch()
    assert python(environment, ROOT / "ci" / "sums.py", "same", empty, empty).code == 1


PROJECTS = ("pyproject.toml", "build_tools/pyproject.toml", "recipes/pyproject.toml")
CHANGELOG = "# Changelog\n\n## Unreleased\n\nsoon\n\n## 0.2.0 (2026-11-22)\n\n- now\n\n## 0.1.0\n\n- then\n"


@pytest.mark.parametrize(
    ("tag", "version", "out", "err"),
    [
        ("v0.2.0", "0.2.0", "- now\n", ""),
        ("v0.1.0", "0.1.0", "- then\n", ""),
        ("v0.2.0", "0.1.0", "", "pyproject.toml: version is 0.1.0, the tag is v0.2.0"),
        ("v0.3.0", "0.3.0", "", "CHANGELOG.md: has no section `## 0.3.0`"),
    ],
)
def test_notes_are_what_the_changelog_says_of_the_tag(
    environment: Environment, tag: str, version: str, out: str, err: str
) -> None:
    (environment.folder / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    write_versions(environment.folder, version)
    done = python(environment, ROOT / "ci" / "notes.py", tag)
    assert (done.code, done.out) == (bool(err), out)
    assert err in done.err


def test_notes_wait_for_the_fragments(environment: Environment) -> None:
    (environment.folder / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    write_versions(environment.folder, "0.2.0")
    files(environment.folder / "changelog.d", a_md="- a", b_md="- b")
    done = python(environment, ROOT / "ci" / "notes.py", "v0.2.0")
    assert (done.code, done.out) == (1, "")
    assert "a.md: this fragment and 1 more are not in CHANGELOG.md yet\n    fix: move their lines by hand" in done.err


def test_notes_come_from_one_section_with_a_date(environment: Environment) -> None:
    (environment.folder / "CHANGELOG.md").write_text(f"{CHANGELOG}\n## 0.2.0 (not released yet)\n\n- soon\n", "utf-8")
    write_versions(environment.folder, "0.2.0")
    done = python(environment, ROOT / "ci" / "notes.py", "v0.2.0")
    assert (done.code, done.out) == (1, "")
    assert "CHANGELOG.md: has 2 sections of 0.2.0" in done.err
    assert "CHANGELOG.md: the heading of 0.2.0 says `not released yet`" in done.err


@pytest.mark.parametrize("file", PROJECTS)
def test_all_our_distributions_have_the_version_of_the_tag(environment: Environment, file: str) -> None:
    (environment.folder / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    write_versions(environment.folder, "0.2.0")
    (environment.folder / file).write_text('version = "0.1.9"\n', "utf-8")
    done = python(environment, ROOT / "ci" / "notes.py", "v0.2.0")
    assert done.code == 1
    assert done.err.startswith(f"error: {file}: version is 0.1.9")
    assert _versions_of(ROOT) == 1


def write_versions(folder: Path, version: str) -> None:
    """Write the version of each of our distributions."""
    for file in PROJECTS:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(f'[project]\nversion = "{version}"\n', "utf-8")


def _versions_of(folder: Path) -> int:
    """Return how many versions our distributions have."""
    lines = ((folder / file).read_text("utf-8").splitlines() for file in PROJECTS)
    return len({line for line in chain.from_iterable(lines) if line.startswith("version = ")})


@pytest.fixture
def ready(environment: Environment, gh: Path) -> Path:
    """Return a folder with what is ready to be released as v0.2.0."""
    assert gh.is_dir()
    (environment.folder / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    write_versions(environment.folder, "0.2.0")
    folder = files(environment.folder / "files", a_whl="a")
    python(environment, ROOT / "ci" / "sums.py", "write", folder)
    return folder


def test_a_release_is_a_draft_until_all_its_files_are_there(environment: Environment, gh: Path, ready: Path) -> None:
    environment.succeed("ci/publish.sh", "v0.2.0", ready)
    view, create, edit = asked(gh)
    assert view[:3] == ["release", "view", "v0.2.0"]
    assert create[:5] == ["release", "create", "v0.2.0", "--draft", "--verify-tag"]
    assert create[-2:] == [str(ready / "SHA256SUMS"), str(ready / "a.whl")]
    assert edit == ["release", "edit", "v0.2.0", "--draft=false"]


def test_a_draft_that_was_left_is_made_anew(environment: Environment, gh: Path, ready: Path) -> None:
    (gh / "release-view").write_text("true\n", "utf-8")
    environment.succeed("ci/publish.sh", "v0.2.0", ready)
    assert [words[1] for words in asked(gh)] == ["view", "delete", "create", "edit"]


def test_a_release_that_is_out_stays_as_it_is(environment: Environment, gh: Path, ready: Path) -> None:
    (gh / "release-view").write_text("false\n", "utf-8")
    done = environment.run("ci/publish.sh", "v0.2.0", ready)
    assert done.code == 1
    assert "is out, and stays as it is" in done.err
    assert [words[1] for words in asked(gh)] == ["view"]


def test_files_that_are_not_whole_are_not_released(environment: Environment, gh: Path, ready: Path) -> None:
    (ready / "a.whl").write_text("cut", "utf-8")
    assert environment.run("ci/publish.sh", "v0.2.0", ready).code != 0
    assert asked(gh) == []


def test_a_development_build_is_not_released(environment: Environment, gh: Path, ready: Path) -> None:
    name = "verl_npu-0.5.0.dev0+npu.1.20261122103000123.dev3f2a1c9.g796871d-py3-none-any.whl"
    (ready / name).touch()
    done = environment.run("ci/publish.sh", "v0.2.0", ready)
    assert (done.code, asked(gh)) == (1, [])
    assert f"{name}: is a development build\n    fix: npu-overlays revise --all --why" in done.err
    (ready / name).rename(ready / "verl_npu-0.5.0.dev0+npu.1.g796871d-py3-none-any.whl")
    environment.succeed("ci/publish.sh", "v0.2.0", ready)


def test_a_release_whose_files_do_not_all_arrive_stays_a_draft(environment: Environment, gh: Path, ready: Path) -> None:
    (gh / "fails-release-create").touch()
    assert environment.run("ci/publish.sh", "v0.2.0", ready).code != 0
    assert [words[1] for words in asked(gh)] == ["view", "create"]


def test_what_earlier_releases_gave_out_is_fetched_into_a_folder_each(environment: Environment, gh: Path) -> None:
    (gh / "release-list").write_text("v0.2.0\nv0.1.0\n", "utf-8")
    environment.succeed("ci/released.sh", "before")
    found = {file.relative_to(environment.folder).as_posix() for file in (environment.folder / "before").glob("*/*")}
    assert found == {"before/v0.1.0/demo-v0.1.0.whl", "before/v0.2.0/demo-v0.2.0.whl"}
    (gh / "fails-release-list").touch()
    assert environment.run("ci/released.sh", "before").code != 0


def test_before_the_first_release_there_is_nothing_to_fetch(environment: Environment, gh: Path) -> None:
    assert gh.is_dir()
    environment.succeed("ci/released.sh", "before")
    assert not list((environment.folder / "before").glob("*/*"))


@pytest.mark.parametrize(("open_one", "verb"), [("", "create"), ("7\n", "edit")])
def test_one_issue_has_the_report(environment: Environment, gh: Path, open_one: str, verb: str) -> None:
    (gh / "issue-list").write_text(open_one, "utf-8")
    files(environment.folder / "drift", report_md="drifted")
    environment.succeed("ci/drift_issue.sh", "drift")
    label, listed, last = asked(gh)
    assert (label[0], listed[:2], last[:2]) == ("label", ["issue", "list"], ["issue", verb])
    assert last[-2:] == ["--body-file", "drift/report.md"]
    assert ("7" in last) == bool(open_one)


def test_no_issue_is_opened_without_a_report(environment: Environment, gh: Path) -> None:
    done = environment.run("ci/drift_issue.sh", "drift")
    assert done.code == 1
    assert "fix: make drift" in done.err
    assert asked(gh) == []


@pytest.fixture
def pushing(environment: Environment, gh: Path) -> Environment:
    """Return a checkout with overlays, of a repository that it may push to and that has no pull request."""
    folder = environment.folder
    (gh / "pr-list").write_text("", "utf-8")
    for name, value in (("NAME", "A"), ("EMAIL", "a@example.org")):
        environment.extra.update({f"GIT_AUTHOR_{name}": value, f"GIT_COMMITTER_{name}": value})
    files(folder / "overlays/demo@1.0", overlay_lock="first")
    for words in (("init", "--quiet"), ("add", "ci", "overlays"), ("commit", "--quiet", "-m", "before")):
        environment.succeed("git", *words)
    environment.succeed("git", "init", "--quiet", "--bare", folder / "origin.git")
    environment.succeed("git", "remote", "add", "origin", folder / "origin.git")
    return environment


@pytest.mark.parametrize(("known", "opened"), [("", ["pr", "create", "--head", "follow/demo@1.1"]), ("7\n", [])])
def test_a_port_has_one_pull_request_with_its_overlays(
    pushing: Environment, gh: Path, known: str, opened: list[str]
) -> None:
    environment, folder = pushing, pushing.folder
    (gh / "pr-list").write_text(known, "utf-8")
    files(folder / "follow/demo@1.1", report_md="ported")
    files(folder / "follow/demo@1.1/overlays/demo@1.1", overlay_lock="locked")
    environment.succeed("ci/follow_pull_requests.sh", "follow")
    listed, *rest = asked(gh)
    assert listed[:4] == ["pr", "list", "--head", "follow/demo@1.1"]
    assert [one[:4] for one in rest] == ([opened] if opened else [])
    branches = environment.succeed("git", "--git-dir", folder / "origin.git", "branch", "--list").out
    assert ("follow/demo@1.1" in branches) == bool(opened)
    if opened:
        shown = environment.succeed("git", "show", "follow/demo@1.1:overlays/demo@1.1/overlay.lock").out
        assert shown == "locked"
    assert not (folder / "overlays/demo@1.1").exists()


def test_a_port_that_could_not_be_started_has_no_request_and_stops_no_other(pushing: Environment, gh: Path) -> None:
    folder = pushing.folder
    for version in ("1.1", "1.2"):
        files(folder / f"follow/demo@{version}", report_md="ported")
        files(folder / f"follow/demo@{version}/overlays/demo@1.0", overlay_lock="first")
    files(folder / "follow/demo@1.2/overlays/demo@1.2", overlay_lock="locked")
    done = pushing.succeed("ci/follow_pull_requests.sh", "follow")
    assert "demo@1.1: could not be started" in done.err
    assert [one[3] for one in asked(gh) if one[1] == "create"] == ["follow/demo@1.2"]


def test_no_pull_request_is_opened_where_there_is_no_newer_release(environment: Environment, gh: Path) -> None:
    environment.succeed("git", "init", "--quiet")
    environment.succeed("git", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-qm", "x")
    assert "no newer release" in environment.succeed("ci/follow_pull_requests.sh", "follow").err
    assert asked(gh) == []


def test_the_newest_pin_of_each_project_is_looked_at_and_what_fails_is_in_the_report(environment: Environment) -> None:
    for commit, version in (("1" * 40, "1.2"), ("2" * 40, "1.10"), ("3" * 40, "1.9")):
        folder = write_overlay(
            environment.folder / "overlays",
            project="demo",
            commit=commit,
            repository="file:///nowhere",
            packages=["demo"],
            files={},
        )
        metadata = UpstreamMetadata(version=version, fields={}, scripts={})
        write_lock(folder, Lock(commit=commit, metadata=metadata))
    done = python(environment, ROOT / "ci" / "drift_report.py", "drift")
    assert done.code == 1
    report = (environment.folder / "drift" / "report.md").read_text("utf-8")
    assert report.startswith("## demo@2222222\n\nIt could not be examined:\n\n```text\nerror: ")
    assert done.err.startswith("error: ")
    assert report.count("## ") == 1


def test_text_of_others_means_nothing_in_the_report(tmp_path: Path) -> None:
    code = "import drift_report; print(drift_report._code('fix `@someone` | #1'))"
    done = Environment(folder=tmp_path).succeed(sys.executable, "-c", code, PYTHONPATH=str(ROOT / "ci"))
    (line,) = done.out.splitlines()
    assert line[0] == line[-1] == "`"
    assert not {"`", "|"} & set(line[1:-1])


def test_scripts_explain_themselves(environment: Environment) -> None:
    for script in ("sums.py", "installed.py", "notes.py", "drift_report.py"):
        done = environment.run(
            sys.executable, ROOT / "ci" / script, "--no-such-option", PYTHONPATH=str(ROOT / "build_tools")
        )
        assert done.code == 2, script
        assert "usage:" in done.err, script
    for script in ("publish.sh", "released.sh", "drift_issue.sh", "follow_pull_requests.sh"):
        done = environment.run(ROOT / "ci" / script)
        assert done.code != 0, script
        assert "usage:" in done.err, script


def test_a_script_that_needs_gh_says_so(environment: Environment) -> None:
    tools = environment.folder / "tools"
    tools.mkdir()
    for name in ("bash", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = environment.run(ROOT / "ci" / "released.sh", "before", PATH=str(tools))
    assert done.code == 1
    assert "gh is not on PATH" in done.err


@pytest.mark.thorough
def test_what_is_released_is_installed_and_found_whole_or_not(environment: Environment, patched: Patched) -> None:
    folder = environment.folder / "wheels"
    shutil.copytree(patched.wheels, folder)
    shutil.copytree(patched.folder / "overlays", environment.folder / "overlays")
    shutil.copytree(patched.folder / "stacks", environment.folder / "stacks")
    own = {"PYTHONPATH": str(ROOT / "build_tools")}
    done = environment.run(sys.executable, ROOT / "ci" / "installed.py", folder, cwd=None, **own)
    assert done.code == 0, done.err
    assert done.out.count("intact") == 2
    wheel = next(folder.glob("verl_npu-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(wheel, "w") as archive:
        for info, content in members.items():
            archive.writestr(info, content + b"# more\n" if info.filename == "verl/trainer.py" else content)
    done = environment.run(sys.executable, ROOT / "ci" / "installed.py", folder, cwd=None, **own)
    assert done.code == 1
    assert "error: pair: not as built" in done.err


@pytest.mark.thorough
def test_the_report_names_what_upstream_s_head_breaks(environment: Environment, patched: Patched) -> None:
    shutil.copytree(patched.folder / "upstream", environment.folder / "upstream")
    shutil.copytree(patched.folder / "overlays", environment.folder / "overlays")
    shutil.copytree(patched.folder / "stacks", environment.folder / "stacks")
    for file in (environment.folder / "overlays").glob("*/pyproject.toml"):
        text = file.read_text("utf-8").replace(str(patched.folder), str(environment.folder))
        file.write_text(text, "utf-8")
    transformers = environment.folder / "upstream" / "transformers"
    model = next(transformers.rglob("model.py"))
    model.write_text(model.read_text("utf-8").replace("def rotary(q):", "def rotary(q, k):"), "utf-8")
    environment.succeed(
        "git", "commit", "--quiet", "--all", "--message", "Rotate | `twice` @everybody", cwd=model.parent
    )
    done = python(environment, ROOT / "ci" / "drift_report.py", "drift")
    report = (environment.folder / "drift" / "report.md").read_text("utf-8")
    assert done.code == 0, report
    head = environment.succeed("git", "rev-parse", "HEAD", cwd=model.parent).out.strip()
    assert f"Upstream's head is {head}" in report
    assert "`src/transformers/models/model.py:rotary`" in report
    assert "apply there as they are" in report
    assert len(list((environment.folder / "drift").glob("*.html"))) == 2
