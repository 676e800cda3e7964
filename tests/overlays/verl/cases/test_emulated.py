"""Patched verl on an emulated NPU."""

from __future__ import annotations

import sys

import pytest
import torch
from tensordict import TensorDict
from tensordict.base import TensorDictBase
from verl import DataProto
from verl.utils import device
from verl.utils.npu import start, transfer
from verl.utils.seqlen_balancing import rearrange_micro_batches


def batch_of(lengths: list[int], width: int) -> TensorDict:
    mask = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    return TensorDict({"attention_mask": mask, "input_ids": mask.clone()}, batch_size=len(lengths))


def test_verl_sees_the_npu_and_imports_no_model_for_it() -> None:
    assert device.get_device_name() == "npu"
    assert device.get_nccl_backend() == "hccl"
    assert "verl.models.transformers.npu_patch" in sys.modules
    assert not hasattr(sys.modules["verl.models.transformers.npu_patch"], "rms_norm_forward")


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


def test_a_batch_stays_on_the_cpu_until_a_micro_batch_is_used() -> None:
    data = DataProto.from_dict({"x": torch.arange(4.0)})

    assert transfer.moved_early(data, "npu").batch["x"].device.type == "cpu"
    assert transfer.moved_late(data, "npu").batch["x"].device.type == "npu"


def test_moves_to_the_cpu_wait_for_the_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(torch.npu, "synchronize", lambda *_: waits.append(1))
    # As in tensordict 0.9, which does not know the NPU.
    monkeypatch.setattr(TensorDictBase, "_sync_all", lambda _self: None)
    data = DataProto.from_dict({"x": torch.arange(4.0)})

    data.to("npu")
    waits.clear()
    data.to("cpu")
    assert waits

    monkeypatch.setattr(torch.npu, "is_initialized", lambda: False)
    waits.clear()
    transfer.synchronize_after_move("cpu")
    assert not waits


def test_segments_are_switched_on_the_npu(journal: list[str]) -> None:
    device.set_expandable_segments(False)
    device.set_expandable_segments(True)

    assert journal == ["expandable_segments:False", "expandable_segments:True"]


def test_workers_without_an_engine_train_with_segments_too(journal: list[str]) -> None:
    start.start_worker()

    assert journal == ["expandable_segments:True"]
