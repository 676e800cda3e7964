"""Real fine-tuning: verl's trainers from the installed wheels, two ranks, against upstream's on the CPU.

`sft.py` starts them.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import pytest
import ranks
import sft
import torch
import verl
from changed import changed
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    FalconH1Config,
    FalconH1ForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from verl.models.transformers import monkey_patch

WORDS = ["<pad>", "<eos>", "<unk>", *map(str, range(40)), *"+=?:", "user", "assistant"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} <eos> {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with tiny models and sums to learn."""
    folder = tmp_path_factory.mktemp("sums")
    tokenizer = _tokenizer()
    tokenizer.chat_template = TEMPLATE
    for family, make in (("qwen2", _qwen2), ("qwen3_moe", _qwen3_moe)):
        tokenizer.save_pretrained(folder / family)
        torch.manual_seed(0)
        make().save_pretrained(folder / family)
    sums = [{"question": f"{i % 20} + {i % 7} = ?", "answer": f"{i % 20 + i % 7}"} for i in range(256)]
    chats = [
        {"messages": [{"role": "user", "content": one["question"]}, {"role": "assistant", "content": one["answer"]}]}
        for one in sums
    ]
    pandas.DataFrame(sums).to_parquet(folder / "sums.parquet")
    pandas.DataFrame(sums[:32]).to_parquet(folder / "few.parquet")
    pandas.DataFrame(chats).to_parquet(folder / "chats.parquet")
    return folder


