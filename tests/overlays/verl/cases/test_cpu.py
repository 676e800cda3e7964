"""Patched verl on a machine without an NPU."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from changed import changed, helper
from tensordict import TensorDict
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.integrations import flash_attention, ulysses
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel
from verl import DataProto
from verl.models.transformers import monkey_patch
from verl.utils import device
from verl.utils import ulysses as verl_ulysses
from verl.utils.kernel.linear_cross_entropy import linear_cross_entropy
from verl.utils.npu import determinism, start
from verl.utils.npu.linear_cross_entropy import TOKENS_AT_ONCE
from verl.utils.seqlen_balancing import rearrange_micro_batches

sample_order, transfer = helper("sample_order"), helper("transfer")
# Importing it assigns nothing, where the overlay has emptied it; elsewhere verl imports it only where it assigns.
NPU_PATCH = "verl.models.transformers.npu_patch"
IS_EMPTY = changed(f"{NPU_PATCH.replace('.', '/')}.py", "rms_norm_forward")
# Like Triton without a usable driver: it imports, and fails when the first kernel is declared.
NO_DRIVER = """
class Config:
    def __init__(self, *args, **kwargs): ...

def autotune(*args, **kwargs):
    raise RuntimeError("0 active drivers")

jit = autotune
"""


def test_a_cpu_run_uses_gloo() -> None:
    assert device.get_device_name() == "cpu"
    assert device.get_nccl_backend() == "gloo"


def test_switching_segments_without_an_npu_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPANDABLE_SEGMENTS", "True")

    device.set_expandable_segments(True)

    assert "VERL_NPU_ORIGINAL_ALLOC_CONF" not in os.environ


@pytest.mark.parametrize("tokens", [1, 7, TOKENS_AT_ONCE + 3])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_and_entropy_are_those_of_log_softmax(tokens: int, temperature: float) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(1, tokens, 16), torch.randn(33, 16)
    labels = torch.randint(0, 33, (1, tokens))

    results = []
    for fused in (True, False):
        own_hidden, own_weight = (one.clone().requires_grad_() for one in (hidden, weight))
        if fused:
            logprobs, entropy = linear_cross_entropy(own_hidden, own_weight, labels, temperature, "none")
        else:
            logits = (own_hidden @ own_weight.t()).flatten(0, 1) / temperature
            every = logits.log_softmax(-1)
            logprobs = every.gather(-1, labels.reshape(-1, 1)).squeeze(-1)
            entropy = -(every.exp() * every).sum(-1)
        (logprobs.sum() + 0.3 * (entropy**2).sum()).backward()
        results.append((logprobs, entropy, own_hidden.grad, own_weight.grad))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-4)


def test_no_temperature_is_one_and_what_is_no_temperature_is_refused() -> None:
    hidden, weight, labels = torch.randn(5, 8), torch.randn(11, 8), torch.randint(0, 11, (5,))

    for one, other in zip(
        linear_cross_entropy(hidden, weight, labels, None), linear_cross_entropy(hidden, weight, labels, 1), strict=True
    ):
        torch.testing.assert_close(one, other)
    for refused in (0, 0.0, -1.0, float("nan"), torch.full((5,), 0.7), torch.tensor(0.7)):
        with pytest.raises(ValueError, match="temperature"):
            linear_cross_entropy(hidden, weight, labels, refused)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_reductions_apply_to_log_probabilities(reduction: str) -> None:
    hidden, weight, labels = torch.randn(5, 8), torch.randn(11, 8), torch.randint(0, 11, (5,))

    each, entropy = linear_cross_entropy(hidden, weight, labels, 1.0, "none")
    reduced, same = linear_cross_entropy(hidden, weight, labels, 1.0, reduction)

    torch.testing.assert_close(reduced, getattr(each, reduction)())
    torch.testing.assert_close(same, entropy)


def test_megatrons_cross_entropy_imports_where_triton_has_no_driver(tmp_path: Path) -> None:
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").write_text(NO_DRIVER)
    (package / "language.py").write_text("constexpr = int\n")
    code = f"import sys, torch._dynamo, verl; sys.path.insert(0, {str(tmp_path)!r})"
    code += "; import verl.utils.kernel.linear_cross_entropy as m"
    proof = "\ntry:\n    m.kernels.efficient_entropy_forward\nexcept RuntimeError as e:\n    print(e)"
    code += proof if hasattr(importlib.import_module("verl.utils.kernel.linear_cross_entropy"), "kernels") else ""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "0 active drivers" in done.stdout or not done.stdout


def tiny_model() -> Any:
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=32,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
        )
    )


def test_patching_a_model_assigns_nothing_that_transformers_npu_contains(capsys: pytest.CaptureFixture[str]) -> None:
    original = flash_attention._flash_attention_forward
    try:
        monkey_patch.apply_monkey_patch(tiny_model(), ulysses_sp_size=1, use_remove_padding=True)

        assert flash_attention._flash_attention_forward is original
        assert ulysses._group_getter is verl_ulysses.get_ulysses_sequence_parallel_group
    finally:
        ulysses.register_ulysses_group(None)
    assert "_flash_attention_forward in transformers" not in capsys.readouterr().out


def test_with_upstreams_transformers_attention_is_patched_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verl.utils.npu.attention.transformers_splits_sequences", lambda: False)
    monkeypatch.setattr(flash_attention, "_flash_attention_forward", flash_attention._flash_attention_forward)

    monkey_patch.apply_monkey_patch(tiny_model(), ulysses_sp_size=1, use_remove_padding=True)

    assert flash_attention._flash_attention_forward is monkey_patch._ulysses_flash_attention_forward


def test_text_models_sliced_by_transformers_are_not_sliced_again() -> None:
    before = Qwen2_5_VLTextModel.forward
    monkey_patch.patch_vlm_for_ulysses_input_slicing(Qwen2_5_VLTextModel)

    assert Qwen2_5_VLTextModel.forward is before


def test_other_text_models_are_sliced_once() -> None:
    class Model:
        def forward(self, **kwargs: Any) -> Any:
            return kwargs

    monkey_patch.patch_vlm_for_ulysses_input_slicing(Model)
    once = Model.forward
    monkey_patch.patch_vlm_for_ulysses_input_slicing(Model)

    assert Model.forward is once


@pytest.mark.skipif(transfer is None, reason="in this verl batches stay on the CPU on every device")
def test_the_batch_is_moved_as_upstream_moves_it() -> None:
    data = DataProto.from_dict({"x": torch.arange(4)})

    assert transfer.moved_early(data, "cpu") is data
    assert transfer.moved_late(data, "cpu") is data
    assert data.to("cpu").batch["x"].tolist() == [0, 1, 2, 3]


@pytest.mark.skipif(sample_order is None, reason="this verl has no DAPO recipe")
def test_spread_generation_keeps_groups_whole_where_a_batch_is_cut() -> None:
    prompts = DataProto.from_dict(
        {"prompt": torch.arange(6)}, {"uid": numpy.array([f"u{n}" for n in range(6)], object)}
    )
    seen: list[list[int]] = []

    def generate(batch: DataProto) -> DataProto:
        seen.append(batch.batch["prompt"].tolist())
        return DataProto.from_dict({"answer": batch.batch["prompt"] * 10}, meta_info={"timing": {}})

    batch = prompts.repeat(repeat_times=4, interleave=True)
    batch = batch.union(sample_order.with_spread_samples(generate, 4)(batch))[:16]

    assert seen[0] == list(range(6)) * 4
    assert batch.batch["answer"].tolist() == [10 * prompt for prompt in range(4) for _ in range(4)]
    assert batch.non_tensor_batch["uid"].tolist() == [f"u{prompt}" for prompt in range(4) for _ in range(4)]
    assert batch.meta_info == {"timing": {}}


def test_off_the_npu_micro_batches_are_upstreams() -> None:
    mask = torch.zeros(3, 64, dtype=torch.long)
    mask[:, :40] = 1
    batch = TensorDict({"attention_mask": mask, "input_ids": mask.clone()}, batch_size=3)

    micro_batches, _ = rearrange_micro_batches(batch, 64)

    assert len(micro_batches) == 2


def test_a_deterministic_process_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = []
    for name in (determinism.SEED, *determinism.SWITCHES):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    assert not determinism.seed_process()
    start.start_training(SimpleNamespace(trainer={"deterministic_seed": 3}))
    try:
        for rank in (0, 0, 1):
            determinism.seed_process(rank)
            draws.append(torch.rand(3).tolist())
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(mode=False)
    assert draws[0] == draws[1] != draws[2]


def test_importing_verl_loads_no_model_and_no_torch_npu() -> None:
    loaded = "[name for name in sys.modules if 'modeling_qwen' in name or name == 'torch_npu']"
    code = f"import sys, {NPU_PATCH if IS_EMPTY else 'verl.models.transformers'}; print({loaded})"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
