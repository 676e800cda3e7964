"""Smoke recipes, run: real training on the CPU, taken up again, and the same on two emulated NPUs."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest

from environments.once import once
from npu_recipes.launch.curve import read_curve
from verl_stacks import STACKS

from ..stacks import Recipes, installed

pytestmark = [pytest.mark.index, pytest.mark.thorough]
EMULATED = Path(__file__).parent / "emulated"
LAB = Path(__file__).parents[3] / "lab"
STUBS = Path(__file__).parents[2] / "overlays" / "verl" / "cases"
# On the CPU, until the reward has risen; on emulated NPUs, which take their time, as many as tell whether curves part.
STEPS, ON_NPU = 12, 4
# Of each step, relative. Measured: 3e-7; an answer that is drawn otherwise, since a logit differs by that, is 1e-3.
TOLERANCE = 0.02
# What transformers-npu and verl-npu have of a Qwen2, each with its backward.
_OPERATORS = ("rms_norm", "swiglu", "rotary_mul", "fusion_attention", "cross_entropy_loss")
FUSED = frozenset(f"npu.npu_{name}{way}" for name, way in product(_OPERATORS, ("", "_backward")))
SHORT = (f"trainer.total_training_steps={STEPS}", "trainer.save_freq=8", f"trainer.test_freq={STEPS}")


@pytest.fixture(scope="module")
def recipes(shared: Path) -> Recipes:
    return installed(STACKS[0], shared)


@pytest.fixture(scope="module")
def on_cpu(recipes: Recipes, shared: Path) -> Path:
    """Return the folder of a run of GRPO on the CPU."""

    def make(folder: Path) -> None:
        train(recipes, "smoke-grpo", folder, *SHORT)

    return once(shared, "smoke-grpo", make)


def train(recipes: Recipes, name: str, folder: Path, *more: str, **variables: str) -> str:
    """Run a recipe to its end; returns what the command printed."""
    before = (EMULATED,) if variables else ()
    done = recipes.run("-m", "npu_recipes", "run", name, "--output", folder, *more, before=before, **variables)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


def values(folder: Path, metric: str, *files: str) -> tuple[float, ...]:
    return read_curve([folder / name for name in files or ("metrics.jsonl",)], metric).values


def test_fine_tuning_learns(recipes: Recipes, tmp_path: Path) -> None:
    said = train(recipes, "smoke-sft", tmp_path, "trainer.total_epochs=2")

    losses = values(tmp_path, "train/loss")
    assert len(losses) == 32
    assert losses[-1] < 0.5 * losses[0]
    assert len(values(tmp_path, "val/loss")) == 2
    assert "█" in said
    assert (tmp_path / "curve.svg").exists()
    assert (tmp_path / "checkpoints" / "global_step_32").is_dir()


def test_the_reward_rises(on_cpu: Path) -> None:
    rewards = values(on_cpu, "critic/rewards/mean")

    assert len(rewards) == STEPS
    assert sum(rewards[-3:]) > 2 * sum(rewards[:3])


def test_what_generates_has_the_trainers_weights(on_cpu: Path) -> None:
    assert max(values(on_cpu, "training/rollout_probs_diff_max")) < 1e-4


def test_it_is_held_near_the_reference_and_validated(on_cpu: Path) -> None:
    kl = values(on_cpu, "actor/kl_loss")
    lines = [json.loads(line) for line in (on_cpu / "metrics.jsonl").read_text("utf-8").splitlines()]
    validated = [line["step"] for line in lines if any(key.startswith("val-core") for key in line["data"])]

    assert abs(kl[0]) < 1e-6 < kl[-1]
    assert validated == [0, STEPS]


def test_it_goes_on_from_its_checkpoint(recipes: Recipes, on_cpu: Path) -> None:
    (on_cpu / "metrics-2.jsonl").unlink(missing_ok=True)
    train(recipes, "smoke-grpo", on_cpu, f"trainer.total_training_steps={STEPS + 2}", "trainer.val_before_train=False")

    first, second = (
        read_curve([on_cpu / name], "critic/rewards/mean") for name in ("metrics.jsonl", "metrics-2.jsonl")
    )
    assert second.steps == (STEPS + 1, STEPS + 2)
    assert min(second.values) > sum(first.values[:3]) / 3


@pytest.fixture(scope="module")
def on_npus(recipes: Recipes, shared: Path) -> Path:
    """Return the folder of a run of GRPO on two emulated NPUs, what each process ran below `ran` in it."""

    def make(folder: Path) -> None:
        (folder / "ran").mkdir()
        train(
            recipes,
            "smoke-grpo",
            folder,
            *(f"trainer.total_training_steps={ON_NPU}", "trainer.save_freq=-1", "trainer.test_freq=-1"),
            *("trainer.device=npu", "~ray_kwargs.ray_init.num_gpus", "+ray_kwargs.ray_init.resources.NPU=2"),
            EMULATED_NPU="1",
            EMULATED_NPU_FROM=os.pathsep.join((str(LAB), str(STUBS))),
            EMULATED_NPU_RAN=str(folder / "ran"),
            VERL_PLATFORM="huawei",
        )

    return once(shared, "smoke-grpo-on-npus", make)


def test_on_two_npus_the_curve_is_the_cpus(on_cpu: Path, on_npus: Path) -> None:
    for metric in ("critic/rewards/mean", "actor/entropy"):
        expected, found = values(on_cpu, metric)[:ON_NPU], values(on_npus, metric)
        assert len(found) == ON_NPU
        assert max(abs(one - other) / abs(other) for one, other in zip(found, expected, strict=True)) < TOLERANCE


def test_each_npu_ran_every_fused_operator_forwards_and_backwards(on_npus: Path) -> None:
    ran = [frozenset(file.read_text("utf-8").splitlines()) for file in (on_npus / "ran").iterdir()]
    trained = [operators for operators in ran if any(name.endswith("_backward") for name in operators)]

    assert len(trained) == 2
    for operators in trained:
        assert operators >= FUSED, sorted(operators)
