"""`init`: what it writes locks, builds and installs at once, and nothing is left of what it refuses."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.tags import sys_tags

from environments.once import once
from support.environment import Done, Environment, copy_environment
from support.http_server import served
from support.marks import VENV_MOSTLY_BY_UV, rarely
from support.overlays import edit
from support.upstreams import BACKEND_FILES, METADATA, Upstream, make_upstream
from support.venvs import Venv
from support.wheels import members, metadata, write_wheel

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEMO = {
    "space/core/__init__.py": b"from space.core.tools import answer\n",
    "space/core/tools.py": b"def answer(question, *rest, loud: bool = False, **more) -> int:\n    return 41\n",
    "demo-1.5.dist-info/licenses/LICENSE": b"Free for all.\n",
    "demo-1.5.dist-info/licenses/NOTICE": b"Made by nobody.\n",
}


def init(environment: Environment, *arguments: str, **more: str | None) -> Done:
    """Start an overlay in a folder of its own, beside the index and the caches."""
    here = environment.folder / "here"
    here.mkdir(exist_ok=True)
    return environment.cli("init", *arguments, cwd=here, **more)


def started(environment: Environment, *arguments: str) -> Path:
    """Return the folder of an overlay that was started."""
    done = init(environment, *arguments, "--json")
    assert (done.code, done.err) == (0, ""), done.err
    return Path(done.json()["folder"])


def refused(environment: Environment, code: int, *arguments: str) -> str:
    """Return what is said of a command line that is refused; nothing must be left of it."""
    (environment.folder / "here").mkdir(exist_ok=True)
    before = sorted((environment.folder / "here").rglob("*"))
    done = init(environment, *arguments)
    assert done.code == code, done.out + done.err
    assert sorted((environment.folder / "here").rglob("*")) == before
    assert "Traceback" not in done.err
    assert done.out == ""
    return " ".join(done.err.split())


def write_example(folder: Path, old: str, new: str) -> None:
    """Write the change that stands in the comment of an overlay, with one part of it changed."""
    text = (folder / "pyproject.toml").read_text("utf-8")
    comment = text[text.index("# A first change") :]
    lines = [re.sub("^# ?", "", line) for line in comment.splitlines()]
    (path,) = re.findall(r"is (tree/\S+\.py)\.", " ".join(lines[:2]))
    change = "\n".join(lines[3:])
    assert old in change, change
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(change.replace(old, new) + "\n", "utf-8")


def build(environment: Environment, folder: Path) -> Path:
    """Lock, check, build and verify an overlay, and return the folder of its wheels."""
    out = environment.folder / "out"
    environment.ok("lock", folder)
    environment.ok("check", folder)
    said = environment.ok("build", folder, "--out", out).err
    assert "has no revision yet; to record the first: npu-overlays revise" in said
    environment.ok("verify-wheel", *sorted(out.iterdir()))
    return out


def write_sdist(
    folder: Path, name: str, version: str, files: Mapping[str, bytes], *, headers: str = "Metadata-Version: 2.2\n"
) -> Path:
    """Write an sdist and return it; `headers` is what its metadata say beside name and version."""
    folder.mkdir(exist_ok=True)
    info = f"{headers}Name: {name}\nVersion: {version}\n".encode()
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for place, content in {"PKG-INFO": info, **files}.items():
            member = tarfile.TarInfo(f"{name}-{version}/{place}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("venv", [*rarely("pip"), "uv"], indirect=True)
def test_what_it_writes_builds_at_once_and_the_change_in_the_comment_applies(
    environment: Environment, venv: Venv
) -> None:
    write_wheel(environment.folder / "index", "demo", "1.4", DEMO)
    archive = write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    write_wheel(environment.folder / "index", "demo", "1.6rc1", DEMO)
    folder = started(environment, "demo", "--suffix", "acme")
    assert folder == environment.folder / "here" / "demo@1.5"
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "README.md", "pyproject.toml"]
    config = (folder / "pyproject.toml").read_text()
    for line in (
        'packages = ["space/core"]',
        'license-files = ["LICENSE", "NOTICE"]',
        f'sha256 = "{hashlib.sha256(archive.read_bytes()).hexdigest()}"',
    ):
        assert line in config
    build(environment, folder)
    write_example(folder, "return upstream(", "return 1 + upstream(")
    wheels = sorted(build(environment, folder).glob("*.whl"))
    venv.install("--no-deps", *wheels)
    asked = "import space.core as c; print(c.answer('what', 1, loud=True, so='what'))"
    assert venv.python("-c", asked).out == "42\n"
    assert "in development, no revision yet" in venv.python("-m", "demo_acme_summary", "--version").out
    assert venv.python("-m", "demo_acme_summary", "--verify").code == 0


def test_a_commit_is_pinned_from_its_repository(environment: Environment) -> None:
    files = {
        METADATA: b"Metadata-Version: 2.1\nName: lib\nVersion: 1.0\n",
        "LICENSE": b"Free for all.\n",
        "src/lib/__init__.py": b"def f(x):\n    return x\n",
        "src/lib_more/__init__.py": b"",
        "tests/__init__.py": b"",
        "setup.py": b"",
    }
    upstream, commit = make_upstream(environment.folder / "upstream", environment, files)
    folder = started(environment, "lib", "--suffix", "acme", "--commit", commit, "--repository", upstream.url)
    assert folder.name == f"lib@{commit[:7]}"
    config = (folder / "pyproject.toml").read_text()
    assert f'commit = "{commit}"' in config
    assert 'packages = ["src/lib", "src/lib_more"]' in config
    write_example(folder, "upstream(x)", "upstream(x) + 1")
    (wheel,) = build(environment, folder).glob("lib_acme-*.whl")
    assert "+ 1" in members(wheel)["lib/__init__.py"].decode()


def tagged_upstream(environment: Environment, files: Mapping[str, bytes]) -> tuple[Upstream, str]:
    """Return an upstream whose first commit has an annotated tag, and whose branch is ahead of it."""
    upstream, commit = make_upstream(environment.folder / "upstream", environment, files)
    upstream.git("tag", "--annotate", "--message", "first", "v1.0")
    upstream.commit({"later": b""})
    return upstream, commit


LIB = {
    METADATA: b"Metadata-Version: 2.1\nName: lib\nVersion: 1.0\n",
    "LICENSE": b"Free for all.\n",
    "lib/__init__.py": b"def f(x):\n    return x\n",
}


@pytest.mark.parametrize("name", ["v1.0", *rarely("refs/tags/v1.0")])
@pytest.mark.parametrize("clone", [False, True])
def test_a_tag_is_kept_beside_the_commit_it_names(environment: Environment, name: str, *, clone: bool) -> None:
    upstream, commit = tagged_upstream(environment, LIB)
    if clone:
        upstream.git("checkout", "--quiet", "--detach", "v1.0")
    url = "https://code.invalid/lib" if clone else upstream.url
    arguments = ("lib", "--suffix", "acme", "--commit", name, "--repository", url)
    done = init(environment, *arguments, "--json", LIB_PATH=str(upstream.path) if clone else None)
    assert done.code == 0, done.err
    config = Path(done.json()["folder"], "pyproject.toml").read_text()
    assert f'commit = "{commit}"\ntag = "v1.0"\n' in config
    if not clone:
        build(environment, Path(done.json()["folder"]))


@pytest.mark.parametrize("name", ["main", "v2", "refs/heads/main"])
def test_what_is_no_tag_is_refused_with_what_to_do(environment: Environment, name: str) -> None:
    upstream, _ = tagged_upstream(environment, LIB)
    arguments = ("--commit", name, "--repository", upstream.url)
    told = refused(environment, 4, "lib", "--suffix", "acme", *arguments)
    assert (
        f"has no tag `{name}` that names a commit fix: name a tag that `git ls-remote --tags {upstream.url}` lists"
        in told
    )
    assert told.count("error: ") == 1


@pytest.mark.parametrize("name", ["v1..0", "-v", "a b", "v1.lock", "refs/tags/"])
def test_what_can_be_no_tag_is_refused_before_anybody_is_asked(environment: Environment, name: str) -> None:
    arguments = (f"--commit={name}", "--repository", "https://code.invalid/lib")
    told = refused(environment, 2, "lib", "--suffix", "acme", *arguments)
    assert f"--commit: `{name}` is not a commit id or a name that a tag can have" in told


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[project]\nname = "other.lib"\n'),
        *rarely(("pyproject.toml", '[tool.poetry]\nname = "other.lib"\n')),
        *rarely(("setup.cfg", "[metadata]\nname = other.lib\n")),
        ("setup.py", "import setuptools\nsetuptools.setup(name='other.lib')\n"),
    ],
)
def test_a_repository_of_another_project_is_refused(environment: Environment, file: str, text: str) -> None:
    upstream, commit = make_upstream(environment.folder / "upstream", environment, {**LIB, file: text.encode()})
    arguments = ("--suffix", "acme", "--commit", commit, "--repository", upstream.url, "--package", "lib")
    told = refused(environment, 2, "lib", *arguments)
    assert f"{file} says that its project is called other.lib fix: run `npu-overlays init other.lib …`" in told
    done = init(environment, "Other_Lib", *arguments, "--json")
    assert done.code == 0, done.err


def test_an_sdist_and_a_single_module_will_do(environment: Environment) -> None:
    index = environment.folder / "index"
    write_sdist(index, "one", "2.0", {"one.py": b"def f():\n    return 1\n", "setup.py": b"", "tests/t.py": b""})
    listed = {"lib.egg-info/top_level.txt": b"two\n", "src/two/__init__.py": b"X = 1\n", "src/x.txt": b""}
    write_sdist(index, "lib", "3.0", listed)
    folder = started(environment, "one", "--suffix", "acme")
    assert 'packages = ["one.py"]' in (folder / "pyproject.toml").read_text()
    done = init(environment, "lib", "--suffix", "acme")
    folder = environment.folder / "here" / "lib@3.0"
    config = (folder / "pyproject.toml").read_text()
    assert 'packages = ["src/two"]' in config
    assert "A first change" not in config  # there is no function
    assert "next: write a change below lib@3.0/tree/, then" in done.out


def test_extras_in_two_spellings_are_one(environment: Environment) -> None:
    extras = "Provides-Extra: all-tests\nProvides-Extra: all_tests\nProvides-Extra: Fast\n"
    requires = "Requires-Dist: other; extra == 'all-tests'\nRequires-Dist: more; extra == 'all_tests'\n"
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO, metadata=extras + requires)
    wheels = sorted(build(environment, started(environment, "demo", "--suffix", "acme")).glob("*.whl"))
    assert [metadata(wheel).get_all("Provides-Extra") for wheel in wheels] == [["all-tests", "fast"]] * 2


@pytest.mark.parametrize(
    ("headers", "required"),
    [
        ("Metadata-Version: 2.1\n", ["other>=2"]),  # says nothing of requirements, which it has
        *rarely(("Metadata-Version: 2.4\nDynamic: requires-dist\nRequires-Dist: other>=1\n", ["other>=2"])),
        ("Metadata-Version: 2.4\nDynamic: summary\nRequires-Dist: other>=1\n", ["other>=1"]),
    ],
)
def test_what_an_sdist_does_not_say_for_certain_its_backend_is_asked(
    environment: Environment, headers: str, required: list[str]
) -> None:
    told = {METADATA: b"Metadata-Version: 2.4\nName: one\nVersion: 2.0\nRequires-Dist: other>=2\n"}
    files = {**BACKEND_FILES, **told, "one.py": b"", "one.egg-info/SOURCES.txt": b""}
    write_sdist(environment.folder / "index", "one", "2.0", files, headers=headers)
    folder = started(environment, "one", "--suffix", "acme", "--package", "one.py")
    environment.ok("lock", folder)
    environment.ok("build", folder, "--out", environment.folder / "out")
    (wheel,) = (environment.folder / "out").glob("one_acme-*.whl")
    assert [text for text in metadata(wheel).get_all("Requires-Dist", []) if "one==" not in text] == required


def test_the_release_that_is_named_is_pinned_in_the_folder_that_is_named(environment: Environment) -> None:
    for version in ("1.4", "1.5"):
        write_wheel(environment.folder / "index", "demo", version, DEMO)
    folder = started(environment, "Demo", "mine", "--suffix", "acme", "--release", "1.4")
    assert folder == environment.folder / "here" / "mine"
    assert 'version = "1.4"' in (folder / "pyproject.toml").read_text()
    done = init(environment, "demo", "--suffix", "acme")
    name = "demo@1.5"
    assert [line.strip() for line in done.out.splitlines()[-3:]] == [
        f"npu-overlays {command} {name}" for command in ("lock", "check", "build")
    ]
    # As it was said, from where it was said.
    assert environment.cli("lock", name, cwd=environment.folder / "here").code == 0


def test_inside_a_repository_with_overlays_it_lies_among_them(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    (environment.folder / "here" / "overlays").mkdir(parents=True)
    environment.succeed("git", "init", "--quiet", cwd=environment.folder / "here")
    folder = started(environment, "demo", "--suffix", "acme")
    assert folder == environment.folder / "here" / "overlays" / "demo@1.5"
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "pyproject.toml"]
    assert "demo@1.5" in environment.ok("list", cwd=environment.folder / "here").out


def test_all_mistakes_of_a_command_line_are_told_at_once(environment: Environment) -> None:
    (environment.folder / "here").mkdir()
    (environment.folder / "here" / "mine").write_text("")
    told = refused(
        environment,
        2,
        *("_x", "mine", "--suffix", "A-b", "--release", "one", "--commit", "0123", "--package", "../x"),
    )
    for text in (
        "`_x` is no name of a project",
        (
            "`A-b` is not one word of lower-case letters and digits fix: choose another word: acme, for"
            " example: npu-overlays init"
        ),
        "--package ../x --suffix acme --release 25.3.0",
        "`one` is not a version",
        "`0123` is not a full commit id",
        "--commit, --release: are both given",
        "--repository: is missing, and --commit needs it",
        "--package: `../x`",
        "mine: is there already",
    ):
        assert text in told
    assert told.count(" fix: ") == told.count("error: ") == 8
    assert "--suffix: is missing" in refused(environment, 2, "demo")


def test_a_folder_in_the_place_of_a_url_is_refused_with_what_takes_it_from_there(environment: Environment) -> None:
    (environment.folder / "clone").mkdir()
    clone = environment.folder / "clone"
    arguments = ("lib", "--suffix", "acme", "--commit", "0" * 40, "--repository")
    for told in (refused(environment, 2, *arguments, str(clone)), refused(environment, 2, *arguments, "../clone")):
        assert f"{clone.name} is a folder of this machine, and a pin names a URL" in told
        assert "LIB_PATH=" in told
        assert f"{clone.name} so that the clone here is used" in told
    assert clone.as_uri() in refused(environment, 2, *arguments, str(clone))
    assert "--repository: is not a URL" in refused(environment, 2, *arguments, "/no/such")


def test_what_is_there_is_not_written_over(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    folder = started(environment, "demo", "--suffix", "acme")
    (folder / "pyproject.toml").write_text("mine")
    assert "demo@1.5: exists already, and is not empty" in refused(environment, 2, "demo", "--suffix", "acme")
    assert (folder / "pyproject.toml").read_text() == "mine"
    (environment.folder / "here" / "empty").mkdir()
    assert (started(environment, "demo", "empty", "--suffix", "acme") / "pyproject.toml").is_file()


def test_a_folder_that_is_called_after_another_pin_is_refused(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    told = refused(environment, 2, "demo", "--suffix", "acme", "box/demo@1")
    assert "box/demo@1: is named like a pin, and the pin is demo@1.5" in told
    command = told.partition("npu-overlays ")[2].split()
    assert command[-1].endswith("box/demo@1.5")
    started(environment, *command[1:])
    environment.ok("lock", environment.folder / "here/box/demo@1.5")


def test_what_cannot_be_had_is_told_with_what_to_do(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    told = refused(environment, 4, "demo", "--suffix", "acme", "--release", "9")
    assert "demo 9: there is no such release that could be pinned fix: name one of 1.5" in told
    with served(environment.folder / "index") as web:  # which says 404 of it, as indexes do
        there = {"PIP_NO_INDEX": None, "PIP_INDEX_URL": web.url}
        done = init(environment, "nosuch", "--suffix", "acme", **there)
        assert "nosuch: no index or folder of pip's configuration has a project of that name: " in done.err
        assert f", {web.url}\n" in done.err
        gone = {**there, "PIP_EXTRA_INDEX_URL": "http://127.0.0.1:9/simple"}
        done = init(environment, "nosuch", "--suffix", "acme", **gone)
        assert f"; {web.url}: has no such project; http://127.0.0.1:9/simple: " in done.err
        assert "Connection refused" in done.err
    told = refused(environment, 4, "nosuch", "--suffix", "acme")
    index = environment.folder / "index"
    assert f"nosuch: no index or folder of pip's configuration has a project of that name: {index} fix:" in told
    assert "fix: correct the name, or see that `pip config list` names an index that has it (PIP_INDEX_URL," in told
    nowhere = {"PIP_NO_INDEX": None, "PIP_FIND_LINKS": None, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    done = init(environment, "demo", "--suffix", "acme", **nowhere)
    assert done.code == 4
    assert "http://127.0.0.1:9/simple" in done.err
    assert "fix: " in done.err
    arguments = ("--commit", "0" * 40, "--repository", (environment.folder / "gone").as_uri())
    assert "gone" in refused(environment, 4, "lib", "--suffix", "acme", *arguments)


def test_what_cannot_be_packed_honestly_is_not_started(environment: Environment) -> None:
    files = {**DEMO, "demo.pth": b"import space\n", "demo-1.5.data/headers/demo.h": b""}
    write_wheel(environment.folder / "index", "demo", "1.5", files)
    told = refused(environment, 5, "demo", "--suffix", "acme")
    assert "installs `.data/headers`, which" in told
    assert "headers into a folder called after the distribution, here demo-acme, where nothing looks for them" in told
    folder = started(environment, "demo", "--suffix", "acme", "--not-built", "demo.pth", "--not-built", ".data/headers")
    config = (folder / "pyproject.toml").read_text()
    assert 'packages = ["space/core"]' in config
    assert 'not-built = ["demo.pth", ".data/headers"]' in config
    build(environment, folder)


def test_which_folders_are_shipped_can_be_said(environment: Environment) -> None:
    files = {"python/lib/__init__.py": b"import lib\n", "other/__init__.py": b"", "more/__init__.py": b""}
    upstream, commit = make_upstream(environment.folder / "upstream", environment, files)
    arguments = ("lib", "--suffix", "acme", "--commit", commit, "--repository", upstream.url)
    told = refused(environment, 2, *arguments)
    assert "its build settings do not tell which folders are shipped; it has more, other, packaging, python" in told
    folder = started(environment, *arguments, "--package", "python/lib=lib")
    assert 'packages = [{ path = "python/lib", import = "lib" }]' in (folder / "pyproject.toml").read_text()


def test_files_with_other_bytes_and_missing_ones_of_the_wheel_that_pip_takes_are_named(
    environment: Environment,
) -> None:
    index, here = environment.folder / "index", str(next(sys_tags()))
    write_wheel(index, "demo", "1.5", {**DEMO, "space/core/x.py": b"x = 1\r\n", "space/core/y.py": b""})
    taken = write_wheel(index, "demo", "1.5", {**DEMO, "space/core/x.py": b"x = 1\n"}, tag=here).name
    said = f"pip takes {taken} here, which lacks 1 other file (space/core/y.py); it has other bytes in 1 other file "
    assert f"{said}(space/core/x.py);" in " ".join(init(environment, "demo", "--suffix", "acme").out.split())


def test_the_best_file_of_a_release_is_the_one_for_any_platform(environment: Environment) -> None:
    index = environment.folder / "index"
    write_sdist(index, "demo", "1.5", {"demo/__init__.py": b""})
    write_wheel(index, "demo", "1.5", DEMO, tag="cp399-cp399-win_arm64")
    folder = started(environment, "demo", "first", "--suffix", "acme")
    assert 'file = "demo-1.5.tar.gz"' in (folder / "pyproject.toml").read_text()
    write_wheel(index, "demo", "1.5", DEMO)
    folder = started(environment, "demo", "second", "--suffix", "acme")
    assert 'file = "demo-1.5-py3-none-any.whl"' in (folder / "pyproject.toml").read_text()


def test_the_wheel_that_pip_takes_is_named_with_what_it_has_besides_and_can_be_pinned(environment: Environment) -> None:
    index, here = environment.folder / "index", str(next(sys_tags()))
    write_wheel(index, "demo", "1.5", DEMO)
    compiled = {f"space/core/{name}.so": b"" for name in "abcd"} | {"demo.libs/liba.so.1": b"", "space/core/x.py": b""}
    taken = write_wheel(index, "demo", "1.5", {**DEMO, **compiled}, tag=here).name
    for tag in ("cp313-cp313t-musllinux_1_2_aarch64", "cp39-abi3-macosx_10_9_universal2", "cp39-abi3-win32"):
        write_wheel(index, "demo", "1.5", {**DEMO, **compiled}, tag=tag)
    write_sdist(index, "demo", "1.5", {"space/core/__init__.py": b""})
    said = f"pip takes {taken} here, which also has 5 compiled files (demo.libs/liba.so.1, space/core/a.so, "
    said += f"space/core/b.so, … (5 in all)) and 1 other file (space/core/x.py); --archive {taken} pins that"
    done = init(environment, "demo", "--suffix", "acme")
    assert said in " ".join(done.out.split())
    assert "3 other wheels are for cp39, cp313t on macosx universal2, musllinux aarch64, win32" in done.out
    readme = (environment.folder / "here" / "demo@1.5" / "README.md").read_text()
    assert f"made of `demo-1.5-py3-none-any.whl`; {said}." in " ".join(readme.split())
    again = write_wheel(environment.folder / "again", "demo", "1.5", {**DEMO, **compiled}, tag=here)
    again.rename(index / f"demo-1.5-2-{here}.whl")  # a later build of the same
    assert f"pip takes demo-1.5-2-{here}.whl here" in init(environment, "demo", "other", "--suffix", "acme").out
    (index / f"demo-1.5-2-{here}.whl").unlink()
    done = init(environment, "demo", "mine", "--suffix", "acme", "--archive", taken)
    assert "pip takes" not in done.out + (environment.folder / "here" / "mine" / "README.md").read_text()
    assert "4 other wheels are for cp39, cp313t, py3 on any, macosx universal2" in " ".join(done.out.split())
    config = (environment.folder / "here" / "mine" / "pyproject.toml").read_text()
    assert f'file = "{taken}"' in config
    assert 'packages = ["demo.libs", "space/core"]' in config
    build(environment, environment.folder / "here" / "mine")


def test_a_file_of_another_machine_is_pinned_where_it_is_named(environment: Environment) -> None:
    tag = "cp313-cp313t-win_arm64"
    file = write_wheel(environment.folder / "index", "demo", "1.4", {**DEMO, "demo-1.4.data/scripts/run": b""}, tag=tag)
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    told = refused(environment, 4, "demo", "--suffix", "acme", "--archive", "demo-1.4-py3-none-any.whl")
    assert (
        "demo-1.4-py3-none-any.whl: no index has such a file of demo fix: name one of demo-1.5-py3-none-any.whl" in told
    )
    told = refused(environment, 4, "demo", "--suffix", "acme", "--archive", file.name, "--release", "1.5")
    assert f"{file.name}: no index has such a file of demo 1.5 fix: name one of demo-1.5-py3-none-any.whl" in told
    told = refused(environment, 2, "demo", "--suffix", "acme", "--archive", "demo", "--commit", "0" * 40)
    assert "--archive: `demo` is neither a wheel nor an sdist" in told
    assert "--commit, --archive: are both given" in told
    folder = started(environment, "demo", "--suffix", "acme", "--archive", file.name)
    assert folder.name == "demo@1.4"


@VENV_MOSTLY_BY_UV
def test_compiled_files_in_a_wheel_for_any_platform_are_shipped_as_they_are(
    environment: Environment, venv: Venv
) -> None:
    files = {**DEMO, "space/core/a.dll": b"MZ", "space/core/a.cpython-399-x86_64-linux-gnu.so": b"\x7fELF"}
    write_wheel(environment.folder / "index", "demo", "1.5", files)
    folder = started(environment, "demo", "--suffix", "acme")
    named = '["space/core/a.cpython-399-x86_64-linux-gnu.so", "space/core/a.dll"]'
    assert f"not-built = {named}" in (folder / "pyproject.toml").read_text()
    out = build(environment, folder)
    (wheel,) = out.glob("demo_acme-*-py3-none-any.whl")
    assert members(wheel)["space/core/a.dll"] == b"MZ"
    venv.install("--no-deps", *out.glob("*.whl"))
    assert "intact" in venv.python("-m", "demo_acme_summary", "--verify").out


def test_modules_that_look_for_their_files_where_the_companion_has_none_are_named(environment: Environment) -> None:
    ways = {
        "a": 'from importlib.metadata import distribution\n\nFILES = distribution("Demo").files\n',
        "b": 'import importlib.metadata\n\nFILES = importlib.metadata.files("demo")\n',
        "c": 'from importlib import metadata as m\n\nNAME = "demo"\nown = m.distribution(NAME)\nFILES = own.files\n',
        "d": 'import importlib_metadata as m\n\nTEXT = m.Distribution.from_name("demo").read_text("RECORD")\n',
        # Not files, not of this distribution, or not in metadata.
        "e": 'import importlib.metadata as m\n\nNAMED = m.distribution("demo").version, m.distribution("dem").files\n',
        "f": 'from importlib import metadata\nfrom importlib.resources import files\n\nDATA = files("demo")\n',
    }
    modules = {f"space/core/{name}.py": text.encode() for name, text in ways.items()}
    write_wheel(environment.folder / "index", "demo", "1.5", {**DEMO, **modules})
    done = init(environment, "demo", "--suffix", "acme")
    folder = next((environment.folder / "here").glob("**/demo@1.5"))
    locked = environment.cli("lock", str(folder))
    assert locked.code == 0, locked.err
    built = environment.cli("build", str(folder)).err
    shutil.rmtree(environment.folder / "wheels")
    merged_before = environment.cli("build", str(folder)).err
    for printed in (done.out, environment.cli("check", str(folder)).err, built, merged_before):
        told = " ".join(printed.split())
        for name in "abcd":
            what = "looks for files in the metadata of demo, which are the companion's and list none: make it ask for"
            assert f"space/core/{name}.py {what} demo-acme" in told
        assert told.count("looks for files") == len("abcd")


def test_the_folder_may_stand_behind_options(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    assert started(environment, "demo", "--suffix", "acme", "--release", "1.5", "my-demo").name == "my-demo"
    assert "unrecognized arguments: more" in refused(environment, 2, "demo", "other", "--suffix", "acme", "more")


def test_the_report_is_json_where_that_is_asked_for(environment: Environment) -> None:
    archive = write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    done = init(environment, "demo", "--suffix", "acme", "--json")
    assert done.json() == {
        "overlay": "demo@1.5",
        "folder": str(environment.folder / "here" / "demo@1.5"),
        "distribution": "demo-acme",
        "commit": "",
        "archives": [{"file": archive.name, "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}],
        "preferred": "",
        "lacks": [],
        "others": [],
        "asking": [],
        "layers": [],
        "packages": ["space/core"],
        "license-files": ["LICENSE", "NOTICE"],
        "files": ["pyproject.toml", "README.md", ".gitignore"],
    }
    done = init(environment, "demo", "--json")
    assert json.loads(done.err)["problems"][0]["where"] == "--suffix"


def make_ours(folder: Path) -> None:
    """Write a layer of demo, and begin and lock a pin on it."""
    environment = Environment(folder=folder)
    write_wheel(environment.folder / "index", "demo", "1.5", {**DEMO, "more/__init__.py": b""})
    root = folder / "ours" / "overlays"
    layer = {
        "layer.toml": 'project = "demo"\nsuffix = "ours"\npackages = ["space/core"]\nlicense-files = ["COPYING"]\n',
        "tree/space/core/added.py": '"""Ours."""\n',
    }
    for path, text in layer.items():
        (root / "demo" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "demo" / path).write_text(text)
    environment.ok("init", "demo", "--not-built", "more", cwd=root.parent)
    environment.ok("lock", "--all", cwd=root.parent)


@pytest.fixture
def ours(shared: Path, tmp_path: Path) -> Path:
    """Return somebody's folder of overlays: a layer of demo, and a pin on it, locked."""
    return copy_environment(once(shared, "ours", make_ours), tmp_path).folder / "ours" / "overlays"


