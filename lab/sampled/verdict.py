"""Verdict: how our cases end over an overlay and over its port → what is wrong, and what is known to be no defect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sampled.known_failures import Reason
from sampled.ported_overlay import Ported
from verl_cases import Endings

_NEVER = "fail over the overlay that was ported, too, in this environment"


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
    before: Endings, after: Endings, reasons: Iterable[Reason], ported: Ported, holds: Callable[[Reason], bool]
) -> Ours:
    """Compare endings, "passed" or a word and what was said, of all cases that pass before, or are new and fail.

    Args:
        before: over the overlay that was ported, in the same environment.
        after: over the port.
        reasons: the known ones.
        ported: what `port` did by itself, and what it left to a person or marked.
        holds: says whether what a reason names of upstream's came between the two.
    """
    # One that skips itself before is of what only the newer upstream has.
    found = [case for case in after if before.get(case, "skipped").startswith("skipped")]
    new = {case: after[case] for case in found if not after[case].startswith("skipped")}
    # Of a file that cannot be imported, or skips itself, there is one ending for all.
    whole = {case: after.get(case.partition(".")[0], "is not there") for case in before}
    there = {_function(case) for case in after}
    gone = {case: "skipped: what it is of is gone" for case in before if "[" in case and _function(case) in there}
    ends = {
        case: after.get(case, gone.get(case, whole[case])) for case, ending in before.items() if ending == "passed"
    } | new
    # Of these nothing is known, which has to be seen.
    never = [case for case, ending in before.items() if ending.startswith("failed") and after.get(case) != "passed"]
    explained: dict[str, list[str]] = {_NEVER: never} if never else {}
    failed = []
    known = list(reasons)
    for case, ending in ends.items():
        if ending == "passed":
            continue
        fitting = (one for one in known if fnmatchcase(case, one.cases) and one.says in ending)
        itself = ending if ending.startswith("skipped") else ""
        if why := itself or next(filter(None, (_why(one, ported, holds) for one in fitting)), ""):
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


def _why(reason: Reason, ported: Ported, holds: Callable[[Reason], bool]) -> str:
    """Return why a case may fail on this commit, empty where the reason is none there."""
    if reason.operation:
        return ported.seen(reason.operation)
    return f"{reason.added or reason.since[:9]} {reason.why}" if holds(reason) else ""
