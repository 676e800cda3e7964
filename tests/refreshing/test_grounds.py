"""What is said of something new that takes the place of operations: all that was said of these."""

from __future__ import annotations

import pytest

from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Grounds, Reason, joined_reasons
from npu_overlays.refreshing.grounds import handed_on

OVERLAY = """\
from npu_overlays.markers import added

ONE = added(1, why="One.", forwarded="https://example.invalid/1", drop_when="version 3.0", accept=["print: ours"])
TWO = added(2, why="Two.", forwarded="https://example.invalid/2", until="4.0", accept=["print: theirs", "loss"])
THREE = added(3, why="Three.", drop_when="version 5.0")
"""
NEW = Grounds(reason=Reason(why="New."))


@pytest.mark.parametrize(
    ("number", "condition"), [(1, "version 3.0"), (2, "version 3.0"), (3, "ONE: version 3.0; THREE: version 5.0")]
)
def test_reasons_go_on(number: int, condition: str) -> None:
    gone = read_operations("o/tree/m.py", OVERLAY.encode(), layer="o", target="m.py")[:number]
    said = handed_on(NEW, gone)
    assert said.reason.why == " ".join(["New.", "One.", "Two.", "Three."][: number + 1])
    links = [f"https://example.invalid/{one}" for one in (1, 2)]
    assert said.reason.forwarded == " ".join(links[:number])
    assert said.reason.drop_when == condition
    accepted = ["print: ours"] if number == 1 else ["print: ours; theirs", "loss"]
    assert list(map(str, said.accept)) == accepted
    assert not said.bounds


def test_where_nothing_goes_all_is_new() -> None:
    assert handed_on(NEW, ()) is NEW


@pytest.mark.parametrize(
    ("whys", "joined"),
    [
        ([], ""),
        (["", "Adds a helper", "Renames\nit", "Adds a helper"], "Adds a helper; Renames it"),
        (["One.", "two", "Three"], "One. two; Three"),
    ],
)
def test_reasons_that_are_no_sentences_are_joined_by_semicolons(whys: list[str], joined: str) -> None:
    assert joined_reasons(whys) == joined
