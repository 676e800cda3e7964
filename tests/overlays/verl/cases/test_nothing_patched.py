"""Nothing is patched at run time, but for what a wheel cannot hold: that, and no more, is what the wheel lists."""

from __future__ import annotations

import json
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from changed import assigned

SCRIPT = Path(__file__).with_name("nothing_patched.py")


@pytest.mark.parametrize(
    ("argument", "when"),
    [
        pytest.param("", "", id="models on the npu"),
        pytest.param(
            "fused", "the configuration enables fused kernels", id="fused kernels", marks=pytest.mark.thorough
        ),
        pytest.param("vision", "", id="vision-language models", marks=pytest.mark.thorough),
    ],
)
def test_verl_leaves_everything_as_its_file_defines_it_but_for_what_is_listed(argument: str, when: str) -> None:
    command = [sys.executable, "-m", "verl_npu_summary", "--audit", "--json", "--script", str(SCRIPT)]
    done = subprocess.run([*command, "--", argument], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)

    assert report["failures"] == []
    assert report["problems"] == []
    assert report["modules"] > 150
    replaced = {f"{one['module']}:{one['symbol']}" for one in report["replacements"]}
    listed = assigned(when)
    assert [name for name in replaced if not any(fnmatchcase(name, pattern) for pattern in listed)] == []
    assert {name for name in listed if "*" not in name} <= replaced
    assert bool(listed) == bool(replaced)
    assert {one["by"]["module"].partition(".")[0] for one in report["replacements"]} <= {"verl"}
