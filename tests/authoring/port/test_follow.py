"""`follow` against an index in which releases appear one after the other."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from environments.once import once
from support.environment import copy_environment
from support.marks import rarely

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
    assert "- body changed" not in (folder / "follow/demo@1.2/report.md").read_text()
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


NOT_RUN = "import os, pathlib; pathlib.Path(os.environ['NPU_OVERLAYS_UNTRIED']).write_text('no\\nindex'); os._exit({})"


@pytest.mark.parametrize(
    ("proof", "why"),
    [
        pytest.param(f'{sys.executable} -c "{NOT_RUN.format(0)}"', "no index", id="says so and ends well"),
        pytest.param("sh -c no-such-command", "exit code 127: its shell does not find a command", id="not found"),
        *rarely(
            (f'{sys.executable} -c "{NOT_RUN.format(2)}"', "no index"),
            ("sh -c ./prove", "exit code 126: its shell cannot execute a command"),
            ("sh -c 'kill -9 $$'", "ended by signal 9"),
            ("./odd", "cannot be started: Exec format error"),
            ids=["says so", "not executable", "killed", "no program"],
        ),
    ],
)
def test_a_proof_that_cannot_run_disproves_nothing(released: Released, proof: str, why: str) -> None:
    folder = released.environment.folder
    for name, mode in (("prove", 0o644), ("odd", 0o755)):
        (folder / name).write_bytes(b"\x00\x01")
        (folder / name).chmod(mode)
    released.release("1.1", CORE)
    (one,) = released.environment.ok("follow", "--json", "--prove", proof).json()
    assert (one["outcome"], one["untried"]) == ("untried", why)
    assert f"The proof could not run: {why}.\n" in (folder / "follow/demo@1.1/report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("damo",), 3, "damo: no overlay is for a project of that name"),
        (("--prove", "no-such-command x"), 2, "there is no command no-such-command"),
        (("--out", "."), 2, "is the folder of the overlays, or inside one"),
        (("--out", "demo@1.0/ports"), 2, "is the folder of the overlays, or inside one"),
    ],
)
def test_mistakes_are_refused_before_anything_is_ported(
    released: Released, arguments: tuple[str, ...], code: int, message: str
) -> None:
    released.release("1.1", CORE)
    folder = released.environment.folder
    before = sorted(folder.rglob("*"))
    done = released.environment.cli("follow", *arguments)
    assert (done.code, message in done.err) == (code, True), done.err
    assert sorted(folder.rglob("*")) == before


def test_a_release_that_cannot_be_had_fails_alone(released: Released) -> None:
    index = released.environment.folder / "index"
    backend = b"[build-system]\nrequires = ['no-such-backend']\nbuild-backend = 'no_such'\n"
    files = {"demo/core.py": CORE, "more/__init__.py": b"", "pyproject.toml": backend, "PKG-INFO": b"Name: demo\n"}
    with tarfile.open(index / "demo-1.1.tar.gz", "w:gz") as sdist:
        for path, content in files.items():
            member = tarfile.TarInfo(f"demo-1.1/{path}")
            member.size = len(content)
            sdist.addfile(member, io.BytesIO(content))
    (index / "demo-1.2-py3-none-any.whl").write_bytes(b"half a wheel")
    released.release("1.3", CORE)
    assert followed(released) == [("1.1", "failed", 0), ("1.2", "failed", 0), ("1.3", "unproven", 0)]
    folder = released.environment.folder / "follow"
    needed = "pip cannot install what it requires: No matching distribution found for no-such-backend"
    assert (
        f"demo-1.1.tar.gz: upstream's build backend gave no metadata: {needed}"
        in (folder / "demo@1.1/report.md").read_text()
    )
    assert "demo-1.2-py3-none-any.whl: is not a whole wheel" in (folder / "demo@1.2/report.md").read_text()
    assert json.loads((folder / "demo@1.3/report.json").read_text())["from"] == "demo@1.0"


def test_no_index_is_an_error_and_no_silence(released: Released) -> None:
    for file in (released.environment.folder / "index").iterdir():
        file.unlink()
    done = released.environment.cli("follow")
    assert done.code == 4, done.err
    assert "demo" in done.err


def test_each_release_is_told_as_it_is_done(released: Released) -> None:
    released.release("1.1", CORE.replace(b"value * 2", b"value + value"))
    released.release("1.2", CORE)
    said = released.environment.ok("follow").err.splitlines()
    lines = [line for line in said if line.startswith("demo@") and line.endswith("left to decide")]
    assert lines == ["demo@1.1: decide, 1 part left to decide", "demo@1.2: unproven, 0 parts left to decide"]


def test_an_interrupt_leaves_finished_ports_and_no_half_one(released: Released) -> None:
    released.release("1.1", CORE)
    released.release("1.2", CORE)
    folder = released.environment.folder
    script = "import os, signal; "
    script += "os.environ['NPU_OVERLAYS_NAME'] == 'demo@1.2' and os.kill(os.getppid(), signal.SIGTERM)"
    done = released.environment.cli("follow", "--prove", f'{sys.executable} -c "{script}"')
    assert (done.code, [path.name for path in (folder / "follow").iterdir()]) == (143, ["demo@1.1"]), done.err
    assert (folder / "follow/demo@1.1/report.json").is_file()


def test_what_is_no_port_is_not_replaced_by_one(released: Released) -> None:
    released.release("1.1", CORE)
    notes = released.environment.folder / "follow/demo@1.1/notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    done = released.environment.cli("follow")
    assert (done.code, "exists, and `follow` did not make it" in done.err) == (6, True), done.err
    assert notes.read_text() == "mine"


def test_an_error_loses_no_port_that_is_finished(released: Released) -> None:
    released.release("1.1", CORE)
    released.release("1.2", CORE)
    (released.environment.folder / "follow/demo@1.2").mkdir(parents=True)
    done = released.environment.cli("follow", "--json")
    assert (done.code, "exists, and `follow` did not make it" in done.err) == (6, True), done.err
    assert [(one["to"], one["outcome"]) for one in done.json()] == [("demo@1.1", "unproven")]
    table = released.environment.cli("follow")
    assert (table.code, "demo     1.1      unproven" in table.out) == (6, True), table.out