def test_a_pin_of_a_layer_beside_it_says_the_pin_alone(ours: Path) -> None:
    config = (ours / "demo@1.5" / "pyproject.toml").read_text()
    assert config[config.index("[tool.overlay]") : config.index("sha256")] == (
        '[tool.overlay]\nproject = "demo"\nlicense-files = ["LICENSE", "NOTICE"]\nnot-built = ["more"]\n\n'
        '[[tool.overlay.upstream.archive]]\ndistribution = "demo"\nversion = "1.5"\n'
        'file = "demo-1.5-py3-none-any.whl"\n'
    )


def test_a_site_starts_on_top_of_an_overlay_of_somebody_elses(environment: Environment, ours: Path) -> None:
    folder = started(environment, "demo", "--layer", str(ours / "demo@1.5"), "--label", "acme")
    assert folder.name == "demo@1.5-acme"
    config = (folder / "pyproject.toml").read_text()
    assert 'label = "acme"' in config
    assert 'layers = ["../../ours/overlays/demo"]' in config
    assert "suffix" not in config
    assert "packages" not in config
    # Without a repository at hand nothing else tells what of the commit the archives lack.
    assert (folder / "overlay.lock").read_bytes() == (ours / "demo@1.5" / "overlay.lock").read_bytes()
    write_example(folder, "return upstream(", "return 1 + upstream(")
    (wheel,) = build(environment, folder).glob("demo_ours-*.whl")
    assert re.fullmatch(r"demo_ours-1\.5\+ours\.0\.\d{17}\.dev\w{7}\.acme\.a\w{7}-py3-none-any\.whl", wheel.name)
    held = members(wheel)
    assert b"Ours." in held["space/core/added.py"]
    assert b"return 1 + " in held["space/core/tools.py"]