def _tokenizer() -> Any:
    """Return a tokenizer of these words, or of their characters where transformers reads a Qwen2 model's as bytes."""
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    if "vocab" in inspect.signature(Qwen2Tokenizer).parameters:
        # Byte pairs are written with this letter for a blank.
        characters = dict.fromkeys((*special.values(), "\u0120", *"".join(WORDS[3:])))
        return Qwen2Tokenizer(vocab={one: number for number, one in enumerate(characters)}, merges=[], **special)
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=special["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


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


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a trainer on two ranks: its losses, and for each rank the counts of operators."""

    losses: list[float]
    operators: list[dict[str, int]]


TRAINER, NEW_TRAINER = "verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer"
HAS_TRAINER = changed("verl/trainer/fsdp_sft_trainer.py", "run_sft")
HAS_NEW_TRAINER = changed("verl/trainer/sft_trainer.py", "run_sft")
# Twelve teach experts, too, which are trained in long runs only.
STEPS, FEW_STEPS = 12, 8
SEED = "trainer.deterministic_seed=3"
FAMILIES = ("qwen2", "qwen3_moe")
# Trained in long runs only: experts cost as much as the rest together, and half precision on both devices 25 s of CPU,
# where the cases of transformers hold each family's half precision on the NPU against the CPU's.
THOROUGH = {"qwen3_moe", "in bfloat16"}
# The arguments of the trainers: of the older one and of the remaining one.
OLD = (
    *("data.train_files=sums.parquet", "data.val_files=few.parquet"),
    *("data.prompt_key=question", "data.response_key=answer", "data.max_length=32"),
)
# Rounded to bfloat16, tiny models' curves part by 2 % within twelve steps, and by how much depends on the CPU. From 0.9
# on verl computes in the precision that is named; before, in bfloat16 whatever is.
ENGINE = Path(verl.__path__[0], "workers/engine/fsdp")
NAMES_PRECISION = any("_autocast_dtype" in file.read_text("utf-8") for file in ENGINE.glob("*.py"))
PRECISE = ("+engine.mixed_precision={param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}",) if NAMES_PRECISION else ()
HALF = ("engine.mixed_precision=null",) if NAMES_PRECISION else ()
CLOSE = 1e-5 if NAMES_PRECISION else 0.02
# Only what no supervised loss asks for would be compiled, and each rank would import the compiler.
NEW = (
    *("data.train_files=chats.parquet", "data.max_length=64"),
    *("engine.strategy=fsdp2", "engine.use_torch_compile=False"),
    *PRECISE,
)


def training(family: str, *more: str, attention: str = "", shared: bool = False) -> tuple[str, ...]:
    """Return the trainer's module and its arguments for a family of models.

    Args:
        family: of `FAMILIES`.
        more: further arguments.
        attention: the implementation, if it is named.
        shared: whether two ranks share each sequence.
    """
    if HAS_TRAINER:
        named = (f"model.attn_implementation={attention}",) if attention else ()
        shares = ("use_remove_padding=True", "ulysses_sequence_parallel_size=2") if shared else ()
        return TRAINER, *OLD, f"model.partial_pretrain={family}", *more, *named, *shares
    named = (f"+model.override_config.attn_implementation={attention}",) if attention else ()
    shares = ("engine.ulysses_sequence_parallel_size=2",) if shared else ()
    return NEW_TRAINER, *NEW, f"model.path={family}", *more, *named, *shares


# Operators of the fast path, which every step on the NPU must have taken.
_LAYERS = ("npu.npu_rms_norm", "npu.npu_swiglu", "npu.npu_rotary_mul", "npu.npu_fusion_attention")
# Upstream's own, for the probabilities of labels; its older trainer takes torch's loss.
_COMMON = _LAYERS if HAS_TRAINER else (*_LAYERS, "npu.npu_cross_entropy_loss")
FUSED = {"qwen2": _COMMON, "qwen3_moe": (*_COMMON, "npu.npu_grouped_matmul")}
# What is trained by name, in one start of the ranks for each group: the trainer's module and its arguments.
CPU = {family: training(family, SEED) for family in FAMILIES}
if NAMES_PRECISION:
    CPU["in bfloat16"] = training("qwen2", SEED, *HALF)
MORE: dict[str, tuple[str, ...]] = {
    attention: training("qwen2", SEED, attention=attention) for attention in ("sdpa", "eager")
}
if HAS_TRAINER and HAS_NEW_TRAINER:
    MORE["new trainer"] = (NEW_TRAINER, *NEW, "model.path=qwen2")
UPSTREAM = {family: training(family, attention="" if HAS_TRAINER else "sdpa") for family in FAMILIES}
NPU = {**CPU, "sequence parallelism": training("qwen2", SEED, shared=True)}


def train(
    folder: Path, plan: dict[str, tuple[str, ...]], *, packages: str = "", npu: bool = False, steps: int = STEPS
) -> tuple[dict[str, Run], list[ranks.Written]]:
    """Return every run of a plan by its name, and all that each rank wrote.

    Args:
        folder: with models and data.
        plan: what is trained.
        packages: folder with upstream's, to run those.
        npu: whether to train on the emulated NPU.
        steps: how many to train.
    """
    common = [
        "data.train_batch_size=16",
        "data.micro_batch_size_per_gpu=8",
        f"trainer.device={'npu' if npu else 'cpu'}",
        "trainer.logger=[console]",
        f"trainer.total_training_steps={steps}",
        "trainer.resume_mode=disable",
        "trainer.default_local_dir=checkpoints",
        "optim.lr=5e-3",
        "model.enable_gradient_checkpointing=False",
    ]
    file = Path(tempfile.mkdtemp(dir=folder)) / "plan.json"
    file.write_text(json.dumps([[trainer, *common, *arguments] for trainer, *arguments in plan.values()]), "utf-8")
    # The emulated NPU comes first. Upstream's trainer waits for what `sft.py` moves out of its way.
    imports = () if packages else ("conftest", *sorted({trainer for trainer, *_ in plan.values()}))
    script = Path(__file__).with_name("sft.py")
    written = ranks.run(script, str(file), folder=folder, imports=imports, packages=packages, npu=npu)
    parts = [one.out.split(f"{sft.BEGIN} ")[1:] for one in written]
    assert [len(one) for one in parts] == [len(plan)] * ranks.RANKS
    return {name: _run_of(list(texts)) for name, texts in zip(plan, zip(*parts, strict=True), strict=True)}, written


def _run_of(texts: list[str]) -> Run:
    """Return a run by what each rank wrote in it; the first reports the losses."""
    losses = [float(loss) for loss in re.findall(r"step:\d+ - (?:\S+ - )*train/loss:([\d.]+)", texts[0])]
    counts = [re.findall(f"^{sft.OPERATORS} (.*)", text, re.MULTILINE) for text in texts]
    return Run(losses=losses, operators=[json.loads(only) for (only,) in counts])


@pytest.fixture(scope="module")
def left_out(request: pytest.FixtureRequest) -> set[str]:
    """Return what need not be trained, since no test of this process asks for it."""
    return set() if any(item.get_closest_marker("thorough") for item in request.session.items) else THOROUGH


@pytest.fixture(scope="module")
def steps(left_out: set[str]) -> int:
    """Return how many steps are trained; verls before 0.9, which round more, keep twelve."""
    return FEW_STEPS if left_out and NAMES_PRECISION else STEPS


@pytest.fixture(scope="module")
def on_cpu(folder: Path, left_out: set[str], steps: int) -> tuple[dict[str, Run], list[ranks.Written]]:
    """Return what the installed trainers did on the CPU, and what their ranks wrote."""
    return train(folder, {name: plan for name, plan in CPU.items() if name not in left_out}, steps=steps)


@pytest.fixture(scope="module")
def otherwise(folder: Path) -> dict[str, Run]:
    """Return what they did there with other attention, and what the other trainer did."""
    return train(folder, MORE)[0]


@pytest.fixture(scope="module")
def on_npu(folder: Path, left_out: set[str], steps: int) -> dict[str, Run]:
    """Return what they did on the emulated NPU."""
    plan = {name: arguments for name, arguments in NPU.items() if name not in left_out}
    return train(folder, plan, npu=True, steps=steps)[0]


@pytest.fixture(scope="module")
def upstreams(folder: Path) -> dict[str, Run]:
    """Return what upstream's trainer did on the CPU."""
    return train(folder, UPSTREAM, packages=os.environ["UPSTREAM_PACKAGES"])[0]


def test_the_loss_goes_down_and_the_summary_is_logged_once(
    on_cpu: tuple[dict[str, Run], list[ranks.Written]], steps: int
) -> None:
    runs, written = on_cpu
    losses = runs["qwen2"].losses

    assert len(losses) == steps
    assert losses[-1] < 0.7 * losses[0]
    assert [(one.out + one.err).count("= NPU Patch Summary =") for one in written] == [1, 0]


@pytest.mark.thorough
def test_attention_is_scaled_dot_products_unless_it_is_named(
    on_cpu: tuple[dict[str, Run], list[ranks.Written]], otherwise: dict[str, Run]
) -> None:
    assert on_cpu[0]["qwen2"].losses == otherwise["sdpa"].losses
    assert len(otherwise["eager"].losses) == STEPS
    assert _apart(otherwise["eager"].losses, otherwise["sdpa"].losses) <= CLOSE


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_attention_that_exchanges_nothing_shares_no_sequences(attention: str) -> None:
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES, attn_implementation=attention))

    with pytest.raises(ValueError, match=f"'{attention}'.*attn_implementation"):
        monkey_patch.apply_monkey_patch(model, ulysses_sp_size=2)


