"""Downloads: one file by its name, from wherever the user's pip would look, without running any of it."""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import SourceError
from npu_overlays.sources.download import download
from npu_overlays.sources.pin import Archive
from npu_overlays.sources.releases import find_release
from support.marks import rarely

from .conftest import ProgressLog, make_wheel, serve
from .servers import files, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "hunter2"  # noqa: S105  # what must not show up anywhere


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces pip's configuration by the given options, as a file has them."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")

    def configure(**options: str) -> None:
        lines = ["[global]", *(f"{name.replace('_', '-')} = {value}" for name, value in options.items())]
        (tmp_path / "pip.conf").write_text("\n".join(lines))
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))

    return configure


def put(tmp_path: Path, name: str, content: bytes = b"anything") -> Archive:
    """Put a file into a simple index below ``simple`` and return its pin."""
    page = tmp_path / "simple" / "demo"
    page.mkdir(parents=True, exist_ok=True)
    (page / name).write_bytes(content)
    links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in page.iterdir() if path.name != "index.html")
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    digest = hashlib.sha256(content).hexdigest()
    return Archive(distribution="demo", version="1.0", file=name, sha256=digest)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("demo-1.0.tar.gz", "http"),
        *rarely(*(("demo-1.0.tar.gz", kind) for kind in ("file", "folder", "page"))),
        *rarely(("demo-1.0-py3-none-any.whl", "http")),
        ("demo-1.0-cp27-cp27m-win32.whl", "folder"),
        ("demo-1.0-cp310-cp310-manylinux_2_28_aarch64.whl", "page"),
    ],
)
def test_any_file_is_had_by_its_name(tmp_path: Path, configured: Callable[..., None], name: str, kind: str) -> None:
    (tmp_path / "simple/demo").mkdir(parents=True)
    wanted = put(tmp_path, name)
    put(tmp_path, "demo-1.0-py2-none-any.whl", b"another")
    with files(tmp_path) as port:
        configured(
            **{
                "http": {"index_url": f"http://127.0.0.1:{port}/simple"},
                "file": {"index_url": (tmp_path / "simple").as_uri()},
                "folder": {"no_index": "yes", "find_links": str(tmp_path / "simple/demo")},
                "page": {"no_index": "1", "find_links": f"http://127.0.0.1:{port}/simple/demo/index.html"},
            }[kind]
        )
        assert download(wanted, ProgressLog()) == b"anything"


def test_a_release_whose_digest_the_index_lists_is_taken_from_the_cache(
    tmp_path: Path, cache: Path, configured: Callable[..., None]
) -> None:
    wanted = put(tmp_path, "demo-1.0-py3-none-any.whl")
    page = tmp_path / "simple/demo/index.html"
    page.write_text(f'<a href="{wanted.file}#sha256={wanted.sha256}">{wanted.file}</a>')
    configured(index_url=(tmp_path / "simple").as_uri())
    found = find_release("demo", "1.0", cache=cache, progress=ProgressLog())
    assert found.archive == wanted
    (page.parent / wanted.file).unlink()
    assert find_release("demo", "1.0", cache=cache, progress=ProgressLog()) == found
    page.write_text(f'<a href="{wanted.file}#sha256={"0" * 64}">{wanted.file}</a>')
    with pytest.raises(SourceError, match="demo"):
        find_release("demo", "1.0", cache=cache, progress=ProgressLog())


def test_nothing_of_an_sdist_is_run(tmp_path: Path, configured: Callable[..., None]) -> None:
    # Whatever would run it would find it to be no archive at all.
    wanted = put(tmp_path, "demo-1.0.tar.gz", b"import os; os.abort()")
    configured(index_url=(tmp_path / "simple").as_uri())
    assert download(wanted, ProgressLog()) == b"import os; os.abort()"


def test_variables_come_before_files_and_the_command_before_all_commands(
    tmp_path: Path, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    configured(index_url="http://127.0.0.1:9/a\n[download]\nindex-url = http://127.0.0.1:9/b\n[install]\nno-index = 1")
    with pytest.raises(SourceError) as caught:
        download(wanted, ProgressLog())
    assert "http://127.0.0.1:9/b" in str(caught.value)
    assert "http://127.0.0.1:9/a" not in str(caught.value)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert download(wanted, ProgressLog()) == b"anything"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("NO_INDEX=maybe", "PIP_NO_INDEX, or no-index of pip's configuration: `maybe` is neither yes nor no"),
        ("TIMEOUT=0", "PIP_TIMEOUT, or timeout of pip's configuration: `0` is no number of seconds above 0"),
        ("TIMEOUT=abc", "(or the variable PIP_TIMEOUT)"),
        ("DEFAULT_TIMEOUT=nan", "`nan` is no number of seconds above 0"),
    ],
)
def test_what_an_option_of_pip_does_not_take_is_refused_by_the_name_of_its_variable(
    tmp_path: Path, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch, setting: str, said: str
) -> None:
    name, _, value = setting.partition("=")
    pin = put(tmp_path, "demo-1.0.tar.gz")
    configured(index_url=(tmp_path / "simple").as_uri())
    monkeypatch.setenv(f"PIP_{name}", value)
    with pytest.raises(SourceError) as raised:
        download(pin, ProgressLog())
    assert said in str(raised.value)


