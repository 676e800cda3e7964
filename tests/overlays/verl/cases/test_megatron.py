"""Megatron's workers and actor: what is computed, and which tensors are on the NPU while it is computed.

Megatron-Core is a stand-in that runs micro-batches one after the other; worker
and actor are verl's. The exchange between pipeline stages refuses tensors of
the CPU, as HCCL does.
"""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import actor as tiny
import numpy
import pytest
import stub_megatron
import stub_vllm
import torch
from omegaconf import OmegaConf
from tensordict.base import TensorDictBase

if not importlib.util.find_spec("verl.utils.npu.transfer"):
    pytest.skip("in this verl nothing is changed that these compute: test_mindspeed.py", allow_module_level=True)
stub_megatron.install()
stub_vllm.install()

import verl.models.mcore  # noqa: E402  # Megatron comes first
from verl import DataProto  # noqa: E402
from verl.utils.device import get_device_name  # noqa: E402
from verl.workers import megatron_workers  # noqa: E402
from verl.workers.actor import megatron_actor  # noqa: E402
from verl.workers.config import McoreActorConfig, OptimizerConfig  # noqa: E402

# Later verl moves micro-batches by itself; also without further stages it takes the whole batch to the device first.
EDITED = hasattr(megatron_actor, "moved_late")
pytestmark = pytest.mark.usefixtures("world")
MICRO, MINI = 2, 4
# Three rows of the batch at most.
MAX_TOKENS = 3 * (tiny.PROMPT + tiny.RESPONSE)


class Model(torch.nn.Module):
    """One stage: tokens in, logits out; it remembers what it was given, and where `batch` was by then."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.table = torch.nn.Embedding(tiny.VOCABULARY, tiny.VOCABULARY)
        self.config = SimpleNamespace()
        self.batch: Any = None
        self.inputs: list[tuple[str, int]] = []
        self.batch_devices: set[str] = set()
        self.pictures: list[torch.Tensor | None] = []

    def zero_grad_buffer(self) -> None:
        self.zero_grad()

    def forward(self, input_ids: torch.Tensor) -> Any:
        self.inputs.append((input_ids.device.type, len(input_ids)))
        if self.batch is not None:
            self.batch_devices.add(self.batch.batch["input_ids"].device.type)
        return self.table(input_ids)


class Optimizer(torch.optim.SGD):
    """Megatron's optimizer as far as the actor looks: a step says whether it was made, and the norm."""

    gradients: list[torch.Tensor]

    def step(self, *_: Any) -> Any:  # type: ignore[override]
        (weight,) = self.param_groups[0]["params"]
        self.gradients = [*getattr(self, "gradients", []), weight.grad.cpu().clone()]
        super().step()
        return True, float(self.gradients[-1].norm()), None


def forward(model: Model, *ids: torch.Tensor, **options: Any) -> Any:
    """Megatron's forward of a language model: earlier stages hand on hidden states, the last one log-probabilities."""
    model.pictures.append(options["multi_modal_inputs"].get("pixel_values"))
    logits = model(*ids[:1] or (options["input_ids"],))
    if not stub_megatron.pipeline.is_last:
        return logits
    return options["logits_processor"](logits, **options["logits_processor_args"])


def log_probs_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def entropy_of(logits: torch.Tensor) -> torch.Tensor:
    return -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)


@pytest.fixture(autouse=True)
def exchanged(monkeypatch: pytest.MonkeyPatch) -> list[torch.Size]:
    """Return the shapes of all that pipeline stages exchange; one stage unless a test says otherwise."""
    found: list[torch.Size] = []

    def broadcast(tensor: torch.Tensor, **_: Any) -> None:
        assert tensor.device.type == get_device_name(), "HCCL exchanges tensors of the NPU only"
        found.append(tensor.shape)

    for name, value in (("stages", 1), ("is_last", True)):
        monkeypatch.setattr(stub_megatron.pipeline, name, value)
    monkeypatch.setattr(verl.models.mcore, "get_mcore_forward_fn", lambda _config: forward)
    monkeypatch.setattr(megatron_actor, "vocab_parallel_log_probs_from_logits", log_probs_of)
    monkeypatch.setattr(megatron_actor, "vocab_parallel_entropy", entropy_of)
    monkeypatch.setattr(torch.distributed, "broadcast", broadcast)
    # Of a verl that replays what routers chose: it asks so whatever is configured, and there are no routers here.
    if replay := getattr(megatron_actor, "RouterReplayHelper", None):
        for name in ("is_r2_record_action", "is_replay_forward_action", "is_replay_backward_action"):
            monkeypatch.setattr(replay, name, lambda *_: False)
    # A world of one rank has nothing to reduce, and gloo knows no NPU.
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda *_, **__: None)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda _group=None: stub_megatron.pipeline.stages)
    return found


