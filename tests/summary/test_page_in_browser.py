"""The page as a browser shows it: wide and narrow, light and dark, filtered, and with nothing taken for markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser import Browser, open_browser

from .pages import HOSTILE, rendered

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

_SEEN = """
  const shown = (query) => [...page.querySelectorAll(query)].filter((one) => one.checkVisibility());
  const names = () => shown(".change").map((one) => one.dataset.action + " " + one.dataset.kind);
"""


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return open_browser(tmp_path)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_bytes(rendered())
    return file


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
