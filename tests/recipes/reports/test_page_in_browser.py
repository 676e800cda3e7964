"""The page as a browser shows it: whole, in light and dark, wide and narrow, with nothing taken for markup."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from support.browser import Browser, open_browser

from ..samples import REWARD, Log, compare, write_console

pytestmark = pytest.mark.thorough

HOSTILE = "a</svg><script>document.title='taken'</script><img src=x onerror=\"document.title=1\">&amp;$x_1$ 奖励"
LONG = "x" * 300
_SEEN = """
  const shown = (query) => [...page.querySelectorAll(query)].filter((one) => one.checkVisibility());
  const colour = (one, what) => view.getComputedStyle(one)[what];
"""


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return open_browser(tmp_path)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("page")

    def records(factor: float, seed: int) -> Log:
        return [
            (
                step,
                {
                    REWARD: factor * (1 + step / 20) + 0.05 * math.sin(seed * step),
                    "train/loss": factor * 5 / (1 + step / 10),
                    LONG: factor,
                    HOSTILE: math.sin(step),
                    "timing_s/step": 1.0,
                },
            )
            for step in range(1, 101)
        ]

    for seed in (1, 2, 3):
        write_console(tmp_path / f"gpu-{seed}.log", records(1.0, seed))
        write_console(tmp_path / f"npu-{seed}.log", [*records(1.03, 4 + seed)[:60], *records(1.03, 4 + seed)[50:]])
    file = tmp_path / "page.html"
    assert compare(tmp_path / "gpu-*.log", tmp_path / "npu-*.log", "--limit", "xxx*=1%", "--html", file) == 1
    return file


def test_it_is_whole_and_nothing_is_taken_for_markup(browser: Browser, page: Path) -> None:
    script = f"""{_SEEN}
      const before = shown("figure").length;
      page.querySelector("details").open = true;
      return {{
        before, after: shown("figure").length, title: page.title, images: page.images.length,
        scripts: page.scripts.length, text: page.body.textContent, verdict: page.querySelector(".verdict").innerText,
        curves: [...page.querySelectorAll("svg")].map((one) => one.querySelectorAll("path").length),
      }};"""
    seen = browser.look(page, script)
    assert (seen["title"], seen["images"], seen["scripts"]) == ("Precision: beyond", 0, 0)
    assert HOSTILE in seen["text"]
    assert seen["verdict"].startswith("beyond the limit: train/loss (3.00%, limit 2.00%)")
    assert (seen["before"], seen["after"]) == (3, 4)
    assert all(count > 10 for count in seen["curves"])


@pytest.mark.parametrize("dark", [False, True])
def test_curves_have_the_colours_of_the_page(browser: Browser, page: Path, dark: bool) -> None:
    script = f"""{_SEEN}
      const lines = [...page.querySelectorAll("svg path")].map((one) => colour(one, "stroke"));
      const text = colour(page.querySelector("svg text"), "fill");
      return {{ back: colour(page.body, "backgroundColor"), text, lines }};"""
    seen = browser.look(page, script, dark=dark)
    assert seen["back"] == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)")
    assert seen["text"] == ("rgb(230, 234, 240)" if dark else "rgb(28, 35, 48)")
    reference, run = ("rgb(108, 178, 242)", "rgb(245, 154, 91)") if dark else ("rgb(31, 111, 180)", "rgb(196, 80, 12)")
    assert {reference, run} <= set(seen["lines"])


@pytest.mark.parametrize("width", [380, 1300])
def test_it_fits_its_window(browser: Browser, page: Path, width: int) -> None:
    script = """return {
      wide: page.documentElement.scrollWidth - view.innerWidth,
      name: Math.max(...[...page.querySelectorAll(".wide td:first-child")].map((one) => one.scrollWidth)),
    }"""
    seen = browser.look(page, script, width=width)
    assert seen["wide"] <= 0
    assert seen["name"] <= 0.5 * width
