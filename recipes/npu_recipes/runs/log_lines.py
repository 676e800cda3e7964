"""Lines: what the forms of a console log have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from npu_recipes.runs.collector import Collector


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundRecords:
    """What a log holds of one form."""

    form: str  # its name
    records: int  # how many there are
    which: str  # in words which ones
    collector: Collector  # what they hold
    notes: tuple[str, ...] = ()  # how they were understood


class LogForm(Protocol):
    """The lines of one form in a log, taken one after the other."""

    @property
    def signs(self) -> tuple[str, ...]:
        """Texts; every line in which a record begins holds one of them."""

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""

    def joined(self, record: str, line: str) -> str | None:
        """Return a record joined with the next line if that continues it; None if it is a line of its own."""

    def take(self, record: str, where: str, *, whole: bool) -> int:
        """Take a record's values.

        Args:
            record: the lines it stands in, as one.
            where: in words which line that is.
            whole: whether its last line ends as lines do.

        Returns:
            How many of the records in it are cut off.
        """

    def found(self) -> Iterator[FoundRecords]:
        """Yield what the log holds of this form, the records that say most about their steps first."""
