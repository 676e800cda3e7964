"""The whole site, as a web server gives it out: every link leads somewhere, and a browser does what a reader wants."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup

from npu_doctor.knowledge import load
from npu_overlays.wheels.inspection import wheel_page
from summary.pages import DIFF
from support.devtools import Tab, open_tab
from support.environment import Environment
from support.http_server import served

from .conftest import ROOT, write_project
from .shelves import STACK, VERSIONS

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ANCHOR = STACK.replace(".", "-")
VERL = f"verl-npu-{VERSIONS['verl']}".replace("+", "-")
HERE = "http://site.invalid/"
_BOXES = "[...document.querySelectorAll('{}')].map((one) => one.getBoundingClientRect().toJSON())"
_OVERFLOWING = "[...document.querySelectorAll('{}')].filter((one) => one.scrollWidth > one.clientWidth).length"
# The colour of the picture's background, in the middle of its left edge, on a screenshot.
_BACKGROUND = """
(async () => {{
  const shot = new Image();
  shot.src = "data:image/png;base64,{shot}";
  await shot.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [shot.width, shot.height];
  const context = canvas.getContext("2d");
  context.drawImage(shot, 0, 0);
  const {{ left, top, height }} = document.querySelector("article img").getBoundingClientRect();
  return [...context.getImageData(left + 6, top + height / 2, 1, 1).data].slice(0, 3);
}})()
"""
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "use": "href"}


@pytest.fixture(scope="session")
def parsed(site: Path) -> dict[str, BeautifulSoup]:
    """Return all pages by their paths, but those of the index, which are for installers."""
    files = (file for file in site.rglob("*.html") if "simple" not in file.parts)
    return {file.relative_to(site).as_posix(): BeautifulSoup(file.read_bytes(), "html.parser") for file in files}


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with open_tab(tmp_path) as tab:
        yield tab


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Return where the site is, below the top of a server as on a page host."""
    with served(site.parent) as server:
        yield f"{server.url}site/"


def links(page: BeautifulSoup) -> Iterator[str]:
    """Yield where a page leads, and what it loads."""
    for one in page.select("[href], [src]"):
        yield str(one.get("href") or one.get("src"))


def test_every_link_and_every_anchor_leads_somewhere(site: Path, parsed: dict[str, BeautifulSoup]) -> None:
    dead: list[str] = []
    inner = 0
    for path, page in parsed.items():
        for link in links(page):
            target = urlsplit(urljoin(f"{HERE}{path}", link))
            if target.netloc != urlsplit(HERE).netloc:
                continue
            inner += 1
            place = unquote(target.path).lstrip("/") or "index.html"
            place += "index.html" if place.endswith("/") else ""
            ids = parsed.get(place)
            if not (site / place).is_file() or (
                ids and target.fragment and not ids.find(id=unquote(target.fragment)) and target.fragment != "top"
            ):
                dead.append(f"{path}: {link}")
    assert dead == []
    assert inner > 1000


def test_no_page_loads_anything_from_another_host(site: Path, parsed: dict[str, BeautifulSoup]) -> None:
    loaded: list[str] = []
    for page in parsed.values():
        for name, attribute in (*_LOADED.items(), ("link", "href")):
            loaded += [str(one[attribute]) for one in page.select(f"{name}[{attribute}]")]
    assert loaded
    assert [one for one in loaded if urlsplit(one).netloc] == []
    styles = [file.read_text("utf-8") for file in site.rglob("*.css")]
    assert styles
    assert re.findall(r"(?:url\(|@import )['\"]?(https?:|//)[^)'\"]*", "\n".join(styles)) == []


