"""Equal inputs give equal bytes, wherever and however a wheel is built."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.marks import rarely
from support.overlays import edit
from support.pythons import SUPPORTED, some_python

from .sample import Sample

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
_SCRIPT = 'umask "$1"; shift; exec "$@"'


def build(sample: Sample, *, python: str = sys.executable, umask: str = "022", **more: str) -> dict[str, bytes]:
    """Build both overlays into a fresh folder and return the bytes of everything made."""
    out = sample.folder / "out"
    arguments = ("-m", "npu_overlays", "build", "--overlays", sample.overlays, "--out", out, "--source", "git")
    sample.environment.succeed("bash", "-c", _SCRIPT, "bash", umask, python, *arguments, cwd=None, **more)
    return contents(out)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("umask", ["077", *rarely("000")])
def test_the_umask_does_not_matter(sample: Sample, wheels: Path, umask: str) -> None:
    assert build(sample, umask=umask) == contents(wheels)


@pytest.mark.parametrize(
    "variables",
    [
        {"TZ": "Asia/Kathmandu"},
        {"PYTHONHASHSEED": "1"},
        {"SOURCE_DATE_EPOCH": "4354819200"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        *rarely(
            {"PYTHONHASHSEED": "2"},
            {"SOURCE_DATE_EPOCH": "0"},
            {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
            {"COLUMNS": "20", "NO_COLOR": "1", "PYTHONOPTIMIZE": "2"},
            ids=["PYTHONHASHSEED again", "SOURCE_DATE_EPOCH again", "LANG LC_ALL", "COLUMNS NO_COLOR PYTHONOPTIMIZE"],
        ),
    ],
    ids=" ".join,
)
def test_variables_do_not_matter(sample: Sample, wheels: Path, variables: dict[str, str]) -> None:
    assert build(sample, **variables) == contents(wheels)


def test_dates_modes_and_order_of_the_overlays_files_do_not_matter(sample: Sample, wheels: Path) -> None:
    for number, path in enumerate(sorted(sample.lib_overlay.rglob("*"), reverse=True)):
        if path.is_file():
            content, mode = path.read_bytes(), path.stat().st_mode
            path.unlink()
            path.write_bytes(content)
            path.chmod(0o700 if mode & 0o100 else 0o600)
            os.utime(path, (number, number))
    assert build(sample) == contents(wheels)


def test_files_python_and_editors_leave_behind_do_not_matter(sample: Sample, wheels: Path) -> None:
    for path in ("tree/src/lib/__pycache__/core.cpython-311.pyc", "tree/.ruff_cache/x", "tree/.DS_Store"):
        (sample.lib_overlay / path).parent.mkdir(exist_ok=True)
        (sample.lib_overlay / path).write_bytes(b"x")
    assert build(sample) == contents(wheels)


@pytest.mark.index
@pytest.mark.parametrize("version", [SUPPORTED[0], *rarely(*SUPPORTED[1:-1]), SUPPORTED[-1]])
def test_the_version_of_python_does_not_matter(sample: Sample, wheels: Path, tool_site: Path, version: str) -> None:
    built = build(sample, python=some_python(version), PYTHONPATH=str(tool_site))
    names = [name for name in built if name.endswith(".whl")]
    assert len(names) == 4
    assert {name: built[name] for name in names} == {name: (wheels / name).read_bytes() for name in names}


@pytest.mark.parametrize("change", ["mode", "content"])
def test_what_changes_a_byte_changes_the_version(sample: Sample, wheels: Path, change: str) -> None:
    if change == "mode":
        (sample.lib_overlay / "tree/src/lib/npu.sh").chmod(0o644)
    else:
        edit(sample.lib_overlay / "tree/src/lib/npu.py", '"npu"', '"NPU"')
    built, expected = build(sample), contents(wheels)
    of_app = {name for name in expected if name.startswith("app")}
    assert {name: built[name] for name in of_app} == {name: expected[name] for name in of_app}
    new = built.keys() - expected.keys()
    assert {name.partition("-")[0] for name in new} == {"lib_npu", "lib"}
    assert all(re.search(r"\+npu\.1\.\d{17}\.dev[0-9a-f]{7}\.g", name) for name in new)


@pytest.mark.parametrize(
    ("file", "matters"),
    [
        ("stacks/knowledge/compatibility.json", False),
        *rarely(("stacks/knowledge/symptoms.json", False), ("stacks/vllm-0.11.json", False)),
        ("build_tools/npu_doctor/checks/memory.py", False),
        ("build_tools/npu_summary/layout.py", True),
    ],
)
def test_what_the_doctor_knows_changes_no_byte_of_a_wheel_nor_of_its_statement(
    sample: Sample, wheels: Path, tmp_path: Path, file: str, *, matters: bool
) -> None:
    checkout = tmp_path / "checkout"
    for folder in ("build_tools", "stacks"):
        # As it was compiled, which takes longer than a build; others may be compiling more of it.
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    changed = checkout / file
    more = b"# more\n" if changed.suffix == ".py" else b"\n"
    changed.write_bytes(changed.read_bytes().replace(b"8.3.RC1", b"8.3.RC2") + more)
    made = build(sample, PYTHONPATH=str(checkout / "build_tools"))
    assert made.keys() == contents(wheels).keys()
    assert (made != contents(wheels)) is matters
