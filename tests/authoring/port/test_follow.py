"""`follow` against an index in which releases appear one after the other."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from environments.once import once
from support.environment import copy_environment

from .test_releases import CORE, Released, begin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def released(shared: Path, tmp_path: Path) -> Released:
    return Released(copy_environment(once(shared, "ported-release", begin), tmp_path))


def followed(released: Released, *arguments: str) -> list[tuple[str, str, int]]:
    """Return version, outcome and the number of parts left of each port."""
    done = released.environment.ok("follow", "--json", *arguments)
    return [(one["version"], one["outcome"], one["left"]) for one in done.json()]


def test_each_newer_release_is_ported_built_and_proven_in_a_folder_of_its_own(released: Released) -> None:
    folder = released.environment.folder
    before = sorted(path.name for path in folder.iterdir())
    assert followed(released) == []
    released.release("1.1rc1", CORE)
    assert followed(released) == []
    released.release("1.1", CORE + b"\n\nONE = 1\n")
    assert followed(released) == [("1.1", "unproven", 0)]
    released.release("1.2", CORE + b"\n\nTWO = 2\n")
    script = "import os, pathlib; print(os.environ['NPU_OVERLAYS_NAME']); "
    script += "assert list(pathlib.Path(os.environ['NPU_OVERLAYS_WHEELS']).glob('demo_acme-*.whl'))"
    proof = f'{sys.executable} -c "{script}"'
    assert followed(released, "--prove", proof) == [("1.1", "proven", 0), ("1.2", "proven", 0)]
    assert (folder / "follow/demo@1.2/proof.log").read_text() == "demo@1.2\n"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "follow"])
    # The second port began where the first ended.
    assert json.loads((folder / "follow/demo@1.2/report.json").read_text())["from"] == "demo@1.1"
    assert "| body changed |" not in (folder / "follow/demo@1.2/report.md").read_text()
    released.environment.ok("check", "demo@1.2", "--overlays", "follow/demo@1.2/overlays")


def test_what_is_left_to_a_person_is_named_and_the_next_release_begins_before_it(released: Released) -> None:
    released.release("1.1", CORE.replace(b"value * 2", b"value + value"))
    released.release("1.2", CORE)
    assert followed(released, "demo", "--prove", "false") == [("1.1", "decide", 1), ("1.2", "disproved", 0)]
    folder = released.environment.folder / "follow"
    report = (folder / "demo@1.1/report.md").read_text()
    assert report.startswith("# demo@1.0 → 1.1\n\nSome parts are left to a person")
    assert "`demo/core.py:scale`" in report
    assert not (folder / "demo@1.1/wheels").exists()
    assert json.loads((folder / "demo@1.2/report.json").read_text())["from"] == "demo@1.0"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("damo",), 3, "damo: no overlay is for a project of that name"),
        (("--prove", "no-such-command x"), 2, "there is no command no-such-command"),
    ],
)
def test_mistakes_are_refused_before_anything_is_ported(
    released: Released, arguments: tuple[str, ...], code: int, message: str
) -> None:
    released.release("1.1", CORE)
    done = released.environment.cli("follow", *arguments)
    assert (done.code, message in done.err) == (code, True), done.err
    assert not (released.environment.folder / "follow").exists()


def test_no_index_is_an_error_and_no_silence(released: Released) -> None:
    for file in (released.environment.folder / "index").iterdir():
        file.unlink()
    done = released.environment.cli("follow")
    assert done.code == 4, done.err
    assert "demo" in done.err
