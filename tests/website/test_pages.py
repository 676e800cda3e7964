"""Pages before they are generated: documents with their links, diffs, commands; and what is refused."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from npu_doctor.knowledge import load
from npu_overlays.errors import ConfigError, OutputError
from npu_overlays.site import shipped
from npu_overlays.site.difference import difference
from npu_overlays.site.documents import find_documents, group_pages, pages
from npu_overlays.site.installing import PLACEHOLDER, commands, install_page
from npu_overlays.site.languages import Language, languages
from npu_overlays.site.markdown import words
from npu_summary.page.diff import NO_END
from support.environment import Environment

from .conftest import ROOT
from .shelves import STACK, VERSIONS

if TYPE_CHECKING:
    from npu_summary.page.diff import Row

ENGLISH, CHINESE = languages()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "README.md").write_text("# It\n\nEnglish | [简体中文](README.zh-CN.md)\n\nSee [this](docs/one.md#a-b).\n")
    (folder / "README.zh-CN.md").write_text(
        "# 它\n\n[English](README.md) | 简体中文\n\n见[这里](docs/one.md)。\n", "utf-8"
    )
    (folder / "docs" / "one.md").write_text(
        "# One\n\n[home](../README.md), [data](../data/), [file](../data/x.json), [web](https://example.org/a.md)\n"
        "\n```text\n[not](../README.md)\n```\n\n[gone](gone.md)\n"
        '\n<p align="center"><img src="a.svg" alt="A b" width="900"></p>\n'
    )
    (folder / "data" / "x.json").write_text("{}")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "README.md").write_text("A tool's own.")
    return folder


def test_links_lead_from_page_to_page_and_lines_stay_where_they_are(project: Path) -> None:
    made = {page.name: page for page in pages(find_documents(project), ENGLISH)}
    assert sorted(made) == ["one", "overview"]
    assert made["overview"].text == "# It\n\n\n\nSee [this](one.md#a-b).\n"
    assert made["one"].text == (
        "# One\n\n[home](overview.md), data, [file](files/data/x.json), [web](https://example.org/a.md)\n"
        "\n```text\n[not](../README.md)\n```\n\n[gone](gone.md)\n\n![A b](a.svg)\n"
    )
    assert made["one"].files == {"files/data/x.json": project / "data" / "x.json"}


def test_what_is_not_translated_is_there_and_says_so(project: Path) -> None:
    made = {page.name: page for page in pages(find_documents(project), CHINESE)}
    assert made["overview"].text == "# 它\n\n\n\n见[这里](one.md)。\n"
    assert made["one"].text.startswith(f"# One\n\n> {CHINESE.say('untranslated')}\n\n[home](overview.md)")
    assert (made["one"].source, made["overview"].source) == (project / "docs/one.md", project / "README.zh-CN.md")


def test_a_document_by_a_name_of_the_site_is_refused_and_so_is_a_folder_without_any(project: Path) -> None:
    for name in ("index", "start", "overview"):
        (project / "docs" / f"{name}.md").touch()
    with pytest.raises(ConfigError) as refused:
        find_documents(project)
    where = [Path(problem.where).name for problem in refused.value.problems]
    assert sorted(where) == ["README.md", "index.md", "overview.md", "start.md"]
    with pytest.raises(ConfigError, match=r"has no README\.md"):
        find_documents(project / "data")


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_every_page_is_in_the_list_once_and_a_new_one_comes_last(language: Language) -> None:
    names = [*find_documents(ROOT).names.values(), "start", "changes/index"]
    groups = group_pages(names, language)
    assert sorted(name for group in groups.values() for name in group) == sorted(names)
    assert group_pages([*names, "new"], language)[next(reversed(groups))][-1] == "new"


def test_both_languages_say_the_same_things() -> None:
    assert ENGLISH.texts.keys() == CHINESE.texts.keys()
    assert list(ENGLISH.texts["groups"].values()) == list(CHINESE.texts["groups"].values())


def test_a_diff_has_its_numbers_its_colours_and_every_character() -> None:
    rows: list[Row] = [
        (1, "def f():", 1, "def f():"),
        (2, '    """One', 2, '    """Two'),
        (3, '    line."""', 3, '    lines."""\x1b\u202e'),
        (None, "", 4, "    x = a < b & c"),
        (4, f"    end{NO_END}", 5, "    end"),
    ]
    made = difference("a/b.py", [rows, [(9, "", 10, "")]])
    page = BeautifulSoup(made, "html.parser")
    lines = [(one["class"][0], one["data-n"], one.get_text()) for one in page.select(".hunk > span")]
    assert lines == [
        ("same", "1", "def f():"),
        ("gone", "2", '    """One'),
        ("gone", "3", '    line."""'),
        ("gone", "4", "    endno end of line"),
        ("come", "2", '    """Two'),
        ("come", "3", '    lines."""\\x1b\\u202e'),
        ("come", "4", "    x = a < b & c"),
        ("come", "5", "    end"),
        ("same", "10", " "),
    ]
    assert [one.get_text() for one in page.select(".hunk > span .k")] == ["def"]
    strings = page.select(".come .sd, .come .s2")
    assert "".join(one.get_text() for one in strings).startswith('"""Two')
    assert difference("x.unknown", []) == ""