def test_what_a_layer_leaves_out_of_other_versions_stays_with_the_layer(environment: Environment, ours: Path) -> None:
    settings = ours / "demo" / "layer.toml"
    settings.write_text(settings.read_text() + 'not-built = ["space/core/only_newer.c"]\n')
    folder = started(environment, "demo", "--layer", str(ours / "demo@1.5"), "--label", "acme")
    assert 'not-built = ["more"]' in (folder / "pyproject.toml").read_text()


def test_what_is_below_is_checked_with_all_else(environment: Environment, ours: Path) -> None:
    told = refused(environment, 2, "other", "--layer", str(ours / "demo"), "--layer", "no-such-layer", "--suffix", "A")
    for text in (
        "is a layer of demo, not of other",
        "no distribution `no-such-layer` is installed",
        "`A` is not one word",
    ):
        assert text in told
    (ours / "demo@1.5" / "tree").mkdir()
    told = refused(environment, 2, "demo", "--layer", str(ours / "demo@1.5"), "--label", "acme")
    assert "has content of its own (tree), which a new overlay cannot take over" in told
    assert 'fix: copy the folder to demo@1.5-acme, and write label = "acme" in its pyproject.toml' in told
    copy = shutil.copytree(ours / "demo@1.5", ours / "demo@1.5-acme")
    edit(copy / "pyproject.toml", "[tool.overlay]\n", '[tool.overlay]\nlabel = "acme"\n')
    environment.ok("lock", copy)


