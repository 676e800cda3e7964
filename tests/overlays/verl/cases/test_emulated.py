"""Patched verl on an emulated NPU."""

from __future__ import annotations

import importlib
import inspect
import random
import sys

import actor
import pytest
import torch
from changed import changed, helper
from tensordict import TensorDict
from tensordict.base import TensorDictBase
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM
from verl import DataProto
from verl.utils import device
from verl.utils.npu import start
from verl.utils.seqlen_balancing import rearrange_micro_batches

transfer = helper("transfer")
ENGINE = "verl/workers/engine/fsdp/utils.py"
KEEPS_GROUPS = "force_group_size" in inspect.signature(rearrange_micro_batches).parameters


def batch_of(lengths: list[int], width: int) -> TensorDict:
    mask = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    return TensorDict({"attention_mask": mask, "input_ids": mask.clone()}, batch_size=len(lengths))


def test_verl_sees_the_npu_and_imports_no_model_for_it() -> None:
    assert device.get_device_name() == "npu"
    assert device.get_nccl_backend() == "hccl"
    if changed(ENGINE, "apply_npu_fsdp_patches"):
        importlib.import_module("verl.workers.engine.fsdp.utils").apply_npu_fsdp_patches()
        assert "verl.models.transformers.npu_patch" not in sys.modules
    else:
        assert "verl.models.transformers.npu_patch" in sys.modules
        assert not hasattr(sys.modules["verl.models.transformers.npu_patch"], "rms_norm_forward")


@pytest.mark.skipif(not changed(ENGINE, "apply_npu_fsdp_patches"), reason="in this verl they are assigned at import")
def test_with_upstreams_transformers_operators_are_assigned_as_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = importlib.import_module("verl.workers.engine.fsdp.utils")
    # Importing it patches; here it fails, which upstream logs before it continues.
    monkeypatch.setitem(sys.modules, "verl.models.transformers.npu_patch", None)

    engine.apply_npu_fsdp_patches()
    assert not caplog.records
    monkeypatch.setattr(engine, "transformers_splits_sequences", lambda: False)
    engine.apply_npu_fsdp_patches()

    assert [one.getMessage().partition(":")[0] for one in caplog.records] == ["Failed to apply NPU patches"]


@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("family", actor.FAMILIES)
def test_models_compute_on_the_npu_what_they_are_configured_to(family: str, activation: str) -> None:
    """Upstream's own operators always compute SiLU, and in verl 0.7.0 they drop rows of a batch."""
    torch.manual_seed(5)
    sizes = {**actor.SIZES, "hidden_act": activation, "initializer_range": 0.2, "attn_implementation": "eager"}
    model = (
        Qwen2ForCausalLM(Qwen2Config(**sizes))
        if family == "qwen2"
        else Qwen3MoeForCausalLM(Qwen3MoeConfig(**sizes, **actor.MOE))
    )
    ids = torch.randint(actor.VOCABULARY, (3, 7))

    with torch.no_grad():
        expected = model(ids).logits
        if changed(ENGINE, "apply_npu_fsdp_patches"):
            importlib.import_module("verl.workers.engine.fsdp.utils").apply_npu_fsdp_patches()
        found = model.to("npu")(ids.to("npu")).logits.cpu()

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_no_micro_batch_exceeds_the_budget(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(
        1, 65, (int(torch.randint(1, 20, (1,), generator=generator)),), generator=generator
    ).tolist()

    micro_batches, indices = rearrange_micro_batches(batch_of(lengths, 64), 64)

    assert all(int(micro["attention_mask"].sum()) <= 64 for micro in micro_batches)
    assert sorted(index for part in indices for index in part) == list(range(len(lengths)))


def test_the_divisor_of_virtual_pipelines_is_kept() -> None:
    micro_batches, _ = rearrange_micro_batches(batch_of([40] * 6, 64), 64, num_batches_divided_by=4)

    assert len(micro_batches) == 4


@pytest.mark.skipif(not KEEPS_GROUPS, reason="this verl keeps no samples together")
@pytest.mark.parametrize("seed", range(10))
def test_samples_that_belong_together_stay_so_within_the_budget(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311  # any numbers will do
    lengths = [generator.randint(1, 32) for _ in range(2 * generator.randint(1, 9))]

    micro_batches, indices = rearrange_micro_batches(batch_of(lengths, 64), 64, force_group_size=2)

    assert all(int(micro["attention_mask"].sum()) <= 64 for micro in micro_batches)
    assert all(index ^ 1 in part for part in indices for index in part)
    assert sorted(index for part in indices for index in part) == list(range(len(lengths)))


@pytest.mark.skipif(not KEEPS_GROUPS, reason="this verl asks all ranks where it is given no group")
def test_without_a_process_group_no_other_rank_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda *_, **__: pytest.fail("asked"))

    assert len(rearrange_micro_batches(batch_of([40] * 3, 64), 64)[0]) == 3


@pytest.mark.skipif(transfer is None, reason="in this verl batches stay on the CPU on every device")
def test_a_batch_stays_on_the_cpu_until_a_micro_batch_is_used() -> None:
    data = DataProto.from_dict({"x": torch.arange(4.0)})

    assert transfer.moved_early(data, "npu").batch["x"].device.type == "cpu"
    assert transfer.moved_late(data, "npu").batch["x"].device.type == "npu"


def test_moves_to_the_cpu_wait_for_the_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(torch.npu, "synchronize", lambda *_: waits.append(1))
    if transfer is not None:
        # As in tensordict 0.9, which does not know the NPU.
        monkeypatch.setattr(TensorDictBase, "_sync_all", lambda _self: None)
    data = DataProto.from_dict({"x": torch.arange(4.0)})

    data.to("npu")
    waits.clear()
    data.to("cpu")
    assert waits


@pytest.mark.skipif(transfer is None, reason="tensordict waits by itself")
def test_a_process_that_never_used_an_npu_waits_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(torch.npu, "synchronize", lambda *_: waits.append(1))
    monkeypatch.setattr(torch.npu, "is_initialized", lambda: False)

    transfer.synchronize_after_move("cpu")
    assert not waits


def test_segments_are_switched_on_the_npu(journal: list[str]) -> None:
    device.set_expandable_segments(False)
    device.set_expandable_segments(True)

    assert journal == ["expandable_segments:False", "expandable_segments:True"]


def test_workers_without_an_engine_train_with_segments_too(journal: list[str]) -> None:
    start.start_worker()

    assert journal == ["expandable_segments:True"]
