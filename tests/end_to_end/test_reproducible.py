"""What is no input changes no byte of a wheel, and what is one changes its version."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.marks import rarely
from support.overlays import edit
from support.wheels import contents

from .sample import Sample

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def build(sample: Sample, **more: str) -> dict[str, bytes]:
    """Build both overlays into a fresh folder and return the bytes of everything made."""
    out = sample.folder / "out"
    arguments = ("build", "--overlays", sample.overlays, "--out", out, "--source", "git")
    sample.environment.python("-m", "npu_overlays", *arguments, cwd=None, **more)
    return contents(out)


# Each by itself is tried in test_reproducibility; here statements and constraints are compared as well.
AROUND = {
    "TZ": "Asia/Kathmandu",
    "PYTHONHASHSEED": "1",
    "SOURCE_DATE_EPOCH": "4354819200",
    "LC_ALL": "C",
    "COLUMNS": "20",
}


def test_what_python_and_editors_leave_behind_and_variables_change_no_file(sample: Sample, wheels: Path) -> None:
    for path in ("tree/src/lib/__pycache__/core.cpython-311.pyc", "tree/.ruff_cache/x", "tree/.DS_Store"):
        (sample.lib_overlay / path).parent.mkdir(exist_ok=True)
        (sample.lib_overlay / path).write_bytes(b"x")
    assert build(sample, **AROUND) == contents(wheels)


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
