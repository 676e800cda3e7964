"""Digits: the reward function of smoke-grpo. verl loads this file by its path; it needs nothing.

Copy it to begin a reward function of your own, and name the copy:
``npu-recipes run smoke-grpo reward.custom_reward_function.path=mine.py``.
"""

from __future__ import annotations

from typing import Any


def compute_score(data_source: str, solution_str: str, ground_truth: str, **_: Any) -> float:  # noqa: ARG001  # verl's names
    """Return which share of an answer's places holds a digit.

    Args:
        data_source: says nothing here.
        solution_str: the answer.
        ground_truth: how many places there are.
    """
    return sum(character in "0123456789" for character in solution_str) / int(ground_truth)
