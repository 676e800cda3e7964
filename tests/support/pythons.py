"""The supported Pythons and uv, as far as this machine has them."""

from __future__ import annotations

import pytest

from environments.installer import find_uv
from environments.pythons import RUNNING, SUPPORTED, find_python

__all__ = ["EACH", "ENDS", "HERE", "SUPPORTED", "find_python", "find_uv", "some_python", "some_uv"]
# For tests of each of them: what `make test-quick` leaves to `make test` is what they do elsewhere than here.
EACH = [pytest.param(version, marks=[] if version == RUNNING else pytest.mark.slow) for version in SUPPORTED]
# For tests of the lowest and the highest as well; what lies between them is left to `make test-rest`.
ENDS = [
    each if version in {RUNNING, SUPPORTED[0], SUPPORTED[-1]} else pytest.param(version, marks=pytest.mark.thorough)
    for version, each in zip(SUPPORTED, EACH, strict=True)
]
# For tests with parameters of their own, which on other Pythons tell what the rest do: these go to `make test-rest`.
HERE = [pytest.param(version, marks=[] if version == RUNNING else pytest.mark.thorough) for version in SUPPORTED]


def some_python(version: str) -> str:
    """Return a Python of that version; skips the test where there is none."""
    found = find_python(version)
    if found is None:
        pytest.skip(f"this machine has no Python {version}")
    return found


def some_uv() -> str:
    """Return uv; skips the test where there is none."""
    found = find_uv()
    if found is None:
        pytest.skip("there is no uv, neither in this environment nor on the search path")
    return found