def test_every_index_is_asked_and_what_each_said_is_listed(tmp_path: Path, configured: Callable[..., None]) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    (tmp_path / "empty").mkdir()
    configured(
        index_url="http://127.0.0.1:9/simple",
        extra_index_url=f"http://127.0.0.1:9/more\n    {(tmp_path / 'empty').as_uri()}",
        find_links=str(tmp_path / "empty"),
    )
    with pytest.raises(SourceError) as caught:
        download(wanted, ProgressLog())
    (problem,) = caught.value.problems
    assert problem.where == wanted.file
    for said in ("/empty: has no such file", "http://127.0.0.1:9/simple/: ", "http://127.0.0.1:9/more/: "):
        assert said.replace("/:", ":") in problem.what.replace("/:", ":")
    assert "Connection refused" in problem.what
    assert "PIP_INDEX_URL" in problem.fix
    configured(index_url="http://127.0.0.1:9/simple", extra_index_url=(tmp_path / "simple").as_uri())
    assert download(wanted, ProgressLog()) == b"anything"


@pytest.mark.slow
def test_right_file_behind_a_wrong_one_is_found(tmp_path: Path, configured: Callable[..., None]) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / wanted.file).write_bytes(b"other")
    configured(index_url=(tmp_path / "simple").as_uri(), find_links=str(tmp_path / "links"))
    assert download(wanted, ProgressLog()) == b"anything"
    with pytest.raises(SourceError) as caught:
        download(replace(wanted, sha256="0" * 64), ProgressLog())
    what = caught.value.problems[0].what
    assert f"{tmp_path}/links gave {hashlib.sha256(b'other').hexdigest()}" in what
    assert f"gave {wanted.sha256}" in what


@pytest.mark.slow
def test_login_in_the_address_serves_and_is_not_shown(tmp_path: Path, configured: Callable[..., None]) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    said = ProgressLog()
    login = base64.b64encode(f"user:{SECRET}".encode()).decode()
    with files(tmp_path, login=login) as port:
        configured(index_url=f"http://user:{SECRET}@127.0.0.1:{port}/simple")
        assert download(wanted, said) == b"anything"
        configured(index_url=f"http://user:{SECRET}x@127.0.0.1:{port}/simple")
        with pytest.raises(SourceError, match="401") as caught:
            download(wanted, said)
    assert SECRET not in str(said) + str(caught.value)


@pytest.mark.slow
def test_proxy_is_used_and_a_dead_one_is_said_at_once(
    tmp_path: Path, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    page = tmp_path / "http:" / "index.invalid"
    page.mkdir(parents=True)
    (tmp_path / "simple").rename(page / "simple")
    login = base64.b64encode(f"user:{SECRET}".encode()).decode()
    with files(tmp_path, proxy_login=login) as port:
        proxy = f"http://user:{SECRET}@127.0.0.1:{port}"
        configured(index_url="http://index.invalid/simple", proxy=proxy, trusted_host="index.invalid")
        assert download(wanted, ProgressLog()) == b"anything"
        configured(index_url="http://index.invalid/simple", trusted_host="index.invalid")
        monkeypatch.setenv("http_proxy", proxy)
        assert download(wanted, ProgressLog()) == b"anything"
        monkeypatch.delenv("http_proxy")
    for index in ("https://index.invalid/simple", "http://index.invalid/simple"):
        configured(index_url=index, proxy=f"http://user:{SECRET}@127.0.0.1:9", trusted_host="index.invalid")
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"index\.invalid.*Connection refused") as caught:
            download(wanted, ProgressLog())
        assert time.monotonic() - began < 15  # of which a busy machine takes most
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "first", [*rarely(b""), b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<a"]
)
def test_silent_index_is_given_up(
    tmp_path: Path, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    monkeypatch.setenv("NPU_OVERLAYS_PATIENCE", "1")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "180")
    began = time.monotonic()
    with silent(first) as port:
        configured(index_url=f"http://127.0.0.1:{port}/simple")
        with pytest.raises(SourceError, match=r"no answer\n.*NPU_OVERLAYS_PATIENCE=3 waits longer"):
            download(wanted, ProgressLog())
    assert time.monotonic() - began < 15  # of which a busy machine takes most


def test_no_index_and_no_folder_is_said(tmp_path: Path, configured: Callable[..., None]) -> None:
    configured(no_index="true")
    with pytest.raises(SourceError, match="no index and no folder"):
        download(put(tmp_path, "demo-1.0.tar.gz"), ProgressLog())


def test_settings_that_do_not_work_are_said(tmp_path: Path, configured: Callable[..., None]) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    configured(index_url="https://index.invalid/simple", cert=str(tmp_path / "absent.pem"))
    with pytest.raises(SourceError, match=r"certificates or proxies do not work.*\n.*correct cert"):
        download(wanted, ProgressLog())
    (tmp_path / "pip.conf").write_text("[global\n")
    with pytest.raises(SourceError, match="pip's configuration cannot be read"):
        download(wanted, ProgressLog())


def test_folders_that_are_not_there_are_passed_over(tmp_path: Path, configured: Callable[..., None]) -> None:
    wanted = put(tmp_path, "demo-1.0.tar.gz")
    configured(index_url=(tmp_path / "simple").as_uri(), find_links=str(tmp_path / "nowhere"))
    assert download(wanted, ProgressLog()) == b"anything"


def test_file_lying_about_is_not_taken_for_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_wheel(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "pip.py").write_text("raise SystemExit('foreign code')")
    monkeypatch.chdir(tmp_path)
    assert download(serve(tmp_path, made.file), ProgressLog())
