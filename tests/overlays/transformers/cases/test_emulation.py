"""The emulated NPU itself: it computes what the CPU computes, and refuses what the real operators refuse."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_npu

import emulation

VERSION = torch_npu.__version__
ops = torch.ops.npu


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape).to(dtype).to("npu")


def _ends(*values: int) -> torch.Tensor:
    return torch.tensor(values, device="npu")


def _grouped(x: torch.Tensor, weight: list[torch.Tensor], **options: Any) -> torch.Tensor:
    settings = {"split_item": 2, "group_type": 0, "group_list_type": 0, "group_list": _ends(1, 4), **options}
    result: torch.Tensor = ops.npu_grouped_matmul([x], weight, **settings)[0]
    return result


def _attention(q: torch.Tensor, k: torch.Tensor, heads: int = 4, layout: str = "BSND", **options: Any) -> torch.Tensor:
    result: torch.Tensor = ops.npu_fusion_attention(q, k, k, heads, layout, **options)[0]
    return result


REFUSED: dict[str, Callable[[], Any]] = {
    "rms_norm: bf16 x with fp16 gamma": lambda: ops.npu_rms_norm(
        _npu(2, 4, dtype=torch.bfloat16), _npu(4, dtype=torch.float16)
    ),
    "rms_norm: bf16 x with fp32 gamma": lambda: ops.npu_rms_norm(_npu(2, 4, dtype=torch.bfloat16), _npu(4)),
    "rms_norm: one dimension": lambda: ops.npu_rms_norm(_npu(4), _npu(4)),
    "rms_norm: fp32 x with bf16 gamma": lambda: ops.npu_rms_norm(_npu(2, 4), _npu(4, dtype=torch.bfloat16)),
    "rms_norm: fp64": lambda: ops.npu_rms_norm(_npu(2, 4, dtype=torch.float64), _npu(4, dtype=torch.float64)),
    "rms_norm: tensor on the CPU": lambda: ops.npu_rms_norm(_npu(2, 4), torch.ones(4)),
    "cross entropy: int32 targets": lambda: ops.npu_cross_entropy_loss(_npu(2, 4), _ends(1, 3).int(), reduction="none"),
    "cross entropy: targets on the CPU": lambda: ops.npu_cross_entropy_loss(
        _npu(2, 4), torch.tensor([1, 3]), reduction="none"
    ),
    "cross entropy: three dimensions": lambda: ops.npu_cross_entropy_loss(_npu(1, 2, 4), _ends(1, 3), reduction="none"),
    "cross entropy: more than 200,000 targets": lambda: ops.npu_cross_entropy_loss(
        _npu(200_001, 1), torch.zeros(200_001, dtype=torch.int64, device="npu"), reduction="none"
    ),
    "swiglu: odd size": lambda: ops.npu_swiglu(_npu(2, 5), -1),
    "swiglu: not contiguous": lambda: ops.npu_swiglu(_npu(4, 2).t(), -1),
    "rotary: odd head dimension": lambda: ops.npu_rotary_mul(_npu(1, 1, 2, 5), _npu(1, 1, 2, 5), _npu(1, 1, 2, 5)),
    "rotary: three dimensions": lambda: ops.npu_rotary_mul(_npu(1, 2, 4), _npu(1, 2, 4), _npu(1, 2, 4)),
    "permute: fp32 tokens": lambda: ops.npu_moe_token_permute(_npu(4, 2), _ends(0, 1, 1, 0).view(4, 1)),
    "permute: int32 indices": lambda: ops.npu_moe_token_permute(
        _npu(4, 2, dtype=torch.bfloat16), _ends(0, 1, 1, 0).view(4, 1).int()
    ),
    "permute: more than 512 experts a token": lambda: ops.npu_moe_token_permute(
        _npu(1, 2, dtype=torch.bfloat16), torch.zeros(1, 513, dtype=torch.int64, device="npu")
    ),
    "unpermute: int64 positions": lambda: ops.npu_moe_token_unpermute(
        _npu(2, 2, dtype=torch.bfloat16), _ends(1, 0), _npu(2, 1, dtype=torch.bfloat16)
    ),
    "grouped: fp32 weights in a list": lambda: _grouped(_npu(4, 2), [_npu(2, 3), _npu(2, 3)]),
    "grouped: a bias": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3)], bias=[_npu(3)]),
    "grouped: an inner axis of 65536": lambda: _grouped(_npu(4, 65536), [_npu(2, 65536, 1)]),
    "grouped: one counted group": lambda: _grouped(_npu(4, 2), [_npu(1, 2, 3)], group_list=_ends(4), group_list_type=1),
    "grouped: list does not reach the end": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3)], group_list=_ends(1, 3)),
    "grouped: descending list": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3)], group_list=_ends(5, 4)),
    "grouped: int32 list": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3)], group_list=_ends(1, 4).int()),
    "grouped: list on the CPU": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3)], group_list=torch.tensor([1, 4])),
    "grouped: mixed dtypes": lambda: _grouped(_npu(4, 2), [_npu(2, 2, 3, dtype=torch.bfloat16)]),
    "grouped: transposed x": lambda: _grouped(_npu(2, 4).t(), [_npu(2, 2, 3)]),
    "grouped: half of the weights transposed": lambda: _grouped(
        _npu(4, 2, dtype=torch.bfloat16), [_npu(2, 3, dtype=torch.bfloat16), _npu(3, 2, dtype=torch.bfloat16).t()]
    ),
    "grouped: more than 128 weights": lambda: _grouped(
        _npu(4, 2, dtype=torch.bfloat16), [_npu(2, 3, dtype=torch.bfloat16)] * 129
    ),
    "grouped: untransposed x when the reduction is split": lambda: _grouped(_npu(3, 4), [_npu(4, 2)], group_type=2),
    "attention: wrong head_num": lambda: _attention(_npu(1, 3, 4, 8), _npu(1, 3, 4, 8), heads=3),
    "attention: heads that do not divide": lambda: _attention(_npu(1, 3, 4, 8), _npu(1, 3, 3, 8)),
    "attention: head dimension above 768": lambda: _attention(_npu(1, 1, 4, 770), _npu(1, 1, 4, 770)),
    "attention: larger heads in values than in keys": lambda: ops.npu_fusion_attention(
        _npu(1, 3, 4, 8), _npu(1, 3, 4, 8), _npu(1, 3, 4, 9), 4, "BSND"
    ),
    "attention: 257 heads": lambda: _attention(_npu(1, 1, 257, 8), _npu(1, 1, 257, 8), heads=257),
    "attention: more than 1,000,000 joined tokens": lambda: _attention(
        *(_npu(1_000_001, 1, 1),) * 2, 1, "TND", actual_seq_qlen=[1_000_001], actual_seq_kvlen=[1_000_001]
    ),
    "attention: more than 1,000 joined sequences": lambda: _attention(
        *(_npu(1001, 1, 1),) * 2, 1, "TND", actual_seq_qlen=[*range(1, 1002)], actual_seq_kvlen=[*range(1, 1002)]
    ),
    "attention: mixed dtypes": lambda: _attention(_npu(1, 3, 4, 8), _npu(1, 3, 4, 8, dtype=torch.bfloat16)),
    "attention: lengths that miss tokens": lambda: _attention(
        _npu(5, 4, 8), _npu(5, 4, 8), layout="TND", actual_seq_qlen=[2, 4], actual_seq_kvlen=[2, 5]
    ),
    "attention: small mask for a compressed mode": lambda: _attention(
        _npu(1, 3, 4, 8), _npu(1, 3, 4, 8), atten_mask=torch.ones(3, 3, device="npu").triu(1).bool(), sparse_mode=3
    ),
    "attention: mask of ones and zeros in floats": lambda: _attention(
        _npu(1, 3, 4, 8), _npu(1, 3, 4, 8), atten_mask=_npu(3, 3), sparse_mode=1
    ),
    "attention: rows without keys in TND": lambda: _attention(
        _npu(5, 4, 8),
        _npu(3, 4, 8),
        layout="TND",
        actual_seq_qlen=[5],
        actual_seq_kvlen=[3],
        atten_mask=torch.ones(2048, 2048, device="npu").triu(1).bool(),
        sparse_mode=3,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_the_real_operators_refuse(name: str) -> None:
    if not hasattr(ops, f"npu_moe_token_{name.partition(':')[0]}") and "permute" in name:
        pytest.xfail(f"torch_npu {VERSION} has no such operator")
    # The operator itself says which rule it is, and not the dispatcher that it takes no such argument.
    with pytest.raises(RuntimeError, match=r"^npu_\w+: "):
        REFUSED[name]()


def test_the_interleaved_rotary_turns_pairs_of_neighbours() -> None:
    if VERSION == "2.5.1rc1":
        pytest.xfail("2.5.1rc1 knows one mode")
    states, angles = torch.randn(2, 3, 5, 4), torch.randn(1, 1, 5, 2).repeat_interleave(2, -1)
    turned = states.to("npu").requires_grad_()
    output = ops.npu_rotary_mul(turned, angles.cos().to("npu"), angles.sin().to("npu"), "interleave")
    expected = torch.view_as_complex(states.view(2, 3, 5, 2, 2)) * torch.polar(torch.ones(()), angles[..., ::2])
    assert torch.allclose(output.detach().cpu(), torch.view_as_real(expected).flatten(-2), atol=1e-6)
    # What is turned forward comes back.
    output.backward(output.detach())
    assert turned.grad is not None
    assert torch.allclose(turned.grad.cpu(), states, atol=1e-6)
    with pytest.raises(RuntimeError, match="does not broadcast"):
        ops.npu_rotary_mul(states.to("npu"), *(torch.ones(2, 1, 5, 4, device="npu"),) * 2, "interleave")


def test_fusion_attention_refuses_a_misspelt_argument() -> None:
    with pytest.raises(RuntimeError, match="pre_tokens"):
        _attention(_npu(1, 3, 4, 8), _npu(1, 3, 4, 8), pre_tokens=3)


@pytest.mark.skipif(VERSION.startswith("2.5"), reason="torch_npu 2.5 has a default")
def test_group_type_must_be_passed() -> None:
    with pytest.raises(RuntimeError, match="Requires manual passing group_type"):
        ops.npu_grouped_matmul([_npu(4, 2)], [_npu(2, 2, 3)], group_list=_ends(1, 4), split_item=2)


def test_grouped_matmul_without_a_backward_only_warns() -> None:
    x = _npu(4, 2).requires_grad_()
    output = _grouped(x, [_npu(2, 2, 3)])
    assert output.requires_grad
    with pytest.warns(UserWarning, match="autograd kernel was not registered"):
        output.sum().backward()
    assert x.grad is None


def test_an_attention_without_a_mask_ignores_the_causal_mode() -> None:
    q, k = _npu(1, 3, 4, 8), _npu(1, 3, 2, 8)
    assert torch.equal(_attention(q, k).cpu(), _attention(q, k, sparse_mode=3).cpu())


def test_plain_operators_agree_with_the_cpu() -> None:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    states = torch.randn(2, 5, 16)
    on_npu = copy.deepcopy(model).to("npu")
    model(states).pow(2).sum().backward()
    on_npu(states.to("npu")).pow(2).sum().backward()
    for (name, one), other in zip(model.named_parameters(), on_npu.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.allclose(one.grad, other.grad.cpu(), atol=1e-5), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_cross_entropy_is_the_cpus(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 7).to(dtype)
    target = torch.tensor([0, 6, -100, 3, 3])
    weights = torch.arange(1.0, 6.0).to(dtype)

    wanted = logits.float().clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(wanted, target, reduction="none")
    (expected * weights.float()).sum().backward()
    states = logits.to("npu").requires_grad_()
    loss, log_probs, *_ = ops.npu_cross_entropy_loss(states, target.to("npu"), reduction="none")
    (loss * weights.to("npu")).sum().backward()

    tolerance = 1e-6 if dtype == torch.float32 else 0.05
    assert (loss.dtype, log_probs.requires_grad) == (dtype, False)
    assert torch.allclose(loss.cpu().float(), expected, atol=tolerance)
    assert states.grad is not None
    assert torch.allclose(states.grad.cpu().float(), wanted.grad, atol=tolerance)


def test_memory_is_the_devices_own() -> None:
    source = torch.zeros(3)
    copied = source.to("npu")
    copied.add_(1)
    assert source.tolist() == [0, 0, 0]
    view = copied[1:]
    view.mul_(5)
    assert copied.tolist() == [1, 5, 5]


def test_tensors_of_two_devices_do_not_mix() -> None:
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="npu") + torch.ones(2)
    assert (torch.ones(2, device="npu") + torch.tensor(1.0)).tolist() == [2, 2]


def test_waiting_for_the_device_is_counted() -> None:
    values = torch.arange(4, device="npu")
    with emulation.recorded() as recording:
        values + 1
    assert not recording.waits
    with emulation.recorded() as recording:
        values.tolist()
        values.sum().item()
        values.nonzero()
    assert sum(recording.waits.values()) == 3


def test_an_optimiser_trains_on_the_device() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).to("npu")
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.05)
    states, wanted = _npu(16, 4), _npu(16, 1)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            optimiser.zero_grad()
            loss = torch.nn.functional.mse_loss(model(states), wanted)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_writes_through_nested_views_have_the_cpus_gradients() -> None:
    """Autograd finds the place that was written by where the view lies in its storage."""

    def gradient(device: str) -> torch.Tensor:
        leaf = torch.arange(18.0).view(2, 3, 3).to(device).requires_grad_()
        states = leaf * 1.0
        states[..., 1, :1] = states[..., 1, :1].clone() * 2
        states[:, 2] = states[:, 0] * 3
        (states.view(-1, 9)[:, 2:] * torch.arange(14.0).view(2, 7).to(device)).sum().backward()
        assert leaf.grad is not None
        return leaf.grad.cpu()

    assert torch.equal(gradient("npu"), gradient("cpu"))


def test_a_histogram_of_integers_is_counted() -> None:
    numbers = torch.tensor([0, 2, 2, 5, 7], dtype=torch.int32, device="npu")
    counted = torch.histc(numbers, bins=4, min=0, max=3)
    assert (counted.cpu().tolist(), counted.dtype) == ([1, 0, 2, 0], torch.int32)
