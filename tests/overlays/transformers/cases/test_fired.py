"""Each operation for an NPU operator: it calls the operator, and does not always fall back to upstream's code."""

from __future__ import annotations

import importlib
import inspect
import json
import os
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import torch
from transformers.integrations.npu_flash_attention import npu_flash_attn_func, npu_flash_attn_varlen_func

import emulation
import families
import tiny_models

# Families whose forms no other tiny model has; a pin may lack some.
FORMS = (
    *("gemma", "phi3", "olmo2", "deepseek_v3", "helium", "cohere", "glm", "glm4v", "ernie4_5", "nemotron", "gpt_oss"),
    *("gemma3n_text", "modernbert-decoder", "glm_moe_dsa"),
)


def _code(name: str) -> CodeType:
    """Return the code in the wheel of a name such as ``src/transformers/…/modeling_x.py:Class.method``."""
    path, _, symbol = name.partition(":")
    found: Any = importlib.import_module(path.removeprefix("src/").removesuffix(".py").replace("/", "."))
    for part in symbol.split("."):
        found = inspect.getattr_static(found, part)
    return inspect.unwrap(getattr(found, "__func__", found)).__code__


def _attend() -> None:
    q, k, v = (torch.randn(1, 4, 2, 8).to("npu") for _ in range(3))
    ends = torch.tensor([0, 4], dtype=torch.int32)
    npu_flash_attn_func(q, k, v, causal=True)
    npu_flash_attn_varlen_func(q[0], k[0], v[0], ends, ends, 4, 4, causal=True)


def _multiply() -> None:
    """Run experts of two dtypes, which from 5 on upstream's dispatch serves, with the grouped product."""
    from transformers import Qwen3MoeConfig  # noqa: PLC0415
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts  # noqa: PLC0415

    config = Qwen3MoeConfig(hidden_size=8, moe_intermediate_size=8, num_experts=2)
    config._experts_implementation = "grouped_mm"
    experts = Qwen3MoeExperts(config).to("npu")
    experts.down_proj = torch.nn.Parameter(experts.down_proj.detach().bfloat16())
    experts(torch.ones(2, 8).to("npu"), torch.tensor([[0], [1]]).to("npu"), torch.ones(2, 1).to("npu"))


def test_each_operation_calls_the_operators_recorded_for_this_pin() -> None:
    file = os.environ.get("FIRED")
    if file is None:
        pytest.skip("FIRED does not name the file with the operations of this pin")
    # All targets of each operation; for one with many targets of a form, one target shows what all call.
    targets: dict[str, list[str]] = json.loads(Path(file).read_text("utf-8"))
    codes = {name: _code(name) for names in targets.values() for name in names}
    with emulation.recorded(codes) as recording:
        for case in tiny_models.representatives():
            tiny_models.run(case, "npu")
        for family in set(FORMS) & {*families.families()}:
            families.run(families.build(family, families.needs(family)), families.VARIANTS[0], "npu")
        _attend()
        if find_spec("transformers.integrations.moe"):
            _multiply()
    called = {name: sorted(operators) for name, operators in sorted(recording.called.items())}
    Path(file).with_suffix(".seen").write_text(json.dumps(called), "utf-8")
    assert [operation for operation, names in targets.items() if called.keys().isdisjoint(names)] == []