def documented(name: str) -> str:
    """Return an example of the document of settings by the comment above it."""
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    (found,) = re.findall(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", text, flags=re.DOTALL)
    return str(found)


def run_documented(environment: Environment, name: str, here: Path, **more: str | None) -> None:
    """Run the lines of a documented example as they stand; skips where what they need cannot be had."""
    for line in documented(name).splitlines():
        command = line.replace("npu-overlays ", f"'{sys.executable}' -m npu_overlays ", 1)
        done = environment.run("bash", "-c", command, cwd=here, **more)
        if done.code == 4:  # the source cannot be had
            pytest.skip(done.err.splitlines()[0])
        assert done.code == 0, f"{line}\n{done.err}"


@pytest.mark.index
@pytest.mark.parametrize("venv", ["pip", *rarely("uv")], indirect=True)
def test_the_documented_way_to_an_overlay_of_ones_own(environment: Environment, venv: Venv) -> None:
    # The machine's own index, which the clean environment leaves out.
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    (environment.folder / "index").mkdir()
    run_documented(
        environment,
        "init",
        environment.folder,
        **{"PIP_CONFIG_FILE": None, "PIP_NO_INDEX": None, "PIP_FIND_LINKS": None, **index},
    )
    folder = environment.folder / "more-itertools@10.7.0"
    config = (folder / "pyproject.toml").read_text()
    assert config.partition("\n# A first change")[0] == documented("pyproject")
    write_example(folder, "return upstream(", "return upstream(")
    change = "from npu_overlays.markers import upstream, wrapped\n\n\n"
    change += '@wrapped(why="Half of them.")\ndef take(n, iterable):\n    return upstream(n // 2, iterable)\n'
    (folder / "tree/more_itertools/recipes.py").write_text(change)
    wheels = sorted(build(environment, folder).glob("*.whl"))
    venv.install("--no-deps", *wheels)
    assert venv.python("-c", "import more_itertools as m; print(m.take(4, range(9)))").out == "[0, 1]\n"
    assert venv.python("-m", "more_itertools_acme_summary", "--verify").code == 0


@pytest.mark.thorough
@pytest.mark.index
def test_the_documented_way_to_a_layer_of_ones_own(environment: Environment) -> None:
    (environment.folder / "npu-overlays").symlink_to(ROOT)
    here = environment.folder / "acme"
    here.mkdir()
    own = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "GIT_CONFIG"))}
    variables = {"PIP_CONFIG_FILE": None, "PIP_NO_INDEX": None, "PIP_FIND_LINKS": None, **own}
    variables |= {"GIT_CONFIG_GLOBAL": own.get("GIT_CONFIG_GLOBAL"), "GIT_CONFIG_NOSYSTEM": None}
    run_documented(environment, "layer", here, **variables)
    config = (here / "overlays" / "verl@d62da49-acme" / "pyproject.toml").read_text()
    assert 'label = "acme"' in config


def test_a_person_is_asked_what_the_wheel_is_to_be_called(environment: Environment) -> None:
    write_wheel(environment.folder / "index", "demo", "1.5", DEMO)
    ours, theirs = pty.openpty()
    os.write(ours, b"acme\n")
    command = [sys.executable, "-m", "npu_overlays", "init", "demo"]
    variables = environment.variables(TERM="dumb")
    code = subprocess.call(
        command, cwd=environment.folder, env=variables, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert code == 0, shown
    assert "What is the wheel to be called? demo-" in shown
    assert 'suffix = "acme"' in (environment.folder / "demo@1.5" / "pyproject.toml").read_text()
