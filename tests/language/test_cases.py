"""Before and after, and refusals: the cases of the files in ``cases``, one file a kind of change."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import Case, read_cases

from .pairs import check, refused

CASES = read_cases(Path(__file__).parent / "cases")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """An overlay's text on upstream's gives the text below ``after``, or exactly the mistakes below ``refused``."""
    (outcome,) = case.sections.keys() - {"upstream", "overlay"}
    before, overlay = case.sections["upstream"], case.sections["overlay"]
    if outcome == "after":
        check(before, overlay, case.sections[outcome])
    else:
        assert outcome == "refused"
        refused(before, overlay, *case.sections[outcome].splitlines())
