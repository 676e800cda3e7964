"""Before and after, and refusals: the cases of the files in ``cases``, one file a kind of change."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import FileCase, read_cases

from .pairs import PATH, check, refused

CASES = read_cases(Path(__file__).parent / "cases")
# Which module a file is for; one of shared definitions names its targets itself.
TARGETS = {"overlay": PATH, "shared": ""}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: FileCase) -> None:
    """An overlay's text on upstream's gives the text below ``after``, or exactly the mistakes below ``refused``.

    The overlay's text is that of a merge module, or below ``shared`` of a file of shared definitions.
    """
    first, written, outcome = case.sections
    before, overlay, expected = case.sections.values()
    assert (first, written in TARGETS, outcome in ("after", "refused")) == ("upstream", True, True)
    if outcome == "after":
        check(before, overlay, expected, target=TARGETS[written])
    else:
        refused(before, overlay, *expected.splitlines(), target=TARGETS[written])
