"""What goes from process to process arrives as it was."""

from __future__ import annotations

import pickle
from typing import TypeVar

from npu_overlays.errors import Problem
from npu_overlays.sources.git_fetch import UnreachableError
from npu_overlays.sources.pin import Pin

T = TypeVar("T")


def passed(value: T) -> T:
    arrived: T = pickle.loads(pickle.dumps(value))  # noqa: S301  # our own
    return arrived


def test_an_error_arrives_with_its_problems() -> None:
    problems = (Problem(where="here", what="this", fix="that", targets=("one",)), Problem(where="there", what="that"))
    arrived = passed(UnreachableError(problems))
    assert (type(arrived), arrived.problems, str(arrived)) == (
        UnreachableError,
        problems,
        str(UnreachableError(problems)),
    )


def test_a_pin_that_was_asked_for_places_answers_as_before() -> None:
    pin = Pin(project="lib", commit="0" * 40, packages=("src/lib",))
    assert pin.place("src/lib/core.py") == "lib/core.py"
    arrived = passed(pin)
    assert arrived == pin
    assert arrived.place("src/lib/core.py") == "lib/core.py"