def test_a_model_with_a_state_shares_no_sequences() -> None:
    model = FalconH1ForCausalLM(FalconH1Config(**SIZES, attn_implementation="eager"))
    model.config._attn_implementation = "flash_attention_2"

    with pytest.raises(NotImplementedError, match="FalconH1ForCausalLM has layers that carry another state"):
        monkey_patch.apply_monkey_patch(model, ulysses_sp_size=2)


@pytest.mark.thorough
def test_on_the_cpu_two_ranks_share_no_sequences(folder: Path) -> None:
    with pytest.raises(AssertionError, match="ulysses_sequence_parallel_size=2 needs FlashAttention"):
        train(folder, {"shared": training("qwen2", SEED, shared=True)})


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_the_curve_is_upstreams(
    on_cpu: tuple[dict[str, Run], list[ranks.Written]], upstreams: dict[str, Run], family: str
) -> None:
    losses = on_cpu[0][family].losses

    assert len(losses) == STEPS
    assert losses[-1] < 0.7 * losses[0]
    assert _apart(losses, upstreams[family].losses) <= CLOSE


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in THOROUGH)) for name in NPU]
)
def test_the_curve_on_the_npu_is_that_on_the_cpu(
    on_cpu: tuple[dict[str, Run], list[ranks.Written]], on_npu: dict[str, Run], steps: int, name: str
) -> None:
    run, alike = on_npu[name], on_cpu[0][name if name in CPU else "qwen2"]
    shared = ("hccl.alltoall_base",) if name not in CPU else ()

    assert len(run.losses) == steps
    assert run.losses[-1] < 0.7 * run.losses[0]
    assert _apart(run.losses, alike.losses) <= (0.02 if name == "in bfloat16" else CLOSE)
    wanted = {*FUSED.get(name, FUSED["qwen2"]), "hccl.reduce_scatter_base", *shared}
    lacking = [{name for name in wanted if counts.get(name, 0) < steps} for counts in run.operators]
    assert lacking == [set(), set()]


def _apart(one: list[float], other: list[float]) -> float:
    """Return how far two curves are apart at most, relative to the second."""
    return max(abs(here - there) / there for here, there in zip(one, other, strict=True))


@pytest.mark.thorough
@pytest.mark.skipif(not (HAS_TRAINER and HAS_NEW_TRAINER), reason="this verl has one trainer only")
def test_the_new_trainer_learns_too(otherwise: dict[str, Run]) -> None:
    losses = otherwise["new trainer"].losses

    assert losses[-1] < 0.7 * losses[0]
