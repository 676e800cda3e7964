"""Without torch_npu, and with one that cannot load, the patched transformers imports and runs as upstream's does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = """
import sys
import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
import transformers.integrations.npu_flash_attention, transformers.integrations.ulysses
config = Qwen3MoeConfig(vocab_size=9, hidden_size=8, intermediate_size=8, moe_intermediate_size=8, num_hidden_layers=1,
    num_attention_heads=2, num_key_value_heads=1, num_experts=2, num_experts_per_tok=1, head_dim=4)
model = Qwen3MoeForCausalLM(config)
model(torch.tensor([[1, 2, 3]])).logits.sum().backward()
assert "torch_npu" not in sys.modules, "torch_npu was imported"
assert "einops" not in sys.modules, "einops was imported"
print("ran")
"""


def _python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)


def test_models_run_without_torch_npu_and_import_neither_it_nor_einops(tmp_path: Path) -> None:
    run = _python(RUN, tmp_path)
    assert run.stdout.strip() == "ran", run.stderr
