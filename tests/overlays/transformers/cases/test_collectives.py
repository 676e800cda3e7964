"""Several emulated NPUs: dtypes and operations of HCCL, and the device functions that sharding needs."""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.distributed import _functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import emulation

RANKS = 2


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype).to("npu")


@pytest.fixture
def alone() -> Iterator[None]:
    """Give this process a world of one rank on HCCL."""
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "a tensor on the CPU": ("device type cpu", lambda: dist.all_reduce(torch.ones(2))),
    "an input on the CPU": ("must be NPU", lambda: dist.all_gather_single(_npu(2), torch.ones(2))),
    "a tensor with gaps": ("contiguous", lambda: dist.broadcast(_npu(4, 4)[:, :2], 0)),
    "a transposed tensor": ("contiguous", lambda: dist.all_reduce(_npu(4, 3).t())),
    "a sum of fp64": ("Unsupported data type", lambda: dist.all_reduce(_npu(2, dtype=torch.float64))),
    "a scattered sum of fp64": (
        "Unsupported data type",
        lambda: dist.reduce_scatter(_npu(2, dtype=torch.float64), [_npu(2, dtype=torch.float64)]),
    ),
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("message", "call"), REFUSED.values(), ids=REFUSED.keys())
def test_hccl_refuses(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.usefixtures("alone")
def test_hccl_transfers_fp64_without_arithmetic() -> None:
    states = _npu(2, dtype=torch.float64)
    with emulation.recorded() as recording:
        dist.broadcast(states, 0)
    assert recording.operators == {"hccl.broadcast": 1}


Case = Callable[[int], None]


def _run_rank(rank: int, cases: tuple[Case, ...], backend: str, rendezvous: str) -> None:
    torch.set_num_threads(1)
    emulation.install()
    dist.init_process_group(backend, init_method=f"file://{rendezvous}", rank=rank, world_size=RANKS)
    for case in cases:
        case(rank)
    dist.barrier()
    dist.destroy_process_group()
    # All checks are done; on an ordinary exit, gloo's threads sometimes abort the process.
    os._exit(0)


def _on_ranks(backend: str, *cases: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_run_rank, args=(cases, backend, f"{folder}/rendezvous"), nprocs=RANKS)


def _exchange(rank: int) -> None:
    """Rank 0 has 0, 1, 2, 3, and rank 1 has 10, 11, 12, 13."""
    mine = (torch.arange(4.0) + 10 * rank).to("npu")
    both = [[0, 1, 2, 3], [10, 11, 12, 13]]
    halves = [_npu(2), _npu(2)]
    quarter, whole = _npu(2), _npu(8)

    dist.all_reduce(reduced := mine.clone(), op=dist.ReduceOp.AVG)
    assert reduced.tolist() == [5, 6, 7, 8]
    dist.broadcast(sent := mine.clone(), 1)
    assert sent.tolist() == both[1]
    dist.all_gather(gathered := [_npu(4), _npu(4)], mine)
    assert [part.tolist() for part in gathered] == both
    dist.all_gather_single(whole, mine)
    assert whole.tolist() == both[0] + both[1]
    dist.reduce_scatter(quarter, list(mine.chunk(2)))
    assert quarter.tolist() == [[10, 12], [14, 16]][rank]
    dist.reduce_scatter_single(quarter, mine)
    assert quarter.tolist() == [[10, 12], [14, 16]][rank]
    dist.all_to_all(halves, list(mine.chunk(2)))
    assert [part.tolist() for part in halves] == [both[0][2 * rank :][:2], both[1][2 * rank :][:2]]
    dist.all_to_all_single(swapped := _npu(4), mine)
    assert swapped.tolist() == both[0][2 * rank :][:2] + both[1][2 * rank :][:2]
    dist.all_reduce(later := mine.clone(), async_op=True).wait()
    assert later.tolist() == [10, 12, 14, 16]
    dist.all_gather_object(objects := [None, None], {"rank": rank})
    assert objects == [{"rank": 0}, {"rank": 1}]


def _pass_on(rank: int) -> None:
    """Both send before either receives."""
    received = _npu(2)
    other = 1 - rank
    operations = [dist.P2POp(dist.isend, _npu(2) * rank, other), dist.P2POp(dist.irecv, received, other)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert received.tolist() == [other, other]


def _view_at_once(rank: int) -> None:
    """The first rank reads the result before the second has contributed."""
    # The first call takes longer than any rank does.
    functional.all_reduce(_npu(4), "sum", dist.group.WORLD).tolist()
    time.sleep(0.3 * rank)
    found = functional.all_reduce(_npu(4) * rank, "sum", dist.group.WORLD).view(2, 2)
    assert found.tolist() == [[1, 1], [1, 1]]


def test_two_ranks_exchange_what_is_on_their_devices() -> None:
    _on_ranks("hccl", _exchange, _pass_on, _view_at_once)


def _side_by_side(rank: int) -> None:
    for device in ("cpu", "npu"):
        dist.all_reduce(states := torch.full((2,), float(rank), device=device))
        assert states.tolist() == [1, 1]


def _model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def _train(model: torch.nn.Module, inputs: torch.Tensor) -> list[torch.Tensor]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(inputs).pow(2).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return [getattr(parameter, "full_tensor", lambda one=parameter: one)().detach() for parameter in model.parameters()]


def _shard(rank: int) -> None:
    inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    expected = _train(_model(), inputs)
    sharded = _model()
    mesh = init_device_mesh("npu", (RANKS,))
    for module in (sharded[0], sharded):
        fully_shard(module, mesh=mesh)
    found = _train(sharded, inputs.chunk(RANKS)[rank].to("npu"))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)


def test_beside_gloo_a_sharded_model_learns_what_one_process_does() -> None:
    _on_ranks("cpu:gloo,npu:hccl", _side_by_side, _shard)


def test_freed_memory_cannot_be_read() -> None:
    states = _npu(4)
    view = states[1:]
    states.untyped_storage().resize_(0)
    assert states.isnan().all()
    assert view.isnan().all()
    states.untyped_storage().resize_(16)
    with pytest.raises(RuntimeError, match="resized"):
        states.untyped_storage().resize_(8)


def test_tensors_saved_on_the_device_load_on_the_cpu() -> None:
    states = torch.arange(6.0).to("npu").view(2, 3)
    torch.save({"states": states, "row": states[1]}, file := io.BytesIO())
    file.seek(0)
    found = torch.load(file, map_location="cpu")
    assert found["states"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["row"].tolist() == [3, 4, 5]


def test_a_parameter_moves_by_its_data() -> None:
    layer = torch.nn.Linear(2, 1)
    weight = layer.weight
    weight.data = weight.data.to("npu")
    assert layer.weight is weight
    layer.bias.data = layer.bias.data.to("npu")
    layer(_npu(3, 2)).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[3, 3]]


def test_pinned_memory_is_a_copy_on_the_host() -> None:
    states = torch.ones(2)
    pinned = states.pin_memory()
    pinned.add_(1)
    assert (states.tolist(), pinned.tolist()) == ([1, 1], [2, 2])


def test_a_stream_is_current_inside_its_block_only() -> None:
    before = torch.npu.current_stream()
    chosen = torch.npu.Stream(priority=-1)
    with torch.npu.stream(chosen):
        assert torch.npu.current_stream() is chosen
        with torch.npu.stream(None):
            assert torch.npu.current_stream() is chosen
    assert torch.npu.current_stream() is before
