"""The page as a browser shows it: wide and narrow, light and dark, filtered, and with nothing taken for markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npu_summary.page import parse, render
from support.browser import Browser, open_browser
from support.devtools import Tab, open_tab

from .pages import HOSTILE, rendered
from .samples import change, distribution, file, typed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

_SEEN = """
  const shown = (query) => [...page.querySelectorAll(query)].filter((one) => one.checkVisibility());
  const names = () => shown(".change").map((one) => one.dataset.action + " " + one.dataset.kind);
"""
# How many elements are wider than the place that they have.
_CUT = "[...document.querySelectorAll('{}')].filter((one) => one.scrollWidth > one.clientWidth).length"
_SHOWN = """
  (query) => [...document.querySelectorAll(query)].filter((one) => one.checkVisibility()).map((one) => one.textContent)
"""


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return open_browser(tmp_path)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_bytes(rendered())
    return file


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with open_tab(tmp_path) as tab:
        yield tab


@pytest.fixture
def long_page(tmp_path: Path) -> Path:
    """Return a page of three files, each with the actions of a real wheel and changes for half a sheet of paper."""
    actions = ["added", "replaced", "wrapped", "edited"]
    names = [f"function_{number}" for number in range(12)]
    files, diff = [], ""
    for number in range(3):
        path = f"src/transformers/integrations_of_others/module_{number}.py"
        imported = change("added", "import", "seed", why="needed")
        changes = [change(action, "method", action, operation=action, why=f"Why {action}") for action in actions]
        changes += [change("added", "method", name, why=f"Why {name}") for name in names]
        files.append(file(path, [], [imported, *changes]))
        diff += f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
    (changes_,) = typed(distribution("transformers", files))
    page = tmp_path / "long.html"
    page.write_bytes(render([(changes_, parse(diff.encode(), changes_))]))
    return page


def test_it_is_whole_and_its_script_may_run(browser: Browser, page: Path) -> None:
    script = f"""{_SEEN}
      const before = names();
      page.querySelector("button").click();
      return {{
        title: page.title, before, files: shown(".file").length, form: shown("#filter").length,
        text: page.body.innerText, images: page.images.length, scripts: page.scripts.length,
        diffs: shown("table").length, wide: page.documentElement.scrollWidth - view.innerWidth,
        sides: shown("#\\\\31-1-2 td").map((one) => one.getBoundingClientRect().left),
        colour: view.getComputedStyle(page.body).backgroundColor,
      }};"""
    seen = browser.look(page, script)
    assert (seen["title"], seen["images"], seen["scripts"]) == ("NPU Patch Summary", 0, 1)
    assert seen["before"] == [
        "edited attribute",
        "wrapped method",
        "added file",
        "added method",
        "added file",
        "deleted file",
        "deleted method",
    ]
    assert (seen["files"], seen["form"], seen["diffs"]) == (4, 1, 4)
    assert HOSTILE in seen["text"]
    assert "昇腾上更快" in seen["text"]
    assert seen["wide"] <= 0
    assert len(seen["sides"]) == 4
    assert seen["sides"] == sorted(set(seen["sides"]))
    assert seen["colour"] == "rgb(255, 255, 255)"


def test_narrow_and_dark_it_is_read_without_scrolling_sideways(browser: Browser, page: Path) -> None:
    script = f"""{_SEEN}
      page.querySelector("button").click();
      return {{
        wide: page.documentElement.scrollWidth - view.innerWidth,
        sides: shown("#\\\\31-1-2 td").map((one) => one.getBoundingClientRect().left),
        colour: view.getComputedStyle(page.body).backgroundColor,
      }};"""
    seen = browser.look(page, script, width=400, dark=True)
    assert seen["wide"] <= 0
    assert seen["sides"][:2] == seen["sides"][2:]  # one below the other
    assert seen["colour"] == "rgb(13, 17, 23)"


def test_kinds_actions_and_words_choose_what_is_shown(browser: Browser, page: Path) -> None:
    script = f"""{_SEEN}
      const asked = names();
      const form = page.querySelector("#filter");
      const change = (one) => one.dispatchEvent(new view.Event("input", {{ bubbles: true }}));
      for (const box of form.querySelectorAll(":checked")) box.checked = false;
      form.q.value = "OWN operators";
      change(form.q);
      const searched = names(), count = form.querySelector("output").textContent;
      const listed = [...page.querySelectorAll(".files li:not([hidden])")].map((one) => one.textContent);
      form.q.value = "no such thing";
      change(form.q);
      return {{ asked, searched, count, listed, none: shown(".file").length }};"""
    seen = browser.look(page, script, query="?kind=method&kind=class&action=wrapped&action=edited&q=VERL")
    assert seen["asked"] == ["wrapped method"]
    assert seen["searched"] == ["added file", "added method"]
    assert (seen["count"], seen["listed"], seen["none"]) == ("2 shown", ["verl/new file.py 2"], 0)


def test_imports_are_folded_until_the_kind_is_chosen_and_lists_choose_by_area_and_reason(
    browser: Browser, page: Path
) -> None:
    script = f"""{_SEEN}
      const form = page.querySelector("#filter");
      const folded = names();
      const change = (one) => one.dispatchEvent(new view.Event("input", {{ bubbles: true }}));
      form.querySelector('[value="import"]').checked = true;
      change(form);
      const imports = names();
      form.querySelector('[value="import"]').checked = false;
      form.why.value = "operators of its own";
      change(form);
      return {{ folded, imports, reason: names(), area: Boolean(form.area) }};"""
    seen = browser.look(page, script)
    assert "added import" not in seen["folded"]
    assert seen["imports"] == ["added import"]
    assert seen["reason"] == ["added file", "added method"]
    assert seen["area"] is False  # all files lie in one


def test_its_pictures_are_pictures_of_something(browser: Browser, page: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.html"
    empty.write_text("<!DOCTYPE html><title>empty</title>")
    nothing, light, dark = (
        browser.picture(file, width=1000, dark=is_dark)
        for file, is_dark in ((empty, False), (page, False), (page, True))
    )
    assert len({nothing, light, dark}) == 3
    assert min(len(light), len(dark)) > 4 * len(nothing)


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_the_overview_shows_all_columns_of_its_table(tab: Tab, long_page: Path, width: int) -> None:
    tab.look(width=width)
    tab.open(long_page.as_uri())
    columns = tab.find("[...document.querySelectorAll('.totals thead th')].map((one) => one.textContent)")
    assert columns == ["", "added", "wrapped", "edited", "replaced", "imports"]
    assert tab.find(_CUT.format(".overview > div")) == 0
    assert tab.find("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_overview_comes_before_the_filters_and_they_before_the_changes(tab: Tab, long_page: Path) -> None:
    tab.look(width=400)
    tab.open(long_page.as_uri())
    tops = "['header p', '.overview', '#filter', '.file']"
    found = tab.find(f"{tops}.map((one) => document.querySelector(one).getBoundingClientRect().top)")
    assert found == sorted(found)


def test_on_paper_filters_are_hidden_and_the_overview_and_folded_facts_are_shown(tab: Tab, page: Path) -> None:
    tab.look(width=720, dark=True, paper=True)
    tab.open(page.as_uri())
    shown = f"({_SHOWN})"
    assert tab.find(f"{shown}('#filter, .files > summary')") == []
    assert tab.find(f"{shown}('.overview h3')") == ["Where", "Why", "Most changed files"]
    assert tab.find(f"{shown}('.left-out .why').length") == 2
    assert tab.find("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_on_paper_lines_of_a_diff_have_signs_and_no_table_is_cut(tab: Tab, long_page: Path) -> None:
    tab.look(width=720, paper=True)
    tab.open(long_page.as_uri())
    tab.find("document.querySelector('#filter button').click()")
    cells = "document.querySelectorAll('.diff td:not(.n, .none)')"
    signs = tab.find(f"[...{cells}].map((one) => getComputedStyle(one, '::before').content)")
    assert signs == ['"  "', '"  "', '"− "', '"+ "'] * 3
    assert tab.find(_CUT.format("table, .overview > div, .file")) == 0


def test_on_paper_files_follow_each_other_without_half_empty_sheets(tab: Tab, long_page: Path) -> None:
    tab.open(long_page.as_uri())
    assert tab.sheets() <= 5