def test_words_are_never_markup() -> None:
    text = "a_b* [x](y) `c` <d> #e 1. f|g {h} \\i $j &amp;"
    assert re.sub(r"\\(.)", r"\1", words(text)) == text
    assert not re.search(r"(?<!\\)[_*\[\]`<>#|{}$&]", words(text))


def test_a_shelf_offers_the_stacks_all_of_whose_wheels_are_there(wheels: Path, tmp_path: Path) -> None:
    shelf = shipped.read_shelf([wheels], load())
    assert [wheel.name for wheel in shelf.wheels] == ["attrs-npu", "transformers-npu", "verl-npu"]
    assert [(one.stack.name, [wheel.version for wheel in one.wheels]) for one in shelf.offers] == [
        (STACK, [VERSIONS["transformers"], VERSIONS["verl"]])
    ]
    assert shelf.doctor
    assert STACK not in [one.name for one in shelf.missing]
    part = tmp_path / "part"
    part.mkdir()
    for file in (*wheels.glob("verl*"), *wheels.glob("constraints*")):
        (part / file.name).write_bytes(file.read_bytes())
    assert shipped.read_shelf([part], load()).offers == ()


@pytest.mark.parametrize("index", ["", "https://pypi.example.org/npu/"])
def test_commands_are_those_of_the_readme(wheels: Path, index: str) -> None:
    catalogue = load()
    text = install_page(shipped.read_shelf([wheels], catalogue), catalogue, ENGLISH, index, in_full=True)
    address = index or PLACEHOLDER
    assert ("{container} placeholder" in text) == (not index)
    given = f"-c {address}constraints-{STACK}.txt"
    assert f"\npip install {given} --extra-index-url {address} 'verl-npu[npu,doctor]'\n" in text
    assert f"\nuv pip install {given} --index {address} 'verl-npu[npu,doctor]'\n" in text
    assert f"\npip install --extra-index-url {address} attrs-npu==25.1.0+npu.1.g0123456\n" in text
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = commands("verl-npu", PLACEHOLDER, f"constraints-{STACK}.txt")
    assert all(command in readme for command in shown)
    assert all(shlex.split(command)[-1] == "verl-npu" for command in shown)


def test_what_cannot_be_read_is_named_at_once(wheels: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for name in ("a-1-py3-none-any.whl", "b-1-py3-none-any.whl"):
        (folder / name).write_bytes(b"no wheel")
    with pytest.raises(OutputError) as refused:
        shipped.read_shelf([wheels, folder], load())
    assert len(refused.value.problems) == 2


def test_a_folder_that_is_no_site_is_left_alone(environment: Environment) -> None:
    out = environment.folder / "precious"
    out.mkdir()
    (out / "thesis.txt").touch()
    done = environment.cli("site", "--documents", ROOT, "--out", out)
    assert (done.code, [file.name for file in out.iterdir()]) == (6, ["thesis.txt"])
    assert "is no site" in done.err
    assert "fix: name another folder with --out" in done.err


def test_reports_that_are_none_and_addresses_that_are_none_are_refused(environment: Environment) -> None:
    (environment.folder / "a.html").write_text("{}")
    done = environment.cli("site", "--documents", ROOT, "--drift", "a.html", "--drift", "b.html")
    assert done.code == 6
    assert "a.html: is no report" in done.err
    assert "b.html: cannot be read" in done.err
    assert "file:///x" in environment.cli("site", "--index-url", "file:///x").err
    assert not (environment.folder / "site").exists()
