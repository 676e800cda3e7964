"""Shapes of upstreams: where their packages lie, what they compile, which licences and entry points they have."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from npu_overlays.contracts.core_metadata import parse_metadata
from npu_overlays.errors import MergeError
from npu_overlays.overlay.compiled import check_compiled, wheel_tag
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.project import Overlay, source_kind
from npu_overlays.pipeline.licences import licence_files
from npu_overlays.pipeline.omitted_files import check_left_out
from npu_overlays.pipeline.upstream import check_import_names, configured_version, sdist_entry_points
from npu_overlays.sources.pin import Archive
from npu_overlays.sources.tree import Source, SourceTree
from npu_summary.versions import local_parts
from support.overlays import write_overlay

from .pairs import source_tree

WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
LINUX = "cp311-cp311-manylinux_2_24_x86_64"


def release(overlay: Overlay) -> Overlay:
    archive = Archive(distribution="lib", version="1.0", file="lib-1.0-py3-none-any.whl", sha256="ab" * 32)
    return replace(overlay, pin=replace(overlay.pin, repository="", commit="", archives=(archive,)))


def overlay(folder: Path, packages: list[object], lines: str = "") -> Overlay:
    written = write_overlay(
        folder, project="lib", commit="1" * 40, repository="https://example.invalid/lib", packages=["x"], files={}
    )
    (written / "LICENSE").unlink()
    config = written / "pyproject.toml"
    shown = ", ".join(
        f'{{ path = "{one["path"]}", import = "{one["import"]}" }}' if isinstance(one, dict) else json.dumps(one)
        for one in packages
    )
    text = config.read_text().replace('packages = ["x"]', f"packages = [{shown}]\n{lines}")
    config.write_text(text.replace('license-files = ["LICENSE"]\n', ""))
    return load_overlay(written)


def wheel(tree: SourceTree, tag: str, *, named: str = "") -> SourceTree:
    pure = str(tag.endswith("any")).lower()
    source = Source(kind="archive", repository="r", commit="", archive=f"lib-1.0-{named or tag}.whl", sha256="ab" * 32)
    return replace(tree, wheel=WHEEL.format(tag=tag, pure=pure), source=source)


@pytest.mark.parametrize(
    ("package", "path", "place"),
    [
        ("lib", "lib/a.py", "lib/a.py"),
        ("src/lib", "src/lib/a.py", "lib/a.py"),
        ("src/lib", "src/library/a.py", ""),
        ("space/core", "space/core/a.py", "space/core/a.py"),
        ("src/space/core", "src/space/core/a.py", "space/core/a.py"),
        ({"path": "python/lib", "import": "lib"}, "python/lib/a.py", "lib/a.py"),
        ({"path": "core", "import": "space.core"}, "core/a.py", "space/core/a.py"),
        ("six.py", "six.py", "six.py"),
        ("src/six.py", "src/six.py", "six.py"),
        ("six.py", "six.pyi", ""),
        ({"path": "python/six.py", "import": "space.six"}, "python/six.py", "space/six.py"),
    ],
)
def test_a_package_lies_in_the_wheel_where_it_is_imported_from(
    tmp_path: Path, package: object, path: str, place: str
) -> None:
    assert overlay(tmp_path, [package]).pin.place(path) == place


def test_a_package_that_imports_itself_by_another_name_has_to_say_so(tmp_path: Path) -> None:
    files = {"python/lib/a.py": b"from lib.b import c\n", "python/lib/b.py": b"c = 1\n"}
    with pytest.raises(MergeError, match=r'write \{ path = "python/lib", import = "lib" \}'):
        check_import_names(overlay(tmp_path / "1", ["python/lib"]), source_tree(files))
    check_import_names(overlay(tmp_path / "2", [{"path": "python/lib", "import": "lib"}]), source_tree(files))
    files["python/lib/a.py"] = b"import python.lib.b, lib\n"
    check_import_names(overlay(tmp_path / "3", ["python/lib"]), source_tree(files))
    named_like_a_standard_module = {"space/logging/a.py": b"import logging\n"}
    check_import_names(overlay(tmp_path / "4", ["space/logging"]), source_tree(named_like_a_standard_module))


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        ("lib/fast.c", b"", "lib/fast.c is source to compile"),
        ("lib/deep/fast.pyx", b"", "lib/deep/fast.pyx is source to compile"),
        ("lib/kernel.cu", b"", "lib/kernel.cu is source to compile"),
        ("lib/fast.cpython-311-x86_64-linux-gnu.so", b"", "is compiled for one platform"),
        ("lib/libfast.so.1", b"", "is compiled for one platform"),
        ("lib/fast.pyd", b"", "is compiled for one platform"),
        ("setup.py", b"setup(ext_modules=[Extension('a', ['b.c'])])", "setup.py compiles extension modules"),
        ("setup.py", b"args['ext_modules'] = found()\nsetup(**args)", "setup.py compiles extension modules"),
        ("setup.py", b"setup(scripts=['bin/x'], data_files=f())", "installs scripts and installs files outside"),
        ("pyproject.toml", b'[build-system]\nbuild-backend = "maturin"', "is built by maturin, which compiles"),
        ("pyproject.toml", b'[build-system]\nrequires = ["pybind11>=2", "Cython"]', "needs cython, pybind11"),
        ("pyproject.toml", b"[tool.hatch.build.hooks.mypyc]\n", "has the build hook mypyc"),
        ("pyproject.toml", b"[[tool.setuptools.ext-modules]]\nname = 'a'", "compiles extension modules"),
        ("pyproject.toml", b"[tool.poetry.build]\nscript = 'build.py'", "runs a build script"),
    ],
)
def test_what_upstream_compiles_is_named_unless_the_overlay_names_it(
    tmp_path: Path, path: str, content: bytes, says: str
) -> None:
    tree = source_tree({"lib/__init__.py": b"", path: content})
    with pytest.raises(MergeError, match=says.replace(".", r"\.")) as raised:
        check_compiled(overlay(tmp_path / "1", ["lib"]), tree)
    named = path if "/" not in path else path.rpartition("/")[0]
    assert f'not-built = ["{named}"]' in str(raised.value)
    check_compiled(overlay(tmp_path / "2", ["lib"], f'not-built = ["{named}"]'), tree)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("csrc/fast.c", b""),
        ("setup.py", b"setup(ext_modules=[], scripts=None)  # data_files=1"),
        ("setup.py", b"def broken(:"),
        ("pyproject.toml", b'[build-system]\nbuild-backend = "flit_core.buildapi"\nrequires = ["flit_core"]'),
        ("pyproject.toml", b"not TOML at all"),
    ],
)
def test_what_compiles_nothing_that_is_shipped_is_pure(tmp_path: Path, path: str, content: bytes) -> None:
    tree = source_tree({"lib/__init__.py": b"", path: content})
    check_compiled(overlay(tmp_path, ["lib"]), tree)
    assert wheel_tag(tree) == ("py3-none-any", True)


def test_a_wheel_keeps_the_tag_of_the_wheel_it_is_made_from(tmp_path: Path) -> None:
    tree = source_tree({"lib/fast.so": b""})
    own = overlay(tmp_path, ["lib"])
    assert wheel_tag(wheel(tree, LINUX)) == (LINUX, False)
    check_compiled(own, wheel(tree, LINUX))
    assert wheel_tag(wheel(tree, "py2.py3-none-any")) == ("py3-none-any", True)
    assert wheel_tag(wheel(tree, "py3-none-any", named=LINUX)) == (LINUX, True)
    assert wheel_tag(wheel(tree, "cp311-cp311-linux_x86_64", named=LINUX)) == (LINUX, False)
    with pytest.raises(MergeError, match=r"lib/fast\.so is compiled for one platform"):
        check_compiled(own, wheel(tree, "py3-none-any"))
    with pytest.raises(MergeError, match=r"by its WHEEL file, and for any by its name"):
        wheel_tag(wheel(tree, LINUX, named="py3-none-any"))


def test_licences_are_upstreams_where_the_overlay_has_none(tmp_path: Path) -> None:
    tree = source_tree({"LICENSE": b"free", "NOTICE.txt": b"told", "docs/LICENSE": b"", "a.py": b""})
    own = overlay(tmp_path, ["lib"])
    assert licence_files(own, tree) == {"LICENSE": b"free", "NOTICE.txt": b"told"}
    (own.folder / "NOTICE").write_bytes(b"mine,\n told,  too")
    assert licence_files(own, tree) == {"LICENSE": b"free", "NOTICE": b"mine,\n told,  too"}
    (own.folder / "LICENSE").write_bytes(b"mine")
    with pytest.raises(MergeError, match=r"do not hold upstream's LICENSE"):
        licence_files(own, tree)


POINTS = {"console_scripts": {"run": "lib:main"}, "lib.plugins": {"one": "lib.one"}}


@pytest.mark.parametrize(
    "files",
    [
        {
            "lib.egg-info/SOURCES.txt": b"",
            "lib.egg-info/entry_points.txt": b"[console_scripts]\nrun = lib:main\n[lib.plugins]\none=lib.one\n",
            "pyproject.toml": b"[project]\ndynamic = ['scripts']\n",
        },
        {
            "pyproject.toml": b"[project]\n[project.scripts]\nrun = 'lib:main'\n"
            b"[project.entry-points.'lib.plugins']\none = 'lib.one'\n"
        },
    ],
)
def test_entry_points_of_an_sdist_are_all_found(files: dict[str, bytes]) -> None:
    text = sdist_entry_points(source_tree(files))
    assert text is not None
    found = parse_metadata("Metadata-Version: 2.1\nName: lib\nVersion: 1.0\n", text, readme="")
    assert {"console_scripts": found.scripts, **found.entry_points} == POINTS


def test_entry_points_that_only_the_backend_knows_are_asked_of_it() -> None:
    for files in ({}, {"pyproject.toml": b"[tool.poetry]\n"}, {"pyproject.toml": b"[project]\ndynamic = ['scripts']"}):
        assert sdist_entry_points(source_tree(files)) is None
    assert sdist_entry_points(source_tree({"lib.egg-info/SOURCES.txt": b""})) == ""


SETUPTOOLS = '[build-system]\nbuild-backend = "setuptools.build_meta"\n'
FROM_FILE = '[project]\ndynamic = ["version"]\n[tool.setuptools.dynamic]\nversion = {file = "lib/version"}\n'


@pytest.mark.parametrize(
    ("text", "others", "version"),
    [
        (SETUPTOOLS + '[project]\nversion = "1.0"\n', {}, "1.0"),
        (SETUPTOOLS + FROM_FILE, {"lib/version": b"1.1.dev\n"}, "1.1.dev0"),
        (SETUPTOOLS + FROM_FILE, {"lib/version": b"newest\n"}, ""),
        (SETUPTOOLS + FROM_FILE, {}, ""),
        (SETUPTOOLS + FROM_FILE.replace('{file = "lib/version"}', '{attr = "lib.version"}'), {}, ""),
        (SETUPTOOLS + '[project]\nversion = "1.0"\n', {"setup.cfg": b"[egg_info]\ntag_build = dev\n"}, ""),
        (SETUPTOOLS + 'backend-path = ["."]\n[project]\nversion = "1.0"\n', {}, ""),
        ("project = 1\ntool = []\n" + SETUPTOOLS, {}, ""),
        ('[project]\nversion = "1.0"\n', {}, ""),
    ],
)
def test_a_commit_states_its_version_where_its_backend_adds_nothing(
    text: str, others: dict[str, bytes], version: str
) -> None:
    assert configured_version(source_tree({"pyproject.toml": text.encode(), **others})) == version


def test_a_commit_without_a_pyproject_states_no_version() -> None:
    assert not configured_version(source_tree({}))


@pytest.mark.parametrize(
    ("source", "lines", "version"),
    [
        (Source(kind="git", repository="r", commit="1" * 40), "", "1.0+npu.1.g1111111"),
        (Source(kind="archive", repository="r", commit="1" * 40, sha256="ab" * 32), "", "1.0+npu.1.aabababa"),
        (Source(kind="git", repository="r", commit="1" * 40), 'label = "mine"', "1.0+npu.1.mine.g1111111"),
    ],
)
def test_a_version_says_where_the_bytes_came_from(tmp_path: Path, source: Source, lines: str, version: str) -> None:
    folder = tmp_path / "plain"
    own = overlay(folder, ["lib"])
    if lines:
        own = replace(own, label="mine")
    assert own.version("1.0", source, "1") == version
    assert source_kind(version) == source.kind
    assert source_kind("1.0") is None
    # Installers take a later build for newer, whatever its bytes came from.
    builds = ("1", "1.20261122103000123.devfffffff", "1.20261122103000124.dev0000000", "2", "10")
    versions = [own.version("1.0", source, build) for build in builds]
    assert versions == sorted(versions, key=Version)
    assert [local_parts(one)["build"] for one in versions] == list(builds)
    assert [str(Version(one)) for one in versions] == versions


@pytest.mark.parametrize(
    ("packages", "beside", "says"),
    [
        (["src/attr"], ["attrs/__init__.py", "attrs/x.py"], 'installs `attrs`, which.*\n.*add "src/attrs" to packages'),
        (["space/core"], ["space/training/a.py"], 'add "space/training" to packages'),
        (["lib/deep"], ["lib/__init__.py"], r'installs `lib/__init__\.py`, which.*\n.*add "lib" to packages'),
        (
            ["lib"],
            ["six.py", "lib.pth"],
            r'installs `lib\.pth`, `six\.py`, which.*\n.*add "lib.pth", "six.py" to packages; or',
        ),
        (["lib"], ["lib.pth"], r'installs `lib\.pth`, which.*\n.*add "lib.pth" to packages'),
        (["lib"], ["lib.pth", "_lib/a.py"], r'installs `_lib`, `lib\.pth`.*\n.*not-built = \["_lib", "lib\.pth"\]'),
        (["src/lib"], [".data/scripts/a", ".data/data/etc/a"], 'add ".data/data", ".data/scripts" to packages'),
        (["lib"], [".data/headers/a.h"], r"installs `\.data/headers`.*\n.*called after the distribution, here lib-npu"),
        (
            ["lib"],
            [".data/headers/a.h", "b.so"],
            r'add "b.so" to packages; or.*not-built = \["\.data/headers", "b\.so"',
        ),
    ],
)
def test_what_upstreams_wheel_installs_beside_the_packages_is_named(
    tmp_path: Path, packages: list[object], beside: list[str], says: str
) -> None:
    tree = wheel(source_tree({f"{packages[0]}/a.py": b""}), "py3-none-any")
    check_left_out(release(overlay(tmp_path / "1", packages)), tree)
    tree = replace(tree, beside=tuple(beside))
    with pytest.raises(MergeError, match=says) as raised:
        check_left_out(release(overlay(tmp_path / "2", packages)), tree)
    named = re.findall(r"not-built = .*", str(raised.value))[0]
    check_left_out(release(overlay(tmp_path / "3", packages, named)), tree)
    # Where it stands in for a commit, it is judged as the commit is.
    check_left_out(overlay(tmp_path / "4", packages), tree)


def test_what_a_repository_or_an_sdist_shows_to_be_installed_beside_the_packages_is_named(tmp_path: Path) -> None:
    below = source_tree({"src/attr/a.py": b"", "src/attrs/__init__.py": b"", "tests/__init__.py": b""})
    with pytest.raises(MergeError, match="installs `src/attrs`, which"):
        check_left_out(overlay(tmp_path / "2", ["src/attr"]), below)
    check_left_out(overlay(tmp_path / "3", ["src/attr", "src/attrs"]), below)
    check_left_out(overlay(tmp_path / "4", ["src/attr"], 'not-built = ["attrs"]'), below)
    listed = source_tree({"lib/a.py": b"", "lib.egg-info/top_level.txt": b"_lib\nlib\n"})
    with pytest.raises(MergeError, match="installs `_lib`, which"):
        check_left_out(release(overlay(tmp_path / "6", ["lib"])), listed)
    both = {"src/lib/a.py": b"", "src/_lib/__init__.py": b"", "src/lib.egg-info/top_level.txt": b"_lib\nlib\n"}
    with pytest.raises(MergeError, match="installs `src/_lib`, which"):
        check_left_out(release(overlay(tmp_path / "8", ["src/lib"])), source_tree(both))


def test_licences_that_upstreams_metadata_names_lie_anywhere(tmp_path: Path) -> None:
    tree = source_tree({"LICENSE": b"free", "legal/antlr4": b"too", "legal/other": b""})
    tree = replace(tree, metadata="Name: lib\nLicense-File: LICENSE\nLicense-File: legal/antlr4\n\nText\n")
    assert licence_files(overlay(tmp_path, ["lib"]), tree) == {"LICENSE": b"free", "legal/antlr4": b"too"}


def test_licence_maintainers_and_kind_of_text_are_upstreams() -> None:
    text = "Metadata-Version: 2.4\nName: lib\nVersion: 1.0\n"
    stated = (
        "License-Expression: MIT\nMaintainer-email: A B <a@b.c>\nDescription-Content-Type: text/x-rst; charset=UTF-8\n"
    )
    found = parse_metadata(text + stated, "", readme="")
    assert found.fields["license-expression"] == "MIT"
    assert found.fields["maintainers"] == [{"name": "A B", "email": "a@b.c"}]
    assert found.readme_type == "text/x-rst"
    assert parse_metadata(text, "", readme="").readme_type == "text/plain"
