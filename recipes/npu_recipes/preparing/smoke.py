"""Smoke: what the two smoke recipes train on: sums to learn, and prompts that want digits."""

from __future__ import annotations

from pathlib import Path

from npu_recipes.preparing.rows import conversation, judged, write_splits
from npu_recipes.preparing.tiny import write_model

# How many tokens an answer has at most; the reward is the share of them that are digits.
LENGTH = 12
SOURCE = "npu-recipes/digits"


def prepare_sums(folder: Path) -> None:
    """Write a tiny model, and sums below thirty for fine-tuning."""
    write_model(folder / "model")
    rows = [conversation(f"{one % 20}+{one % 7}=", str(one % 20 + one % 7)) for one in range(512)]
    write_splits(folder, train=rows, test=rows[:32])


def prepare_digits(folder: Path) -> None:
    """Write a tiny model, and prompts for reinforcement learning, whatever they say."""
    write_model(folder / "model")
    rows = [judged(SOURCE, f"digits, please ({one})", str(LENGTH), ability="digits", index=one) for one in range(72)]
    write_splits(folder, train=rows[8:], test=rows[:8])
