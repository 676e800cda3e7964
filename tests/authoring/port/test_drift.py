"""`drift`: a real repository whose history breaks, absorbs and moves what an overlay changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from end_to_end.sample import CORE, LIB_FILES, Sample

from .past import history_of, moved_on


@pytest.fixture
def sample(shared: Path, tmp_path: Path) -> Sample:
    return moved_on(shared, tmp_path)


def test_shares_first_break_and_fate(sample: Sample) -> None:
    assert LIB_FILES["src/lib/core.py"] == CORE
    clone, commits = history_of(sample)
    page = sample.folder / "drift.html"
    done = sample.environment.ok(
        "drift", sample.lib_name, "--range", f"..{commits[-1]}", "--upstream", f"lib={clone}", "--json", "--html", page
    )
    found = json.loads(done.out)
    assert [one["subject"] for one in found["commits"]][1:] == [
        *("comments (#1)", "rename (#2)", "scale by three (#3)", "tidy (#4)")
    ]
    curves = {one["name"]: one for one in found["curves"]}
    total = len([one for one in found["changes"] if one["action"] != "edit"])
    assert curves["operations"]["shares"] == pytest.approx(
        [1, 1, (total - 1) / total, (total - 2) / total, (total - 3) / total]
    )
    assert curves["operations, with port's rules"]["whole"] == 5
    assert curves["text substitutions"]["whole"] == 5
    fates = {one["target"]: one for one in found["changes"]}
    stop = fates["src/lib/core.py:Engine.stop"]
    assert stop["first-break"] == commits[1]
    assert (stop["at-the-end"]["kind"], stop["at-the-end"]["to"]) == ("renamed", "src/lib/core.py:Engine.halt")
    assert fates["src/lib/core.py:scale"]["at-the-end"]["kind"] == "absorbed"
    assert fates["src/lib/core.py:scale"]["absorbed"] == pytest.approx(2 / 5)
    assert fates["src/lib/core.py:Engine.obsolete"]["at-the-end"]["kind"] == "already gone"
    # One line patch changes the whole file: from the first commit that touches what it changes, it is rejected.
    by_git = curves["files, by git apply"]["shares"]
    assert by_git[0] == 1
    assert by_git[2] < 1
    text = page.read_text()
    assert text.count("<polyline") == len(curves)
    assert "http" not in re.sub(r"https?://example\.invalid\S*", "", text)


def test_text_and_steps(sample: Sample) -> None:
    clone, commits = history_of(sample)
    first = sample.lib_name.partition("@")[2]
    done = sample.environment.ok(
        *("drift", sample.lib_name, "--range", f"{first}..{commits[-1]}", "--step", "3"),
        *("--upstream", f"lib={clone}", "--no-patches"),
    )
    assert done.out.startswith("3 commits, from ")
    assert "git apply" not in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    stop = re.escape("src/lib/core.py:Engine.stop, at the end renamed → src/lib/core.py:Engine.halt; first break")
    assert re.search(rf"{stop} .*scale by three \(#3\)", " ".join(done.out.split()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--range", "v1"], "`v1` is no range"),
        (["--range", "a...b"], "`a...b` is no range"),
        (["--range", "..nowhere"], "nowhere: not found in "),
        # Git's own words, which tell a name that is not there from a host that is not reached.
        (["--range", "..nowhere"], "; fatal: couldn't find remote ref nowhere"),
        (["--range", "..main", "--step", "0"], "counts from 1, not 0"),
    ],
)
def test_refused(sample: Sample, arguments: list[str], message: str) -> None:
    done = sample.environment.cli("drift", sample.lib_name, *arguments)
    assert done.code in (2, 4)
    assert message in done.err


def test_a_repository_that_is_not_reached_is_not_said_to_lack_a_revision(sample: Sample) -> None:
    settings = sample.environment.folder / "gitconfig"
    settings.write_text(f'[url "{sample.folder}/gone"]\ninsteadOf = {sample.lib.url}\n')
    done = sample.environment.cli("drift", sample.lib_name, "--range", "..nowhere")
    assert done.code == 4
    assert f"nowhere: {sample.lib.url} could not be reached; fatal: " in done.err
    assert f"git ls-remote {sample.lib.url}" in done.err
    assert "not found in" not in done.err


def test_a_range_the_wrong_way_round(sample: Sample) -> None:
    clone, commits = history_of(sample)
    done = sample.environment.cli(
        "drift", sample.lib_name, "--range", f"{commits[-1]}..{commits[0]}", "--upstream", f"lib={clone}"
    )
    assert done.code == 4
    assert "no commit leads from" in done.err
