"""Shadows: a plan → the copies that it would train in place of the patched packages that are installed."""

from __future__ import annotations

from collections.abc import Iterator

from npu_recipes.errors import Problem
from npu_recipes.launching.plan import Plan
from npu_summary import verify


def shadows(plan: Plan) -> Iterator[Problem]:
    """Yield each copy that comes first where the plan is run, such as the clone in the current folder.

    `python -P` would not help: it keeps the current folder from the trainer, and Ray's workers look there all the same.
    """
    for one in verify.elsewhere():
        # A Python that cannot be asked cannot train either, and says more of it. torchrun starts no worker of Ray's.
        if one.level == "damage" or (one.level == "note" and not plan.trainer.torchrun):
            cause, _, remedy = one.cause.partition("; to repair, ")
            what = f"{one.what}: {cause}" if cause else one.what
            yield Problem(where=one.distribution, what=what, fix=remedy or "start elsewhere: cd out of this folder")