def test_both_languages_have_every_page_and_name_each_other(parsed: dict[str, BeautifulSoup]) -> None:
    english = {path for path in parsed if not path.startswith(("zh-CN/", "changes/", "reports/"))}
    chinese = {path.removeprefix("zh-CN/") for path in parsed if path.startswith("zh-CN/")}
    assert english == chinese
    assert {"index.html", "start.html", "overview.html", "patches.html", "tutorial.html"} <= english
    for path in english - {"search.html"}:
        for start, language, other in ((path, "en", "zh-CN"), (f"zh-CN/{path}", "zh-CN", "en")):
            assert parsed[start].html["lang"] == language  # type: ignore[index]  # each has one
            (link,) = parsed[start].select(".languages a")
            assert link["hreflang"] == other
            to = urlsplit(urljoin(f"{HERE}{start}", str(link["href"]))).path.lstrip("/")
            assert to == (f"zh-CN/{path}" if language == "en" else path)


def test_from_the_first_page_it_is_one_click_to_what_is_patched_and_how_to_install_it(
    parsed: dict[str, BeautifulSoup],
) -> None:
    rows = parsed["index.html"].select("#find-your-version tbody tr")
    targets = [str(link["href"]) for link in rows[0].select("a")]
    assert f"changes/{VERL}.html" in targets
    assert f"start.html#{ANCHOR}" in targets
    others = {stack.name for stack in load().stacks if not stack.record} - {STACK}
    assert {row.get_text().split("STACK=")[1].strip() for row in rows[1:]} == others
    assert [link for link in parsed["start.html"].select("article a") if str(link["href"]) == f"install.html#{ANCHOR}"]
    assert parsed["install.html"].find(id=ANCHOR)
    assert "昇腾上更快" in parsed[f"changes/{VERL}.html"].get_text()
    assert parsed["patches.html"].select_one(f"article a[href='changes/{VERL}.diff']")
    assert parsed["zh-CN/patches.html"].select_one(f"article a[href='../changes/{VERL}.html']")


def test_the_page_of_a_wheel_is_that_of_its_summary(site: Path, wheels: Path) -> None:
    (wheel,) = wheels.glob("verl_npu-*.whl")
    assert (site / "changes" / f"{VERL}.html").read_bytes() == wheel_page(wheel)
    assert (site / "changes" / f"{VERL}.diff").read_bytes() == DIFF


def test_what_it_is_made_of_is_beside_it(site: Path, wheels: Path) -> None:
    said = json.loads((site / "site.json").read_text("utf-8"))
    assert [one["name"] for one in said["stacks"]] == [STACK]
    for one in said["wheels"]:
        assert all((site / unquote(one[kind])).is_file() for kind in ("page", "diff", "file"))
    assert len(said["wheels"]) == 3
    given = {file.name for file in site.glob("simple/*/*.whl")}
    assert given == {file.name for file in wheels.glob("*.whl")}
    assert (site / "simple" / f"constraints-{STACK}.txt").is_file()
    assert all((site / unquote(one["page"])).is_file() for one in said["reports"])
    assert (site / ".nojekyll").is_file()
    names = {file.name for file in site.iterdir()}
    assert not names & {".doctrees", "_sources", ".buildinfo"}


