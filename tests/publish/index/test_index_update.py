"""An index over time: what is added, what is left alone, and what is refused before anything is written."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from support.marks import rarely
from support.overlays import edit
from support.wheels import members as wheel_members
from support.wheels import write_wheel

from .conftest import Shop

FOREIGN = """\
<html><head><base href="https://files.example.invalid/x/"></head><body>
<a href="app-0.1.tar.gz#md5=0123" rel="internal" data-gpg-sig="true">app-0.1.tar.gz</a>
<a href='app-0.2-py3-none-any.whl' data-yanked data-requires-python="&lt;4">app-0.2-py3-none-any.whl</a></body></html>
"""


def written(out: Path) -> dict[str, int]:
    """Return what tells of every file of the page of `app` whether it was written again."""
    return {path.name: path.stat().st_ino for path in (out / "app").iterdir()}


def test_what_is_there_unchanged_is_not_read_again(shop: Shop) -> None:
    wheels = [shop.wheel("app", version) for version in ("1.0", "2.0")]
    assert shop.indexed()["added"] == [wheel.name for wheel in wheels]
    page = shop.out / "app" / "index.json"
    page.write_text(json.dumps(json.loads(page.read_text())))  # as somebody else's tool may lay it out
    before = written(shop.out)
    told = shop.indexed()
    assert (told["added"], told["unchanged"]) == ([], 2)
    assert written(shop.out) == before
    new = shop.wheel("app", "3.0")
    assert shop.indexed()["added"] == [new.name]
    assert {path for path, inode in written(shop.out).items() if before.get(path) != inode} == {
        *("index.html", "index.json", new.name, f"{new.name}.metadata")
    }


def test_the_same_bytes_with_another_time_are_unchanged(shop: Shop) -> None:
    files = (shop.wheel("app"), shop.sdist("app"))
    shop.indexed("--yank", "app==1.0", "--reason", "why", shop.wheels)
    before = shop.files()
    for file in files:
        os.utime(file, (1, 1))
    told = shop.indexed()
    assert (told["added"], told["unchanged"]) == ([], 2)
    assert shop.files() == before
    inodes = written(shop.out)
    shop.indexed()
    assert written(shop.out) == inodes  # nor read again


def test_a_copy_that_was_touched_is_written_again(shop: Shop) -> None:
    wheel = shop.wheel("app")
    shop.indexed()
    (shop.out / "app" / wheel.name).write_bytes(b"damaged")
    assert shop.indexed()["added"] == [wheel.name]
    assert (shop.out / "app" / wheel.name).read_bytes() == wheel.read_bytes()
    assert shop.indexed()["added"] == []


@pytest.mark.parametrize("spoil", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["lost", "emptied"])
def test_metadata_that_do_not_lie_beside_a_wheel_as_its_page_says_are_written_again(
    shop: Shop, spoil: Callable[[Path], object]
) -> None:
    wheel = shop.wheel("app")
    shop.sdist("app")
    shop.indexed()
    files, metadata = shop.files(), shop.out / "app" / f"{wheel.name}.metadata"
    spoil(metadata)
    edit(shop.out / "app" / "index.html", "<h1>", "<h1 >")  # a page that is younger than all it lists
    assert shop.indexed()["added"] == [wheel.name]
    assert shop.files() == files


def test_metadata_that_were_removed_are_not_promised_any_more(shop: Shop) -> None:
    wheel = shop.wheel("app")
    shop.indexed()
    (shop.out / "app" / f"{wheel.name}.metadata").unlink()
    kept = wheel.rename(shop.wheels.parent / wheel.name)
    shop.wheel("app", "2.0")
    assert f"{wheel.name}.metadata: listed, but not there any more" in shop.index().err
    anchors = (shop.out / "app" / "index.html").read_text().splitlines()
    promised = [line for line in anchors if "metadata" in line]
    assert not any("1.0" in line for line in promised)
    assert any("2.0" in line for line in promised)
    kept.rename(wheel)
    assert shop.indexed()["added"] == [wheel.name]
    assert f"app/{wheel.name}.metadata" in shop.files()


def test_a_file_with_the_time_and_the_size_of_another_is_still_read(shop: Shop) -> None:
    wheel = shop.wheel("app", content=b"1")
    shop.indexed()
    before = wheel.stat()
    shop.wheel("app", content=b"2")
    os.utime(wheel, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert wheel.stat().st_size == before.st_size
    done = shop.index()
    assert (done.code, "another file under this name" in done.err) == (6, True)


def test_other_bytes_under_a_name_are_refused_unless_asked_for(shop: Shop) -> None:
    shop.wheel("app", content=b"1")
    shop.indexed("--yank", "app==1.0", "--reason", "why", shop.wheels)
    files = shop.files()
    wheel = shop.wheel("app", content=b"22")
    done = shop.index()
    assert (done.code, "--replace" in done.err) == (6, True)
    assert shop.files() == files
    assert shop.indexed("--replace", shop.wheels)["added"] == [wheel.name]
    assert (shop.out / "app" / wheel.name).read_bytes() == wheel.read_bytes()
    assert '"yanked": "why"' in (shop.out / "app" / "index.json").read_text()


def test_a_file_that_somebody_put_there_unlisted_is_not_written_over(shop: Shop) -> None:
    wheel = shop.wheel("app")
    (shop.out / "app").mkdir(parents=True)
    (shop.out / "app" / wheel.name).write_bytes(b"another")
    assert shop.index().code == 6
    assert shop.files() == {f"app/{wheel.name}": b"another"}


def test_what_others_wrote_stays(shop: Shop) -> None:
    (shop.out / "app").mkdir(parents=True)
    (shop.out / "app" / "index.html").write_text(FOREIGN)
    (shop.out / "app" / "notes.txt").write_text("mine")
    (shop.out / "other").mkdir()
    (shop.out / "other" / "index.html").write_text("<a href='x'>x</a>")
    (shop.out / "index.html").write_text("<a href='/simple/other/'>Other</a><a href='app/'>app</a>")
    shop.wheel("app")
    shop.indexed()
    shop.indexed()
    files = shop.files()
    assert files["app/notes.txt"] == b"mine"
    assert files["other/index.html"] == b"<a href='x'>x</a>"
    root = files["index.html"].decode()
    assert '<a href="/simple/other/">Other</a>' in root
    assert root.count("<a ") == 2
    page = files["app/index.html"].decode()
    sdist, wheel = (line for line in page.splitlines() if "example.invalid" in line)
    assert 'href="https://files.example.invalid/x/app-0.1.tar.gz#md5=0123"' in sdist
    assert 'rel="internal" data-gpg-sig="true"' in sdist
    assert 'data-requires-python="&lt;4" data-yanked=""' in wheel
    told = json.loads(files["app/index.json"])
    assert told["meta"] == {"api-version": "1.0"}  # nobody knows how large the others are
    assert [one["filename"] for one in told["files"]] == [
        "app-0.1.tar.gz",
        "app-0.2-py3-none-any.whl",
        "app-1.0-py3-none-any.whl",
    ]
    assert told["files"][1]["yanked"] is True


def test_what_only_json_says_stays(shop: Shop) -> None:
    shop.wheel("app")
    shop.indexed()
    page = shop.out / "app" / "index.json"
    told = json.loads(page.read_text())
    told["files"][0]["upload-time"] = "2026-01-01T00:00:00Z"
    told |= {"meta": {"api-version": "1.4", "_note": 1}, "project-status": {"status": "active"}}
    page.write_text(json.dumps(told))
    shop.wheel("app", "2.0")
    shop.indexed()
    after = json.loads(page.read_text())
    assert after["files"][0] == told["files"][0]
    assert (after["meta"], after["project-status"]) == (told["meta"], told["project-status"])


def test_a_file_given_out_from_elsewhere_stays_there(shop: Shop) -> None:
    wheel = shop.wheel("app")
    shop.indexed()
    page, elsewhere = shop.out / "app", f"https://cdn.example.invalid/{wheel.name}"
    edit(page / "index.html", f'"{wheel.name}#', f'"{elsewhere}#')
    edit(page / "index.json", f'"url": "{wheel.name}"', f'"url": "{elsewhere}"')
    (shop.out / "app" / wheel.name).unlink()
    files = shop.files()
    shop.indexed()
    assert shop.files() == files


def unhashed(where: str, wheel: Path) -> str:
    """Return how a page lists a wheel whose sha256 it does not say: with no digest, or elsewhere with an older one."""
    md5 = hashlib.md5(wheel.read_bytes(), usedforsecurity=False).hexdigest()
    url = wheel.name if where == "beside" else f"https://cdn.example.invalid/{wheel.name}#md5={md5}"
    return f'<a href="{url}">{wheel.name}</a>'


@pytest.mark.parametrize("where", ["beside", "elsewhere"])
def test_a_file_that_is_listed_without_its_sha256_is_known_again(shop: Shop, where: str) -> None:
    wheel = shop.wheel("app")
    (shop.out / "app").mkdir(parents=True)
    page = shop.out / "app" / "index.html"
    page.write_text(unhashed(where, wheel))
    if where == "beside":
        shutil.copy(wheel, shop.out / "app")
    assert shop.indexed()["added"] == ([wheel.name] if where == "beside" else [])
    text = page.read_text()
    assert ("#sha256=" in text, "example.invalid" in text) == (where == "beside", where == "elsewhere")
    page.with_name("index.json").unlink()
    page.write_text(unhashed(where, wheel))
    shop.wheel("app", content=b"other")
    done = shop.index()
    assert (done.code, "another file under this name" in done.err) == (6, True)


def test_what_was_removed_is_taken_off_the_list_and_said(shop: Shop) -> None:
    shop.wheel("app")
    shop.wheel("app", "2.0")
    shop.indexed()
    for file in (shop.wheels, shop.out / "app"):
        (file / "app-1.0-py3-none-any.whl").unlink()
    assert "app-1.0-py3-none-any.whl: listed, but not there" in shop.index().err
    assert "app-1.0-py3" not in (shop.out / "app" / "index.html").read_text()


def test_pages_without_their_files_keep_their_marks_when_the_files_come_back(shop: Shop) -> None:
    wheel = shop.wheel("app")
    shop.indexed("--yank", "app==1.0", "--reason", "why", shop.wheels)
    files = shop.files()
    (shop.out / "app" / wheel.name).unlink()
    assert shop.indexed()["dropped"] == []
    assert shop.files() == files


def test_a_further_file_of_a_yanked_version_is_yanked(shop: Shop) -> None:
    shop.wheel("app")
    shop.indexed("--yank", "app==1.0", "--reason", "why", shop.wheels)
    shop.sdist("app")
    shop.indexed()
    assert (shop.out / "app" / "index.html").read_text().count('data-yanked="why"') == 2


def test_statements_and_constraints_go_along(shop: Shop) -> None:
    statement = state(shop.wheel("app"))
    (shop.wheels / "constraints-a.txt").write_text("app==1.0\n")
    (shop.wheels / "notes.txt").write_text("")
    shop.indexed()
    assert {f"app/{statement.name}", "constraints-a.txt"} <= shop.files().keys()
    assert "notes.txt" not in shop.files()
    (shop.wheels / "constraints-a.txt").write_text("app==2.0\n")
    shop.indexed()
    assert shop.files()["constraints-a.txt"] == b"app==2.0\n"


def state(*wheels: Path) -> Path:
    """Write a statement of wheels, which is called after the first, and return it."""
    digests = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
    subject = [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()]
    file = wheels[0].with_suffix(".intoto.json")
    file.write_text(json.dumps({"subject": subject}))
    return file


def test_a_statement_that_is_false_is_not_given_out(shop: Shop) -> None:
    """Neither with new wheels nor beside those that are there, whether it was true of others or never of any."""
    app, companion, other, third = (shop.wheel(name) for name in ("app", "companion", "other", "third"))
    state(app, companion)
    shop.indexed()
    files = shop.files()
    shop.wheel("companion", content=b"other bytes")
    state(app, companion)
    shop.wheel("companion")
    state(other).rename(third.with_suffix(".intoto.json"))
    other.with_suffix(".intoto.json").write_text("no JSON")
    shop.wheel("new")
    done = shop.index("--replace", shop.wheels, "--json")
    said = {Path(one["where"]).name.partition("-")[0]: one["what"] for one in json.loads(done.err)["problems"]}
    assert (done.code, said) == (
        6,
        {
            "app": f"gives another digest than {companion.name} has",
            "other": "is no statement in the form of in-toto that can be read",
            "third": f"names no {third.name}, which it is called after",
        },
    )
    assert shop.files() == files


@pytest.mark.parametrize("refused", ["app", "companion"])
def test_of_a_refused_wheel_only_the_cause_is_reported(shop: Shop, refused: str) -> None:
    state(shop.wheel("app"), shop.wheel("companion"))
    shop.indexed()
    wheel = shop.wheel(refused, content=b"other bytes")
    state(shop.wheels / "app-1.0-py3-none-any.whl", shop.wheels / "companion-1.0-py3-none-any.whl")
    problems = json.loads(shop.index(shop.wheels, "--json").err)["problems"]
    assert [one["where"] for one in problems] == [str(wheel)]


@pytest.mark.parametrize("replaced", ["app", "companion"])
def test_a_statement_of_what_was_replaced_goes_unless_another_is_given(shop: Shop, replaced: str) -> None:
    wheels = {name: shop.wheel(name) for name in ("app", "companion", "other")}
    state(wheels["other"])
    statement = state(wheels["app"], wheels["companion"])
    shop.indexed()
    edit(shop.out / replaced / "index.html", "<a ", '<a data-gpg-sig="true" ')
    shop.wheel(replaced, content=b"other bytes")
    state(wheels["app"], wheels["companion"])
    shop.indexed("--replace", shop.wheels)
    assert f"app/{statement.name}" in shop.files()
    shop.wheel(replaced, content=b"others again")
    statement.unlink()
    done = shop.index("--replace", shop.wheels)
    assert (done.code, f"{statement.name}: of other bytes" in done.err) == (0, True), done.err
    assert [name for name in shop.files() if name.endswith(".intoto.json")] == [
        "other/other-1.0-py3-none-any.intoto.json"
    ]
    assert "data-gpg-sig" not in (shop.out / replaced / "index.html").read_text()


def test_a_statement_of_a_wheel_that_was_removed_is_not_kept_for_another(shop: Shop) -> None:
    wheel = shop.wheel("app")
    statement = state(wheel)
    shop.indexed()
    for file in (wheel, statement, shop.out / "app" / wheel.name):
        file.unlink()
    shop.wheel("app", "2.0")
    assert (done := shop.indexed())["dropped"] == [wheel.name]
    assert done["removed"] == []
    shop.wheel("app", content=b"other")
    assert shop.indexed()["removed"] == [statement.name]


@pytest.mark.parametrize("together", [True, False])
def test_constraints_of_wheels_that_were_built_apart_pin_all_of_them(
    shop: Shop, tmp_path: Path, *, together: bool
) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    apart = [
        "# of app@1:\napp-acme==1.0+acme.1\n# not built beside this file: lib@1\n# of the index:\nnumpy==2.0\n",
        "# not built beside this file: app@1\n# of lib@1:\nlib-acme==1.0+acme.1\n# of the index:\nnumpy==2.1\n",
    ]
    for folder, wheel, text in zip(folders, ("app_acme", "lib_acme"), apart, strict=True):
        folder.mkdir()
        shutil.copy(shop.wheel(wheel, "1.0+acme.1"), folder)
        (folder / "constraints-a.txt").write_text(text)
        os.utime(folder / "constraints-a.txt", (1, 1))
    if together:
        shop.indexed(*folders)
    else:
        for folder in folders:
            shop.indexed(folder)
    assert shop.files()["constraints-a.txt"].decode().splitlines() == [
        *("# of app@1:", "app-acme==1.0+acme.1", "# of lib@1:", "lib-acme==1.0+acme.1", "# of the index:", "numpy==2.1")
    ]


def test_all_mistakes_are_named_at_once_and_nothing_is_written(shop: Shop) -> None:
    whole = shop.wheel("app")
    (shop.wheels / "cut-1.0-py3-none-any.whl").write_bytes(whole.read_bytes()[:200])
    (shop.wheels / "cut-1.0.tar.gz").write_bytes(shop.sdist("more").read_bytes()[:60])
    (shop.wheels / "what.whl").write_bytes(b"")
    (shop.wheels / "folder-1.0-py3-none-any.whl").mkdir()
    shutil.copy(whole, shop.wheels / "renamed-3.0-py3-none-any.whl")
    write_wheel(shop.wheels, "bad", "1.0", {}, metadata="Requires-Python: 3.10 or so\n")
    write_wheel(shop.wheels, "Twice", "1.0", {"a.py": b""})
    write_wheel(shop.wheels, "twice", "1.0", {"b.py": b""})
    write_wheel(shop.wheels, "flipped", "1.0", {"x.py": b"# a comment that is long enough to be found"})
    flipped = shop.wheels / "flipped-1.0-py3-none-any.whl"
    flipped.write_bytes(flipped.read_bytes().replace(b"long enough", b"lang enough"))
    done = shop.index(shop.wheels, shop.environment.folder / "nowhere", "--json")
    assert done.code == 6
    said = [(Path(one["where"]).name, one["what"]) for one in json.loads(done.err)["problems"]]
    told: dict[str, list[str]] = {}
    for name, what in said:
        told.setdefault(name, []).append(what)
    assert told.keys() == {
        *("cut-1.0-py3-none-any.whl", "cut-1.0.tar.gz", "what.whl", "folder-1.0-py3-none-any.whl", "nowhere"),
        *("renamed-3.0-py3-none-any.whl", "bad-1.0-py3-none-any.whl", "twice-1.0-py3-none-any.whl"),
        "flipped-1.0-py3-none-any.whl",
    }
    assert [len(what) for what in told.values() if len(what) != 1] == [2]  # the renamed one: name and version
    assert shop.files() == {}


def repack(wheel: Path, path: str, content: bytes) -> None:
    """Give a wheel another content of one file, or one file more, and leave RECORD as it is."""
    members = {**wheel_members(wheel), path: content}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("path", "what"),
    [("app.py", "gives another digest or size than app.py has"), ("more.py", "does not list more.py")],
)
def test_a_wheel_that_was_changed_after_its_build_is_refused(shop: Shop, path: str, what: str) -> None:
    wheel = shop.wheel("app", content=b"x = 1\n")
    repack(wheel, path, b"x = 2\n")
    done = shop.index()
    assert done.code == 6
    assert f"error: {wheel}: RECORD: {what}\n" in done.err
    assert "fix: build or fetch it again\n" in done.err
    assert shop.files() == {}


def test_a_signature_of_record_is_not_listed_there(shop: Shop) -> None:
    repack(shop.wheel("app"), "app-1.0.dist-info/RECORD.jws", b"{}")
    assert shop.indexed()["projects"] == ["app"]


@pytest.mark.parametrize("form", ["index.json", "app/index.html", *rarely("index.html", "app/index.json")])
def test_a_page_that_cannot_be_read_is_not_written_over(shop: Shop, form: str) -> None:
    (shop.out / "app").mkdir(parents=True)
    (shop.out / form).write_bytes(b'{"meta": []}\xff' if form.endswith("html") else b'{"meta": []}')
    files = shop.files()
    shop.wheel("app")
    done = shop.index()
    assert (done.code, str(shop.out / form) in done.err) == (6, True)
    assert shop.files() == files


@pytest.mark.parametrize("form", ["index.html", "index.json", "app/index.html", "app/index.json"])
@pytest.mark.parametrize("version", ["2.0", *rarely("", None)])
def test_a_page_of_another_standard_is_not_written_over(shop: Shop, form: str, version: str | None) -> None:
    shop.wheel("app")
    shop.indexed()
    page = shop.out / form
    before = (
        ('content="1.1"', f'content="{version or ""}"') if form.endswith("html") else ('"1.1"', json.dumps(version))
    )
    edit(page, *before)
    files = shop.files()
    shop.wheel("app", "2.0")
    done = shop.index()
    assert (done.code, f"{page}: cannot be read as a page of an index" in done.err) == (6, True), done.err
    assert shop.files() == files


@pytest.mark.parametrize("form", ["index.html", "app/index.html"])
def test_a_page_that_shows_more_than_an_index_does_is_not_written_over(shop: Shop, form: str) -> None:
    (shop.out / "app").mkdir(parents=True)
    page = shop.out / form
    page.write_text("<title>Ours</title><h1>Ours</h1><p>Ask <a href='mailto:x@example.invalid'>us</a> first</p>")
    files = shop.files()
    shop.wheel("app")
    done = shop.index()
    assert (done.code, f"{page}: shows more" in done.err, "'Ask first'" in done.err) == (6, True, True), done.err
    assert shop.files() == files


def test_what_the_page_of_all_projects_says_of_itself_stays(shop: Shop) -> None:
    shop.out.mkdir()
    (shop.out / "index.html").write_text("<meta name='robots' content='none'><a href='/x/'><img src='x.png'></a>")
    shop.wheel("app")
    shop.indexed()
    root = shop.files()["index.html"].decode()
    assert ('<meta name="robots" content="none">' in root, 'href="/x/"' in root) == (True, True)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "there is nothing to do"),
        (("--yank", "app==1.0"), "--yank without --reason"),
        (("wheels", "--reason", "x"), "--reason without --yank"),
        (("--yank", "app>=1.0", "--reason", "x"), "'app>=1.0' is not NAME==VERSION"),
        (("--yank", "app==1.*", "--reason", "x"), "'app==1.*' is not NAME==VERSION"),
        (("--unyank", "app"), "'app' is not NAME==VERSION"),
        (("--unyank", "app[x]==1"), "'app[x]==1' is not NAME==VERSION"),
    ],
)
def test_what_is_asked_for_must_be_whole(shop: Shop, arguments: tuple[str, ...], what: str) -> None:
    done = shop.environment.cli("index", *arguments, "--out", shop.out)
    assert (done.code, what in done.err) == (2, True), done.err
    assert not shop.out.exists()


def test_only_what_is_there_can_be_yanked(shop: Shop) -> None:
    shop.wheel("app", "1.0+local")
    shop.indexed()
    done = shop.index("--yank", "app==1.0", "--yank", "nobody==1", "--reason", "x")
    assert done.code == 6
    assert "it has 1.0+local" in done.err
    assert "the index has no such project" in done.err


def test_what_is_yanked_and_what_is_not_any_more_is_said(shop: Shop) -> None:
    shop.wheel("app", "1.0")
    shop.wheel("app", "2.0")
    shop.indexed()
    done = shop.index("--yank", "App==1.0", "--yank", "app==2.0", "--reason", "slow")
    assert (done.code, done.out.splitlines()[-2:]) == (0, ["  app==1.0 is yanked: slow", "  app==2.0 is yanked: slow"])
    done = shop.index("--unyank", "app==1.0")
    assert (done.code, done.out.splitlines()[-1]) == (0, "  app==1.0 is not yanked")
    told = shop.indexed("--yank", "app==1.0", "--reason", "broken", "--unyank", "app==2.0")
    assert (told["yanked"], told["unyanked"]) == ({"app==1.0": "broken"}, ["app==2.0"])


def test_a_wheel_whose_companion_is_not_there_or_yanked_is_warned_of(shop: Shop) -> None:
    version = "1.0+npu.1.gabcdef0"
    patched = shop.wheel("app_npu", version)
    lacks = f"{patched.name}: requires app=={version}, its companion, which is neither given nor on the index"
    done = shop.index()
    assert (done.code, done.err.count(lacks)) == (0, 1), done.err
    assert shop.indexed()["warnings"] == [lacks]
    companion = shop.wheel("app", version)
    shop.wheel("app", "1.0")
    assert shop.indexed()["warnings"] == []
    companion.unlink()  # given before, and there
    assert shop.indexed()["warnings"] == []
    marks = [f"--yank={name}" for name in (f"app=={version}", f"app-npu=={version}", "app==1.0")]
    (said,) = shop.indexed(*marks, "--reason", "slow")["warnings"]
    assert said.startswith(f"app=={version}: is the companion of app-npu=={version}, which uv refuses now")
    assert shop.indexed("--unyank", f"app=={version}")["warnings"] == []


def test_writers_at_once_lose_nothing(shop: Shop, tmp_path: Path) -> None:
    folders = [tmp_path / f"from-{number}" for number in range(6)]
    for number, folder in enumerate(folders):
        write_wheel(folder, "shared", f"1.{number}", {})
        write_wheel(folder, f"own{number}", "1.0", {})
    codes: list[int] = []

    def run(folder: Path) -> None:
        codes.append(shop.environment.cli("index", folder, "--out", shop.out).code)

    threads = [threading.Thread(target=run, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 6
    assert (shop.out / "shared" / "index.html").read_text().count("<a ") == 6
    assert (shop.out / "index.html").read_text().count("<a ") == 7


def test_a_writer_waits_for_another_before_it_reads_what_is_there(shop: Shop) -> None:
    shop.wheel("app")
    shop.indexed()
    new = shop.wheel("app", "2.0")
    command = [sys.executable, "-m", "npu_overlays", "index", str(shop.wheels), "--out", str(shop.out)]
    with FileLock(shop.out / ".npu-overlays-index.lock"):
        process = subprocess.Popen(command, env=shop.environment.variables(), stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "waiting for another process" in process.stderr.readline()
        edit(shop.out / "app" / "index.html", "<a ", '<a data-yanked="meanwhile" ')
    _, said = process.communicate()
    assert process.returncode == 0, said
    page = (shop.out / "app" / "index.html").read_text()
    assert page.count('data-yanked="meanwhile"') == 1
    assert new.name in page


def test_a_file_that_cannot_be_put_in_its_place_is_not_listed(shop: Shop) -> None:
    wheel = shop.wheel("app")
    (shop.out / "app" / wheel.name / "in the way").mkdir(parents=True)
    done = shop.index()
    assert (done.code, "cannot be written" in done.err) == (6, True), done.err
    assert not list(shop.out.rglob("index.*"))
