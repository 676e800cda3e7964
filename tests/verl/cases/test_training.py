"""Real fine-tuning: verl's trainers from the installed wheels, two ranks on the CPU."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

WORDS = ["<pad>", "<eos>", "<unk>", *map(str, range(40)), *"+=?:", "user", "assistant"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} <eos> {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny model and sums to learn."""
    folder = tmp_path_factory.mktemp("sums")
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=special["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder / "model")
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(WORDS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder / "model")
    sums = [{"question": f"{i % 20} + {i % 7} = ?", "answer": f"{i % 20 + i % 7}"} for i in range(256)]
    chats = [
        {"messages": [{"role": "user", "content": one["question"]}, {"role": "assistant", "content": one["answer"]}]}
        for one in sums
    ]
    pandas.DataFrame(sums).to_parquet(folder / "sums.parquet")
    pandas.DataFrame(chats).to_parquet(folder / "chats.parquet")
    return folder


def train(folder: Path, module: str, *arguments: str) -> tuple[list[float], str]:
    """Return the losses of a two-rank run and everything it wrote."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", module]
    common = [
        "data.max_length=32",
        "data.train_batch_size=16",
        "data.micro_batch_size_per_gpu=8",
        "trainer.device=cpu",
        "trainer.logger=[console]",
        "trainer.total_training_steps=12",
        "trainer.resume_mode=disable",
        "trainer.default_local_dir=checkpoints",
        "optim.lr=5e-3",
        "model.enable_gradient_checkpointing=False",
    ]
    done = subprocess.run([*command, *common, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    written = done.stdout + done.stderr
    assert done.returncode == 0, written[-4000:]
    return [float(loss) for loss in re.findall(r"step:\d+ - train/loss:([\d.]+)", written)], written


LEGACY = (
    "verl.trainer.fsdp_sft_trainer",
    "data.train_files=sums.parquet",
    "data.val_files=sums.parquet",
    "data.prompt_key=question",
    "data.response_key=answer",
    "model.partial_pretrain=model",
)


def test_the_loss_goes_down_and_the_summary_is_logged_once(folder: Path) -> None:
    losses, written = train(folder, *LEGACY, "trainer.deterministic_seed=3")
    again, _ = train(folder, *LEGACY, "trainer.deterministic_seed=3", "model.attn_implementation=sdpa")

    assert len(losses) == 12
    assert losses[-1] < 0.7 * losses[0]
    assert losses == again
    if importlib.util.find_spec("verl_npu_summary"):
        assert written.count("= NPU Patch Summary =") == 1


def test_eager_attention_gives_the_same_curve(folder: Path) -> None:
    sdpa, _ = train(folder, *LEGACY)
    eager, _ = train(folder, *LEGACY, "model.attn_implementation=eager")

    assert len(eager) == 12
    assert all(abs(one - other) <= 0.02 * other for one, other in zip(eager, sdpa, strict=True))


@pytest.mark.skipif(not importlib.util.find_spec("verl.trainer.sft_trainer"), reason="this verl has one trainer only")
def test_the_new_trainer_learns_too(folder: Path) -> None:
    losses, _ = train(
        folder,
        "verl.trainer.sft_trainer",
        "data.train_files=chats.parquet",
        "model.path=model",
        "engine.strategy=fsdp2",
    )

    assert losses[-1] < 0.7 * losses[0]
