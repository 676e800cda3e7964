"""Patched verl on an emulated NPU."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stub_vllm
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from tensordict.base import TensorDictBase

stub_vllm.install()

import verl.trainer.config as shipped  # noqa: E402  # vLLM comes first
from verl.utils import device  # noqa: E402
from verl.utils.npu import start, transfer  # noqa: E402
from verl.utils.seqlen_balancing import rearrange_micro_batches  # noqa: E402
from verl.workers.rollout.vllm_rollout.vllm_rollout_spmd import vLLMRollout  # noqa: E402

from verl import DataProto  # noqa: E402  # vLLM comes first


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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the NPU an allocator setter, ask for expandable segments, and return what is sent to it."""
    options: list[str] = []
    memory = type(sys)("torch.npu.memory")
    memory._set_allocator_settings = options.append
    monkeypatch.setattr(torch.npu, "memory", memory, raising=False)
    monkeypatch.setenv("EXPANDABLE_SEGMENTS", "True")
    for name in ("PYTORCH_NPU_ALLOC_CONF", "VERL_NPU_ORIGINAL_ALLOC_CONF"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return options


def test_segments_are_switched_on_the_npu(sent: list[str]) -> None:
    device.set_expandable_segments(False)
    device.set_expandable_segments(True)

    assert sent == ["expandable_segments:False", "expandable_segments:True"]


def test_workers_without_an_engine_train_with_segments_too(sent: list[str]) -> None:
    start.start_worker()

    assert sent == ["expandable_segments:True"]


@pytest.fixture
def world() -> Iterator[None]:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


ROLLOUT = {
    "name": "vllm",
    "prompt_length": 8,
    "response_length": 8,
    "tensor_model_parallel_size": 1,
    "max_num_batched_tokens": 64,
    "max_num_seqs": 32,
    "free_cache_engine": True,
    "enable_chunked_prefill": False,
    "enforce_eager": False,
    "load_format": "dummy",
    "cudagraph_capture_sizes": [1, 2, 64],
}


def rollout_of(**changes: Any) -> Any:
    """Return a rollout built from the shipped keys and these changes, whichever signature this verl has."""
    hf_config = SimpleNamespace(max_position_embeddings=64, rope_scaling=None)
    tokenizer = SimpleNamespace(pad_token_id=0)
    if "model_path" in inspect.signature(vLLMRollout.__init__).parameters:
        shipped = OmegaConf.create(shipped_rollout())
        config = OmegaConf.merge(shipped, ROLLOUT, changes)
        return vLLMRollout("path", config, tokenizer, hf_config)
    from verl.workers.config import RolloutConfig  # noqa: PLC0415  # one of the pins has none

    config = RolloutConfig(**{**ROLLOUT, **changes})
    model = SimpleNamespace(
        local_path="path", tokenizer=tokenizer, hf_config=hf_config, trust_remote_code=False, lora_rank=0
    )
    return vLLMRollout(config, model, None)


def shipped_rollout() -> Any:
    file = Path(str(shipped.__file__)).parent / "rollout" / "rollout.yaml"
    keys = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    return {name: value for name, value in keys.items() if not isinstance(value, str) or "$" not in value}  # type: ignore[union-attr]


@pytest.mark.usefixtures("world")
def test_the_engine_gets_the_configs_arguments_with_segments_off(sent: list[str]) -> None:
    arguments = rollout_of().inference_engine.arguments

    assert sent == ["expandable_segments:False"]
    assert arguments["max_num_seqs"] == 32
    assert arguments["enable_prefix_caching"] is True
    assert arguments["compilation_config"] == {"cudagraph_capture_sizes": [1, 2]}
    assert "enable_expert_parallel" not in arguments
    assert "VLLM_DP_SIZE" not in os.environ


@pytest.mark.usefixtures("world")
def test_the_users_engine_arguments_win_instead_of_colliding() -> None:
    user = {
        "enable_prefix_caching": False,
        "max_model_len": 12,
        "additional_config": {"refresh": True},
        "compilation_config": {"level": 3},
    }

    arguments = rollout_of(engine_kwargs={"vllm": user}).inference_engine.arguments

    assert arguments["enable_prefix_caching"] is False
    assert arguments["max_model_len"] == 12
    assert arguments["additional_config"] == {"refresh": True}
    assert arguments["compilation_config"] == {"cudagraph_capture_sizes": [1, 2], "level": 3}


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"data_parallel_size": 2}, "does not divide the world of 1"),
        ({"hybrid_tp": {"enabled": True, "lmhead_tensor_parallel_size": 2}}, "no effect"),
        ({"cudagraph_capture_sizes": [64]}, "max_num_seqs"),
    ],
)
def test_settings_that_cannot_work_stop_before_an_engine_starts(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rollout_of(**changes)