def test_a_reader_copies_switches_and_searches(tab: Tab, address: str) -> None:
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    tab.look(width=1300)
    tab.open(f"{address}index.html")
    assert tab.find("document.querySelector('.command pre').innerText").startswith(f"pip install -c {address}simple/")
    tab.click("#find-your-version td:last-child a", leads_away=True)
    assert tab.find("location.pathname + location.hash") == f"/site/start.html#{ANCHOR}"
    boxes = tab.find("[...document.querySelectorAll('.command')].map((one) => one.querySelectorAll('.copybtn').length)")
    assert boxes == [1] * 4  # pip and uv, for the stack and for the stranger's wheel
    for number, tool in ((0, "pip install"), (1, "uv pip install")):
        tab.find(f"document.querySelectorAll('.command')[{number}].id = 'box'")
        tab.click("#box .copybtn")
        tab.wait("document.querySelector('#box .copybtn.success')")
        copied = tab.find("navigator.clipboard.readText()")
        assert copied.startswith(f"{tool} -c {address}simple/constraints-{STACK}.txt ")
        assert copied.endswith(" 'verl-npu[npu,doctor]'")
        assert "example.com" not in copied
        tab.find("document.querySelector('#box').removeAttribute('id')")
    assert tab.find("document.querySelector('.placeholder').checkVisibility()") is False
    tab.click(".languages a", leads_away=True)
    assert tab.find("location.pathname + ' ' + document.documentElement.lang") == "/site/zh-CN/start.html zh-CN"
    tab.open(f"{address}zh-CN/search.html?q=字节相同")
    tab.wait("document.querySelectorAll('#search-results li').length")
    found = tab.find("document.querySelector('#search-results').innerText")
    assert "输入相同，字节相同" in found
    assert "English" not in found
    assert tab.complaints == []
    assert [one for one in tab.requested if not one.startswith((address, "data:", "about:"))] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1300])