@pytest.fixture(autouse=True)
def moved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many rows each batch has that is moved to the NPU."""
    rows: list[int] = []
    move = TensorDictBase.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = move(self, *args, **kwargs)
        rows.extend([len(result)] * (result.device is not None and result.device.type == "npu"))
        return result

    monkeypatch.setattr(TensorDictBase, "to", to)
    return rows


@pytest.fixture(params=[False, True], ids=["rows", "tokens"])
def worker(request: pytest.FixtureRequest) -> Any:
    """Return verl's worker of actor and reference; micro-batches have so many rows, or at most so many tokens."""
    model = Model().to(get_device_name())
    optimizer = Optimizer(model.parameters(), lr=0.05)
    known = {"rollout_n": 1, "profile": {"use_profile": False, "profile_ranks": None}}
    config = McoreActorConfig(
        optim=OptimizerConfig(lr=0.5),
        ppo_mini_batch_size=MINI,
        ppo_micro_batch_size_per_gpu=MICRO,
        ppo_max_token_len_per_gpu=MAX_TOKENS,
        use_dynamic_bsz=request.param,
        data_loader_seed=1,
        entropy_coeff=0,
        **{name: value for name, value in known.items() if name in McoreActorConfig.__dataclass_fields__},
    )
    modules = torch.nn.ModuleList([model])
    actor = megatron_actor.MegatronPPOActor(
        config, None, None, SimpleNamespace(sequence_parallel=False), modules, optimizer
    )
    worker = object.__new__(megatron_workers.ActorRolloutRefWorker)
    own = {"_is_actor": True, "_is_ref": True, "actor": actor, "ref_policy": actor, "actor_optimizer": optimizer}
    offloaded = dict.fromkeys(("_is_offload_param", "_is_offload_optimizer", "_ref_is_offload_param"), False)
    counter = SimpleNamespace(estimate_flops=lambda *_, **__: (1.0, 1.0))
    scheduler = SimpleNamespace(step=lambda _count: None)
    profiler = SimpleNamespace(discrete=False, this_step=False, enable=False, _impl=None, check_enable=lambda: False)
    worker.__dict__.update(
        own, **offloaded, profiler=profiler, flops_counter=counter, actor_optimizer_scheduler=scheduler, _world_size=1
    )
    worker.__dict__.update(enable_routing_replay=False, peft_cls=None)
    log_prob = {
        "log_prob_micro_batch_size_per_gpu": MICRO,
        "log_prob_max_token_len_per_gpu": MAX_TOKENS,
        "log_prob_use_dynamic_bsz": request.param,
    }
    worker.config = OmegaConf.create(
        {
            "actor": {
                "ppo_micro_batch_size_per_gpu": MICRO,
                "ppo_epochs": 1,
                "router_replay": {"mode": "disabled"},
            },
            "rollout": {"temperature": 1.0, **log_prob},
            "ref": log_prob,
        }
    )
    return worker


@pytest.fixture
def data(worker: Any) -> DataProto:
    """Return a batch on the CPU, as it reaches a worker; the model watches where it is."""
    batch = tiny.batch()
    batch.meta_info = {"global_token_num": [1], "temperature": 1.0}
    worker.actor.actor_module[0].batch = batch
    return batch


