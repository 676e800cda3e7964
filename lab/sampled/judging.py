"""Judging: how our cases end over an overlay and over its port → what is wrong, and what is known to be no defect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sampled.porting import Ported
from sampled.reasons import Reason

Endings = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Ours:
    """What our own cases say of a port.

    Args:
        passed: how many of those that pass over the overlay it was made of pass over it, too.
        explained: those that do not, by why that is no defect of the port, or why they skip themselves.
        failed: a line for each other.
    """

    passed: int
    explained: Mapping[str, tuple[str, ...]]
    failed: tuple[str, ...]


def judge(
    before: Endings, after: Endings, reasons: Iterable[Reason], ported: Ported, came: Callable[[str], bool]
) -> Ours:
    """Compare endings, "passed" or a word and what was said, of all cases that pass before, or are new and fail.

    Args:
        before: over the overlay that was ported, in the same environment.
        after: over the port.
        reasons: the known ones.
        ported: what `port` did by itself, and what it left to a person or marked.
        came: says whether a commit of upstream's came between the two.
    """
    new = {case: ending for case, ending in after.items() if case not in before and not ending.startswith("skipped")}
    # Of a file that cannot be imported, or skips itself, there is one ending for all.
    whole = {case: after.get(case.partition(".")[0], "is not there") for case in before}
    there = {_function(case) for case in after}
    gone = {case: "skipped: what it is of is gone" for case in before if "[" in case and _function(case) in there}
    ends = {
        case: after.get(case, gone.get(case, whole[case])) for case, ending in before.items() if ending == "passed"
    } | new
    explained: dict[str, list[str]] = {}
    failed = []
    known = list(reasons)
    for case, ending in ends.items():
        if ending == "passed":
            continue
        fitting = (one for one in known if fnmatchcase(case, one.cases) and one.says in ending)
        itself = ending if ending.startswith("skipped") else ""
        if why := itself or next(filter(None, (_why(one, ported, came) for one in fitting)), ""):
            explained.setdefault(why, []).append(case)
        else:
            failed.append(f"{case}: {ending}")
    return Ours(
        passed=list(ends.values()).count("passed"),
        explained={why: tuple(cases) for why, cases in explained.items()},
        failed=tuple(failed),
    )


def _function(case: str) -> str:
    return case.partition("[")[0]


def _why(reason: Reason, ported: Ported, came: Callable[[str], bool]) -> str:
    """Return why a case may fail on this commit, empty where the reason is none there."""
    if reason.operation:
        return ported.seen(reason.operation)
    return f"{reason.since[:9]} {reason.why}" if came(reason.since) else ""
