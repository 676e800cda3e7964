"""The table of what does not matter is of what is tried, and a cut of it is tried here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from reproducibility.builds import Setting, Tool
from reproducibility.comparison import outcomes
from reproducibility.conditions import CONDITIONS, OLDEST, BuildCondition, possible
from reproducibility.page import Outcome, pages
from support.overlays import edit
from support.pythons import SUPPORTED, find_python
from support.tools import changed_tool

from .sample import Sample

DOCS = Path(__file__).resolve().parents[2] / "docs"


def setting(sample: Sample, work: Path) -> Setting:
    work.mkdir()
    variables = sample.environment.variables()
    return Setting(root=sample.folder, overlay=sample.lib_name, source="git", work=work, tool=Tool(variables=variables))


@pytest.mark.parametrize("name", ["reproducibility.md", "reproducibility.zh-CN.md"])
def test_the_pages_are_those_of_the_conditions_there_are(name: str) -> None:
    page = (DOCS / name).read_text("utf-8")
    found = re.search(r"`(\w+@\S+)`.*hatchling.*?([\d.]+\d)", page)
    note = re.search(r"\((\d+\.\d+\.\d+)\)", page)
    assert found
    assert note
    said = [
        Outcome(
            condition=one,
            differing=("RECORD", "WHEEL") if one.tool == OLDEST else (),
            note=note[1] if one.tool == OLDEST else "",
        )
        for one in CONDITIONS
    ]
    source = "git" if re.search("from git,|来源：git；", page) else "archive"
    assert pages(found[1], source, found[2], said)[name] == page


def pythons(site: Path, versions: Iterable[str], **variables: str) -> dict[str, Tool]:
    """Return the installations that are at hand of these versions of Python, each with the tool as it was built."""
    found = {version: find_python(version) for version in versions}
    more = {**variables, "PYTHONPATH": str(site)}
    return {version: Tool(python=python, variables=more) for version, python in found.items() if python}


def differing(base: Setting, tried: Iterable[BuildCondition], tools: Mapping[str, Tool]) -> dict[str, tuple[str, ...]]:
    """Return what differs by the conditions under which anything does."""
    return {one.condition.name: one.differing for one in outcomes(base, tried, tools) if one.differing}


# One of each kind, of those that take seconds and need nothing.
SOON = ("files written", "umask 077", "time zone Asia", "locale C", "hash seed 1", "`SOURCE_DATE_EPOCH=4354819200`")
NARROW = {"COLUMNS": "20", "NO_COLOR": "1", "PYTHONOPTIMIZE": "2"}


@pytest.mark.slow
def test_nothing_differs_under_conditions_of_each_kind(sample: Sample, tmp_path: Path) -> None:
    narrow = BuildCondition(name="narrow", chinese="", build=lambda setting: replace(setting, variables=NARROW).build())
    tried = [one for one in CONDITIONS if one.name.startswith(SOON)]
    assert len(tried) == len(SOON)
    assert differing(setting(sample, tmp_path / "work"), [*tried, narrow], {}) == {}


@pytest.mark.slow
@pytest.mark.index
def test_nothing_differs_by_the_oldest_and_the_newest_python(sample: Sample, tmp_path: Path, tool_site: Path) -> None:
    base = setting(sample, tmp_path / "work")
    tools = pythons(tool_site, (SUPPORTED[0], SUPPORTED[-1]), **base.tool.variables)
    if not tools.keys() - {"{}.{}".format(*sys.version_info)}:
        pytest.skip("neither Python is here, or only the one that runs this: nothing to compare")
    assert differing(base, [one for one in CONDITIONS if one.tool in tools], tools) == {}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.index
def test_nothing_differs_under_any_condition(sample: Sample, tmp_path: Path, tool_site: Path) -> None:
    base = setting(sample, tmp_path / "work")
    tools = pythons(tool_site, SUPPORTED, **base.tool.variables)
    tried = possible(tools)
    assert len(tried) >= len(CONDITIONS) - 4
    assert differing(base, tried, tools) == {}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.index
def test_every_python_makes_the_same_wheels_of_a_release(tmp_path: Path, tool_site: Path) -> None:
    """The page is of transformers; this is of verl, whose sources are other text, by the Pythons that there are."""
    tools = pythons(tool_site, SUPPORTED)
    if len(tools) == 1:
        pytest.skip("there is one supported Python here: nothing to compare")
    base = Setting(root=DOCS.parent, overlay="verl@0.9.1", source="archive", work=tmp_path).given_out()
    assert differing(base, [one for one in CONDITIONS if one.tool in tools], tools) == {}


@pytest.mark.slow
def test_what_differs_is_named(sample: Sample, tmp_path: Path) -> None:
    def changed(setting: Setting) -> dict[str, bytes]:
        there = setting.moved(setting.work / "there")
        edit(there.folder / "tree/src/lib/npu.py", '"npu"', '"NPU"')
        return there.build()

    def newer(setting: Setting) -> dict[str, bytes]:
        tool = changed_tool(setting.work / "tool")
        return replace(setting, variables={"PYTHONPATH": str(tool)}).build()

    tried = [BuildCondition(name=one.__name__, chinese="", build=one) for one in (changed, newer)]
    found = {one.condition.name: one.differing for one in outcomes(setting(sample, tmp_path / "work"), tried, {})}
    assert {name.partition("-")[0] for name in found["changed"]} == {"lib", "lib_npu"}
    assert set(found["newer"]) == {"RECORD", "lib_npu_summary/page/page.css", "lib_npu_summary/manifest.json"}
    page = pages("lib", "git", "1", [Outcome(condition=tried[1], differing=found["newer"])])["reproducibility.md"]
    assert "| newer | differs: `RECORD`" in page
