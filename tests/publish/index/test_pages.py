"""Pages as a client library reads them, by the standards, in both forms."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from mousebender import simple
from packaging.specifiers import SpecifierSet

from support.overlays import edit
from support.wheels import members

from .conftest import Shop

LOCAL = "1.0+npu.1.g0123456"
ELSEWHERE = "https://index.example.invalid/simple/app/"
ODD = 'it is "slow" & <wrong>'


def html(shop: Shop, project: str) -> simple.ProjectDetails:
    """Return the HTML form of a page."""
    return simple.from_project_details_html((shop.out / project / "index.html").read_text(), project)


def parsed(shop: Shop, project: str) -> simple.ProjectDetails:
    """Return the JSON form of a page."""
    content = (shop.out / project / "index.json").read_text()
    return simple.parse_project_details(content, simple.ACCEPT_JSON_V1, project)


def sha256(content: bytes) -> str:
    """Return a digest, hex."""
    return hashlib.sha256(content).hexdigest()


def test_a_client_library_reads_what_the_files_are(shop: Shop) -> None:
    wheel = shop.wheel("app_npu", LOCAL, metadata="Requires-Python: >=3.10,<3.14\n")
    sdist = shop.sdist("app_npu", LOCAL, metadata="Requires-Python: >=3.10\n")
    shop.indexed()
    details = parsed(shop, "app-npu")
    assert details["name"] == "app-npu"
    assert details["meta"]["api-version"] == "1.1"
    assert details["versions"] == [LOCAL]
    for page in (details, html(shop, "app-npu")):
        found = {one["filename"]: one for one in page["files"]}
        assert found.keys() == {wheel.name, sdist.name}
        for file in (wheel, sdist):
            one = found[file.name]
            assert one["hashes"] == {"sha256": sha256(file.read_bytes())}
            served = shop.out / unquote(urljoin("app-npu/", one["url"]))
            assert served.read_bytes() == file.read_bytes()
        assert SpecifierSet(found[wheel.name]["requires-python"]) == SpecifierSet(">=3.10,<3.14")
    assert {one["filename"]: one["size"] for one in details["files"]} == {
        file.name: file.stat().st_size for file in (wheel, sdist)
    }


def test_metadata_lie_beside_a_wheel_and_are_named_in_both_forms(shop: Shop) -> None:
    wheel = shop.wheel("app", metadata="Requires-Dist: other\n")
    shop.sdist("app")
    shop.indexed()
    metadata = members(wheel)["app-1.0.dist-info/METADATA"]
    assert (shop.out / "app" / f"{wheel.name}.metadata").read_bytes() == metadata
    said = {one["filename"]: one.get("core-metadata", False) for one in parsed(shop, "app")["files"]}
    assert said == {wheel.name: {"sha256": sha256(metadata)}, "app-1.0.tar.gz": False}
    text = (shop.out / "app" / "index.html").read_text()
    for name in ("data-core-metadata", "data-dist-info-metadata"):
        assert text.count(f'{name}="sha256={sha256(metadata)}"') == 1


def test_the_page_of_all_projects_lists_normalized_names(shop: Shop) -> None:
    shop.wheel("App.Two")
    shop.wheel("one")
    shop.indexed()
    names = ["app-two", "one"]
    assert [one["name"] for one in json.loads((shop.out / "index.json").read_text())["projects"]] == names
    listed = simple.from_project_index_html((shop.out / "index.html").read_text())
    assert [one["name"] for one in listed["projects"]] == names
    assert (shop.out / "app-two" / "index.html").is_file()


def test_a_yanked_version_says_why_in_both_forms(shop: Shop) -> None:
    for version in ("1.0", "2.0"):
        shop.wheel("app", version)
    shop.sdist("app")
    shop.indexed("--yank", "App==1.0", "--reason", ODD, shop.wheels)
    for page in (parsed(shop, "app"), html(shop, "app")):
        yanked = {one["filename"]: one.get("yanked", False) for one in page["files"]}
        assert yanked == {
            "app-1.0-py3-none-any.whl": ODD,
            "app-1.0.tar.gz": ODD,
            "app-2.0-py3-none-any.whl": False,
        }
    shop.indexed("--unyank", "app==1.0")
    listed = [*parsed(shop, "app")["files"], *html(shop, "app")["files"]]
    assert not any(one.get("yanked") for one in listed)


def test_equal_files_give_equal_pages_wherever_and_in_whatever_order(shop: Shop, tmp_path: Path) -> None:
    wheels = [shop.wheel("app", version) for version in ("1.10", "1.9", "1.0a1")]
    shop.indexed()
    assert json.loads((shop.out / "app" / "index.json").read_text())["versions"] == ["1.0a1", "1.9", "1.10"]
    one_by_one = tmp_path / "other"
    for number, wheel in enumerate(reversed(wheels)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        shop.environment.ok("index", folder, "--out", one_by_one)
    pages = {name for name in shop.files() if name.endswith((".html", ".json"))}
    assert len(pages) == 4
    assert all((one_by_one / name).read_bytes() == shop.files()[name] for name in pages)


@pytest.mark.parametrize("form", ["index.html", "index.json"])
def test_what_one_form_alone_says_is_said_by_both(shop: Shop, form: str) -> None:
    shop.wheel("app")
    shop.indexed()
    page = shop.out / "app" / form
    before = page.read_text()
    marks = {
        "index.html": ("<a ", '<a data-yanked="by hand" '),
        "index.json": ('"filename"', '"yanked": "by hand", "filename"'),
    }
    page.write_text(before.replace(*marks[form]))
    shop.wheel("app", "2.0")
    shop.indexed()
    for details in (parsed(shop, "app"), html(shop, "app")):
        yanked = {one["filename"]: one.get("yanked", False) for one in details["files"]}
        assert yanked == {"app-1.0-py3-none-any.whl": "by hand", "app-2.0-py3-none-any.whl": False}


@pytest.mark.parametrize("form", ["index.html", "index.json"])
def test_which_projects_elsewhere_are_the_same_is_said_by_both_forms(shop: Shop, form: str) -> None:
    shop.wheel("app")
    shop.indexed()
    page = shop.out / "app" / form
    said = {"tracks": ELSEWHERE, "alternate-locations": f"{ELSEWHERE}2"}
    tags = [f'<meta name="pypi:{name}" content="{value}">' for name, value in said.items()]
    marks = {
        "index.html": ("<title>", f'{"".join(tags)}<meta name="robots" content="no&quot;ne"><title>'),
        "index.json": ('"meta": {', f'"alternate-locations": ["{ELSEWHERE}2"], "meta": {{"tracks": ["{ELSEWHERE}"], '),
    }
    edit(page, *marks[form])
    for version in ("2.0", "3.0"):
        shop.wheel("app", version)
        shop.indexed()
    told = json.loads((shop.out / "app" / "index.json").read_text())
    assert (told["meta"], told["alternate-locations"]) == (
        {"api-version": "1.2", "tracks": [ELSEWHERE]},
        [f"{ELSEWHERE}2"],
    )
    shown = (shop.out / "app" / "index.html").read_text()
    for tag in (*tags, '<meta name="pypi:repository-version" content="1.2">'):
        assert shown.count(tag) == 1
    assert shown.count('<meta name="robots" content="no&quot;ne">') == (form == "index.html")
