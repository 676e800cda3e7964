"""Plans: the command that is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_recipes.catalogue import load, load_pins
from npu_recipes.launch.plan import Places, make_plan


def launched(name: str, *given: str) -> list[str]:
    """Return what a plan tells torchrun of machines and processes."""
    places = Places(model="model", data=Path("data"), output=Path("out"), metrics=Path("out/metrics.jsonl"))
    plan = make_plan(load(name), pin=load_pins()["verl@0.9.1"], places=places, given=given)
    end = plan.command.index(plan.trainer.module) - 1
    return list(plan.command[3:end])


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("smoke-sft", (), ["--standalone", "--nproc_per_node=2"]),
        ("smoke-sft", ("trainer.n_gpus_per_node=4",), ["--standalone", "--nproc_per_node=4"]),
        ("smoke-sft", ("trainer.n_gpus_per_node='4'",), ["--standalone", "--nproc_per_node=4"]),
        ("smoke-sft", ("trainer={nnodes:8}", "trainer.nnodes=4"), ["--nnodes=4", "--nproc_per_node=2"]),
        ("sft-qwen3-30b-a3b", (), ["--standalone", "--nproc_per_node=16"]),
        (
            "sft-qwen3-30b-a3b",
            ("trainer.nnodes=2", "++trainer.n_gpus_per_node=8"),
            ["--nnodes=2", "--nproc_per_node=8"],
        ),
        ("sft-qwen3-235b-a22b", (), ["--nnodes=8", "--nproc_per_node=16"]),
    ],
)
def test_torchrun_starts_what_the_trainer_is_told_of(name: str, given: tuple[str, ...], said: list[str]) -> None:
    assert launched(name, *given) == said
