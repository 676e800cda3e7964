"""Options: what a run was asked to show."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Options:
    """What to show; the defaults are those of a run without arguments."""

    help: bool = False
    format: str | None = None
    why: bool = False
    diff: bool = False
    html: str | None = None
    version: bool = False
    distribution: Sequence[str] | None = None
    json: bool = False
    verify: bool = False
    explain: str | None = None
