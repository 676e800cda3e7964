"""What is read from source and settings, without being run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.mindspeed import COMMITS, UnreachableError, real_patch_utils

if TYPE_CHECKING:
    from .machine import Machine


@pytest.mark.parametrize(
    ("content", "level"),
    [
        ('"""For example:\n\nfrom vllm.gone import LLM\n"""\n', "matched"),
        ("try:\n    from vllm.gone import LLM\nexcept ImportError:\n    pass\n", "matched"),
        ("import vllm_gone.x\nfrom vllm_gone import y\n", "matched"),
        ("import os, vllm.gone\n", "broken"),
        ("import vllm.gone as gone\n", "broken"),
        ("from vllm.lora import (\n    models,\n)\nfrom vllm.gone import (\n    a,\n)\n", "broken"),
        ("from vllm.gone import x\nthis is no Python\n", "matched"),
    ],
)
def test_only_code_that_runs_on_import_says_what_is_needed(machine: Machine, content: str, level: str) -> None:
    machine.module("verl/utils/vllm/other.py", content)
    rows = [row for row in machine.rows(7) if row.component == "vllm for verl"]
    assert [row.level for row in rows] == [level], rows
    assert level == "matched" or "vllm.gone (utils/vllm/other.py:" in rows[0].found


_THERE, _GONE = (f"from transformers.integrations.npu_flash_attention import {name}" for name in ("there", "gone"))


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (f"{_THERE}\n", "matched"),
        (f"{_GONE}\n", "broken"),
        (
            f"class A:\n    def f(self):\n        if self:\n            pass\n        else:\n            {_GONE}\n",
            "broken",
        ),
        (f"match 1:\n    case 1:\n        {_GONE}\n", "broken"),
        ("from \\\n  transformers.integrations.npu_flash_attention import (\n    gone,\n)\n", "broken"),
        (f"{_THERE}\ntry:\n    {_GONE}\nexcept ImportError:\n    {_GONE}\n", "matched"),
        (f"{_THERE}\ntry:\n    pass\nfinally:\n    def f():\n        {_GONE}\n", "matched"),
        (f'{_THERE}\nexample = """\n{_GONE}\n"""\n', "matched"),
    ],
)
def test_names_that_code_takes_anywhere_but_under_try_have_to_be_there(
    machine: Machine, content: str, level: str
) -> None:
    machine.module("transformers/integrations/npu_flash_attention.py", "there = index_first_axis = unpad_input = 1\n")
    machine.module("verl/utils/other.py", content)
    rows = [
        row for row in machine.rows(16) if row.component == "transformers.integrations.npu_flash_attention for verl"
    ]
    assert [row.level for row in rows] == [level], rows
    assert level == "matched" or "gone (utils/other.py:" in rows[0].found


def test_a_comma_in_brackets_separates_no_options(machine: Machine) -> None:
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "page_size:[1g,expandable_segments:True,2g]"
    assert {row.level for symptom in (21, 23) for row in machine.rows(symptom)} == {"matched"}


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("release", "level"), [("mindspeed-rl-2.3", "broken"), ("2.3.0", "broken"), ("26.0.0", "matched")]
)
def test_a_trial_tells_which_release_of_mindspeed_undoes_its_patches(
    machine: Machine, release: str, level: str
) -> None:
    assert release in COMMITS
    try:
        text = real_patch_utils(release)
    except UnreachableError as reason:
        pytest.skip(str(reason))
    machine.install_mindspeed(text)

    assert [row.level for row in machine.rows(34)] == [level]
    assert list(machine.clones.rglob("__pycache__")) == []
