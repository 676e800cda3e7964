"""Documents in both languages: the same commands, headings, tables and links."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from .conftest import ROOT

CHINESE = ".zh-CN.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FOLDERS = (ROOT, ROOT / "docs", ROOT / "recipes", ROOT / "stacks", ROOT / "build_tools" / "npu_doctor")
PAGES = sorted(chain.from_iterable(folder.glob(f"*{CHINESE}") for folder in FOLDERS))
PICTURES = sorted((ROOT / "docs").glob("*.zh-CN.svg"))


ENGLISH_ALONE = {"CHANGELOG.md"}
# Words of Chinese documents that the glossary replaces, and by what.
TERMS = {
    r"你": "您",
    r"发行包|(?<!Linux[ \n])发行版": "分发包 for a distribution, 发布版 for a release",
    r"安装程序": "安装器",
    r"软件包索引": "包索引",
    r"合并请求": "pull request",
    r"打过?补丁的 wheel": "修改版 wheel",
    r"修改(?!概述|版)": "改动 for a change, 编辑 or 调整 for what the reader does to a file or a setting",
    r"模拟的[ \n]?NPU": "模拟 NPU",
    r"\d %": "no space before %",
}


def english(page: Path) -> Path:
    """Return the English document of a Chinese one."""
    return page.with_name(page.name.replace(CHINESE, ".md"))


def commands(text: str) -> list[str]:
    """Return the lines of commands, settings and code, without their comments."""
    written = [block for language, block in FENCE.findall(text) if language in {"bash", "python", "toml"}]
    lines = "".join(written).split("\n")
    return [re.sub(r"\s*# .*", "", line).strip() for line in lines]


def headings(text: str) -> list[str]:
    """Return the signs of the headings, which say their levels."""
    return re.findall(r"^#+(?= )", FENCE.sub("", text), re.MULTILINE)


def tables(text: str) -> list[int]:
    """Return the lines of each table."""
    return [len(table.splitlines()) for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]


def targets(text: str) -> list[str]:
    """Return where links and images lead, without anchors."""
    return [found.partition("#")[0] for found in re.findall(r"\]\(<?([^)>]+)>?\)", FENCE.sub("", text))]


def linked(text: str) -> list[str]:
    """Return the documents that a text links to, in whichever language, in the order of their names."""
    return sorted(target.replace(".zh-CN", "") for target in targets(text))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_every_document_is_in_both_languages(folder: Path) -> None:
    documents = {page.name for page in folder.glob("*.md")} - ENGLISH_ALONE
    in_chinese = {name for name in documents if name.endswith(CHINESE)}
    assert in_chinese
    assert {name.replace(CHINESE, ".md") for name in in_chinese} == documents - in_chinese


@pytest.mark.parametrize("part", [commands, headings, tables, linked])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_document_has_the_same_parts_in_both_languages(page: Path, part: Callable[[str], list[object]]) -> None:
    assert part(page.read_text("utf-8")) == part(english(page).read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_chinese_document_links_to_chinese_ones(page: Path) -> None:
    links = {target for target in targets(page.read_text("utf-8")) if target.endswith(".md")} - {english(page).name}
    in_english = [page.parent / link for link in links if not link.endswith(CHINESE)]
    assert [link for link in in_english if link.with_name(link.name.replace(".md", CHINESE)).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_both_languages_name_each_other(page: Path) -> None:
    if "{include}" not in page.read_text("utf-8"):
        assert f"[English]({english(page).name}) | 简体中文" in page.read_text("utf-8")
        assert f"English | [简体中文]({page.name})" in english(page).read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, *PICTURES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_chinese_document_uses_the_words_of_the_glossary(page: Path) -> None:
    text = page.read_text("utf-8")
    for term, better in TERMS.items():
        hits = [text[hit.start() - 10 : hit.end() + 10] for hit in re.finditer(term, text)]
        assert hits == [], f"write {better}"
