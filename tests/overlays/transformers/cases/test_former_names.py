"""Only in older pins: names that verl imports from transformers, and the former spelling of lengths."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.integrations import flash_attention
from transformers.integrations.npu_flash_attention import index_first_axis, pad_input, rearrange, unpad_input

MASK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 1, 0, 1, 1]])
TOKENS = [(row, column) for row in range(3) for column in range(5) if MASK[row, column]]


def test_unpad_and_pad_accept_verls_arguments() -> None:
    ids = torch.arange(15).view(3, 5)
    tokens, indices, lengths, longest, *_ = unpad_input(ids.unsqueeze(-1), MASK)
    assert tokens.tolist() == [[int(ids[place])] for place in TOKENS]
    assert lengths.tolist() == [0, 3, 7, 10]
    assert lengths.dtype == torch.int32
    assert longest == 4
    log_probs = torch.arange(10.0, requires_grad=True)
    full = pad_input(hidden_states=log_probs.unsqueeze(-1), indices=indices, batch=3, seqlen=5).squeeze(-1)
    assert torch.equal(full[MASK.bool()], log_probs)
    assert not full[~MASK.bool()].any()
    (full * torch.arange(15).view(3, 5)).sum().backward()
    assert log_probs.grad is not None
    assert log_probs.grad.tolist() == [row * 5 + column for row, column in TOKENS]


def test_index_first_axis_accepts_verls_flat_positions() -> None:
    _, indices, *_ = unpad_input(torch.zeros(3, 5, 1), MASK)
    positions = torch.arange(15).view(3, 5)
    plain = index_first_axis(rearrange(positions.unsqueeze(-1), "b s ... -> (b s) ..."), indices).transpose(0, 1)
    assert plain.tolist() == [[int(positions[place]) for place in TOKENS]]
    mrope = torch.stack([positions, positions + 100, positions + 200])
    found = index_first_axis(rearrange(mrope, "c b s ... -> (b s) c ..."), indices).transpose(0, 1).unsqueeze(1)
    assert found.shape == (3, 1, 10)
    assert found[:, 0].tolist() == [[int(mrope[channel][place]) for place in TOKENS] for channel in range(3)]


def test_unpadding_on_the_device_is_differentiable() -> None:
    states = torch.randn(3, 5, 2).to("npu").requires_grad_()
    tokens, indices, *_ = unpad_input(states, MASK.to("npu"))
    (pad_input(tokens, indices, 3, 5) * 2).sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad.cpu(), 2.0 * MASK.unsqueeze(-1).expand(3, 5, 2))


def _python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)


def test_the_four_names_verl_imports_exist_without_torch_npu(tmp_path: Path) -> None:
    code = (
        "from transformers.integrations.npu_flash_attention import index_first_axis, pad_input, rearrange, unpad_input"
    )
    run = _python(code, tmp_path)
    assert run.returncode == 0, run.stderr


def test_a_missing_einops_is_named_on_use(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['einops'] = None\n"
        "from transformers.integrations.npu_flash_attention import rearrange\n"
        "try:\n    rearrange(None, 'a -> a')\nexcept ImportError as error:\n    print(error)\n"
    )
    run = _python(code, tmp_path)
    assert "einops" in run.stdout, run.stderr


def _attend(forward: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """Return the options that attention received."""
    module = torch.nn.Module()
    module.config = type("Config", (), {"_attn_implementation": "flash_attention_2"})()
    module.is_causal = True
    seen: dict[str, Any] = {}

    def spy(query: torch.Tensor, *_: Any, **options: Any) -> torch.Tensor:
        seen.update(options)
        return query

    q = torch.randn(1, 4, 3, 8, dtype=torch.bfloat16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flash_attention, "_flash_attention_forward", spy)
        forward(module, q, q, q, None, **given)
    return seen


def test_attention_accepts_both_spellings_of_lengths() -> None:
    seen = _attend(flash_attention.flash_attention_forward, cumulative_seqlens_q=1, cu_seq_lens_k=2)
    assert (seen["cu_seq_lens_q"], seen["cu_seq_lens_k"]) == (1, 2)
    assert "attn_implementation" not in seen


def test_a_kernel_of_the_hub_is_the_implementation() -> None:
    kernel = object()
    # Upstream registers kernels from the Hub this way.
    registered = partial(flash_attention.flash_attention_forward, implementation=kernel)
    assert _attend(registered)["implementation"] is kernel


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ({"cu_seq_lens_q": 1, "cumulative_seqlens_q": None}, 1),
        ({"cumulative_seqlens_q": None, "cu_seq_lens_q": 1}, 1),
        ({"cu_seq_lens_q": None, "cumulative_seqlens_q": 2}, 2),
        ({"cumulative_seqlens_q": 2, "cu_seq_lens_q": 1}, 1),
        ({"cumulative_seqlens_q": None}, None),
    ],
    ids=str,
)
def test_the_former_spelling_applies_if_the_current_one_is_none(given: dict[str, Any], length: int | None) -> None:
    assert flash_attention._with_current_names({**given, "dropout": 0.0}) == {"cu_seq_lens_q": length, "dropout": 0.0}
