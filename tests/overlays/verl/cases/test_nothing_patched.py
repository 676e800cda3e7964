"""Nothing is patched at run time, but for what a wheel cannot hold: that is listed here by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from changed import changed

SCRIPT = Path(__file__).with_name("nothing_patched.py")
MODELS = "transformers.models"
# Chosen in the configuration, model by model.
FUSED = {
    (f"{MODELS}.qwen2.modeling_qwen2", "Qwen2ForCausalLM.forward"),
    (f"{MODELS}.qwen3_moe.modeling_qwen3_moe", "Qwen3MoeForCausalLM.forward"),
}
# For batches that mix images and text, from the verl on that attends to packed images by itself.
VISION = {
    (f"{MODELS}.{name}.modeling_{name}", f"{kind}{part}.forward")
    for name, kind in (("qwen2_vl", "Qwen2VL"), ("qwen2_5_vl", "Qwen2_5_VL"))
    for part in ("Model", "ForConditionalGeneration")
}
IS_OLD = changed("verl/models/transformers/qwen2_vl.py", "flash_attention_forward")


@pytest.mark.parametrize(
    ("argument", "by_necessity"),
    [
        pytest.param("", set(), id="models on the npu"),
        pytest.param("fused", FUSED, id="fused kernels", marks=pytest.mark.thorough),
        pytest.param("vision", set() if IS_OLD else VISION, id="vision-language models", marks=pytest.mark.thorough),
    ],
)
def test_verl_leaves_everything_as_its_file_defines_it(argument: str, by_necessity: set[tuple[str, str]]) -> None:
    command = [sys.executable, "-m", "verl_npu_summary", "--audit", "--json", "--script", str(SCRIPT)]
    done = subprocess.run([*command, "--", argument], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)

    assert report["failures"] == []
    assert report["problems"] == []
    assert report["modules"] > 150
    assert {(one["module"], one["symbol"]) for one in report["replacements"]} == by_necessity
    assert {one["by"]["module"].partition(".")[0] for one in report["replacements"]} <= {"verl"}
