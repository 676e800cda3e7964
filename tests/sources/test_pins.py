"""What an overlay says of its upstream: nothing in it reaches git, an index or another folder as something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import ConfigError
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.pin_faults import archive_faults, is_folder_name, url_fault
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.sources.pin import Archive, Pin, home_of
from support.overlays import write_overlay, write_stacks

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = "demo-1.0-py3-none-any.whl"


@pytest.mark.parametrize(("path", "name"), [("python/six.py", "space.six"), ("python/lib", "lib")])
def test_a_pin_names_what_its_path_does_not_show(path: str, name: str) -> None:
    pin = Pin(project="demo", packages=(path, "src/other"), imports=((path, home_of(path, name)),))
    assert (pin.import_name(path), pin.import_name("src/other")) == (name, "")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/a/b",
        "http://127.0.0.1:8080/b.git",
        "ssh://git@host/a/b",
        "git://host/b",
        "file:///srv/b",
        "git@github.com:a/b.git",
        "host:b",
    ],
)
def test_urls_that_git_may_be_given(url: str) -> None:
    assert url_fault(url) == ""


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("ext::sh -c id", "blanks"),
        ("ext::sh", "a program"),
        ("fd::17/x", "a program"),
        ("::x", "a program"),
        ("https::x", "a program"),
        ("--upload-pack=id", "a dash"),
        ("-x:y", "a dash"),
        ("ssh://-oProxyCommand=id/x", "a dash"),
        ("ssh://git@-oProxyCommand=id/x", "a dash"),
        ("ftp://host/x", "none of the kinds"),
        ("HTTPS://host/x", "none of the kinds"),
        ("foo+https://host/x", "none of the kinds"),
        ("https:///x", "names no host"),
        ("https://[::1/x", "is not a URL"),
        ("https://host/x\n", "control"),
        ("https://host/a\u202eb", "control"),
        ("/srv/b", "is not a URL"),
        ("../b", "is not a URL"),
        ("https://me:secret@host/x", "user name or password"),
        ("https://token@host/x", "user name or password"),
        ("ssh://me:secret@host/x", "user name or password"),
    ],
)
def test_urls_that_git_must_not_be_given(url: str, fault: str) -> None:
    assert fault in url_fault(url)


def archive(**changes: str) -> Archive:
    return Archive(**{"distribution": "demo", "version": "1.0", "file": WHEEL, "sha256": "0" * 64, **changes})


@pytest.mark.parametrize(
    "given",
    [
        archive(),
        archive(distribution="Demo"),
        archive(version="v1.0.0"),
        archive(file="demo-1.0.tar.gz"),
        archive(distribution="d.e_m-o", file="d_e_m_o-1.0.tar.gz"),
        archive(file="demo-1.0-1-cp310-cp310-manylinux_2_28_x86_64.whl"),
    ],
)
def test_archives_that_may_be_asked_for(given: Archive) -> None:
    assert list(archive_faults(given)) == []


@pytest.mark.parametrize(
    ("given", "key", "what"),
    [
        (archive(distribution="-r /etc/passwd\nx"), "distribution", "is not a name"),
        (archive(distribution="--pre"), "distribution", "is not a name"),
        (archive(distribution="demo\n"), "distribution", "is not a name"),
        (archive(distribution="../demo"), "distribution", "is not a name"),
        (archive(distribution="demo[x]"), "distribution", "is not a name"),
        (archive(version="1.0 --hash"), "version", "is not a version"),
        (archive(version="1.0\n"), "version", "is not a version"),
        (archive(version="latest"), "version", "is not a version"),
        (archive(sha256="0" * 63), "sha256", "is not a sha256"),
        (archive(sha256="A" * 64), "sha256", "is not a sha256"),
        (archive(file="demo.exe"), "file", "neither a wheel nor an sdist"),
        (archive(file="../demo-1.0.tar.gz"), "file", "is not a file name"),
        (archive(file="a\\demo-1.0.tar.gz"), "file", "is not a file name"),
        (archive(file="demo-1.0\n-py3-none-any.whl"), "file", "is not a file name"),
        (archive(file="demo.whl"), "file", "Invalid wheel filename"),
        (archive(file="demo.tar.gz"), "file", "Invalid sdist filename"),
        (archive(file="other-1.0-py3-none-any.whl"), "file", "is other 1.0, not demo 1.0"),
        (archive(file="demo-1.1.tar.gz"), "file", "is demo 1.1, not demo 1.0"),
    ],
)
def test_archives_that_must_not_be_asked_for(given: Archive, key: str, what: str) -> None:
    ((found, said, fix),) = archive_faults(given)
    assert found == key
    assert what in said
    assert fix


def test_names_of_folders() -> None:
    assert is_folder_name("verl@d62da49")
    for text in ("", ".", "..", "../x", "a/b", "/x", "a\\b", "C:x", "x\n", "a b", "\u202ex"):
        assert not is_folder_name(text)


def test_every_mistake_of_a_pin_is_told_at_once_with_its_key(tmp_path: Path) -> None:
    upstream = 'mirrors = ["fd::17/x", "https://host/b"]\n[[tool.overlay.upstream.archive]]\n'
    upstream += f'distribution = "-r x"\nversion = "new"\nfile = "{WHEEL}"\nsha256 = "{"0" * 64}"\n'
    folder = write_overlay(
        tmp_path,
        project="lib",
        commit="a" * 40,
        repository="https://me:secret@host/x",
        packages=["lib"],
        files={},
        overlay='layers = ["../elsewhere/evil", 3]\n',
        upstream=upstream,
    )
    with pytest.raises(ConfigError) as caught:
        load_overlay(folder)
    said = str(caught.value)
    for key, what in (
        ("upstream.repository", "holds a user name or password"),
        ("upstream.mirrors", "names a program for git to run"),
        ("upstream.archive[1].distribution", "'-r x' is not a name of a distribution"),
        ("upstream.archive[1].version", "'new' is not a version"),
        ("layers", "`../elsewhere/evil` is no layer: there is no such folder"),
        ("layers", "3 does not name a layer"),
    ):
        assert f"tool.overlay.{key}: {what}" in said
    assert "secret" not in said
    assert all(problem.fix for problem in caught.value.problems)


def test_stack_that_leaves_the_folder_of_overlays_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "overlays"
    root.mkdir()
    write_overlay(tmp_path, project="lib", commit="a" * 40, repository="https://h/x", packages=["lib"], files={})
    write_stacks(root, "s", {"s": ["../lib@aaaaaaa"]})
    with pytest.raises(ConfigError, match=r"s.json: overlays: '../lib@aaaaaaa' is not the name of an overlay"):
        load_stacks(root)