def test_pages_are_read_without_scrolling_sideways(tab: Tab, address: str, width: int, dark: bool) -> None:
    tab.look(width=width, dark=dark)
    backgrounds = set()
    for page in (
        "index.html",
        "zh-CN/index.html",
        "start.html",
        "patches.html",
        "zh-CN/install.html",
        "overview.html",
    ):
        tab.open(address + page)
        tab.find("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.find("document.documentElement.scrollWidth - innerWidth") <= 0, page
        assert tab.find("document.querySelector('.languages a').checkVisibility()"), page
        backgrounds.add(tab.find("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 1
    assert tab.complaints == []
    red = int(re.findall(r"\d+", backgrounds.pop())[0])
    assert (red < 60) == dark


@pytest.mark.parametrize(("width", "is_beside"), [(400, False), (1600, True)])
def test_first_page_shows_before_beside_after_where_both_fit(
    tab: Tab, address: str, width: int, is_beside: bool
) -> None:
    tab.look(width=width)
    for page in ("index.html", "zh-CN/index.html"):
        tab.open(address + page)
        before, after = tab.find(_BOXES.format(".beside pre"))
        assert (before["top"] == after["top"]) == is_beside, page
        assert before["right"] < after["left"] if is_beside else before["bottom"] < after["top"], page
        assert len({door["top"] for door in tab.find(_BOXES.format(".doors li"))}) == (1 if is_beside else 3), page
        (picture,) = tab.find(_BOXES.format("article img"))
        assert picture["right"] - picture["left"] > 0.8 * min(width, 900), page
        assert tab.find("document.querySelector('article img').naturalWidth") == 720, page


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_picture_follows_the_theme_that_the_reader_chose(tab: Tab, address: str, theme: str, dark: bool) -> None:
    tab.look(width=1300, dark=dark)
    tab.open(f"{address}index.html")
    tab.find(f"document.body.dataset.theme = '{theme}'")
    shot = base64.b64encode(tab.picture()).decode()
    assert (sum(tab.find(_BACKGROUND.format(shot=shot))) < 200) == (dark if theme == "auto" else theme == "dark")


@pytest.mark.parametrize("page", ["index.html", "zh-CN/index.html", "zh-CN/parity.html"])
def test_paper_has_the_article_alone_and_no_cut_table(tab: Tab, address: str, page: str) -> None:
    tab.look(width=720, paper=True)
    tab.open(address + page)
    aside = ".sidebar-drawer, .toc-drawer, .mobile-header, .languages, .skip-to-content, .copybtn"
    assert tab.find(f"[...document.querySelectorAll('{aside}')].filter((one) => one.checkVisibility()).length") == 0
    assert tab.find(_OVERFLOWING.format(".table-wrapper, pre")) == 0
    assert tab.find("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_scripts_the_first_page_shows_its_command_and_every_section(tab: Tab, address: str) -> None:
    tab.look(width=400)
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(f"{address}index.html")
    assert tab.find("document.querySelector('.command pre').innerText").startswith("pip install -c https://")
    assert tab.find("document.querySelector('.placeholder').checkVisibility()")
    assert tab.find("[...document.querySelectorAll('article section')].every((one) => one.checkVisibility())")
    assert tab.find("document.querySelectorAll('.copybtn').length") == 0


def test_fonts_with_chinese_follow_the_latin_ones(tab: Tab, address: str) -> None:
    tab.open(f"{address}zh-CN/index.html")
    for selector in ("body", "pre"):
        fonts = tab.find(f"getComputedStyle(document.querySelector('{selector}')).fontFamily")
        assert re.search("PingFang SC.*Microsoft YaHei", fonts), selector
        assert re.search("CJK SC", fonts), selector


def test_what_is_wrong_with_a_document_is_told_by_its_line_and_the_site_stays(
    site: Path, environment: Environment
) -> None:
    texts = {"index.md": "# It\n\n[one](one.md#none)\n", "one.md": "# One\n\n[gone](gone.md)\n"}
    project = write_project(environment.folder / "project", texts, listed=["one"])
    out = environment.folder / "out"
    shutil.copytree(site, out, ignore=shutil.ignore_patterns("simple"))
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    done = environment.cli("site", "--documents", project, "--out", out)
    assert done.code == 6
    assert f"{project / 'one.md'}:3: " in done.err
    assert f"{project / 'index.md'}:3: " in done.err
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
    assert {file.name for file in environment.folder.iterdir() if file.name.startswith(".npu")} == set()


def test_again_it_replaces_its_pages_and_keeps_what_the_index_got_elsewhere(
    wheels: Path, environment: Environment
) -> None:
    start = (
        (ROOT / "docs" / "start.md")
        .read_text("utf-8")
        .replace("install.md", "past.md")
        .replace("#{{ stack.anchor }}", "")
    )
    texts = {"index.md": "# It\n\nText.\n", "start.md": start, "past.md": "# Past\n\nText.\n"}
    project = write_project(environment.folder / "project", texts, listed=["start", "past"])
    given = (wheels, "--documents", project, "--index-url", "https://pypi.example.org/npu")
    first = environment.ok("site", *given, "--json").json()
    out = environment.folder / "site"
    assert (first["stacks"], first["site"]) == ([STACK], str(out))
    (out / "simple" / "elsewhere").mkdir()
    (out / "simple" / "elsewhere" / "index.html").write_text("<a href='https://example.org/x-1.tar.gz'>x-1.tar.gz</a>")
    assert (out / "past.html").is_file()
    assert "https://pypi.example.org/npu/constraints-" in (out / "start.html").read_text("utf-8")
    for ending in (".md", ".zh-CN.md"):
        (project / f"past{ending}").rename(project / f"new{ending}")
        for name in ("index", "start"):
            file = project / f"{name}{ending}"
            file.write_text(file.read_text("utf-8").replace("past", "new"), "utf-8")
    environment.ok("site", *given)
    assert (out / "new.html").is_file()
    assert not (out / "past.html").exists()
    assert (out / "simple" / "elsewhere" / "index.html").is_file()


def test_what_keeps_wheels_from_being_installed_is_said_as_of_an_index(wheels: Path, environment: Environment) -> None:
    lone = environment.folder / "lone"
    project = write_project(environment.folder / "project", {"index.md": "# It\n\nText.\n"})
    lone.mkdir()
    for wheel in wheels.glob("*_npu-*.whl"):
        shutil.copy(wheel, lone)
    said = [
        line for line in environment.ok("index", lone).err.splitlines() if "its companion, which is neither" in line
    ]
    assert len(said) == len(list(lone.iterdir()))
    given = ("site", lone, "--documents", project)
    assert set(said) <= set(environment.ok(*given).err.splitlines())
    assert environment.ok(*given, "--json").json()["notes"] == said
