"""Limits: by how much a metric of one run may differ from the other's, in the mean over all steps.

The defaults come from verl's page on Ascend of 2025: 2 % for the loss of fine-tuning, 4 % for the reward of
reinforcement learning. Later versions of that page give neither. The loss of a policy is no such loss: it is a small
number around zero, and says little.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from npu_recipes.errors import Problem, RecipeError

_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit for some metrics."""

    pattern: str  # their name, where ``*`` stands for any characters
    value: float | None  # the largest mean relative error, 0.02 for 2 %; None where they are not to be judged
    given: bool = True  # whether somebody asked for it, so that it has to fit a metric

    def fits(self, metric: str) -> bool:
        """Return whether the limit is one of this metric."""
        return metric == self.pattern or fnmatch.fnmatchcase(metric, self.pattern)


# What trainers call the same: verl, Hugging Face's (and LLaMA-Factory and ms-swift), Megatron-LM and GPT-NeoX.
TRAINED = ("train/loss", "loss", "lm loss", "lm_loss")
EVALUATED = ("val/loss", "eval_loss", "eval/loss", "lm loss validation", "lm_loss validation")
_REWARDS = (
    *("critic/rewards/mean", "critic/score/mean", "reward", "rewards/mean", "reward/mean"),
    *("train/reward", "grpo/rewards/mean", "grpo/score/mean"),
)
_REWARDS_OF_TRL = {"reward", "train/reward"}
_LOSS, _REWARD = 0.02, 0.04
# For metrics that nobody judges, what is called diverging in the list of them.
LISTED = 0.04
DEFAULTS = (
    *(Limit(pattern=one, value=_LOSS, given=False) for one in (*TRAINED, *EVALUATED)),
    *(Limit(pattern=one, value=_REWARD, given=False) for one in _REWARDS),
)


def without_policy(limits: Sequence[Limit], metrics: Iterable[str]) -> list[Limit]:
    """Return limits without the defaults of a loss where trl's reward is among the metrics: it is a policy's there."""
    of_policy = () if _REWARDS_OF_TRL.isdisjoint(metrics) else (*TRAINED, *EVALUATED)
    return [limit for limit in limits if limit.given or limit.pattern not in of_policy]


def limit_of(metric: str, limits: Iterable[Limit]) -> Limit | None:
    """Return the first limit that fits a metric; None where none does, or that one says that it is not judged."""
    found = next((limit for limit in limits if limit.fits(metric)), None)
    return found if found and found.value is not None else None


def read_limit(text: str) -> Limit:
    """Read ``PATTERN=4%``, ``PATTERN=0.04`` or ``PATTERN=none``; raises `RecipeError`."""
    pattern, equals, written = text.rpartition("=")
    if not equals or not pattern:
        fix = "write NAME=VALUE, e.g. 'val-core/*=4%'"
        raise RecipeError(Problem(where=f"--limit {text}", what="is not NAME=VALUE", fix=fix))
    return _limit(pattern, written, f"--limit {text}")


def read_limits(file: Path) -> list[Limit]:
    """Read a YAML file that maps patterns to limits; raises `RecipeError` with every mistake in it."""
    try:
        text = file.read_text("utf-8")
        stated = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        what = f"cannot be read: {' '.join(str(error).split())}"
        fix = "name a YAML file with a line `NAME: 4%` for each metric, or correct the line that it names"
        raise RecipeError(Problem(where=str(file), what=what, fix=fix)) from error
    if not isinstance(stated, dict):
        fix = "write a line `NAME: 4%` for each metric"
        raise RecipeError(Problem(where=str(file), what="is no mapping of metrics to limits", fix=fix))
    limits: list[Limit] = []
    problems = list(_twice(file, text))
    for pattern, value in stated.items():
        try:
            limits.append(_limit(str(pattern), _NONE if value is None else str(value), f"{file}: {pattern}"))
        except RecipeError as error:
            problems.extend(error.problems)
    if problems:
        raise RecipeError(problems)
    return limits


def _twice(file: Path, text: str) -> Iterator[Problem]:
    """Yield a problem for each key that stands more than once: YAML keeps its last value alone."""
    root = yaml.compose(text, yaml.SafeLoader)
    keys = [key.value for key, _ in root.value] if root else []
    for name, count in Counter(keys).items():
        if count > 1:
            yield Problem(where=f"{file}: {name}", what="has more than one limit", fix="leave one of them")


def unused(limits: Sequence[Limit], metrics: Iterable[str]) -> list[Limit]:
    """Return the limits that somebody asked for and that fit no metric."""
    known = list(metrics)
    return [limit for limit in limits if limit.given and not any(map(limit.fits, known))]


def _limit(pattern: str, written: str, where: str) -> Limit:
    text = written.strip()
    if text.lower() == _NONE:
        return Limit(pattern=pattern, value=None)
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        fix = "write a share such as 0.04 or 4%, or none"
        raise RecipeError(Problem(where=where, what=f"`{text}` is no limit", fix=fix))
    if value > 1 and not text.endswith("%"):
        fix = f"write {text}%, or {value:.0%} where that is meant"
        raise RecipeError(Problem(where=where, what=f"`{text}` is a share, of {value:.0%}", fix=fix))
    return Limit(pattern=pattern, value=value)
