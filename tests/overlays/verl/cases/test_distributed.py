"""Patched verl on two ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from verl.models.transformers import monkey_patch
from verl.utils import ulysses
from verl.utils.npu.linear_cross_entropy import torch_linear_cross_entropy
from verl.utils.seqlen_balancing import _smallest_batch

RANKS = 2
Case = Callable[[int], None]
Ended = Callable[[Case], str]


def _rank(rank: int, cases: Sequence[Case], folder: str) -> None:
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    for case in cases:
        case(rank)
        dist.barrier()
        Path(folder, f"{case.__name__}{rank}").touch()
    dist.destroy_process_group()
    # All checks are done; on an ordinary exit, gloo's threads sometimes abort the process.
    os._exit(0)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Return the reason why a case failed, or ""; after the first failure no other case runs."""
    folder, said = tmp_path_factory.mktemp("ranks"), "a rank ended before this case"
    try:
        mp.spawn(_rank, args=(CASES, str(folder)), nprocs=RANKS)
    except (mp.ProcessExitedException, mp.ProcessRaisedException) as error:
        said = str(error)
    return lambda case: "" if all((folder / f"{case.__name__}{rank}").exists() for rank in range(RANKS)) else said


def _sliced_attention(rank: int) -> None:
    ulysses.set_ulysses_sequence_parallel_group(dist.group.WORLD)
    seen: dict[str, Any] = {}

    def attention(query: Any, _key: Any, value: Any, _mask: Any, query_length: int, **kwargs: Any) -> Any:
        seen.update(query_length=query_length, shape=query.shape, position_ids=kwargs["position_ids"])
        return query * 2 + value.repeat(1, 1, query.size(2) // value.size(2), 1)

    monkey_patch._flash_attention_forward = attention
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 16, 4, 8), torch.randn(1, 16, 2, 8), torch.randn(1, 16, 2, 8)
    positions = torch.cat([torch.arange(10), torch.arange(6)]).unsqueeze(0)
    share = slice(rank * 8, rank * 8 + 8)

    output = monkey_patch._ulysses_flash_attention_forward(
        query[:, share], key[:, share], value[:, share], None, 8, is_causal=True, position_ids=positions[:, share]
    )

    expected = query * 2 + value.repeat_interleave(2, dim=2)
    assert seen["query_length"] == 16
    assert seen["shape"] == (1, 16, 2, 8)
    assert torch.equal(seen["position_ids"], positions)
    torch.testing.assert_close(output, expected[:, share])

    vision = monkey_patch._ulysses_flash_attention_forward(
        query, key, value, None, 16, is_causal=False, position_ids=None
    )
    assert vision.shape == query.shape
    assert seen["shape"] == query.shape


def _shared_vocabulary(rank: int) -> None:
    torch.manual_seed(0)
    hidden, weight, labels = torch.randn(9, 8), torch.randn(12, 8), torch.randint(0, 12, (9,))
    whole_hidden, whole_weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    own_hidden, own_weight = hidden.clone().requires_grad_(), weight[rank * 6 : rank * 6 + 6].clone().requires_grad_()

    whole = torch_linear_cross_entropy(whole_hidden, whole_weight, labels, 0.8)
    shared = torch_linear_cross_entropy(own_hidden, own_weight, labels, 0.8, "none", dist.group.WORLD)
    for logprobs, entropy in (whole, shared):
        (logprobs.sum() + 0.5 * (entropy**2).sum()).backward()

    torch.testing.assert_close(shared, whole)
    torch.testing.assert_close(own_weight.grad, whole_weight.grad[rank * 6 : rank * 6 + 6])
    # As with the Triton kernel, each rank holds its part of the hidden states' gradient.
    dist.all_reduce(own_hidden.grad)
    torch.testing.assert_close(own_hidden.grad, whole_hidden.grad)


def _smallest(rank: int) -> None:
    assert _smallest_batch(5 - rank, None, same_micro_num_in_dp=True) == 4
    assert _smallest_batch(5 - rank, None, same_micro_num_in_dp=False) == 5 - rank


# The last one leaves patched modules and a registered group behind.
CASES = (_shared_vocabulary, _smallest, _sliced_attention)


def test_ulysses_attention_passes_the_gathered_length_on(ended: Ended) -> None:
    assert ended(_sliced_attention) == ""


def test_a_vocabulary_shared_between_ranks_gives_the_same_results_and_gradients(ended: Ended) -> None:
    assert ended(_shared_vocabulary) == ""


def test_ranks_agree_on_the_smallest_batch(ended: Ended) -> None:
    assert ended(_smallest) == ""
