"""Real fine-tuning: verl's trainers from the installed wheels, two ranks, against upstream's on the CPU.

On the CPU they run as they are; on the emulated NPU `npu_sft.py` starts them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pandas
import pytest
import ranks
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

WORDS = ["<pad>", "<eos>", "<unk>", *map(str, range(40)), *"+=?:", "user", "assistant"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} <eos> {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tiny models and sums to learn."""
    folder = tmp_path_factory.mktemp("sums")
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=special["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.chat_template = TEMPLATE
    for family, make in (("qwen2", _qwen2), ("qwen3_moe", _qwen3_moe)):
        fast.save_pretrained(folder / family)
        torch.manual_seed(0)
        make().save_pretrained(folder / family)
    sums = [{"question": f"{i % 20} + {i % 7} = ?", "answer": f"{i % 20 + i % 7}"} for i in range(256)]
    chats = [
        {"messages": [{"role": "user", "content": one["question"]}, {"role": "assistant", "content": one["answer"]}]}
        for one in sums
    ]
    pandas.DataFrame(sums).to_parquet(folder / "sums.parquet")
    pandas.DataFrame(chats).to_parquet(folder / "chats.parquet")
    return folder


SIZES: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "tie_word_embeddings": False,
    # With the usual weights, near zero, the layers would hardly show in the loss.
    "initializer_range": 0.1,
}


def _qwen2() -> Any:
    return Qwen2ForCausalLM(Qwen2Config(**SIZES))


def _qwen3_moe() -> Any:
    # Most experts for every token: upstream gives an expert without tokens no gradient at all, and FSDP2's ranks then
    # disagree on what they exchange.
    experts = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 3, "head_dim": 16}
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**SIZES, **experts))


@functools.cache
def train(
    folder: Path, trainer: Path | str, *arguments: str, packages: str = "", npu: bool = False
) -> tuple[list[float], str]:
    """Return the losses of a two-rank run and everything it wrote.

    Args:
        folder: with models and data.
        trainer: name of its module, or a script that runs one.
        arguments: of the trainer.
        packages: folder with upstream's, to run those.
        npu: whether to train on the emulated NPU.
    """
    common = [
        "data.max_length=32",
        "data.train_batch_size=16",
        "data.micro_batch_size_per_gpu=8",
        f"trainer.device={'npu' if npu else 'cpu'}",
        "trainer.logger=[console]",
        "trainer.total_training_steps=12",
        "trainer.resume_mode=disable",
        "trainer.default_local_dir=checkpoints",
        "optim.lr=5e-3",
        "model.enable_gradient_checkpointing=False",
    ]
    start = [Path(__file__).with_name("npu_sft.py"), str(trainer)] if npu else [trainer]
    written = ranks.run(*start, *common, *arguments, folder=folder, packages=packages, npu=npu)
    return [float(loss) for loss in re.findall(r"step:\d+ - train/loss:([\d.]+)", written)], written


TRAINER = "verl.trainer.fsdp_sft_trainer"
DATA = (
    "data.train_files=sums.parquet",
    "data.val_files=sums.parquet",
    "data.prompt_key=question",
    "data.response_key=answer",
)
SEEDED = (*DATA, "model.partial_pretrain=qwen2", "trainer.deterministic_seed=3")

SEQUENCE_PARALLEL = ("use_remove_padding=True", "ulysses_sequence_parallel_size=2")
# Operators of the fast path, which every step on the NPU must have taken.
_COMMON = ("npu.npu_rms_norm", "npu.npu_swiglu", "npu.npu_rotary_mul", "npu.npu_fusion_attention")
FUSED = {"qwen2": _COMMON, "qwen3_moe": (*_COMMON, "npu.npu_grouped_matmul")}


def test_the_loss_goes_down_and_the_summary_is_logged_once(folder: Path) -> None:
    losses, written = train(folder, TRAINER, *SEEDED)
    again, _ = train(folder, TRAINER, *SEEDED, "model.attn_implementation=sdpa")

    assert len(losses) == 12
    assert losses[-1] < 0.7 * losses[0]
    assert losses == again
    if importlib.util.find_spec("verl_npu_summary"):
        assert written.count("= NPU Patch Summary =") == 1


def test_eager_attention_gives_the_same_curve(folder: Path) -> None:
    sdpa, _ = train(folder, TRAINER, *SEEDED)
    eager, _ = train(folder, TRAINER, *SEEDED, "model.attn_implementation=eager")

    assert len(eager) == 12
    assert _apart(eager, sdpa) <= 0.02


@pytest.mark.parametrize("family", ["qwen2", "qwen3_moe"])
def test_the_curve_is_upstreams(folder: Path, family: str) -> None:
    model = f"model.partial_pretrain={family}"
    reference = Path(__file__).with_name("upstream_sft.py")
    losses, _ = train(folder, TRAINER, *DATA, model, "trainer.deterministic_seed=3")
    expected, _ = train(folder, reference, *DATA, model, packages=os.environ["UPSTREAM_PACKAGES"])

    assert len(losses) == 12
    assert losses[-1] < 0.7 * losses[0]
    assert _apart(losses, expected) <= 0.02


@pytest.mark.parametrize(
    ("family", "options"),
    [("qwen2", ()), ("qwen3_moe", ()), ("qwen2", SEQUENCE_PARALLEL)],
    ids=["qwen2", "qwen3_moe", "qwen2 with sequence parallelism"],
)
def test_the_curve_on_the_npu_is_that_on_the_cpu(folder: Path, family: str, options: tuple[str, ...]) -> None:
    arguments = (*DATA, f"model.partial_pretrain={family}", "trainer.deterministic_seed=3")
    expected, _ = train(folder, TRAINER, *arguments)
    losses, written = train(folder, TRAINER, *arguments, *options, npu=True)

    assert len(losses) == 12
    assert losses[-1] < 0.7 * losses[0]
    assert _apart(losses, expected) <= 0.02
    wanted = {*FUSED[family], "hccl.reduce_scatter_base", *(("hccl.alltoall_base",) if options else ())}
    ran = [json.loads(counts) for counts in re.findall("^operators: (.*)", written, re.MULTILINE)]
    assert [{name for name in wanted if counts.get(name, 0) < 12} for counts in ran] == [set(), set()]


def _apart(one: list[float], other: list[float]) -> float:
    """Return how far two curves are apart at most, relative to the second."""
    return max(abs(here - there) / there for here, there in zip(one, other, strict=True))


@pytest.mark.skipif(not importlib.util.find_spec("verl.trainer.sft_trainer"), reason="this verl has one trainer only")
def test_the_new_trainer_learns_too(folder: Path) -> None:
    losses, _ = train(
        folder,
        "verl.trainer.sft_trainer",
        "data.train_files=chats.parquet",
        "model.path=qwen2",
        "engine.strategy=fsdp2",
    )

    assert losses[-1] < 0.7 * losses[0]
