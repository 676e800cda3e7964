"""Changed reads: which changes of what overlay code reads may break that code."""

from __future__ import annotations

import pytest

from npu_overlays.contracts.changed_reads import ChangedRead
from npu_overlays.contracts.reads import Read


@pytest.mark.parametrize(
    ("before", "now", "breaks"),
    [
        ("(a, b)", "(b, a)", True),
        ("(a)", "(a, b)", True),
        ("(a, b)", "(a)", True),
        ("(a, b=1)", "(a, b=2)", True),
        ("(a, b=<0be56bf1>)", "(a, b=<7e02f8e3>)", True),
        ("(a, b=1)", "(a, *, b=1)", True),
        # A further argument was the first of the rest.
        ("(a, *rest)", "(a, b=None, *rest)", True),
        ("(a) or (a, b)", "(a)", True),
        ("(a", "(a, b=1", True),
        ("(a)", "(a, b=1, *, c=2, **more)", False),
        ("(a, *rest)", "(a, *others, b=1)", False),
        ("(a, *, b=1)", "(a, b=1)", False),
        ("(a, b)", "(a, b=1)", False),
        ("(a, /)", "(a)", False),
        ("(a, b=<0be56bf1>)", "(a, b=<0be56bf1>, c=<7e02f8e3>)", False),
        ("(a, b=(1, 2,))", "(a, b=(1, 2,), c=', d')", False),
        ("(a) or (a, b=1)", "(a, b=1)", False),
    ],
)
def test_other_parameters_break_a_caller_unless_every_call_means_the_same(
    before: str, now: str, *, breaks: bool
) -> None:
    was, is_now = (Read(path="a.py", symbol="f", kind="plain function", signature=one) for one in (before, now))
    assert ChangedRead(before=was, now=is_now, differences=("its signature",), places=()).breaks == breaks