def expected(worker: Any, data: DataProto, weight: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log-probabilities and entropy of all responses, computed at once on the CPU."""
    weight = worker.actor.actor_module[0].table.weight.detach().cpu() if weight is None else weight
    predicting = slice(-tiny.RESPONSE - 1, -1)
    logits = weight[data.batch["input_ids"].cpu()][:, predicting]
    log_probs = log_probs_of(logits, data.batch["responses"].cpu())
    seen = data.batch["attention_mask"].cpu()[:, predicting].bool()
    return log_probs.masked_fill(~seen, 0.0), entropy_of(logits)


def test_log_probabilities_and_entropy_are_right_and_come_back_to_the_cpu(worker: Any, data: DataProto) -> None:
    result = worker.compute_log_prob(data)

    found = [result.batch[name] for name in ("old_log_probs", "entropys")]
    assert {one.device.type for one in found} == {"cpu"}
    torch.testing.assert_close(found, list(expected(worker, data)))


def test_the_references_log_probabilities_are_right(worker: Any, data: DataProto) -> None:
    result = worker.compute_ref_log_prob(data)

    torch.testing.assert_close(result.batch["ref_log_prob"], expected(worker, data)[0])


def test_the_update_steps_with_the_policys_gradients(worker: Any, data: DataProto) -> None:
    model = worker.actor.actor_module[0]
    weight = model.table.weight.detach().cpu().clone().requires_grad_()
    data.batch["old_log_probs"] = expected(worker, data)[0]
    # One mini-batch, so that there is one step to compare; micro-batches count alike, however many rows they have.
    step = data[:MINI]
    worker.actor.config.__dict__["use_dynamic_bsz"] = False
    for rows in (slice(0, MICRO), slice(MICRO, MINI)):
        mask = step[rows].batch["response_mask"]
        ratio = (expected(worker, step[rows], weight)[0] - step[rows].batch["old_log_probs"]).exp()
        (-(ratio * step[rows].batch["advantages"] * mask).sum() / mask.sum() / (MINI // MICRO)).backward()

    step.meta_info = data.meta_info
    metrics = worker.update_actor(step).meta_info["metrics"]

    (gradient,) = worker.actor_optimizer.gradients
    torch.testing.assert_close(gradient, weight.grad)
    assert metrics["actor/grad_norm"] == [pytest.approx(float(weight.grad.norm()))]


@pytest.mark.parametrize("method", ["compute_log_prob", "compute_ref_log_prob", "update_actor"])
def test_only_micro_batches_are_on_the_npu_while_they_are_computed(
    worker: Any, data: DataProto, moved: list[int], method: str
) -> None:
    data.batch["old_log_probs"] = expected(worker, data)[0]
    moved.clear()

    getattr(worker, method)(data)

    model = worker.actor.actor_module[0]
    assert {device for device, _ in model.inputs} == {"npu"}
    assert model.batch_devices == {"cpu"}
    assert sum(rows for _, rows in model.inputs) == tiny.ROWS
    exchanged = [] if EDITED else [rows for rows in moved if rows in (MINI, tiny.ROWS)]
    assert sorted(moved) == sorted([*exchanged, *(rows for _, rows in model.inputs)])


@pytest.mark.skipif(not EDITED, reason="this verl does the same on every device")
@pytest.mark.parametrize("method", ["compute_log_prob", "compute_ref_log_prob", "update_actor"])
def test_on_other_devices_the_whole_batch_is_moved_first_as_upstream_does(
    worker: Any, data: DataProto, moved: list[int], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verl.utils.npu.transfer.is_npu_available", False)
    data.batch["old_log_probs"] = expected(worker, data)[0]
    moved.clear()

    getattr(worker, method)(data)

    assert set(moved) <= {tiny.ROWS, MINI}
    assert moved[0] == tiny.ROWS
    assert worker.actor.actor_module[0].batch_devices == {"npu"}


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("method", ["compute_log_prob", "compute_ref_log_prob"])
def test_stages_exchange_on_the_npu_and_the_batch_goes_back(
    worker: Any, data: DataProto, exchanged: list[torch.Size], method: str, is_last: bool
) -> None:
    vars(stub_megatron.pipeline).update(stages=2, is_last=is_last)

    result = getattr(worker, method)(data)

    model = worker.actor.actor_module[0]
    results = 2 if method == "compute_log_prob" else 1
    assert len(exchanged) == len(tiny.batch().batch.keys()) + results
    assert exchanged[-results:] == [torch.Size((tiny.ROWS, tiny.RESPONSE))] * results
    assert model.batch_devices == {"cpu"}
    assert {tensor.device.type for tensor in (*result.batch.values(), *data.batch.values())} == {"cpu"}
    if is_last:
        torch.testing.assert_close(next(iter(result.batch.values())), expected(worker, data)[0])


def test_stages_exchange_one_mini_batch_of_an_update_at_a_time(
    worker: Any, data: DataProto, exchanged: list[torch.Size], moved: list[int]
) -> None:
    data.batch["old_log_probs"] = expected(worker, data)[0]
    vars(stub_megatron.pipeline).update(stages=2)
    moved.clear()

    worker.update_actor(data)

    assert {shape[0] for shape in exchanged} == {MINI}
    assert moved.count(MINI) == tiny.ROWS // MINI
    assert max(moved) == MINI


def test_each_micro_batch_keeps_the_pictures_of_its_own_rows(worker: Any, data: DataProto) -> None:
    pictures = [{"pixel_values": torch.full((1, 2), float(row))} for row in range(tiny.ROWS)]
    data.non_tensor_batch["multi_modal_inputs"] = numpy.array(pictures, object)

    result = worker.compute_log_prob(data)

    model = worker.actor.actor_module[0]
    seen = [picture for picture in model.pictures if picture is not None]
    assert [len(picture) for picture in seen] == [rows for _, rows in model.inputs]
    assert sorted(torch.cat(seen)[:, 0].tolist()) == list(range(tiny.ROWS))
    torch.testing.assert_close(result.batch["old_log_probs"], expected(worker, data)[0])
