"""An overlay and the installations at hand → what differs under each condition."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from npu_overlays.wheels.comparison import differences
from reproducibility.builds import Setting, Tool
from reproducibility.conditions import BuildCondition, Wheels
from reproducibility.page import Outcome

# What follows from which hatchling it was, and nothing else may: its name, and the digest of that.
OF_HATCHLING = ("RECORD", "WHEEL")


def outcomes(setting: Setting, conditions: Iterable[BuildCondition], tools: Mapping[str, Tool]) -> Iterator[Outcome]:
    """Build an overlay once, and then under each condition; yield what differs.

    Args:
        setting: what is built; each build has a folder of its own below its folder.
        conditions: those to be tried.
        tools: the installations that some of them take.

    Raises:
        CalledProcessError: something cannot be built.
    """
    plain = _own(setting).build()
    for condition in conditions:
        tool = tools.get(condition.tool, setting.tool)
        made = condition.build(replace(_own(setting), tool=tool))
        yield Outcome(condition=condition, differing=tuple(_differing(plain, made)))


def _own(setting: Setting) -> Setting:
    return replace(setting, work=Path(tempfile.mkdtemp(dir=setting.work)))


def _differing(plain: Wheels, made: Wheels) -> list[str]:
    """Return what differs of the wheels that were made; a front end makes no companion."""
    if not made or made.keys() - plain.keys():
        return sorted(made.keys() ^ plain.keys())
    found = {one.path or one.how for name, content in made.items() for one in differences(plain[name], content)}
    return sorted({path.partition(".dist-info/")[2] or path for path in found})
