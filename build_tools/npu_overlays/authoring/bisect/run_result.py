"""Run result: how a command ended, and whether it ended in the same way another time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# Characters of what a command said, from its end.
SHOWN = 2000
KEPT = 100_000
# Of a traceback these are the error and where it was raised.
_LAST = 3
# Times, counts, places in memory: others each time.
_NUMBER = re.compile(r"\S*\d\S*")
# The line in which pytest says how many tests failed, and not how.
_COUNTS = re.compile(r"\b\d+ (?:failed|passed|errors?)\b")


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """How a command ended.

    Args:
        code: its exit code; below 0 the signal that ended it.
        output: the end of what it said.
    """

    code: int
    output: str

    @property
    def shown(self) -> str:
        """As much of what it said as is shown."""
        return self.output[-SHOWN:]

    def is_like(self, other: RunResult) -> bool:
        """Return whether it ended as another time: with that code, and its last lines were said then, too.

        Where more fails, they may have been said sooner.
        """
        return self.code == other.code and set(self.lines[-_LAST:]) <= set(other.lines)

    @cached_property
    def lines(self) -> list[str]:
        """The lines that say how it ended, numbers aside."""
        said = (_NUMBER.sub("0", line).strip() for line in self.output.splitlines() if not _COUNTS.search(line))
        return [line for line in said if re.search(r"[^\W\d]", line)]
