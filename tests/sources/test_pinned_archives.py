"""Release archives: had through the user's pip, mapped to repository paths, or refused with the reason."""

from __future__ import annotations

import hashlib
import io
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.errors import SourceError
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.archive_contents import read
from npu_overlays.sources.pin import Archive, Pin
from npu_overlays.sources.tree import FileEntry, Source, blob_id
from support.upstreams import Upstream

from .conftest import FILES, ProgressLog, make_wheel, pin, serve

COMMIT = "a" * 40
BACKEND = b"""import os
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    os.mkdir(os.path.join(folder, "demo-1.0.dist-info"))
    with open(os.path.join(folder, "demo-1.0.dist-info", "METADATA"), "w") as stream:
        stream.write("Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n")
    return "demo-1.0.dist-info"
def build_wheel(*arguments):
    raise SystemExit("a download builds no wheel")
"""
PROJECT = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
PKG_INFO = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"


def archive_pin(*archives: Archive, packages: tuple[str, ...] = ("src/pkg",)) -> Pin:
    return Pin(
        project="demo", repository="https://code.invalid/demo", commit=COMMIT, packages=packages, archives=archives
    )


def make_sdist(path: Path, files: dict[str, bytes], *extra: tarfile.TarInfo) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)


def test_wheel_is_mapped_to_repository_paths(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(
        tmp_path,
        {
            "pkg/__init__.py": b"one\n",
            "pkg/tool.sh": b"two\n",
            "scripts/other.py": b"",
            "demo-1.0.data/purelib/pkg/x.py": b"",
            "demo-1.0.dist-info/licenses/LICENSE": b"free\n",
            "demo-1.0.dist-info/entry_points.txt": b"[console_scripts]\ndemo = pkg:main\n",
        },
    )
    tree = acquire(archive_pin(made), mode="archive", cache=cache)
    assert tree.entries == {
        "LICENSE": FileEntry(blob=blob_id(b"free\n")),
        "src/pkg/__init__.py": FileEntry(blob=blob_id(b"one\n")),
        "src/pkg/tool.sh": FileEntry(blob=blob_id(b"two\n"), executable=True),
        "src/pkg/x.py": FileEntry(blob=blob_id(b"")),
    }
    assert tree.beside == ("scripts/other.py",)
    assert tree.read("src/pkg/tool.sh") == b"two\n"
    assert tree.metadata.startswith("Metadata-Version: 2.1\nName: demo\n")
    assert tree.entry_points == "[console_scripts]\ndemo = pkg:main\n"
    assert tree.source == Source(
        kind="archive", repository="https://code.invalid/demo", commit=COMMIT, archive=made.file, sha256=made.sha256
    )


def test_same_archive_serves_other_packages_under_their_own_paths(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    assert [*acquire(archive_pin(made), mode="archive", cache=cache).entries] == ["src/pkg/a.py"]
    assert [*acquire(archive_pin(made, packages=("pkg",)), mode="archive", cache=cache).entries] == ["pkg/a.py"]


def test_sdist_loses_its_top_folder(tmp_path: Path, cache: Path) -> None:
    files = {"pyproject.toml": PROJECT, "backend.py": BACKEND, "src/pkg/__init__.py": b"one\n", "run.sh": b"two\n"}
    make_sdist(
        tmp_path / "index" / "demo-1.0.tar.gz",
        {f"demo-1.0/{path}": content for path, content in {**files, "PKG-INFO": PKG_INFO}.items()},
    )
    tree = acquire(archive_pin(serve(tmp_path, "demo-1.0.tar.gz")), mode="archive", cache=cache)
    assert {path: tree.read(path) for path in tree.entries} == files
    assert [path for path, entry in tree.entries.items() if entry.executable] == ["run.sh"]
    assert tree.metadata == PKG_INFO.decode()


def test_later_builds_need_no_index(tmp_path: Path, cache: Path) -> None:
    wanted = archive_pin(make_wheel(tmp_path, {"pkg/a.py": b""}))
    first = acquire(wanted, mode="archive", cache=cache)
    (tmp_path / "index" / wanted.archives[0].file).unlink()
    said = ProgressLog()
    assert acquire(wanted, mode="archive", cache=cache, progress=said) == first
    assert said.lines == []


def test_wrong_hash_names_both(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    wrong = replace(made, sha256="0" * 64)
    with pytest.raises(SourceError, match=f"sha256 {'0' * 64} is pinned, but {tmp_path}/index gave {made.sha256}"):
        acquire(archive_pin(wrong), mode="archive", cache=cache)
    assert not (cache / "archives").exists()


def test_wrong_hash_is_named_once_for_all_indexes(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "index", other)
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path}/index {other}")
    with pytest.raises(SourceError, match=f"is pinned, but {tmp_path}/index and {other} gave {made.sha256}"):
        acquire(archive_pin(replace(made, sha256="0" * 64)), mode="archive", cache=cache)


def test_kept_archive_that_was_cut_short_is_downloaded_again(tmp_path: Path, cache: Path) -> None:
    wanted = archive_pin(make_wheel(tmp_path, {"pkg/a.py": b"a\n"}))
    first = acquire(wanted, mode="archive", cache=cache)
    (kept,) = (cache / "archives").iterdir()
    kept.write_bytes(kept.read_bytes()[:50])
    said = ProgressLog()
    assert acquire(wanted, mode="archive", cache=cache, progress=said) == first
    assert "downloading" in str(said)


@pytest.mark.parametrize("name", ["demo-1.0-py3-none-any.whl", "demo-1.0.tar.gz"])
def test_archive_pinned_while_truncated_is_refused(tmp_path: Path, cache: Path, name: str) -> None:
    make_wheel(tmp_path, {"pkg/a.py": bytes(5000)})
    make_sdist(tmp_path / "index" / "demo-1.0.tar.gz", {"demo-1.0/src/pkg/a.py": hashlib.sha512().digest() * 999})
    file = tmp_path / "index" / name
    file.write_bytes(file.read_bytes()[:-30])
    wanted = archive_pin(serve(tmp_path, name))
    with pytest.raises(SourceError, match=name):
        acquire(wanted, mode="archive", cache=cache)
    with pytest.raises(SourceError, match=r"is not a whole (wheel|sdist)"):
        read(file.read_bytes(), name, (("src/pkg", "pkg"),))


UNSAFE = {
    "../x.py": "leads out",
    "/x.py": "absolute",
    "pkg//x.py": "empty",
    "pkg\\x.py": "backslash",
    "p/.git/x": "git",
}


@pytest.mark.parametrize(("path", "reason"), UNSAFE.items())
def test_unsafe_member_of_a_wheel_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    make_wheel(tmp_path, {"pkg/a.py": b"", path: b""})
    with pytest.raises(SourceError, match=reason):
        read(
            (tmp_path / "index/demo-1.0-py3-none-any.whl").read_bytes(), "demo-1.0-py3-none-any.whl", (("pkg", "pkg"),)
        )


@pytest.mark.parametrize(("path", "reason"), UNSAFE.items())
def test_unsafe_member_of_an_sdist_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    name = path if path.startswith("/") else f"demo-1.0/{path}"
    make_sdist(tmp_path / "s.tar.gz", {"demo-1.0/pkg/a.py": b"", name: b"", "demo-1.0/PKG-INFO": PKG_INFO})
    with pytest.raises(SourceError, match=reason):
        read((tmp_path / "s.tar.gz").read_bytes(), "s.tar.gz", (("pkg", "pkg"),))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_link_or_device_in_an_sdist_is_refused(tmp_path: Path, kind: bytes) -> None:
    link = tarfile.TarInfo("demo-1.0/pkg/link.py")
    link.type = kind
    link.linkname = "demo-1.0/pkg/a.py"
    make_sdist(tmp_path / "s.tar.gz", {"demo-1.0/pkg/a.py": b"", "demo-1.0/PKG-INFO": PKG_INFO}, link)
    with pytest.raises(SourceError, match=r"pkg/link.py' is a link or a device"):
        read((tmp_path / "s.tar.gz").read_bytes(), "s.tar.gz", (("pkg", "pkg"),))


def test_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        info = zipfile.ZipInfo("pkg/link.py")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(SourceError, match=r"pkg/link.py' is a symbolic link"):
        read((tmp_path / "w.whl").read_bytes(), "w.whl", (("pkg", "pkg"),))


def test_name_is_judged_as_it_is_stored(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        archive.writestr("pkg/a_b.py", b"")
    (tmp_path / "w.whl").write_bytes((tmp_path / "w.whl").read_bytes().replace(b"a_b.py", b"a\0b.py"))
    with pytest.raises(SourceError, match="not printable"):
        read((tmp_path / "w.whl").read_bytes(), "w.whl", (("pkg", "pkg"),))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_contradicting_members_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        for name in ("pkg/a.py", "pkg/a.py", "pkg/b", "pkg/b/c.py"):
            archive.writestr(name, b"")
    with pytest.raises(SourceError, match=r"'pkg/a.py' occurs twice, 'pkg/b' is a file and a folder"):
        read((tmp_path / "w.whl").read_bytes(), "w.whl", (("pkg", "pkg"),))
    made = make_wheel(tmp_path, {"pkg/a.py": b"", "demo-1.0.dist-info/licenses/pkg/a.py": b"other"})
    with pytest.raises(SourceError, match=r"'pkg/a.py' occurs twice"):
        read((tmp_path / "index" / made.file).read_bytes(), made.file, (("pkg", "pkg"),))


@pytest.mark.slow
def test_archive_that_unpacks_out_of_proportion_is_refused(tmp_path: Path) -> None:
    zeros = bytes(1 << 20)
    with zipfile.ZipFile(tmp_path / "w.whl", "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(60):
            packed.writestr(f"pkg/{number}.bin", zeros)
    make_sdist(tmp_path / "one.tar.gz", {"demo-1.0/pkg/a.bin": zeros * 60})
    header = tarfile.TarInfo("demo-1.0/pkg/a.py")
    header.pax_headers = {"comment": "0" * (60 << 20)}  # which is read with the file's name
    make_sdist(tmp_path / "header.tar.gz", {}, header)
    for name in ("w.whl", "one.tar.gz", "header.tar.gz"):
        content = (tmp_path / name).read_bytes()
        assert len(content) < 200_000
        with pytest.raises(SourceError, match=r"unpacks to more than \d+ MiB, which is out of proportion"):
            read(content, name, (("pkg", "pkg"),))


def test_metadata_is_that_of_the_wheels_own_distribution(tmp_path: Path) -> None:
    other = {"other-1.0.dist-info/METADATA": b"Name: other\n", "other-1.0.dist-info/licenses/LICENSE": b"theirs"}
    for name in (*other, "demo-2.0.dist-info/METADATA", "a.dist-info/METADATA"):
        made = make_wheel(tmp_path, {"pkg/a.py": b"", name: b"Name: other\n"})
        found = read((tmp_path / "index" / made.file).read_bytes(), made.file, (("pkg", "pkg"),))
        assert "Name: demo\n" in found.metadata
        assert [*found.files] == ["pkg/a.py"]
    for name in ("Demo-1.0.dist-info/METADATA", "demo-1.0.0.dist-info/WHEEL"):
        made = make_wheel(tmp_path, {"pkg/a.py": b"", name: b"Name: other\n"})
        with pytest.raises(
            SourceError, match=r"has .*dist-info, .*dist-info instead of one metadata folder of its own"
        ):
            read((tmp_path / "index" / made.file).read_bytes(), made.file, (("pkg", "pkg"),))
    content = (tmp_path / "index" / made.file).read_bytes()
    with pytest.raises(SourceError, match=r"has demo-1\.0\.0\.dist-info, .* instead of one metadata folder of its own"):
        read(content, "another-1.0-py3-none-any.whl", (("pkg", "pkg"),))


def test_zipped_sdist_serves(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as packed:
        packed.writestr("demo-1.0/PKG-INFO", PKG_INFO)
        packed.writestr("demo-1.0/pkg/a.py", b"a\n")
    found = read((tmp_path / "s.zip").read_bytes(), "s.zip", (("pkg", "pkg"),))
    assert {path: member.content for path, member in found.files.items()} == {"pkg/a.py": b"a\n"}


def test_archive_without_the_packages_or_metadata_is_refused(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"other/a.py": b""})
    with pytest.raises(SourceError, match="holds none of the shipped packages: src/pkg"):
        acquire(archive_pin(made), mode="archive", cache=cache)
    make_sdist(tmp_path / "s.tar.gz", {"demo-1.0/pkg/a.py": b""})
    with pytest.raises(SourceError, match="has no PKG-INFO"):
        read((tmp_path / "s.tar.gz").read_bytes(), "s.tar.gz", (("pkg", "pkg"),))
    make_sdist(tmp_path / "s.tar.gz", {"demo-1.0/pkg/a.py": b"", "other/b.py": b""})
    with pytest.raises(SourceError, match=r"one top folder, this has demo-1.0, other"):
        read((tmp_path / "s.tar.gz").read_bytes(), "s.tar.gz", (("pkg", "pkg"),))


def test_local_version_of_the_same_release_is_not_taken(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b"upstream\n"})
    make_wheel(tmp_path, {"pkg/a.py": b"companion\n"}, version="1.0+npu.1")
    assert acquire(archive_pin(made), mode="archive", cache=cache).read("src/pkg/a.py") == b"upstream\n"


def test_constraints_of_the_user_do_not_apply(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "constraints.txt").write_text("demo==0.9\n")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    assert "src/pkg/a.py" in acquire(archive_pin(made), mode="archive", cache=cache)


def test_downloads_outside_a_virtual_environment_although_the_user_forbids_installs_there(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    python = str(Path(sys.base_prefix) / "bin/python3")
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} has no pip")
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    assert "src/pkg/a.py" in acquire(archive_pin(made), mode="archive", cache=cache)


def test_index_without_the_archive_says_what_to_check(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "index" / made.file).unlink()
    with pytest.raises(SourceError, match=r"index: has no such file\n.*PIP_INDEX_URL"):
        acquire(archive_pin(made), mode="archive", cache=cache)


def test_index_password_is_not_shown(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "index" / made.file).unlink()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:hunter2@127.0.0.1:9/simple")
    said = ProgressLog()
    with pytest.raises(SourceError) as caught:
        acquire(archive_pin(made), mode="archive", cache=cache, progress=said)
    assert "hunter2" not in str(caught.value) + str(said)


def test_python_without_pip_is_said(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare/bin/python"))
    with pytest.raises(SourceError, match=r"pip's configuration says where from, but .* has no pip\n.*ensurepip"):
        acquire(archive_pin(made), mode="archive", cache=cache)


def test_mode_archive_without_archives_says_so(upstream: Upstream, cache: Path) -> None:
    with pytest.raises(SourceError, match="pins no release archive"):
        acquire(pin(upstream, upstream.commit(FILES)), mode="archive", cache=cache)


def test_archive_stands_in_for_git_and_says_why(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    upstream.commit(FILES)
    wanted = pin(upstream, COMMIT, archives=(made,))
    said = ProgressLog()
    assert acquire(wanted, cache=cache, progress=said).source.kind == "archive"
    assert f"git did not fetch it ({upstream.url}: the repository does not hold commit" in str(said)
    with pytest.raises(SourceError, match="does not hold commit"):
        acquire(wanted, mode="git", cache=cache)


def test_git_is_used_as_soon_as_it_answers(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    commit = upstream.commit(FILES)
    wanted = pin(upstream, commit, archives=(make_wheel(tmp_path, {"pkg/a.py": b""}),))
    moved = upstream.path.rename(tmp_path / "away")
    assert acquire(wanted, cache=cache).source.kind == "archive"
    moved.rename(upstream.path)
    assert acquire(wanted, cache=cache).source.kind == "git"


def test_git_comes_before_archives(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    wanted = pin(upstream, upstream.commit(FILES), archives=(make_wheel(tmp_path, {"pkg/a.py": b""}),))
    assert acquire(wanted, mode="archive", cache=cache).source.kind == "archive"
    assert acquire(wanted, cache=cache).source.kind == "git"


def test_second_archive_serves_where_the_first_is_not_had(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    absent = replace(made, file="demo-1.0.tar.gz", sha256="0" * 64)
    assert acquire(archive_pin(absent, made), mode="archive", cache=cache).source.archive == made.file


def test_total_failure_lists_every_attempt(upstream: Upstream, tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "index" / made.file).unlink()
    upstream.commit(FILES)
    gone = (tmp_path / "gone").as_uri()
    with pytest.raises(SourceError) as caught:
        acquire(pin(upstream, COMMIT, mirrors=(gone,), archives=(made,)), cache=cache)
    assert [problem.where for problem in caught.value.problems] == [upstream.url, gone, made.file, f"demo {COMMIT}"]
    assert "--source archive" not in str(caught.value)  # which is what has just failed
    with pytest.raises(SourceError, match="--source archive"):
        acquire(pin(upstream, COMMIT, archives=(made,)), mode="git", cache=cache)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_package_below_a_namespace_keeps_its_place(tmp_path: Path, cache: Path, kind: str) -> None:
    files = {"space/core/a.py": b"", "space/other/b.py": b""}
    if kind == "wheel":
        made = make_wheel(tmp_path, files)
    else:
        top = {"pyproject.toml": PROJECT, "backend.py": BACKEND, "PKG-INFO": PKG_INFO, **files}
        make_sdist(tmp_path / "index" / "demo-1.0.tar.gz", {f"demo-1.0/{path}": text for path, text in top.items()})
        made = serve(tmp_path, "demo-1.0.tar.gz")
    pinned = archive_pin(made, packages=("space/core",))
    tree = acquire(pinned, mode="archive", cache=cache)
    assert "space/core/a.py" in tree
    assert pinned.place("space/core/a.py") == "space/core/a.py"
    assert pinned.place("space/other/b.py") == ""


def test_a_release_alone_is_had_from_its_archive_only(tmp_path: Path, cache: Path) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    pinned = Pin(project="demo", packages=("pkg",), archives=(made,))
    assert (pinned.short, pinned.identity) == ("1.0", f"sha256:{made.sha256}")
    tree = acquire(pinned, cache=cache)
    assert (tree.source.kind, tree.source.commit, tree.source.sha256) == ("archive", "", made.sha256)
    with pytest.raises(SourceError, match="only a release archive is pinned"):
        acquire(pinned, mode="git", cache=cache)
    with pytest.raises(SourceError, match="leave out --upstream"):
        acquire(pinned, local=tmp_path, cache=cache)
