"""Documents of a small Sphinx project with the settings of ours, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from support.environment import Environment

from .conftest import ROOT, write_project

DOCS = ROOT / "docs"
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def page(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_bytes(), "html.parser")


def article(file: Path) -> str:
    """Return the text of a page."""
    found = page(file).select_one("article")
    assert found
    return " ".join(found.get_text(" ").split())


def test_each_document_is_in_both_languages_under_one_name(environment: Environment) -> None:
    project = write_project(
        environment.folder / "project",
        {
            "index.md": "# It\n\nEnglish | [简体中文](index.zh-CN.md)\n\n[one](one.md#a-b)\n",
            "index.zh-CN.md": "# 它\n\n[English](index.md) | 简体中文\n\n"
            "[一](one.zh-CN.md#一)、[总览](overview.zh-CN.md)\n",
            "one.md": "# One\n\n[it](index.md), [readme](../README.md), [file](../data/x.json)\n\n## A b\n\nText.\n",
            "one.zh-CN.md": "# 壹\n\n[自述](../README.zh-CN.md)\n\n## 一\n",
            "overview.md": "```{include} ../README.md\n:relative-docs: docs/\n```\n",
            "overview.zh-CN.md": "```{include} ../README.zh-CN.md\n:relative-docs: docs/\n```\n",
            "../README.md": "# Read me\n\n[one](docs/one.md)\n",
            "../README.zh-CN.md": "# 自述\n\n[一](docs/one.zh-CN.md)\n",
            "../data/x.json": "{}",
        },
        listed=("one", "overview"),
    )
    out = environment.folder / "site"
    environment.ok("site", "--documents", project, "--out", out)
    assert article(out / "index.html") == "简体中文 It ¶ one"
    assert article(out / "zh-CN" / "index.html") == "English 它 ¶ 一 、 总览"
    links = [str(link["href"]) for link in page(out / "one.html").select("article p a")]
    assert links[:2] == ["index.html", "overview.html"]
    assert (out / links[2]).read_text() == "{}"
    assert page(out / "overview.html").select("article p a[href='one.html']")
    assert page(out / "zh-CN" / "index.html").select("article p a[href^='one.html#']")
    assert page(out / "zh-CN" / "one.html").select("article p a[href='overview.html']")
    assert page(out / "zh-CN" / "overview.html").select("article p a[href='one.html']")


def test_a_document_without_a_chinese_page_is_refused(environment: Environment) -> None:
    project = write_project(environment.folder / "project", {"index.md": "# It\n", "one.md": "# One\n"}, listed=["one"])
    (project / "one.zh-CN.md").unlink()
    done = environment.cli("site", "--documents", project)
    assert done.code == 6
    assert f"{project / 'index.zh-CN.md'}:3: toctree contains reference to nonexisting document 'one'" in done.err


def test_a_line_that_ends_between_chinese_characters_leaves_no_space(environment: Environment) -> None:
    texts = {"index.md": "# It\n", "index.zh-CN.md": "# 它\n\n上，\n下 verl\n中\n**粗**\n体\n\n```text\n左\n右\n```\n"}
    environment.ok("site", "--documents", write_project(environment.folder / "project", texts))
    file = environment.folder / "site" / "zh-CN" / "index.html"
    assert [found.get_text() for found in page(file).select("article p, article pre")] == [
        "上，下 verl\n中粗体",
        "左\n右\n",
    ]


def test_a_document_that_no_list_names_is_refused(environment: Environment) -> None:
    project = write_project(environment.folder / "project", {"index.md": "# It\n", "lost.md": "# Lost\n"})
    done = environment.cli("site", "--documents", project)
    assert done.code == 6
    assert f"{project / 'lost.md'}: document isn't included in any toctree" in done.err


@pytest.mark.parametrize("name", ["index", "start", "patches"])
def test_templates_are_alike_in_both_languages(name: str) -> None:
    texts = [(DOCS / f"{name}{suffix}").read_text("utf-8") for suffix in (".md", ".zh-CN.md")]
    loops = [re.findall(r"\{%.*?%\}|\{\{.*?\}\}", text.replace("title.zh", "title.en")) for text in texts]
    assert loops[0]
    assert loops[0] == loops[1]
    lists = [re.findall(r"^[\w-]+$|<([\w-]+)>$", "\n".join(TOCTREE.findall(text)), re.MULTILINE) for text in texts]
    assert lists[0] == lists[1]


def test_text_of_wheels_is_no_markup_on_a_page(environment: Environment) -> None:
    text = "a_b* [x](y) `c` <script>d</script> #e 1. f|g {h} \\i $j &amp; 甲：乙，（丙）"
    report = f"<!DOCTYPE html><title>{text}</title>"
    project = write_project(environment.folder / "project", {"index.md": (DOCS / "patches.md").read_text("utf-8")})
    (environment.folder / "report.html").write_text(report)
    environment.ok("site", "--documents", project, "--drift", "report.html")
    (item,) = page(environment.folder / "site" / "index.html").select("article li")
    assert item.get_text() == text.replace("&amp;", "&")
