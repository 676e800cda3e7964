"""Actor: verl's DataParallelPPOActor over tiny models; log-probabilities, entropy, metrics and gradients out.

Run as a script with the path of a file, it saves what the verl and transformers
in reach compute on CPU: the reference, when they are upstream's.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

VOCABULARY, PROMPT, RESPONSE, ROWS = 61, 5, 6, 8
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
MOE: dict[str, Any] = {"moe_intermediate_size": 20, "num_experts": 6, "num_experts_per_tok": 2, "head_dim": 8}
FAMILIES = ("qwen2", "qwen3_moe")
# Every expert for every token: upstream gives an expert without tokens no gradient at all, and FSDP2's ranks then
# disagree on what they exchange.
EVERY_EXPERT = "qwen3_moe, every expert"
Results = dict[str, torch.Tensor]
# Of log-probabilities, entropy and gradients: a few roundings of bfloat16, placed differently, through two layers.
TOLERANCE = 0.03
# Operators of the fast path, which a run on the NPU must have taken.
FUSED = {
    "qwen2": ("npu_rms_norm", "npu_swiglu", "npu_rotary_mul"),
    "qwen3_moe": ("npu_rms_norm", "npu_rotary_mul", "npu_grouped_matmul"),
}


def model_of(family: str, attention: str = "eager") -> Any:
    """Return a tiny random model; norms and biases are not at their starting values, which would hide mistakes."""
    torch.manual_seed(7)
    if family == "qwen2":
        model: Any = Qwen2ForCausalLM(Qwen2Config(**SIZES, attn_implementation=attention))
    else:
        chosen = {"num_experts_per_tok": MOE["num_experts"]} if family == EVERY_EXPERT else {}
        model = Qwen3MoeForCausalLM(Qwen3MoeConfig(**SIZES, **{**MOE, **chosen}, attn_implementation=attention))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.4 if parameter.dim() == 1 else 0.0, std=0.15)
    # As under FSDP's mixed precision.
    return model.to(torch.bfloat16)


def batch() -> Any:
    """Return prompts padded on the left, answers padded on the right, and advantages."""
    from verl import DataProto  # noqa: PLC0415  # the emulated NPU comes first

    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(VOCABULARY, (ROWS, PROMPT + RESPONSE), generator=generator)
    mask = torch.ones_like(ids)
    for row in range(ROWS):
        mask[row, : row % 3] = 0
        mask[row, PROMPT + RESPONSE - row % 4 :] = 0
    response_mask = mask[:, PROMPT:]
    tensors = {
        "input_ids": ids,
        "responses": ids[:, PROMPT:],
        "attention_mask": mask,
        "response_mask": response_mask,
        "position_ids": (mask.cumsum(1) - 1).clamp(min=0),
        "advantages": torch.randn(ROWS, RESPONSE, generator=generator) * response_mask,
    }
    return DataProto.from_dict(tensors)


def run(family: str, device: str = "cpu", *, attention: str = "eager", packed: bool = False) -> Results:
    """Return what the actor computes and the gradients it steps with, all on CPU.

    Args:
        family: of `FAMILIES`.
        device: where the model is.
        attention: implementation the model is built with.
        packed: whether the actor removes padding.
    """
    return results(model_of(family, attention).to(device), batch().to(device), ROWS // 2, packed=packed)


def results(model: Any, data: Any, mini_batch: int, *, packed: bool, sequence_parallel: int = 1) -> Results:
    """Return what `run` does, for a model and rows of the batch that are in place already.

    Args:
        model: sharded or not.
        data: all rows, or this rank's.
        mini_batch: of how many of these rows an update is made.
        packed: whether the actor removes padding.
        sequence_parallel: how many ranks share each sequence.
    """
    from verl.workers.actor.dp_actor import DataParallelPPOActor  # noqa: PLC0415

    gradients: Results = {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    optimizer.register_step_pre_hook(lambda *_: gradients.update(_gradients(model, len(gradients))))
    actor = DataParallelPPOActor(_configuration(mini_batch, packed, sequence_parallel), model, optimizer)
    data.meta_info = {"micro_batch_size": 4, "temperature": 0.9, "use_dynamic_bsz": False}
    computed = actor.compute_log_prob(data, calculate_entropy=True)
    logprobs, entropy = (computed["log_probs"], computed["entropys"]) if isinstance(computed, dict) else computed
    data.batch["old_log_probs"] = logprobs
    data.batch["ref_log_prob"] = logprobs - 1.0
    metrics = actor.update_policy(data)
    keep = data.batch["response_mask"].cpu()
    found = {"log_probs": logprobs.float().cpu() * keep, "entropy": entropy.float().cpu() * keep}
    found |= {name: torch.tensor(value, dtype=torch.float64) for name, value in metrics.items()}
    return found | gradients


def error(found: Results, expected: Results, names: list[str]) -> float:
    """Return the norm of all differences over the norm of all expected values."""
    assert names
    difference = sum(float((found[name] - expected[name]).double().pow(2).sum()) for name in names)
    return float((difference / sum(float(expected[name].double().pow(2).sum()) for name in names)) ** 0.5)


def errors(found: Results, expected: Results) -> dict[str, float]:
    """Return the errors of what two runs have in common, whatever the number of ranks: by kind."""
    single = {name: error(found, expected, [name]) for name in ("log_probs", "entropy", "actor/grad_norm")}
    return {
        **single,
        "gradients": error(found, expected, [name for name in expected if name.startswith("first grad ")]),
    }


def _configuration(mini_batch: int, packed: bool, sequence_parallel: int) -> Any:
    from verl.workers.config import FSDPActorConfig, OptimizerConfig  # noqa: PLC0415

    known = {"rollout_n": 1}
    config = FSDPActorConfig(
        **{name: value for name, value in known.items() if name in FSDPActorConfig.__dataclass_fields__},
        optim=OptimizerConfig(lr=0.5),
        ppo_mini_batch_size=mini_batch,
        ppo_micro_batch_size_per_gpu=2,
        use_torch_compile=False,
        entropy_coeff=0.01,
        use_kl_loss=True,
        ulysses_sequence_parallel_size=sequence_parallel,
    )
    # Known to one pin as a field, and to the other as a key only.
    object.__setattr__(config, "use_remove_padding", packed)
    return config


def _gradients(model: torch.nn.Module, before: int) -> Results:
    """Return copies of all gradients; those of the first step are called ``first``, lest later ones replace them."""
    step = "later" if before else "first"
    named = ((name, parameter.grad) for name, parameter in model.named_parameters())
    return {f"{step} grad {name}": _whole(grad).float().cpu() for name, grad in named if grad is not None}


def _whole(tensor: Any) -> torch.Tensor:
    """Return a tensor with the parts that other ranks hold."""
    whole: torch.Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def start() -> None:
    """Make this process a world of one rank, which the actor asks for."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    start()
    torch.save({family: run(family) for family in FAMILIES}, sys.argv[1])
